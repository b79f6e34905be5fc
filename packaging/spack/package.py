# A recipe for Spack. In a checkout or an unpacked source tarball:
#   mkdir -p ~/firn-repo/packages/firn && cp packaging/spack/package.py ~/firn-repo/packages/firn/
#   printf 'repo:\n  namespace: firn\n' > ~/firn-repo/repo.yaml && spack repo add ~/firn-repo
#   spack dev-build firn@0.2.0 ^openmpi schedulers=slurm
# packaging/release.sh writes this recipe with the checksum of a source tarball, for `spack install`.
from spack.package import *


class Firn(CMakePackage):
    """Distributed material point method for snow: the same bits on any number of ranks."""

    homepage = "https://example.org/firn"
    url = "https://example.org/firn/releases/firn-0.2.0.tar.gz"

    license("MIT")

    version("0.2.0")

    variant("tests", default=False, description="Build the tests")
    variant("openvdb", default=False, description="Write OpenVDB files (firn export)")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+openvdb")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi@3:")
    depends_on("hdf5@1.10:+mpi")
    depends_on("hwloc@2:")
    depends_on("libyaml")
    depends_on("xxhash@0.8:")
    depends_on("libpng")
    depends_on("freetype")
    depends_on("cairo+png")
    depends_on("zlib-api")
    depends_on("openvdb", when="+openvdb")
    depends_on("cmocka", when="+tests")

    conflicts("%gcc@:10", msg="vector types of GCC 11 or later are needed")

    def cmake_args(self):
        return [
            self.define_from_variant("FIRN_TESTS", "tests"),
            self.define_from_variant("FIRN_OPENVDB", "openvdb"),
            self.define("FIRN_WERROR", False),
        ]
