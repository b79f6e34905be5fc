#!/usr/bin/env bash
# Random scenes: shapes, bodies, transfers, all models of matter, windows, copies, steps that must be halved, sources, sinks, probes,
# bodies that are measured, budgets, writers; every third with heat, where snow melts, water runs and freezes. One rank with one thread is the
# reference; other numbers of both, and a restart from a random checkpoint on yet another, give the same frames, states, history and
# probes, byte by byte. Every second restart changes what may be changed: then every row is kept, with the values of the reference. Where
# snow comes in, another restart changes by force what may not be changed: then ids stay unique.
#   test_random.sh FIRN MPIEXEC [SCENES=24] [FIRST=1] [all|one] [EVERY=1]
# Scene k is the same whatever the other arguments are: `test_random.sh FIRN MPIEXEC 1 K all` repeats one. By default each is run on one
# of the numbers in turn, with `all` on every one. Scenes FIRST, FIRST + EVERY and so on: `200 3 one 3` are 200 with heat. A scene that
# differs is printed.
set -uo pipefail
# shellcheck source=tests/cli/tools.sh
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
scenes=${3:-24} first=${4:-1} all=${5:-} every=${6:-1}
[ "$all" = all ] || all=''
numbers=(1:2 2:1 3:2 5:1 2:2 3:1 5:2) # ranks:threads

# Random numbers by the scene's own generator, so that it is the same on every machine. The results are in $r: these may not run in
# subshells, which would forget where they were.
state=0
draw() { # N: 0 .. N - 1
  state=$((state * 6364136223846793005 + 1442695040888963407))
  r=$(((state >> 33 & 0x7fffffff) % $1))
}
between() { # LOW HIGH, whole thousandths: a decimal number
  draw $(($2 - $1 + 1))
  local n=$((r + $1)) sign=''
  [ $n -ge 0 ] || { sign=- && n=$((-n)); }
  printf -v r '%s%d.%03d' "$sign" $((n / 1000)) $((n % 1000))
}
choose() { # WORD...
  draw $#
  local k=$((r + 1))
  r=${!k}
}
vector() { # LOW HIGH of each component
  local v=() k
  for k in 1 2 3; do between "$1" "$2" && v+=("$r"); done
  r="[${v[0]}, ${v[1]}, ${v[2]}]"
}
turn() {
  vector 100 1000
  local axis=$r
  between 0 180000
  r="rotate: {axis: $axis, degrees: $r}"
}

# A shape of at most 0.045 m around x, 0.04, 0.
simple_shape() { # X, thousandths
  local x y z
  between $(($1 - 10)) $(($1 + 10)) && x=$r
  between 34 46 && y=$r
  between -10 10 && z=$r
  draw 8
  case $r in
    0 | 1) between 25 40 && r="sphere: {center: [$x, $y, $z], radius: $r}" ;;
    2)
      local a b c
      between 30 50 && a=$r
      between 30 50 && b=$r
      between 20 50 && c=$r
      turn
      r="box: {center: [$x, $y, $z], size: [$a, $b, $c], $r}"
      ;;
    3) between 10 20 && r="capsule: {from: [$x, 0.03, $z], to: [$x, 0.051, 0.02], radius: $r}" ;;
    4) between 10 30 && r="cylinder: {from: [$x, 0.03, $z], to: [$x, 0.055, 0.01], radius: $r}" ;;
    5) between 20 40 && r="cone: {from: [$x, 0.02, $z], to: [$x, 0.06, 0.01], radius: $r}" ;;
    6) turn && r="wedge: {center: [$x, $y, $z], size: [0.05, 0.04, 0.05], $r}" ;;
    7) r="heightfield: {form: noise, center: [$x, 0.025, $z], size: [0.07, 0.02, 0.06], height: 0.02, wavelength: 0.03, spacing: 0.003}" ;;
  esac
}
shape() { # X
  local a b
  simple_shape "$1"
  a=$r
  draw 10
  case $r in
    0) simple_shape "$1" && r="union: [{$a}, {$r}]" ;;
    1) simple_shape $(($1 + 20)) && r="difference: [{$a}, {$r}]" ;;
    2) simple_shape "$1" && b=$r && between 5 15 && r="smooth_union: {of: [{$a}, {$b}], blend: $r}" ;;
    3) r="shell: {of: {$a}, thickness: 0.012}" ;;
    4) between -3 4 && r="offset: {of: {$a}, distance: $r}" ;;
    *) r=$a ;;
  esac
}

