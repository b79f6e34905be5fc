#!/usr/bin/env bash
# The sources of a commit as a tarball that is the same each time, and the recipes for Spack and EasyBuild with its checksum. A
# recipe inside the tarball cannot know that, so those in the tree have none.
#   packaging/release.sh FOLDER [URL]      URL: the folder that the tarball will be downloaded from
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:?give a folder for the tarball and the recipes} url=${2:-https://example.org/firn/releases}
version=$(sed -n 's/^#define FIRN_VERSION_\(MAJOR\|MINOR\|PATCH\) \([0-9]*\).*/\2/p' "$source/include/firn/firn.h" | paste -sd.)
git -C "$source" rev-parse HEAD >/dev/null 2>&1 || { echo "release.sh: needs a git checkout" >&2 && exit 1; }
mkdir -p "$folder/spack" "$folder/easybuild"
tarball=$folder/firn-$version.tar.gz
git -C "$source" archive --format=tar --prefix="firn-$version/" HEAD | gzip -9 -n >"$tarball"
sum=$(sha256sum "$tarball" | cut -d' ' -f1)
sed -e "s|^    version(\"$version\")\$|    version(\"$version\", sha256=\"$sum\")|" \
  -e "s|^    url = .*|    url = \"$url/firn-$version.tar.gz\"|" "$source/packaging/spack/package.py" >"$folder/spack/package.py"
for recipe in "$source"/packaging/easybuild/*.eb; do
  sed -e "s|^sources = .*|source_urls = ['$url']\n&\nchecksums = ['$sum']|" "$recipe" >"$folder/easybuild/$(basename "$recipe")"
done
echo "$sum  $tarball"
