# `cmake --install`: the command with its man pages and completion, libfirn shared and static with its header, the Python
# package, scenes, job scripts, and what another build needs to find it all: firn.pc and firn-static.pc for pkg-config, and
# firnConfig.cmake for find_package(). All are relative to where they lie, so the prefix may be chosen late.
include(CMakePackageConfigHelpers)

install(TARGETS firn_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS firn ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS firn_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
set(FIRN_PYTHON_DIR lib/python3/dist-packages CACHE STRING "Where the Python package goes below the prefix")
install(DIRECTORY python/firn DESTINATION ${FIRN_PYTHON_DIR} FILES_MATCHING PATTERN "*.py" PATTERN "py.typed"
        PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY include/firn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY scenes DESTINATION ${CMAKE_INSTALL_DATADIR}/firn)
install(PROGRAMS jobs/firn.slurm jobs/firn.pbs jobs/firn.flux jobs/chain.sh jobs/sweep.sh jobs/scaling.sh jobs/study.sh DESTINATION ${CMAKE_INSTALL_DATADIR}/firn/jobs)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

# Modulefiles name the prefix, which may be chosen as late as this.
set(words)
foreach(pair SOURCE=${PROJECT_SOURCE_DIR} VERSION=${PROJECT_VERSION} DATA=${CMAKE_INSTALL_DATADIR} BIN=${CMAKE_INSTALL_BINDIR}
        LIB=${CMAKE_INSTALL_LIBDIR} PYTHON=${FIRN_PYTHON_DIR})
  string(REGEX REPLACE "^([A-Z]*)=(.*)$" "set(FIRN_\\1 \"\\2\")\n" word ${pair})
  string(APPEND words ${word})
endforeach()
install(CODE "${words}")
install(SCRIPT cmake/modules.cmake)
install(DIRECTORY packaging/reframe DESTINATION ${CMAKE_INSTALL_DATADIR}/firn FILES_MATCHING PATTERN "*.py" PATTERN "*.json")

# What has to be there for the program to start: it differs with what the build found.
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/libraries.txt
                   COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:firn_command> -DOUT=${PROJECT_BINARY_DIR}/libraries.txt
                           -P ${PROJECT_SOURCE_DIR}/cmake/libraries.cmake
                   DEPENDS firn_command cmake/libraries.cmake VERBATIM)
add_custom_target(firn_libraries ALL DEPENDS ${PROJECT_BINARY_DIR}/libraries.txt)
install(FILES ${PROJECT_BINARY_DIR}/libraries.txt DESTINATION ${CMAKE_INSTALL_DATADIR}/firn)

# The help of the built program is the only text there is (packaging/manual.sh).
set(FIRN_MANUAL ${PROJECT_BINARY_DIR}/manual)
add_custom_command(OUTPUT ${FIRN_MANUAL}/firn.bash
                   COMMAND bash ${PROJECT_SOURCE_DIR}/packaging/manual.sh $<TARGET_FILE:firn_command> ${FIRN_MANUAL}
                           ${CMAKE_CROSSCOMPILING_EMULATOR}
                   DEPENDS firn_command packaging/manual.sh VERBATIM)
add_custom_target(firn_manual ALL DEPENDS ${FIRN_MANUAL}/firn.bash)
install(DIRECTORY ${FIRN_MANUAL}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
install(FILES ${FIRN_MANUAL}/firn.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME firn)

# Whoever links the static library links all it stands on. Libraries that come without a pkg-config file go in by path.
file(RELATIVE_PATH FIRN_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" FIRN_PC_PREFIX ${FIRN_PC_PREFIX})
list(JOIN MPI_C_LIBRARIES " " mpi)
list(JOIN HDF5_C_LIBRARIES " " hdf5)
set(FIRN_PC_LIBS "${hdf5} ${mpi} -lm")
set(FIRN_PC_MPI "${mpi}")
if(FIRN_HAVE_OPENVDB)
  list(JOIN FIRN_VDB_LIBRARIES " " vdb)
  string(APPEND FIRN_PC_LIBS " ${vdb} -lstdc++")
endif()
set(FIRN_PC_CFLAGS ${MPI_C_INCLUDE_DIRS})
list(TRANSFORM FIRN_PC_CFLAGS PREPEND "-I")
list(JOIN FIRN_PC_CFLAGS " " FIRN_PC_CFLAGS)
configure_file(cmake/firn.pc.in firn.pc @ONLY)
configure_file(cmake/firn-static.pc.in firn-static.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/firn.pc ${PROJECT_BINARY_DIR}/firn-static.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

configure_package_config_file(cmake/firnConfig.cmake.in firnConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/firn
                              PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/firnConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/firnConfig.cmake ${PROJECT_BINARY_DIR}/firnConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/firn)