# A material of any model; soft, so that explicit steps are not too short.
material() { # SCHEME TRANSFER
  local models=(snow snow snow corotated neo_hookean sand cam_clay von_mises) young
  [ "$1" != explicit ] || models+=(water)
  [ $heated = 0 ] || models=(snow) # what melts
  choose "${models[@]}"
  local model=$r
  between 30 150 && young=${r/./}
  young=$((10#$young * 1000))
  case $model in
    snow)
      choose reference powder chunky icy muddy lower_hardening higher_stretch lower_compression && r="{kind: $r, young: $young}" ;;
    sand) choose '' ', cohesion: 50' ', cone: slope' ', hardening: true' && r="{model: sand, young: $((5 * young))$r}" ;;
    cam_clay) choose warm_shear cold_dense sliding_slab && r="{kind: $r, young: $((3 * young)), compressive_strength: 2000}" ;;
    von_mises) choose 0 1000 && r="{model: von_mises, young: $((5 * young)), yield_stress: 5000, hardening: $r}" ;;
    water)
      local more=''
      [ "$2" != apic ] || more=', viscosity: 0.5'
      r="{model: water, bulk_modulus: 20000$more}"
      ;;
    *) r="{model: $model, young: $young}" ;;
  esac
}

integrator() { # SCHEME HALVED
  if [ "$1" = explicit ]; then
    r='{scheme: explicit}'
  elif [ "$2" = 1 ]; then
    draw 3 && r="{tolerance: 1e-5, max_iterations: $((r + 5))}"
  else
    local beta tolerance mixed=''
    choose 0.5 1 && beta=$r
    choose 'tolerance: 1e-2' 'tolerance: 1e-4' 'stop: strain' 'stop: strain, preconditioner: none' && tolerance=$r
    [ $heated = 0 ] || { choose 'tolerance: 1e-2' 'tolerance: 1e-4' && tolerance=$r; }
    [ $heated = 0 ] || { choose '' '' ', precision: mixed' && mixed=$r; }
    r="{beta: $beta, $tolerance$mixed}"
  fi
}

# Heat: hurried in most scenes, so that phases change within the hundredth of a second that they last.
heat() {
  local latent stiffness conductivity ambient='' mix passes
  choose 100 400 2000 334e3 && latent=$r
  choose 2e4 1e5 1e6 && stiffness=$r
  choose 0.56 500 5000 && conductivity=$r
  choose 0 1 1 3 && mix=$r
  choose 1 2 3 5 && passes=$r
  choose '' '{temperature: 240, exchange: 1e5}' '{temperature: 310, exchange: 2e5}' '{temperature: 285, exchange: 10}'
  [ -z "$r" ] || ambient=", ambient: $r"
  r="{latent_heat: $latent, mix: $mix, liquid: {stiffness: $stiffness, conductivity: $conductivity, passes: $passes}$ambient}"
}

# What a piece of snow is in a scene with heat: water, or snow of some temperature.
warmth() { # LIQUID: 1 or 0
  local conductivity
  choose 0.4 1000 5000 && conductivity=$r
  if [ "$1" = 1 ]; then
    choose 273.15 273.4 276 290 && r=", phase: liquid, temperature: $r, conductivity: $conductivity"
  else
    choose 273.15 273 268 '{keys: [{depth: 0, temperature: 273}, {depth: 0.02, temperature: 255}]}'
    r=", temperature: $r, conductivity: $conductivity"
  fi
}

