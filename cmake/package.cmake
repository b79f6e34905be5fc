# `cpack` in a build folder: firn_<version>_<architecture>.deb and a tarball with the same files below one folder, both of
# what `cmake --install` installs. `cpack --config CPackSourceConfig.cmake`: the sources as a tarball, for a machine without git.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME firn)
set(CPACK_PACKAGE_VENDOR "Firn")
# Whoever builds packages for others answers for them: an address is given here, or as Debian's own tools take it.
set(FIRN_CONTACT "" CACHE STRING "Maintainer of the packages: Name <address>; empty: DEBFULLNAME <DEBEMAIL>")
if(FIRN_CONTACT)
  set(CPACK_PACKAGE_CONTACT "${FIRN_CONTACT}")
elseif(DEFINED ENV{DEBEMAIL} AND DEFINED ENV{DEBFULLNAME})
  set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
else()
  set(CPACK_PACKAGE_CONTACT "unknown; built without FIRN_CONTACT <root@localhost>")
endif()
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_FILE_NAME firn-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)

# Libraries are found by what the program links. mpirun is a program, and letters in scenes are cut from this font.
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "openmpi-bin, fonts-dejavu-core")
# The Python package comes along; what it imports is there if the user wants Python.
set(CPACK_DEBIAN_PACKAGE_PROVIDES "python3-firn (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3-numpy, python3-h5py")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-mpi4py, python3-matplotlib, slurm-client, paraview, libopenmpi-dev, libhdf5-openmpi-dev, libhwloc-dev, libyaml-dev, libxxhash-dev, libcairo2-dev, zlib1g-dev, ffmpeg")

set(CPACK_SOURCE_GENERATOR TGZ)
set(CPACK_SOURCE_PACKAGE_FILE_NAME firn-${PROJECT_VERSION})
set(CPACK_SOURCE_IGNORE_FILES "/[.]git" "${PROJECT_SOURCE_DIR}/build/" "${PROJECT_SOURCE_DIR}/out/" "[.]swp$")
include(CPack)
