#!/usr/bin/env bash
# Random scenes: shapes, bodies, transfers, all models of matter, windows, steps that must be halved; every third with heat, where snow
# melts, water runs and freezes, and forces and energies are measured. One rank with one thread is the reference; other numbers of both,
# and a restart from a random checkpoint on yet another, give the same frames, states and history.
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

# A shape of at most 0.045 m around x, 0.055, 0.
simple_shape() { # X, thousandths
  local x y z
  between $(($1 - 10)) $(($1 + 10)) && x=$r
  between 48 60 && y=$r
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
    3) between 10 20 && r="capsule: {from: [$x, 0.045, $z], to: [$x, 0.066, 0.02], radius: $r}" ;;
    4) between 10 30 && r="cylinder: {from: [$x, 0.045, $z], to: [$x, 0.07, 0.01], radius: $r}" ;;
    5) between 20 40 && r="cone: {from: [$x, 0.035, $z], to: [$x, 0.075, 0.01], radius: $r}" ;;
    6) turn && r="wedge: {center: [$x, $y, $z], size: [0.05, 0.04, 0.05], $r}" ;;
    7) r="heightfield: {form: noise, center: [$x, 0.04, $z], size: [0.07, 0.02, 0.06], height: 0.02, wavelength: 0.03, spacing: 0.003}" ;;
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

# What a body has besides in a scene with heat.
body_heat() { # BODY
  local warm='' rub=''
  [ $heated = 1 ] || { r=$1 && return; }
  choose '' 230 330 '{keys: [{time: 0, temperature: 250}, {time: 0.01, temperature: 340}]}'
  [ -z "$r" ] || warm=", temperature: $r"
  [ "${1/sticky: true/}" != "$1" ] || { choose '' 0.2 0.7 && [ -z "$r" ] || rub=", liquid_friction: $r"; }
  draw 2 && [ "$r" -eq 0 ] || rub+=', measure: true'
  r="${1%\}}$warm$rub}"
}

item() { # X SCHEME: snow of material m0 or m1
  local how velocity spin vary='' warm='' liquid=0
  shape "$1"
  local form=$r
  choose 'per_cell: 3' 'per_cell: 5' 'per_cell: 4.5, sampling: jittered' 'per_cell: 4, sampling: poisson' 'particles: 700' \
    'particles: 500, sampling: random' 'particles: 600, sampling: jittered, volume: exact' && how=$r
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
    [ $liquid = 0 ] || { vary='' && how=${how/, volume: exact/}; }
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
    3) r="{sphere: {center: [0, 0.02, 0.01], radius: 0.03}, friction: $friction, start: 0.006, end: 0.018}" ;;
    4) vector -15 15 && r="{capsule: {from: [0, 0.02, -0.05], to: [0, 0.05, 0.05], radius: 0.02}, sticky: true, sticky_above: 60, motion: {keys: [{time: 0}, {time: 0.01, move: $r}, {time: 0.04}]}}" ;;
    5) r="{union: [{sphere: {center: [0.01, 0.01, 0], radius: 0.03}}, {box: {center: [0, 0, 0.02], size: [0.1, 0.04, 0.03]}}], friction: $friction}" ;;
  esac
  body_heat "$r"
  r="  $1: $r"
}