# What a body has besides: it may be measured, and in a scene with heat it is warm.
body_more() { # BODY
  local warm='' rub='' measured=''
  choose '' ', measure: true' ', measure: true, pressure_map: true' && measured=$r
  [ $heated = 1 ] || { r="${1%\}}$measured}" && return; }
  choose '' 230 330 '{keys: [{time: 0, temperature: 250}, {time: 0.01, temperature: 340}]}'
  [ -z "$r" ] || warm=", temperature: $r"
  [ "${1/sticky: true/}" != "$1" ] || { choose '' 0.2 0.7 && [ -z "$r" ] || rub=", liquid_friction: $r"; }
  r="${1%\}}$warm$rub$measured}"
}

item() { # X SCHEME: snow of material m0 or m1
  local how velocity spin vary='' warm='' liquid=0
  shape "$1"
  local form=$r
  choose 'per_cell: 3' 'per_cell: 5, volume: estimated' 'per_cell: 4.5, sampling: jittered' 'per_cell: 4, sampling: poisson' \
    'particles: 700, volume: estimated' 'particles: 500, sampling: random' \
    'particles: 600, sampling: jittered, volume: estimated' && how=$r
  [ -z "$window" ] || how='per_cell: 4, sampling: jittered'
  draw 5
  case $r in
    0) vary=', vary: {shell: {thickness: 0.008, material: m1, stiffness_factor: 2}}' ;;
    1) vary=', vary: {layers: [{depth: 0.01, material: m1}], noise: {scale: 0.02, stiffness: 3, density: 1.1}}' ;;
  esac
  vector -3000 3000 && velocity=$r
  vector -20000 20000 && spin=$r
  if [ $heated = 1 ]; then
    draw 2 && liquid=$r
    [ $liquid = 0 ] || { vary='' && how=${how/, volume: estimated/}; }
    [ "$vary" = '' ] || vary=${vary/stiffness: 3,/stiffness: 3, temperature: 4,}
    warmth $liquid && warm=$r
  fi
  r="  - {$form, $how, material: m0, velocity: $velocity, spin: $spin$vary$warm}"
}

# Bodies besides the floor.
body() { # NAME
  local friction velocity
  between 0 900 && friction=$r
  vector -1500 1500 && velocity=$r
  draw 6
  case $r in
    0) r="{plane: {point: [0.16, 0, 0], normal: [-1, 0.2, 0]}, sticky: true}" ;;
    1) turn && r="{box: {center: [0, 0.05, 0], size: [0.04, 0.06, 0.12], $r}, friction: $friction, velocity: $velocity}" ;;
    2) vector -30000 30000 && r="{box: {center: [0.02, 0.03, 0], size: [0.06, 0.03, 0.1]}, friction: $friction, spin: $r}" ;;
    3) r="{sphere: {center: [0, 0.02, 0.01], radius: 0.03}, friction: $friction, start: 0.002, end: 0.005}" ;;
    4) vector -15 15 && r="{capsule: {from: [0, 0.02, -0.05], to: [0, 0.05, 0.05], radius: 0.02}, sticky: true, sticky_above: 60, motion: {keys: [{time: 0}, {time: 0.004, move: $r}, {time: 0.02}]}}" ;;
    5) r="{union: [{sphere: {center: [0.01, 0.01, 0], radius: 0.03}}, {box: {center: [0, 0, 0.02], size: [0.1, 0.04, 0.03]}}], friction: $friction}" ;;
  esac
  body_more "$r"
  r="  $1: $r"
}

