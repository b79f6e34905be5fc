#!/usr/bin/env bash
# `cmake --install` gives something usable: into a fresh prefix, then C programs are built against it, shared and static, with
# pkg-config and with find_package(), and the examples of docs/python.md run from it.
#   test_install.sh FIRN MPIEXEC      FIRN is the built command; its folder is the build folder
set -uo pipefail
firn=$1 mpiexec=$2
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(dirname "$firn")
[ -x "$firn" ] || { echo "FAIL: $firn is not there; build it first" >&2 && exit 1; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

fail() {
  echo "FAIL: $1" >&2
  [ $# -lt 2 ] || sed 's/^/  /' "$2" >&2
  exit 1
}

cmake --install "$build" --prefix "$prefix" >"$work/log" 2>&1 || fail "cmake --install" "$work/log"
for file in bin/firn include/firn/firn.h lib/python3/dist-packages/firn/__init__.py share/firn/scenes/snowball_drop.yml; do
  [ -e "$prefix/$file" ] || fail "not installed: $file"
done
pc=$(find "$prefix" -name firn.pc)
[ -n "$pc" ] || fail "not installed: firn.pc"
grep -r -l -F "$source" "$prefix" --include='*.pc' --include='*.cmake' --include='*.h' >"$work/log" &&
  fail "installed files name the source folder" "$work/log"
[ "$("$prefix/bin/firn" --version)" = "$("$firn" --version)" ] || fail "the installed firn prints another version"

# Modulefiles: Lmod reads both kinds; Tcl alone reads its own.
mkdir -p "$work/modules"/{lua,tcl}/firn
cp "$prefix/share/firn/modules/firn.lua" "$work/modules/lua/firn/0.2.0.lua" || fail "not installed: firn.lua"
cp "$prefix/share/firn/modules/firn.tcl" "$work/modules/tcl/firn/0.2.0" || fail "not installed: firn.tcl"
lmod=/usr/share/lmod/lmod/libexec/lmod
if [ -x "$lmod" ]; then
  for kind in lua tcl; do
    (
      unset LMOD_CMD MODULEPATH FIRN LD_LIBRARY_PATH
      export MODULEPATH=$work/modules/$kind LD_LIBRARY_PATH=/before
      eval "$("$lmod" bash load firn/0.2.0 2>"$work/log")"
      [ "$(command -v firn)" = "$prefix/bin/firn" ] && [ "$FIRN" = "$prefix/bin/firn" ] && [ "$FIRN_HOME" = "$prefix" ] &&
        [ -e "$FIRN_HOME/share/firn/jobs/firn.pbs" ] && [ -e "${LD_LIBRARY_PATH%%:*}/libfirn.so" ] && [ "${LD_LIBRARY_PATH##*:}" = /before ] &&
        firn version >/dev/null && /usr/bin/python3 -c 'import os, sys; sys.exit(not os.path.isdir(os.environ["PYTHONPATH"].split(":")[0] + "/firn"))' &&
        PKG_CONFIG_PATH=$PKG_CONFIG_PATH pkg-config --exists firn && man -w firn-run >/dev/null
    ) || fail "the modulefile for $kind" "$work/log"
  done
else
  # shellcheck source=tests/skip.sh
  . "$source/tests/skip.sh"
  skipped "modulefiles in Lmod: it is not there (Debian: lmod)"
fi
/usr/bin/python3 -m py_compile "$prefix/share/firn/reframe/firn_checks.py" || fail "the tests for ReFrame"

cat >"$work/embed.c" <<'END'
#include <firn/firn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  struct firn_error err = {0, ""};
  struct firn_scene *scene = NULL;
  struct firn_sim *sim = NULL;
  struct firn_sim_info info = {0};
  struct firn_particles particles = {0};
  int code = firn_scene_load(&scene, MPI_COMM_WORLD, argv[1], NULL, 0, &err);
  if (!code) code = firn_sim_create(&sim, MPI_COMM_WORLD, scene, NULL, &err);
  for (int step = 0; step < 2 && !code; step++) code = firn_sim_step(sim, &err);
  if (!code) firn_sim_get_info(sim, &info);
  if (!code) firn_sim_get_particles(sim, &particles);
  long long local = particles.count, total = 0;
  MPI_Allreduce(&local, &total, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (code) fprintf(stderr, "%s\n", err.text);
  const int good = !code && total > 0 && total == info.particles && info.step >= 2 && info.time > 0.0;
  if (!code && !good) fprintf(stderr, "particles %lld of %lld, step %lld\n", total, (long long)info.particles, (long long)info.step);
  firn_sim_destroy(&sim);
  firn_scene_destroy(&scene);
  MPI_Finalize();
  return good ? 0 : 1;
}
END
mkdir "$work/cmake"
cat >"$work/cmake/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(embed LANGUAGES C)
find_package(firn REQUIRED COMPONENTS static)
add_executable(embed ../embed.c)
target_link_libraries(embed PRIVATE firn::firn)
add_executable(embed_static ../embed.c)
target_link_libraries(embed_static PRIVATE firn::static)
END

# A sanitized libfirn needs the same sanitizers in whoever links it.
mapfile -t extra < <(sed -n 's/^CMAKE_C_FLAGS:STRING=//p' "$build/CMakeCache.txt" | xargs -n 1 | grep -e '^-fsanitize')
export PKG_CONFIG_PATH=${pc%/*}
flags=$(pkg-config --cflags --libs firn 2>"$work/log") || fail "pkg-config firn" "$work/log"
# shellcheck disable=SC2086 # words on purpose
gcc -std=c11 -Wall -Werror "${extra[@]}" "$work/embed.c" -o "$work/embed" $flags >"$work/log" 2>&1 ||
  fail "compiling against libfirn with pkg-config" "$work/log"
echo '#include <firn/firn.h>' >"$work/header.cc"
# shellcheck disable=SC2046
g++ -fsyntax-only $(pkg-config --cflags firn) "$work/header.cc" >"$work/log" 2>&1 || fail "firn.h in C++" "$work/log"
cmake -S "$work/cmake" -B "$work/cmake/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS="${extra[*]}" >"$work/log" 2>&1 ||
  fail "find_package(firn)" "$work/log"
cmake --build "$work/cmake/build" >"$work/log" 2>&1 || fail "compiling against firn::firn" "$work/log"

# The library shows its interface and nothing else, under a name with its version.
so=$(find "$prefix" -name 'libfirn.so')
nm -D --defined-only "$so" | awk '$3 !~ /^firn_/ { print $3 }' >"$work/log"
[ ! -s "$work/log" ] || fail "libfirn.so shows more than firn_*" "$work/log"
[ "$(nm -D --defined-only "$so" | grep -c ' T firn_')" -ge 40 ] || fail "libfirn.so does not show its interface"
readelf -d "$so" | grep -q 'SONAME.*libfirn\.so\.[0-9]*\.[0-9]*\]' || fail "libfirn.so has no SONAME"
static=$(pkg-config --cflags --libs firn-static 2>"$work/log") || fail "pkg-config firn-static" "$work/log"
# shellcheck disable=SC2086
gcc -std=c11 -Wall -Werror "${extra[@]}" "$work/embed.c" -o "$work/embed_static" $static >"$work/log" 2>&1 ||
  fail "compiling against libfirn.a with pkg-config" "$work/log"
# shellcheck disable=SC2086
gcc -std=c11 -Wall -Wextra -Werror "${extra[@]}" "$source/tests/library/plow.c" -o "$work/plow" $flags >"$work/log" 2>&1 ||
  fail "compiling tests/library/plow.c" "$work/log"
export LD_LIBRARY_PATH=${so%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

scene=$prefix/share/firn/scenes/hello.yml
cd "$work" || exit 1
for program in "$work/embed" "$work/embed_static" "$work/cmake/build/embed" "$work/cmake/build/embed_static"; do
  timeout 1200 "$mpiexec" -n 2 "$program" "$scene" >"$work/log" 2>&1 || fail "running the embedded solver" "$work/log"
done
[ ! -e "$work/out" ] || fail "stepping an embedded simulation wrote files"

# A plow driven by a controller that reads its force: the same numbers on one rank and on two, and if it goes on from a
# checkpoint.
cat >plow.yml <<'END'
domain: {lower: [0, 0, 0], cells: [32, 12, 12], spacing: 0.01}
time: {end: 0.012, frame_rate: 250, max_step: 4e-4}
snow: [{box: {lower: [0.08, 0.02, 0.02], upper: [0.2, 0.06, 0.1]}}]
bodies:
  floor: {plane: {point: [0, 0.02, 0], normal: [0, 1, 0]}}
  blade: {box: {lower: [0.02, 0.02, 0.02], upper: [0.076, 0.1, 0.1]}, velocity: [2, 0, 0], measure: true}
output: {precision: f64}
checkpoint: {frames: 1, keep: 2}
END
timeout 1200 "$mpiexec" -n 1 ./plow plow.yml 20 out/one >one.txt 2>"$work/log" || fail "the plow on one rank" "$work/log"
timeout 1200 "$mpiexec" -n 2 ./plow plow.yml 20 out/two >two.txt 2>"$work/log" || fail "the plow on two ranks" "$work/log"
cmp -s one.txt two.txt || fail "the plow differs between one and two ranks: $(cat one.txt two.txt)"
"$prefix/bin/firn" diff out/one out/two >"$work/log" 2>&1 || fail "the plow's runs differ" "$work/log"
# 31 steps, blade at X m, V m/s, at most F N
awk '{ exit !($1 > 20 && $5 > 0.055 && $7 < 2 && $11 > 20) }' one.txt || fail "the controller did nothing: $(cat one.txt)"
sed 's/end: 0.012/end: 0.008/' plow.yml >half.yml
timeout 1200 "$mpiexec" -n 2 ./plow half.yml 20 out/again >again.txt 2>"$work/log" || fail "half of the plow" "$work/log"
timeout 1200 "$mpiexec" -n 1 ./plow plow.yml 20 out/again restart >again.txt 2>"$work/log" || fail "the plow goes on" "$work/log"
"$prefix/bin/firn" diff out/one out/again >"$work/log" 2>&1 || fail "a plow that went on differs" "$work/log"

# The same scene by the command, and by C with hooks that do nothing: the same bytes in frames, probes and the series, the same
# state in checkpoints (which name their run), and the same history but for times.
same_files() { # FOLDER FOLDER
  local file
  for file in $(cd "$1" && find frames -name '*.h5') probes.csv ball.xdmf; do
    cmp "$1/$file" "$2/$file" >"$work/log" 2>&1 || fail "$1 and $2 differ in $file" "$work/log"
  done
  for file in $(cd "$1" && find checkpoints -name '*.h5'); do
    "$prefix/bin/firn" diff "$1/$file" "$2/$file" >"$work/log" 2>&1 || fail "$1 and $2 differ in $file" "$work/log"
  done
  [ "$(find "$1"/frames "$1"/checkpoints -name '*.h5' | wc -l)" -ge 4 ] || fail "$1 has too few files to compare"
  [ "$(cd "$1" && find . -name '*.h5' | LC_ALL=C sort)" = "$(cd "$2" && find . -name '*.h5' | LC_ALL=C sort)" ] ||
    fail "$1 and $2 have other files"
  python3 - "$1" "$2" >"$work/log" 2>&1 <<'END' || fail "the histories of $1 and $2 differ" "$work/log"
import csv, sys
def table(folder):
    rows = list(csv.DictReader(open(folder + "/history.csv")))
    return [{k: v for k, v in row.items() if not k.startswith("seconds") and k not in ("wall", "imbalance")} for row in rows]
a, b = (table(folder) for folder in sys.argv[1:])
assert len(a) > 10 and len(a[0]) > 15 and a == b, [(k, x[k], y[k]) for x, y in zip(a, b) for k in x if x[k] != y[k]][:5]
END
}
page=$source/docs/python.md
awk '/^```yaml/ { on = 1; next } /^```/ { on = 0 } on' "$page" >ball.yml
timeout 1200 "$mpiexec" -n 2 "$prefix/bin/firn" run ball.yml --output out/ball --threads 1 --quiet </dev/null >"$work/log" 2>&1 ||
  fail "the run of the page" "$work/log"
# shellcheck disable=SC2086
gcc -std=c11 -Wall -Wextra -Werror "${extra[@]}" "$source/tests/library/hooks.c" -o "$work/hooks" $flags >"$work/log" 2>&1 ||
  fail "compiling tests/library/hooks.c" "$work/log"
OMP_NUM_THREADS=1 timeout 1200 "$mpiexec" -n 2 ./hooks ball.yml out/hooks >"$work/log" 2>&1 || fail "a run with hooks" "$work/log"
same_files out/ball out/hooks

# Python, from the prefix and from the source tree.
python=/usr/bin/python3
if ! "$python" -c 'import numpy, h5py, mpi4py, matplotlib' 2>"$work/log"; then
  # shellcheck source=tests/skip.sh
  . "$source/tests/skip.sh"
  skipped "python examples: $(tail -n 1 "$work/log"); apt install python3-h5py python3-mpi4py python3-matplotlib"
  echo "install: good"
  exit 0
fi
export PYTHONPATH=$prefix/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
awk '/^```py$/ { n++; on = 1; next } /^```/ { on = 0 } on { print >("example" n ".py") }' "$page"
[ "$(find . -maxdepth 1 -name 'example*.py' | wc -l)" -eq 7 ] || fail "there are not seven examples in $page"
for k in 1 2 3 4 5 7; do
  timeout 1200 "$python" "example$k.py" >"example$k.txt" 2>"$work/log" </dev/null || fail "example $k of python.md" "$work/log"
done
timeout 1200 "$mpiexec" -n 3 "$python" example6.py >example6.txt 2>"$work/log" </dev/null || fail "example 6 on three ranks" "$work/log"
for k in 1 2 3 4 6 7; do
  [ "$(wc -l <"example$k.txt")" -ge 1 ] || fail "example $k of python.md prints nothing"
done
for run in ranks plotted; do
  "$prefix/bin/firn" diff out/ball "out/$run" >"$work/log" 2>&1 || fail "Python's run out/$run is not that of the command" "$work/log"
done
[ "$(head -c 4 energy.png | tail -c 3)" = PNG ] || fail "no plot of the history"
cat >hooks.py <<'END'
import firn
from mpi4py import MPI

calls = []
with firn.Simulation(firn.Scene("ball.yml", output__folder="out/pyhooks"), MPI.COMM_WORLD, write=True, threads=1) as sim:
    sim.before_step(lambda sim: calls.append(0))
    sim.after_step(lambda sim: calls.append(0))
    sim.run(progress=False)
    assert 2 <= len(calls) <= 2 * sim.info.step, (len(calls), sim.info.step)
END
timeout 1200 "$mpiexec" -n 2 "$python" hooks.py >"$work/log" 2>&1 </dev/null || fail "Python's hooks that do nothing" "$work/log"
same_files out/ball out/pyhooks
timeout 1200 "$python" "$source/tests/library/promises.py" >"$work/log" 2>&1 </dev/null || fail "what python.md promises" "$work/log"
timeout 300 "$mpiexec" -n 2 "$python" "$source/tests/library/promises.py" ranks >"$work/log" 2>&1 </dev/null
code=$?
{ [ $code -ne 0 ] && [ $code -ne 124 ] && grep -q 'RuntimeError: all ranks end with this' "$work/log"; } ||
  fail "an exception of one rank: exit code $code" "$work/log"
grep -E 'MPI_FINALIZE|did not end' "$work/log" && fail "an exception of one rank" "$work/log"
"$prefix/bin/firn" diff out/ball out/killed >"$work/log" 2>&1 || fail "a run that Python left and went on with differs" "$work/log"
cat >kill.py <<'END'
import os, signal
import firn

sim = firn.Simulation(firn.Scene("ball.yml", output__folder="out/shot"), write=True)
sim.advance_to_frame(1)
sim.step()
os.kill(os.getpid(), signal.SIGKILL)
END
timeout 600 "$python" kill.py >"$work/log" 2>&1 </dev/null
[ $? -eq 137 ] || fail "a run of Python's that kills itself" "$work/log"
timeout 600 "$python" -c 'import firn
with firn.Simulation(firn.Scene("ball.yml", output__folder="out/shot"), write=True, restart="auto") as sim:
    assert sim.frame == 1, sim.frame
    sim.run(progress=False)' >"$work/log" 2>&1 </dev/null || fail "continuing a killed run of Python's" "$work/log"
"$prefix/bin/firn" diff out/ball out/shot >"$work/log" 2>&1 || fail "a killed run of Python's that went on differs" "$work/log"
unset PYTHONPATH
cp -r "$source/python" "$work/python"
timeout 600 "$python" -m pip install --no-build-isolation --no-deps --no-index --target "$work/site" "$work/python" >"$work/log" 2>&1 </dev/null ||
  fail "pip install from the source tree" "$work/log"
PYTHONPATH=$work/site FIRN_LIBRARY=$so "$python" -c 'import firn; assert firn.version().startswith(firn.__version__)' >"$work/log" 2>&1 ||
  fail "the package that pip installed" "$work/log"
echo "install: good"
