#!/usr/bin/env bash
# What quickstart.sh and tests/run.sh share; they source this file, and called by itself it only sets the machine up. It finds
# out what is missing, says so, installs it with apt-get (directly as root, through sudo as a user), and stops with one
# line when it cannot.
#
# A thing is looked for by what it provides (a command, a pkg-config module), not by its package, so a cluster's own modules count,
# and a machine that is not Debian works once everything is there. Running it again costs some milliseconds.

# package : how to see that it is there ("command NAME...", "module NAME", "font FILE" or "file PATH")
FIRN_NEEDS=(
  "build-essential : command gcc make"
  "cmake : command cmake"
  "pkg-config : command pkg-config"
  "libopenmpi-dev : command mpicc"
  "openmpi-bin : command mpirun"
  "libhdf5-openmpi-dev : command h5pcc"
  "libhwloc-dev : module hwloc"
  "hdf5-tools : command h5diff"
  "libyaml-dev : module yaml-0.1"
  "libcmocka-dev : module cmocka"
  "libpng-dev : module libpng"
  "libxxhash-dev : module libxxhash"
  "libfreetype-dev : module freetype2"
  "libcairo2-dev : module cairo"
  "fonts-dejavu-core : font DejaVuSans-Bold.ttf"
  "zlib1g-dev : module zlib"
)
# What some of the tests take besides. Without these all is built, and the tests that lack them say so.
FIRN_TEST_NEEDS=(
  "clang-format-14 : command clang-format-14"
  "libxml2-utils : command xmllint"
  "locales : file /usr/share/i18n/charmaps/ANSI_X3.4-1968.gz"
  "procps : command pgrep"
  "groff : command groff"
  "clang-14 : command clang-14"
  "libomp-14-dev : file /usr/lib/llvm-14/lib/libomp.so"
  "libclang-rt-14-dev : file /usr/lib/llvm-14/lib/clang/14.0.6/lib/linux"
  "slurm-wlm : command sbatch /usr/sbin/slurmctld /usr/sbin/slurmd"
  "munge : command munge /usr/sbin/munged"
  "python3 : command python3"
  "python3-h5py : file /usr/lib/python3/dist-packages/h5py"
  "python3-mpi4py : file /usr/lib/python3/dist-packages/mpi4py"
  "python3-matplotlib : file /usr/lib/python3/dist-packages/matplotlib"
  "python3-setuptools : file /usr/lib/python3/dist-packages/setuptools"
  "python3-pip : file /usr/lib/python3/dist-packages/pip"
)
# Asked for with FIRN_OPENVDB=1: what `firn export` writes VDB files with, and a C++ compiler comes with build-essential.
[ -z "${FIRN_OPENVDB:-}" ] || FIRN_NEEDS+=("libopenvdb-dev : file /usr/include/openvdb/openvdb.h" "libboost-dev : file /usr/include/boost/version.hpp")
# Asked for with FIRN_GDAL=1: what reads terrain as GeoTIFF and polygons as shapefiles.
[ -z "${FIRN_GDAL:-}" ] || FIRN_NEEDS+=("libgdal-dev : file /usr/include/gdal/gdal.h")
# Films, the page in a browser and VDB files: for all but the quick subset.
FIRN_PICTURE_NEEDS=(
  "ffmpeg : command ffmpeg"
  "chromium : command chromium"
  "libopenvdb-dev : file /usr/include/openvdb/openvdb.h"
  "libboost-dev : file /usr/include/boost/version.hpp"
  "libgdal-dev : file /usr/include/gdal/gdal.h"
  "gdal-bin : command gdalinfo gdal_translate"
  "python3-rasterio : file /usr/lib/python3/dist-packages/rasterio"
)
FIRN_NIGHTLY_NEEDS=(
  "debootstrap : command debootstrap"
  "python3-paraview : command pvpython"
  "dpkg-dev : command dpkg-shlibdeps"
  "clang-tidy-14 : command clang-tidy-14"
  "file : command file"
  "gcc-aarch64-linux-gnu : command aarch64-linux-gnu-gcc"
  "qemu-user-static : command qemu-aarch64-static"
)

firn_die() {
  echo "firn set-up: $*" >&2
  exit 1
}

firn_has() { # kind name...
  local kind=$1 name
  shift
  for name in "$@"; do
    case $kind in
      command) command -v "$name" >/dev/null 2>&1 || return 1 ;;
      module) pkg-config --exists "$name" 2>/dev/null || return 1 ;;
      file) [ -e "$name" ] || return 1 ;;
      font) [ -n "$(find /usr/share/fonts /usr/local/share/fonts "$HOME/.local/share/fonts" -name "$name" -print -quit 2>/dev/null)" ] || return 1 ;;
    esac
  done
}