# Sources, up to two, and a sink.
streams() {
  local k phase count velocity shape rate
  draw 3 && count=$r
  [ "$count" -eq 0 ] || lines+=("sources:")
  for ((k = 0; k < count; k++)); do
    phase=''
    [ $heated = 0 ] || { choose '' ', phase: liquid, temperature: 275' && phase=$r; }
    vector -1000 1000 && velocity=$r
    choose 0.3 1 3 && rate=$r
    choose 'sphere: {center: [0, 0.1, 0], radius: 0.02}' 'box: {lower: [-0.05, 0.12, -0.04], upper: [0.05, 0.13, 0.04]}' && shape=$r
    choose '' ', from: 0.002' ', until: 0.004' ', per_cell: 5' && lines+=("  - {$shape, rate: $rate, velocity: $velocity, material: m$k$phase$r}")
  done
  choose '' '[-0.2, -0.04, -0.1], upper: [-0.17, 0.2, 0.1]' '[-0.1, 0, -0.1], upper: [0.1, 0.02, 0.1]'
  [ -z "$r" ] || lines+=("sinks: [{box: {lower: $r}}]")
}

# Up to three probes of any kind.
probes() {
  local k count kinds=('point: [0, 0.03, 0], radius: 0.03' 'inside: {box: {lower: [-0.1, 0, -0.05], upper: [0, 0.1, 0.05]}}'
    'line: {from: [-0.15, 0.03, 0], to: [0.15, 0.05, 0], count: 3}' 'profile: {lower: [-0.2, 0, -0.1], upper: [0.2, 0.08, 0.1], count: 3}'
    'flux: {point: [-0.05, 0, 0], normal: [1, 0.2, 0]}' 'deposit: {direction: [1, 0, 0]}'
    'deposit: {direction: [1, 0, 1], above: {plane: {point: [0, 0.005, 0], normal: [0, 1, 0]}}}')
  draw 4 && count=$r
  [ "$count" -eq 0 ] || lines+=("probes:")
  for ((k = 0; k < count; k++)); do choose "${kinds[@]}" && lines+=("  - {name: p$k, $r}"); done
  [ "$count" -eq 0 ] || { draw 4 && output+=", probes_every: $((r + 1))"; }
}

# Free bodies and wind, by random numbers of their own: what else is in a scene does not depend on them. $free: there is a free body.
loose_things() { # NUMBER
  local kept=$state velocity spin density
  state=$(($1 * 104729 + 71)) free=''
  draw 2 && draw 2
  if [ "$r" = 1 ] && [ $heated = 0 ] && [[ ${lines[0]} != *gap* && ${lines[0]} != *whole* && ${lines[0]} != *pipelined* ]]; then
    vector -2000 2000 && velocity=$r
    vector -30000 30000 && spin=$r
    choose 60 400 3000 && density=$r
    free=1
    turn
    choose "{sphere: {center: [0, 0.09, 0], radius: 0.022}, bounce: 0.5" "{box: {center: [0, 0.09, 0], size: [0.05, 0.03, 0.04], $r}" \
      "{capsule: {from: [-0.02, 0.09, 0], to: [0.03, 0.1, 0], radius: 0.015}, sticky: true" \
      "{difference: [{sphere: {center: [0, 0.09, 0], radius: 0.03}}, {box: {center: [0.02, 0.09, 0], size: [0.03, 0.02, 0.07]}}], lock: [turn_x]" &&
      lines+=("  rock: $r, density: $density, velocity: $velocity, spin: $spin}")
    choose '' ', lock: [z]' ', spring: {anchor: [0, 0.1, 0], stiffness: 30, length: 0.05, rope: true}' ', push: {force: [0.4, 0, 0], end: 0.004}'
    lines+=("  stone: {sphere: {center: [0.06, 0.1, 0.01], radius: 0.02}, mass: 0.02, velocity: [-4, -2, 0], rub: 0.6$r}")
  fi
  choose '' '' 'wind: [9, 0, 2], profile: log, above: floor, height: 0.5' 'wind: [-6, 1, 0], gusts: {keys: [{time: 0, factor: 1}, {time: 0.004, factor: 2}]}'
  [ $heated = 1 ] || [ -z "$r" ] || air=("air: {$r}")
  state=$kept
}

