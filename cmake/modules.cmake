# Run by `cmake --install`, which may choose the prefix: the modulefiles of Lmod and of Environment Modules, with that prefix.
set(FIRN_PREFIX ${CMAKE_INSTALL_PREFIX})
# cpack installs below a folder of its own. Nobody knows yet where a tarball will be unpacked.
string(REGEX REPLACE "^.*/_CPack_Packages/[^/]+/[^/]+/[^/]+" "" FIRN_PREFIX ${FIRN_PREFIX})
if(NOT FIRN_PREFIX)
  set(FIRN_PREFIX /opt/firn/${FIRN_VERSION})
endif()
foreach(kind lua tcl)
  set(file $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${FIRN_DATA}/firn/modules/firn.${kind})
  configure_file(${FIRN_SOURCE}/packaging/modules/firn.${kind}.in ${file} @ONLY)
  message(STATUS "Installing: ${file}")
endforeach()
