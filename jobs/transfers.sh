#!/usr/bin/env bash
# The measurements behind docs/transfers.md, as Markdown tables on standard output:
#   jobs/transfers.sh FIRN FOLDER [spin] [step] [cost] [smash] [picture]
# FIRN is the built command, FOLDER keeps the runs (some 200 MB); without further words everything is measured, in a
# quarter of an hour on an idle core. `cost` wants an idle machine; the others give the same numbers on any.
set -euo pipefail

if [ $# -lt 2 ]; then
  sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
  exit 1
fi
firn=$(realpath "$1") folder=$2
shift 2
[ $# -gt 0 ] || set -- spin step cost smash picture
mkdir -p "$folder"
cd "$folder"

kinds=()
for kernel in cubic quadratic; do
  for scheme in flip pic apic; do
    for force in mpm mls; do kinds+=("$scheme $kernel $force"); done
  done
done

# run FOLDER KIND SCENE OPTIONS...: quiet; the exit code is firn's
run() {
  local into=$1 kind=$2 scene=$3 scheme kernel force
  shift 3
  read -r scheme kernel force <<<"$kind"
  "$firn" run "$scene" --quiet --force --output "$into" --set transfer="{scheme: $scheme, kernel: $kernel, force: $force}" "$@" 2>>firn.log
}

# history FOLDER PROGRAM: awk over the history with the columns by name, at["kinetic"]; `first` is true on the first row
history() {
  awk -F, "NR == 1 { for (k = 1; k <= NF; k++) at[\$k] = k; next } { first = NR == 2 } $2" "$1/history.csv"
}

# A free elastic block that spins: nothing takes angular momentum from it but the transfer.
spin() {
  cat >spin.yml <<'END'
domain: {lower: [-0.3, -0.3, -0.3], cells: [30, 30, 30], spacing: 0.02}
gravity: [0, 0, 0]
time: {end: 0.1, step: 1e-4, frame_rate: 10}
materials: {snow: {plastic: false}}
snow: [{box: {center: [0, 0, 0], size: [0.24, 0.16, 0.12]}, spin: [0, 0, 20]}]
END
  echo "| transfer | L kept, explicit | K kept | L kept, semi-implicit | K kept |"
  echo "|---|---|---|---|---|"
  local kind way line
  for kind in "${kinds[@]}"; do
    line="| $kind"
    for way in '{scheme: explicit}' '{tolerance: 1e-8}'; do
      run spin "$kind" spin.yml --set integrator="$way"
      line+=$(history spin '{ l = $at["angular_z"]; k = $at["kinetic"] } first { l0 = l; k0 = k }
        END { printf " | %.4f | %.4f", l / l0, k / k0 }')
    done
    echo "$line |"
  done
}

# An elastic ball bounces off a wall. Stable: no halving, and kinetic plus elastic energy never grow by a per cent.
stable() { # KIND PLASTIC STEP
  run step "$1" step.yml --set materials.snow.plastic="$2" --set time.step="$3" || return 1
  history step '{ e = $at["kinetic"] + $at["elastic"]; halvings += $at["halvings"] } first { e0 = e } e > 1.01 * e0 { grew = 1 }
    END { exit halvings || grew }'
}

step() {
  cat >step.yml <<'END'
domain: {lower: [-0.2, -0.1, -0.1], cells: [26, 20, 20], spacing: 0.01}
gravity: [0, 0, 0]
time: {end: 0.06, frame_rate: 16.6666666666666667, cfl_sound: 1e3} # no step is cut
integrator: {scheme: explicit}
snow: [{sphere: {center: [-0.07, 0, 0], radius: 0.06}, velocity: [3, 0, 0], volume: exact}]
bodies: {wall: {plane: {point: [0, 0, 0], normal: [-1, 0, 0]}, friction: 0}}
END
  # h / c with c = sqrt((lambda + 2 mu) / density) of the default snow
  local sound=5.0709e-4 kind plastic low high middle line
  echo "| transfer | largest stable step, elastic (h/c) | snow (h/c) |"
  echo "|---|---|---|"
  for kind in "${kinds[@]}"; do
    line="| $kind"
    for plastic in false true; do
      low=0.05 high=3.2
      for _ in 1 2 3 4 5 6 7 8; do
        middle=$(awk -v a="$low" -v b="$high" 'BEGIN { print sqrt(a * b) }')
        if stable "$kind" $plastic "$(awk -v a="$middle" -v b=$sound 'BEGIN { printf "%.6e", a * b }')"; then low=$middle; else high=$middle; fi
      done
      line+=" | $(printf %.2f "$low")"
    done
    echo "$line |"
  done
}

# Seconds of a step, relative to flip cubic mpm, and of one iteration of the solver, on one thread. Every phase counts with its
# quickest run of 300, 60 in each of five rounds over all kinds: what else the machine did then hardly shows.
cost() {
  cat >cost.yml <<'END'
domain: {lower: [-0.4, -0.4, -0.4], cells: [80, 80, 80], spacing: 0.01}
time: {end: 6e-3, step: 1e-4, frame_rate: 166.666666666666667}
snow: [{box: {center: [0, 0, 0], size: [0.15, 0.15, 0.15]}, spin: [0, 0, 20]}]
END
  local kind
  rm -f cost.txt
  for _ in 1 2 3 4 5; do
    for kind in "${kinds[@]}"; do
      for way in '{scheme: explicit}' '{tolerance: 1e-2}'; do
        run cost "$kind" cost.yml --threads 1 --set integrator="$way"
        history cost 'NR > 6 { for (k in at) if (k ~ /^seconds_/) {
            s = $at[k] / (k == "seconds_solve" ? $at["iterations"] + 2 : 1)
            if (!(k in least) || s < least[k]) least[k] = s } }
          END { for (k in least) print "'"$kind,${way%%:*}"'" "," k "," least[k] }' >>cost.txt
      done
    done
  done
  # An iteration of the solver is the same code for all schemes.
  echo "| transfer | explicit step | CR iteration |"
  echo "|---|---|---|"
  awk -F, -v kinds="$(printf '%s,' "${kinds[@]}")" '
    { what = $2 == "{scheme" ? $1 : substr($1, index($1, " ")); key = what SUBSEP $2 SUBSEP $3
      if (!(key in least) || $4 < least[key]) least[key] = $4 }
    END {
      for (key in least) {
        split(key, part, SUBSEP)
        if (part[2] == "{scheme") step[part[1]] += least[key]
        else if (part[3] == "seconds_solve") solve[part[1]] = least[key]
      }
      n = split(kinds, kind, ",")
      for (k = 1; k < n; k++)
        printf "| %s | %.2f | %.2f |\n", kind[k], step[kind[k]] / step[kind[1]], solve[substr(kind[k], index(kind[k], " "))] / solve[" cubic mpm"]
    }' cost.txt
}

# A snowball thrown at a wall, as in scenes/snowball_smash.yml.
smash() {
  cat >smash.yml <<'END'
domain: {lower: [-0.8, -0.1, -0.5], cells: [96, 88, 80], spacing: 0.0125, slab_axis: z}
time: {end: 0.24, frame_rate: 50}
integrator: {tolerance: 1e-3}
materials: {packed: {poisson: 0.3, critical_compression: 3.5e-2, critical_stretch: 5e-3}}
snow: [{sphere: {center: [-0.2, 0.45, 0], radius: 0.12}, velocity: [12, 0.5, 0], spin: [0, 0, -10], seed: 3}]
bodies:
  wall: {plane: {point: [0.1, 0, 0], normal: [-1, 0, 0]}, friction: 0.5}
  ground: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, friction: 0.5}
camera: {eye: [-1.15, 0.7, 0.85], target: [0.0, 0.36, 0], field_of_view: 36}
END
  local kind
  echo "| transfer | K left at 0.06 s | K at 0.24 s | CR a step | halvings |"
  echo "|---|---|---|---|---|"
  for kind in "flip cubic mpm" "pic cubic mpm" "apic cubic mpm" "apic cubic mls" "apic quadratic mpm" "apic quadratic mls"; do
    run "smash_${kind// /_}" "$kind" smash.yml
    history "smash_${kind// /_}" '{ k = $at["kinetic"]; n++; it += $at["iterations"]; halvings += $at["halvings"] }
      first { k0 = k } $at["time"] <= 0.06 { after = k }
      END { printf "| '"$kind"' | %.2f %% | %.2f %% | %.1f | %d |\n", 100 * after / k0, 100 * k / k0, it / n, halvings }'
  done
}

# A column for each of four transfers, a row for each of three times.
picture() {
  local kind frame frames=()
  for frame in 2 4 8; do
    for kind in flip_cubic_mpm pic_cubic_mpm apic_cubic_mpm apic_quadratic_mls; do
      frames+=("smash_$kind/frames/frame_$(printf %06d "$frame").h5")
    done
  done
  "$firn" preview "${frames[@]}" -o transfers.png --columns 4 --size 184x150
}

for part in "$@"; do
  case $part in
    spin | step | cost | smash | picture)
      "$part"
      echo
      ;;
    *)
      echo "jobs/transfers.sh: unknown part '$part'; give spin, step, cost, smash or picture" >&2
      exit 1
      ;;
  esac
done
