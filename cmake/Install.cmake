# SPDX-License-Identifier: BSD-2-Clause
#
# What `make install` puts where. The pkg-config file and the CMake package find their
# prefix from their own place, so that an installed tree can be moved.

include(CMakePackageConfigHelpers)

install(TARGETS fp fp_static EXPORT libfp
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY capi/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h"
  PATTERN baseline EXCLUDE)
install(FILES capi/libfp.abi.json DESTINATION ${CMAKE_INSTALL_DATADIR}/libfp)

# ---- pkg-config ----

set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH up /${pc_dir} /)
  string(REGEX REPLACE "/$" "" up "${up}")
  set(pc_prefix "\${pcfiledir}/${up}")
endif()
foreach(dir libdir includedir)
  string(TOUPPER ${dir} upper)
  set(pc_${dir} "${CMAKE_INSTALL_${upper}}")
  if(NOT IS_ABSOLUTE "${pc_${dir}}")
    string(PREPEND pc_${dir} "\${prefix}/")
  endif()
endforeach()
configure_file(pkgconfig/libfp.pc.in libfp.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/libfp.pc DESTINATION ${pc_dir})

# The build tree as pkg-config serves it: PKG_CONFIG_PATH=<build dir> prefers the
# "uninstalled" file. For the bindings and their tests.
configure_file(pkgconfig/libfp-uninstalled.pc.in libfp-uninstalled.pc @ONLY)

# ---- find_package(libfp) ----

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/libfp)
configure_package_config_file(cmake/libfpConfig.cmake.in libfpConfig.cmake
  INSTALL_DESTINATION ${package_dir}
  NO_SET_AND_CHECK_MACRO)
# Until 1.0 a new minor may break the ABI.
write_basic_package_version_file(libfpConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/libfpConfig.cmake
  ${PROJECT_BINARY_DIR}/libfpConfigVersion.cmake
  DESTINATION ${package_dir})
install(EXPORT libfp NAMESPACE libfp:: FILE libfpTargets.cmake DESTINATION ${package_dir})
