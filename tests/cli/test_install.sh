#!/usr/bin/env bash
# `cmake --install` gives something usable: into a fresh prefix, then a small MPI program is built against it, once
# with pkg-config and once with find_package(), and runs two steps of a scene on two ranks.
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
for file in bin/firn include/firn/firn.h share/firn/scenes/snowball_drop.yml; do
  [ -e "$prefix/$file" ] || fail "not installed: $file"
done
pc=$(find "$prefix" -name firn.pc)
[ -n "$pc" ] || fail "not installed: firn.pc"
grep -r -l -F "$source" "$prefix" --include='*.pc' --include='*.cmake' --include='*.h' >"$work/log" &&
  fail "installed files name the source folder" "$work/log"
[ "$("$prefix/bin/firn" --version)" = "$("$firn" --version)" ] || fail "the installed firn prints another version"

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
  if (!code) code = firn_sim_create(&sim, MPI_COMM_WORLD, scene, &err);
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
find_package(firn REQUIRED)
add_executable(embed ../embed.c)
target_link_libraries(embed PRIVATE firn::firn)
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

scene=$prefix/share/firn/scenes/snowball_drop.yml
cd "$work" || exit 1
for program in "$work/embed" "$work/cmake/build/embed"; do
  timeout 120 "$mpiexec" -n 2 "$program" "$scene" >"$work/log" 2>&1 || fail "running the embedded solver" "$work/log"
done
[ ! -e "$work/out" ] || fail "stepping an embedded simulation wrote files"
echo "install: good"