scene() { # NUMBER > s.yml
  state=$(($1 * 7919 + 17))
  draw 2 && draw 2
  local scheme transfer kernel force axis halved=0 step second k lines=() velocity output=''
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
  [ "$halved$scheme" != 1explicit ] || step='step: 3e-4' # beyond what is stable, in part
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
  body_heat "{plane: {point: [0, 0, 0], normal: [0, 1, 0]}}"
  lines+=("  floor: $r")
  draw 3 && second=$r
  for ((k = 0; k < second; k++)); do
    body "b$k"
    lines+=("$r")
  done
  [ -z "$window" ] || lines+=("  leader: {sphere: {center: [-0.08, 0.3, 0], radius: 0.01}, velocity: [6, 0, 0]}"
    "window: {follow: leader, axis: x, ahead: 0.1, behind: 0.08}")
  if [ $heated = 1 ]; then
    heat && lines+=("heat: $r")
    draw 2 && [ "$r" -eq 0 ] || {
      vector -1000 1000 && velocity=$r
      choose 0.5 3 && r="{sphere: {center: [0, 0.1, 0], radius: 0.02}, rate: $r, velocity: $velocity, material: m0"
      lines+=("sources:" "  - $r, phase: liquid, temperature: 275}" "sinks: [{box: {lower: [-0.2, -0.04, -0.1], upper: [-0.17, 0.2, 0.1]}}]")
    }
    draw 2 && [ "$r" -eq 0 ] || output=', budget: true'
  fi
  draw 12
  {
    echo "domain: {lower: [-0.2, -0.04, -0.1], cells: [40, 24, 20], spacing: 0.01, slab_axis: $axis}"
    echo "time: {end: 0.024, frame_rate: 150, $step}"
    printf '%s\n' "${lines[@]}"
    echo "output: {fields: [mass, density, jp, fe, stress, material], precision: f64$output}"
    echo "checkpoint: {steps: $((r + 5)), keep: 1000}"
  } >s.yml
}

# One run: its exit code in $code, and the error without what depends on the ranks.
go() { # RANKS THREADS FOLDER OPTIONS...
  local ranks=$1 threads=$2 folder=$3 start=()
  shift 3
  [ "$ranks" = 1 ] || start=("$mpiexec" -n "$ranks")
  timeout 300 "${start[@]}" "$firn" run s.yml --threads "$threads" --output "$folder" "$@" >"$folder.log" 2>&1 </dev/null
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
}

# Takes a copy back to a random checkpoint, as if the run had ended right behind it, and lets it go on.
go_back() { # RANKS:THREADS FOLDER CODE
  local states at file
  mapfile -t states < <(find "$2/checkpoints" -name 'checkpoint_*.h5' | LC_ALL=C sort)
  [ ${#states[@]} -gt 1 ] || return 0
  draw $((${#states[@]} - 1))
  at=$r
  cp -a "$2" back
  file=back/${states[at]#"$2/"}
  find back/frames -name 'frame_*.h5' -newer "$file" -delete
  for file in "${states[@]:at+1}"; do rm "back/${file#"$2/"}"; done
  go "${1%:*}" "${1#*:}" back --restart auto
  says back.log "^going on from .*$(basename "${states[at]}")"
  compare "$1 from $(basename "${states[at]}")" back "$3"
  restarts=$((restarts + 1))
}

halvings=0 restarts=0 ended=0 windows=0 changed=0
for ((k = first; k < first + scenes * every; k += every)); do
  rm -rf -- ref* run* back*
  bad_here=0
  scene "$k"
  go 1 1 ref
  want=$code
  case $want in
    0 | 87) ;;
    1) grep -q -E 'halv|smaller' ref.error && ended=$((ended + 1)) || { blame "does not run" && show ref.log; } ;;
    *) blame "exit code $want" && show ref.log ;;
  esac
  halvings=$((halvings + $(sed -n 's/.*(\([0-9]*\) halvings).*/\1/p' ref.log | head -n 1) + 0))
  [ -z "$window" ] || windows=$((windows + 1))
  changed=$((changed + $(changes ref)))
  here=("${numbers[@]}")
  [ -n "$all" ] || here=("${numbers[k % ${#numbers[@]}]}")
  for number in "${here[@]}"; do
    rm -rf -- run*
    go "${number%:*}" "${number#*:}" run
    compare "$number" run "$want"
  done
  [ "$want" -eq 1 ] || go_back "${numbers[(k + 3) % ${#numbers[@]}]}" run "$want"
  [ $bad_here -eq 0 ] || { echo "scene $k:" && cat s.yml; } >&2
done
echo "random: $scenes scenes, $windows windows, $halvings halvings, $changed with changes of phase, $restarts restarts, $ended that end early"
[ "$scenes" -lt 20 ] || { [ $halvings -gt 0 ] && [ $restarts -gt 10 ] && [ $windows -gt 0 ] && [ $changed -gt 0 ]; } ||
  fail "too tame to prove anything"
finish random