scene() { # NUMBER > s.yml
  state=$(($1 * 7919 + 17))
  draw 2 && draw 2
  local scheme transfer kernel force axis halved=0 step second k lines=() output='' copies=''
  window='' heated=0
  [ $(($1 % 3)) -ne 0 ] || heated=1
  choose semi-implicit explicit && scheme=$r
  choose flip pic apic && transfer=$r
  choose cubic quadratic && kernel=$r
  choose mpm mls && force=$r
  choose auto x y z && axis=$r
  draw 3 && [ "$r" -ne 0 ] || halved=1
  draw 6 && [ "$r" -ne 0 ] || window=1
  [ $heated = 0 ] || { kernel=cubic && force=mpm; }
  step='max_step: 4e-4'
  [ $halved = 0 ] || step='max_step: 2e-3, cfl: 1'
  [ "$halved$scheme" != 1explicit ] || step='step: 3e-4, cfl_sound: 100' # beyond what is stable, in part
  integrator "$scheme" $halved
  lines+=("integrator: $r" "transfer: {scheme: $transfer, kernel: $kernel, force: $force}")
  material "$scheme" "$transfer"
  lines+=("materials:" "  m0: $r")
  material "$scheme" "$transfer"
  lines+=("  m1: $r" "snow:")
  item -100 "$scheme"
  lines+=("$r")
  item 70 "$scheme"
  lines+=("${r/material: m0/material: m1}" "bodies:")
  body_more "{plane: {point: [0, 0, 0], normal: [0, 1, 0]}}"
  lines+=("  floor: $r")
  draw 3 && second=$r
  for ((k = 0; k < second; k++)); do
    body "b$k"
    lines+=("$r")
  done
  local free='' air=()
  loose_things "$1"
  [ -z "$window" ] || lines+=("  leader: {sphere: {center: [-0.08, 0.3, 0], radius: 0.01}, velocity: [6, 0, 0]}"
    "window: {follow: leader, axis: x, ahead: 0.1, behind: 0.08}")
  lines+=("${air[@]}")
  [ $heated = 0 ] || { heat && lines+=("heat: $r"); }
  draw 2 && [ "$r" -eq 0 ] || output=', budget: true'
  choose '' '' ', writer: direct' ', writer: parallel_hdf5' && output+=$r
  draw 8 && [ "$r" -ne 0 ] || { [ -n "$window$free" ] || { axis=z && copies=', copies: 2'; }; }
  [ -n "$copies" ] || streams
  probes
  # Some dozens of steps, of which explicit schemes take more.
  local end=0.016 rate=225 every
  [ "$scheme" != explicit ] || end=0.006 rate=600
  draw 8 && every=$((r + 3))
  [ "$scheme" != explicit ] || every=$((3 * every))
  {
    echo "domain: {lower: [-0.2, -0.04, -0.1], cells: [40, 24, 20], spacing: 0.01, slab_axis: $axis$copies}"
    echo "time: {end: $end, frame_rate: $rate, $step}"
    printf '%s\n' "${lines[@]}"
    echo "output: {fields: [mass, density, jp, fe, stress, material], precision: f64$output}"
    echo "checkpoint: {steps: $every, keep: 1000}"
  } >s.yml
}

# A deposit without a surface below it is all of the snow.
check_deposits() { # FOLDER
  local name
  [ -e "$1/probes.csv" ] || return 0
  for name in $(sed -n 's/^  - {name: \(p[0-9]\), deposit: {direction: \[1, 0, 0\]}}$/\1/p' s.yml); do
    awk -F, -v name="${name}_mass" 'NR == 1 { for (k = 1; k <= NF; k++) if ($k == name) at = k }
                                    NR == 2 { exit !(at && $at > 0.01) }' "$1/probes.csv" || blame "the deposit $name weighs nothing"
  done
}

# --- edits ---

