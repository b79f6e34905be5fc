#!/usr/bin/env bash
# Firn for aarch64 (NEON): cross-compiled with Debian's GCC, its tests run under qemu-user.
#   tests/aarch64.sh [FOLDER [REGEX [CTEST OPTION...]]]   FOLDER keeps libraries and build between calls, default build/aarch64
# REGEX chooses tests as ctest -R does; by default the unit tests, and the reference cases and the tests of bits on few ranks, since
# the emulator takes many times as long. Libraries for arm64 come from Debian's archive and are unpacked into FOLDER/root: nothing
# is installed, and it takes no root.
# Ranks are started by this machine's mpirun, each an emulator of its own: both must be Open MPI of the same release.
# Exit code 77 (skipped) without the compiler, the emulator, or a network.
set -uo pipefail
unset LD_PRELOAD # what tests load here is for this machine
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/skip.sh
. "$here/skip.sh"
mkdir -p "${1:-$here/../build/aarch64}" && work=$(cd "${1:-$here/../build/aarch64}" && pwd) || exit 1
regex=${2:-'^unit\.|^mpi\.test_(bits|reference)\.[13]$|^mpi\.test_threads\.2$'}
root=$work/root triple=aarch64-linux-gnu
packages=(libc6-dev libgcc-s1 libgomp1 libopenmpi-dev libhdf5-openmpi-dev libpng-dev libfreetype-dev libhwloc-dev
  libhwloc-plugins libyaml-dev libxxhash-dev libcairo2-dev zlib1g-dev libcmocka-dev)

for tool in $triple-gcc qemu-aarch64-static apt-get dpkg-deb cmake; do
  command -v $tool >/dev/null || { skipped "aarch64: $tool is not there" && exit 77; }
done

# An apt of its own, with this machine's sources, which knows arm64 alone and believes that nothing is installed.
fetch() {
  local apt=$work/apt options deb
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" || return 1
  : >"$apt/status"
  options=(-q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State="$apt" -o Dir::State::status="$apt/status"
    -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt/cache" -o Debug::NoLocking=1)
  apt-get "${options[@]}" update &&
    apt-get "${options[@]}" install -y --no-install-recommends --download-only "${packages[@]}" || return 1
  rm -rf "$root" && mkdir -p "$root/usr/lib" && ln -s usr/lib "$root/lib" || return 1
  for deb in "$apt"/cache/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root" --keep-directory-symlink || return 1
  done
  # Links to absolute places would lead out of the root; and those that Debian's alternatives would make.
  find "$root/usr" -type l -lname '/*' | while read -r link; do
    ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$root$(readlink "$link")")" "$link"
  done
  touch "$work/fetched"
}

if [ ! -e "$work/fetched" ]; then
  fetch >"$work/fetch.log" 2>&1 ||
    { skipped "aarch64: its libraries could not be had ($(tail -n 1 "$work/fetch.log")); is there a network?" && exit 77; }
fi

cat >"$work/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER $triple-gcc)
set(CMAKE_SYSROOT $root)
set(CMAKE_LIBRARY_ARCHITECTURE $triple)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_\${kind} ONLY)
endforeach()
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static;-L;$root)
END
libraries=$root/usr/lib/$triple
export PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$libraries/pkgconfig:$root/usr/share/pkgconfig
# CMake would ask the compiler wrappers of this machine.
cat >"$work/h5pcc" <<END
#!/bin/sh
[ "\$1" != -showconfig ] || exec echo 'Parallel HDF5: yes'
echo $triple-gcc -I$root/usr/include/hdf5/openmpi -L$libraries/hdf5/openmpi -lhdf5
END
chmod +x "$work/h5pcc"
cmake -S "$here/.." -B "$work/build" --toolchain "$work/toolchain.cmake" -DCMAKE_BUILD_TYPE=Release -DFIRN_OPENVDB=OFF \
  -DFIRN_TEST_PATIENCE=10 -DMPI_SKIP_COMPILER_WRAPPER=ON -DMPI_ASSUME_NO_BUILTIN_MPI=ON -DMPI_C_LIB_NAMES=mpi \
  -DMPI_C_HEADER_DIR="$libraries/openmpi/include" -DMPI_mpi_LIBRARY="$libraries/openmpi/lib/libmpi.so" \
  -DMPIEXEC_EXECUTABLE="$(command -v mpirun)" -DHDF5_C_COMPILER_EXECUTABLE="$work/h5pcc" \
  >"$work/configure.log" 2>&1 || { echo "aarch64: cmake failed" && tail -n 40 "$work/configure.log" && exit 1; }
cmake --build "$work/build" --parallel "$(nproc)" >"$work/build.log" 2>&1 ||
  { echo "aarch64: the build failed" && tail -n 20 "$work/build.log" && exit 1; }
ctest --test-dir "$work/build" -R "$regex" --output-on-failure "${@:3}"
