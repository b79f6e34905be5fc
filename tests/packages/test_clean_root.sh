#!/usr/bin/env bash
# The .deb and the tarball on a fresh Debian: a root of its own (debootstrap), the package installed there with what it depends on and
# nothing else, and runs by a user who is not root: on one rank and on two, with the same bits as the program that was built here.
#   test_clean_root.sh FIRN MPIEXEC      FIRN_CLEAN_ROOT is a root that debootstrap made earlier; it is changed
# Exit code 77 (skipped) without debootstrap, root, or a network.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/cli/tools.sh
. "$here/../cli/tools.sh"
build=$(dirname "$firn")
[ "$(id -u)" -eq 0 ] || { skipped "a clean root: it takes root" && exit 77; }
command -v debootstrap >/dev/null || { skipped "a clean root: debootstrap is not there" && exit 77; }
command -v dpkg-shlibdeps >/dev/null || { skipped "a clean root: dpkg-dev is not there" && exit 77; }

(cd "$build" && cpack -B "$work/packages") >cpack.log 2>&1 || { fail cpack && show cpack.log; }
deb=$(find packages -maxdepth 1 -name 'firn_*.deb') tarball=$(find packages -maxdepth 1 -name 'firn-*.tar.gz')
[ -n "$deb" ] && [ -n "$tarball" ] || { fail "no package" && finish packages; }

root=${FIRN_CLEAN_ROOT:-$work/root}
if [ ! -x "$root/usr/bin/apt-get" ]; then
  debootstrap --variant=minbase bookworm "$root" >debootstrap.log 2>&1 ||
    { skipped "a clean root: debootstrap failed ($(tail -n 1 debootstrap.log)); is there a network?" && exit 77; }
fi
for place in proc dev sys; do
  mount --rbind "/$place" "$root/$place" && mount --make-rslave "$root/$place" && echo "$root/$place" >>mounted
done
cp /etc/resolv.conf "$root/etc/resolv.conf"
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"; }
as_user() { # COMMAND: in a shell of the user, in his home
  chroot "$root" /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/home/snow USER=snow OMPI_MCA_rmaps_base_oversubscribe=1 \
    OMPI_MCA_btl_vader_single_copy_mechanism=none setpriv --reuid=snow --regid=snow --clear-groups bash -c "cd && $1"
}
cp "$deb" "$root/tmp/firn.deb" && cp "$tarball" "$root/tmp/firn.tar.gz"
(inside apt-get update -q && inside apt-get install -q -y --no-install-recommends /tmp/firn.deb) >apt.log 2>&1 ||
  { fail "apt-get install of the package" && show apt.log; }
inside id snow >/dev/null 2>&1 || inside useradd -m snow || fail useradd
small_scene | sed 's/end: 0.05/end: 0.0125/' >s.yml
install -m 644 s.yml "$root/home/snow/s.yml"
rm -rf "$root/home/snow/one" "$root/home/snow/two" "$root/home/snow/three"

as_user 'id -un && firn version && firn run s.yml --output one --threads 1 && mpirun -n 2 firn run s.yml --output two --threads 1' >deb.log 2>&1 ||
  { fail "runs of the package" && show deb.log; }
says deb.log '^snow$'
as_user 'mkdir -p t && tar xzf /tmp/firn.tar.gz -C t && mpirun -n 3 t/*/bin/firn run s.yml --output three --threads 1' >tar.log 2>&1 ||
  { fail "runs of the tarball" && show tar.log; }
as_user 'mpirun -n 2 firn run /usr/share/firn/scenes/hello.yml --set time.end=0.02 --output hello && firn preview hello/frames/*1.h5 -o hello.png' >hello.log 2>&1 ||
  { fail "a scene of the package" && show hello.log; }
[ "$(head -c 4 "$root/home/snow/hello.png" | tail -c 3)" = PNG ] || fail "no picture"
expect 0 1 here.log s.yml --output here --threads 1
for name in one two three; do same here "$root/home/snow/$name"; done
finish "clean root"