# Changes what a restart may change: the lines of s.yml into e.yml, with up to three of the changes, which are told in $edits. Columns
# whose names match $silent may end, those that match $anew begin anew.
permitted_edits() {
  local lines n count k at
  mapfile -t lines <s.yml
  edits='' silent='^$' anew='^$'
  draw 3 && count=$((r + 1))
  for ((n = 0; n < count; n++)); do
    choose budget measure order moved added removed materials every checkpoint
    case " $edits " in *" $r "*) continue ;; esac
    at=()
    for k in "${!lines[@]}"; do [[ ${lines[k]} != '  - {name: '* ]] || at+=("$k"); done
    case $r in
      budget)
        if grep -q 'budget: true' s.yml; then
          silent+='|^(lost|energy)_|^work_(bodies|push|air)$'
          lines=("${lines[@]/budget: true/budget: false}")
        else
          lines=("${lines[@]/precision: f64/precision: f64, budget: true}")
        fi
        ;;
      measure)
        for k in "${!lines[@]}"; do
          [[ ${lines[k]} = '  floor: '* ]] || continue
          if [[ ${lines[k]} = *measure:* ]]; then
            silent+='|_floor(_|$)|^unbalanced_'
            lines[k]="${lines[k]%%, measure:*}}"
          else
            lines[k]="${lines[k]%\}}, measure: true}"
          fi
        done
        ;;
      order) [ ${#at[@]} -lt 2 ] || { k=${lines[at[0]]} && lines[at[0]]=${lines[at[1]]} && lines[at[1]]=$k; } ;;
      moved)
        [ ${#at[@]} -gt 0 ] && [[ " $edits " != *' order '* ]] && [[ " $edits " != *' removed '* ]] || continue
        anew='^p0_'
        lines[at[0]]='  - {name: p0, point: [0.021, 0.03, 0.002], radius: 0.025}'
        ;;
      added)
        [ ${#at[@]} -gt 0 ] || { lines+=(probes:) && at=($((${#lines[@]} - 1))); }
        lines[at[0]]+=$'\n  - {name: other, flux: {point: [0.05, 0, 0], normal: [1, 0, 0]}}'
        ;;
      removed)
        [ ${#at[@]} -gt 1 ] && [[ " $edits " != *' order '* ]] && [[ " $edits " != *' added '* ]] || continue
        silent+="|^p$((${#at[@]} - 1))_"
        unset "lines[at[-1]]"
        ;;
      materials)
        for k in "${!lines[@]}"; do [ "${lines[k]}" != materials: ] || break; done
        lines=("${lines[@]:0:k+1}" "${lines[k + 2]}" "${lines[k + 1]}" "${lines[@]:k+3}")
        ;;
      every) lines=("${lines[@]/precision: f64/precision: f64, every: 2}") ;;
      checkpoint) lines=("${lines[@]/keep: 1000/keep: 999}") ;;
    esac
    edits+="$r "
  done
  printf '%s\n' "${lines[@]}" >e.yml
}

# One run: its exit code in $code, and the error without what depends on the ranks.
go() { # RANKS THREADS FOLDER SCENE OPTIONS...
  local ranks=$1 threads=$2 folder=$3 scene=$4 start=()
  shift 4
  [ "$ranks" = 1 ] || start=("$mpiexec" -n "$ranks")
  timeout $patience "${start[@]}" "$firn" run "$scene" --threads "$threads" --output "$folder" "$@" >"$folder.log" 2>&1 </dev/null
  code=$?
  grep '^firn: ' "$folder.log" | sed 's/ on rank [0-9]*//; s/rank [0-9]*/rank/g' | head -n 1 >"$folder.error"
}

# 1 if something melted or froze in a run.
changes() { # FOLDER
  [ -e "$1/history.csv" ] || { echo 0 && return; }
  awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) at[$k] = k }
           NR > 1 && at["melted_mass"] { sum = $at["melted_mass"] + $at["frozen_mass"] }
           END { print (sum > 0) }' "$1/history.csv"
}