firn_missing() { # NEEDS...: prints the packages that are not there
  local need how
  for need in "$@"; do
    read -ra how <<<"${need#* : }"
    firn_has "${how[@]}" || printf '%s ' "${need%% : *}"
  done
}

# Runs apt-get as whoever may; what it prints goes to the log, which is shown in part when it fails.
firn_apt() { # log arguments...
  local log=$1 as=()
  shift
  if [ "$(id -u)" -ne 0 ]; then
    as=(sudo)
    [ -t 0 ] || as=(sudo -n) # nobody is there to type a password
  fi
  "${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 -o Acquire::Retries=2 \
    -o Acquire::http::Timeout=30 "$@" >>"$log" 2>&1 </dev/null
}

firn_install() { # packages...
  local log reason with=apt-get hint=""
  command -v apt-get >/dev/null 2>&1 ||
    firn_die "this is not Debian (no apt-get); install by hand what these packages hold: $*"
  [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null 2>&1 ||
    firn_die "neither root nor sudo; ask for: apt-get install --no-install-recommends $*"
  log=$(mktemp "${TMPDIR:-/tmp}/firn-setup.XXXXXX") || firn_die "cannot write to ${TMPDIR:-/tmp}"
  [ "$(id -u)" -eq 0 ] || with="sudo apt-get"
  echo "firn set-up: missing here: $*; installing with $with"
  # A failed update is no verdict yet: the packages may be known from an earlier one.
  firn_apt "$log" update -q -o APT::Update::Error-Mode=any || hint="; 'apt-get update' failed before: is there a network?"
  if ! firn_apt "$log" install -q -y --no-install-recommends "$@"; then
    reason=$(grep -m 1 -E '^(E|sudo):' "$log")
    firn_die "apt-get could not install $* (${reason:-no reason given}$hint; whole log: $log)"
  fi
  rm -f "$log"
}

firn_check_cmake() {
  local have least=3.25
  have=$(cmake --version | sed -n '1s/.* //p')
  [ "$(printf '%s\n' "$least" "$have" | sort -V | head -n 1)" = "$least" ] ||
    firn_die "CMake $least or newer is needed and this is $have; 'pip install cmake' gives a newer one"
}

# Open MPI refuses root and more ranks than cores unless told otherwise, and ranks that wait would starve the ones that work.
# Set for the calling script alone; what the user has set stays.
firn_mpi_environment() {
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  export OMPI_MCA_rmaps_base_oversubscribe=${OMPI_MCA_rmaps_base_oversubscribe:-1}
  export OMPI_MCA_mpi_yield_when_idle=${OMPI_MCA_mpi_yield_when_idle:-1}
  export OMPI_MCA_hwloc_base_binding_policy=${OMPI_MCA_hwloc_base_binding_policy:-none}
  # Containers often forbid reading another process's memory, and Open MPI complains at every start.
  export OMPI_MCA_btl_vader_single_copy_mechanism=${OMPI_MCA_btl_vader_single_copy_mechanism:-none}
}

# What is missing of these is installed where that can be done; the rest is named, and is no error.
firn_setup_tests() { # quick, all or nightly
  local needs=("${FIRN_TEST_NEEDS[@]}") missing
  [ "$1" = quick ] || needs+=("${FIRN_PICTURE_NEEDS[@]}")
  [ "$1" != nightly ] || needs+=("${FIRN_NIGHTLY_NEEDS[@]}")
  missing=$(firn_missing "${needs[@]}")
  [ -n "$missing" ] || return 0
  # shellcheck disable=SC2086 # a list of words on purpose
  (firn_install $missing) || echo "firn set-up: going on without $missing" >&2
  hash -r
}

firn_setup() {
  local missing
  missing=$(firn_missing "${FIRN_NEEDS[@]}")
  if [ -n "$missing" ]; then
    # shellcheck disable=SC2086 # a list of words on purpose
    firn_install $missing
    hash -r
    missing=$(firn_missing "${FIRN_NEEDS[@]}")
    [ -z "$missing" ] || firn_die "installed, yet still not found: ${missing% }; is PATH or PKG_CONFIG_PATH unusual?"
  fi
  firn_check_cmake
  firn_mpi_environment
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  set -euo pipefail
  firn_setup
  echo "firn set-up: everything is there"
fi
