# SPDX-License-Identifier: BSD-2-Clause
#
# The library as abidw and abidiff want to see it: with the types of its functions.
# Link-time optimisation would blur which source file a type comes from.

add_library(fp_debuginfo SHARED)
libfp_library(fp_debuginfo)
target_compile_options(fp_debuginfo PRIVATE -g -O1)
set_target_properties(fp_debuginfo PROPERTIES
  OUTPUT_NAME fp
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/abi/debuginfo
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/capi/libfp.map)
target_link_options(fp_debuginfo PRIVATE
  LINKER:--version-script=${PROJECT_SOURCE_DIR}/capi/libfp.map
  ${LIBFP_LINK_OPTIONS})