blame() { # WHAT
  fail "scene $k: $1"
  bad_here=1
}

compare() { # NUMBERS FOLDER CODE
  [ "$3" -eq "$code" ] || { blame "exit code $code instead of $3 on $1" && show "$2.log"; }
  cmp -s ref.error "$2.error" || blame "another error on $1: $(cat "$2.error") instead of $(cat ref.error)"
  same ref "$2" || bad_here=1
  same "$(newest ref)" "$(newest "$2")" || bad_here=1
  cmp -s <(computed ref) <(computed "$2") || blame "another history on $1"
  [ ! -e ref/probes.csv ] || cmp -s ref/probes.csv "$2/probes.csv" || blame "other probes on $1"
}

# Rows of a run that a restart edited at a step, beside those of the reference. Before the step nothing changes. From then on a value is
# that of the reference, or nan if its column was given up. A probe that was moved keeps what it was under a name of its own.
kept() { # REFERENCE FILE STEP; prints the first row that is not
  awk -F, -v cut="$3" -v silent="$silent" -v anew="$anew" '
    FNR == 1 { file++ }
    file == 1 && FNR == 1 { for (k = 1; k <= NF && $k != "imbalance"; k++) name[k] = $k; columns = k - 1; next }
    file == 1 { rows++; for (k = 1; k <= columns; k++) value[FNR, k] = $k; next }
    FNR == 1 {
      for (k = 1; k <= NF; k++) if (sub(/_until_[0-9]+$/, "", $k) || !at[$k]) at[$k] = k
      for (k = 1; k <= columns; k++) {
        place[k] = at[name[k]]
        if (!place[k]) { print "no column " name[k]; exit }
      }
      next
    }
    {
      seen++
      for (k = 1; k <= columns; k++) {
        if ($place[k] == value[FNR, k]) continue
        if ($1 >= cut && $place[k] == "nan" && (name[k] ~ silent || name[k] ~ anew)) continue
        print "row " FNR ": " name[k] " is " $place[k] " instead of " value[FNR, k]
        seen = rows
        exit
      }
    }
    END { if (seen != rows) print seen " rows instead of " rows }' "$1" "$2"
}

# The same particles. Materials are numbered by their place, and maps of contact are of the time since the frame before.
same_but() { # A B
  local but='^$'
  [[ " $edits " != *' materials '* ]] || but+='|^  material: '
  [[ " $edits " != *' measure '* ]] && [[ " $edits " != *' every '* ]] || but+='|^  (only .* has )?contacts'
  "$firn" diff "$1" "$2" >diff.log 2>&1
  [ $? -lt 2 ] && [ -z "$(grep '^  ' diff.log | grep -v -E "$but|^  (different|the same)")" ] ||
    { fail "$1 and $2 are not the same with $edits" && show diff.log && bad_here=1; }
}

compare_edited() { # NUMBERS FOLDER CODE STEP
  local file wrong
  [ "$3" -eq "$code" ] || { blame "exit code $code instead of $3 on $1 with $edits" && show "$2.log"; }
  same_but "$(newest ref)" "$(newest "$2")"
  for file in "$2"/frames/frame_*.h5; do same_but "ref/frames/${file##*/}" "$file"; done
  for file in history.csv probes.csv; do
    [ -e ref/$file ] || continue
    wrong=$(kept ref/$file "$2/$file" "$4")
    [ -z "$wrong" ] || blame "$file on $1 with $edits: $wrong"
  done
  edited=$((edited + 1))
}

