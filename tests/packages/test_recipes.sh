#!/usr/bin/env bash
# What belongs to packages and can be checked anywhere: man pages and completion against the help they are made from, and the recipes
# against the build: their syntax, CMake's options, and that every library the build looks for is named.
#   test_recipes.sh FIRN MPIEXEC
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/cli/tools.sh
. "$here/../cli/tools.sh"
source=$(cd "$here/../.." && pwd)
recipes=$source/packaging
bash "$recipes/manual.sh" "$firn" manual >manual.log 2>&1 || { fail manual.sh && show manual.log; }

# A page a command, with all its options in bold; groff has nothing to say.
mapfile -t commands < <("$firn" help | sed -n 's/^  \([a-z]*\)  .*/\1/p')
[ "${#commands[@]}" -ge 10 ] || fail "firn help lists ${#commands[@]} commands"
for name in "${commands[@]}"; do
  page=manual/firn-$name.1
  [ -s "$page" ] || { fail "no page for $name" && continue; }
  for option in $("$firn" help "$name" | sed -n -E 's/^  (-[a-z], )?(--[a-z-]*).*/\2/p'); do
    grep -q -E -e "^\\.B .*${option//-/\\\\-}( |$)" "$page" || fail "$page does not have $option"
  done
done
if command -v groff >/dev/null; then
  for page in manual/*.1; do
    groff -man -ww -Tutf8 -z "$page" >groff.log 2>&1
    [ ! -s groff.log ] || { fail "$page" && show groff.log; }
  done
else
  skipped "man pages: groff is not there"
fi

complete_words() { # WORDS...: what the last one may become
  (
    # shellcheck disable=SC1091 # made above
    . manual/firn.bash
    # shellcheck disable=SC2034 # read by the function
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _firn
    echo "${COMPREPLY[*]}"
  )
}
completes() { # EXPECTED WORDS...
  local got
  got=$(complete_words "${@:2}")
  [ "$got" = "$1" ] || fail "completing '${*:2}' gives '$got' instead of '$1'"
}
touch a_scene.yml
completes 'preview' firn pr
completes '--trace --trace-steps' firn run --tr
completes 'a_scene.yml' firn run a_sc
completes 'hdr' firn model s.yml --network h
completes 'core' firn run s.yml --bind c
completes 'auto a_scene.yml' firn run s.yml --restart a
completes 'time' firn plot out -o p.svg --over ti
completes '--output' firn plot --ou
completes '--help' firn diff --h
completes 'model movie' firn help mo

# Recipes. Each library of CMakeLists.txt by the name it has there.
options=$(sed -n -E 's/^(option\((FIRN_[A-Z_]*)|set\((FIRN_[A-Z_]*) .* CACHE ).*/\2\3/p' "$source/CMakeLists.txt")
for recipe in spack/package.py easybuild/firn-*.eb; do
  for file in "$recipes"/$recipe; do
    python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$file" >python.log 2>&1 || { fail "$file" && show python.log; }
    for library in hdf5 hwloc yaml xxhash png freetype cairo; do
      grep -q -i -E "(depends_on\\(\"|\\(')[a-z]*$library" "$file" || fail "$file does not name $library"
    done
  done
done
for file in "$recipes"/spack/package.py "$recipes"/easybuild/*.eb "$recipes"/apptainer/firn.def; do
  for option in $(grep -o -E 'FIRN_[A-Z]+' "$file" | grep -v -x FIRN | sort -u); do
    grep -q -x "$option" <<<"$options" || fail "$file: CMake has no option $option"
  done
done
version=$(sed -n 's/^#define FIRN_VERSION_\(MAJOR\|MINOR\|PATCH\) \([0-9]*\).*/\2/p' "$source/include/firn/firn.h" | paste -sd.)
[[ $version == *.*.* ]] || fail "the version of firn.h is '$version'"
says "$recipes/spack/package.py" "version\\(\"$version\"\\)"
[ -e "$recipes/easybuild/firn-$version-foss-2023a.eb" ] || fail "EasyBuild's recipe is not of version $version"
# Whether OpenVDB is used does not depend on what the build host happens to have.
says "$recipes/spack/package.py" 'define_from_variant\("FIRN_OPENVDB", "openvdb"\)'
says "$recipes/easybuild/firn-$version-foss-2023a.eb" '-DFIRN_OPENVDB=OFF'

# A release: the same tarball each time, and recipes with its checksum.
if git -C "$source" rev-parse HEAD >/dev/null 2>&1; then
  for k in 1 2; do bash "$recipes/release.sh" release.$k >release.log 2>&1 || { fail "release.sh" && show release.log; }; done
  cmp "release.1/firn-$version.tar.gz" "release.2/firn-$version.tar.gz" || fail "two releases of one commit differ"
  sum=$(sha256sum "release.1/firn-$version.tar.gz" | cut -d' ' -f1)
  grep -q -F "version(\"$version\", sha256=\"$sum\")" release.1/spack/package.py || fail "Spack's recipe has not the checksum $sum"
  grep -q -x -F "checksums = ['$sum']" "release.1/easybuild/firn-$version-foss-2023a.eb" || fail "EasyBuild's recipe has not the checksum $sum"
  for file in release.1/spack/package.py release.1/easybuild/*.eb; do
    python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$file" >python.log 2>&1 || { fail "$file" && show python.log; }
  done
  tar xzf "release.1/firn-$version.tar.gz"
  [ -e "firn-$version/CMakeLists.txt" ] || fail "the tarball has no sources"
else
  skipped "a release: the tree is not a git checkout"
fi

# What the program links is listed, for those who unpack the tarball of installed files.
cmake -DPROGRAM="$firn" -DOUT="$work/libraries.txt" -P "$source/cmake/libraries.cmake" >cmake.log 2>&1 || { fail "libraries.cmake" && show cmake.log; }
readelf -d "$firn" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | LC_ALL=C sort >needed.txt
cmp needed.txt libraries.txt || fail "libraries.txt is not what the program needs: $(diff needed.txt libraries.txt)"
says libraries.txt '^libhdf5'
says "$source/cmake/install.cmake" 'libraries.cmake'

# The image installs what the set-up does, but for what only tests take.
# shellcheck source=jobs/setup.sh
. "$source/jobs/setup.sh"
for need in "${FIRN_NEEDS[@]}"; do
  package=${need%% : *}
  case $package in libcmocka-dev | hdf5-tools) continue ;; esac
  grep -q -w -e "$package" "$recipes/apptainer/firn.def" || fail "firn.def does not install $package"
done
for section in files post environment runscript test; do says "$recipes/apptainer/firn.def" "^%$section$"; done
for folder in $(sed -n '/^%files/,/^%post/s/^    \([^ ]*\) .*/\1/p' "$recipes/apptainer/firn.def"); do
  [ -e "$source/$folder" ] || fail "firn.def takes $folder, which is not there"
done
finish recipes