# By force, what comes in by another amount or at another time.
forced_edits() { # RANKS:THREADS FOLDER: its state stays to be gone on from
  local change=()
  if grep -q '^window' s.yml; then choose window.ahead=0.06 window.ahead=0.14 window.behind=0.15 snow.0.per_cell=5 'bodies.leader.velocity=[3, 0, 0]' && change+=(--set "$r"); fi
  if grep -q '^sources' s.yml; then choose sources.0.rate=2 sources.0.per_cell=3 sources.0.seed=99 sources.0.from=0.001 sources.0.name=other && change+=(--set "$r"); fi
  [ ${#change[@]} -gt 0 ] || return 0
  go "${1%:*}" "${1#*:}" "$2" s.yml --restart auto --force "${change[@]}"
  case $code in
    0 | 87) ;;
    1) grep -q -E 'halv|smaller' "$2.error" || { blame "does not go on with ${change[*]}" && show "$2.log"; } ;;
    *) blame "exit code $code with ${change[*]}" && show "$2.log" ;;
  esac
  same "$(newest "$2")" "$(newest "$2")" || bad_here=1 # ids that occur twice are an error
  forced=$((forced + 1))
}

# Takes a copy back to a random checkpoint, as if the run had ended right behind it, and lets it go on.
go_back() { # RANKS:THREADS FOLDER CODE
  local states at file step
  mapfile -t states < <(find "$2/checkpoints" -name 'checkpoint_*.h5' | LC_ALL=C sort)
  [ ${#states[@]} -gt 1 ] || return 0
  draw $((${#states[@]} - 1))
  at=$r
  cp -a "$2" back
  file=back/${states[at]#"$2/"}
  find back/frames -name 'frame_*.h5' -newer "$file" -delete
  for file in "${states[@]:at+1}"; do rm "back/${file#"$2/"}"; done
  [ $((k % 3)) -ne 1 ] || cp -a back forced
  step=${states[at]##*_} step=$((10#${step%.h5}))
  if [ $((k % 2)) -eq 0 ]; then
    permitted_edits
    go "${1%:*}" "${1#*:}" back e.yml --restart auto
    compare_edited "$1 from step $step" back "$3" "$step"
  else
    go "${1%:*}" "${1#*:}" back s.yml --restart auto
    compare "$1 from step $step" back "$3"
  fi
  says back.log "^continuing from .*$(basename "${states[at]}")"
  restarts=$((restarts + 1))
  [ ! -e forced ] || forced_edits "$1" forced
}

halvings=0 restarts=0 ended=0 windows=0 changed=0 edited=0 forced=0
for ((k = first; k < first + scenes * every; k += every)); do
  rm -rf -- ref* run* back* forced*
  bad_here=0
  scene "$k"
  go 1 1 ref s.yml
  want=$code
  case $want in
    0 | 87) ;;
    1) grep -q -E 'halv|smaller' ref.error && ended=$((ended + 1)) || { blame "does not run" && show ref.log; } ;;
    *) blame "exit code $want" && show ref.log ;;
  esac
  halvings=$((halvings + $(sed -n 's/.*(\([0-9]*\) halvings).*/\1/p' ref.log | head -n 1) + 0))
  check_deposits ref
  [ -z "$window" ] || windows=$((windows + 1))
  changed=$((changed + $(changes ref)))
  here=("${numbers[@]}")
  [ -n "$all" ] || here=("${numbers[k % ${#numbers[@]}]}")
  for number in "${here[@]}"; do
    rm -rf -- run*
    go "${number%:*}" "${number#*:}" run s.yml
    compare "$number" run "$want"
  done
  [ "$want" -eq 1 ] || go_back "${numbers[(k + 3) % ${#numbers[@]}]}" run "$want"
  [ $bad_here -eq 0 ] || { echo "scene $k:" && cat s.yml; } >&2
done
echo "random: $scenes scenes, $windows windows, $halvings halvings, $changed with changes of phase, $restarts restarts, $edited of them edited," \
  "$forced by force, $ended that end early"
[ "$scenes" -lt 20 ] || { [ $halvings -gt 0 ] && [ $restarts -gt 10 ] && [ $windows -gt 0 ] && [ $changed -gt 0 ] && [ $edited -gt 5 ] && [ $forced -gt 0 ]; } ||
  fail "too tame to prove anything"
finish random
