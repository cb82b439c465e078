# SPDX-License-Identifier: BSD-2-Clause
#
# Refuses, with a reason, the platforms that libfp was not written and tested for.

include(CheckCSourceCompiles)

if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
  message(FATAL_ERROR
    "libfp supports Linux only (futex, membarrier, eventfd), not ${CMAKE_SYSTEM_NAME}.")
endif()

if(NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
  message(FATAL_ERROR
    "libfp needs a 64-bit target: positions and tokens are 64-bit atomics. "
    "This compiler builds for ${CMAKE_SIZEOF_VOID_P}-byte pointers.")
endif()

if(NOT CMAKE_C_BYTE_ORDER STREQUAL "LITTLE_ENDIAN")
  message(FATAL_ERROR
    "libfp needs a little-endian target: several generation bytes are read as one word.")
endif()

check_c_source_compiles("
  #if !defined(__x86_64__) && !defined(__aarch64__)
  #error unsupported
  #endif
  int main(void) { return 0; }" LIBFP_CPU_SUPPORTED)
if(NOT LIBFP_CPU_SUPPORTED)
  message(FATAL_ERROR
    "libfp supports x86-64 and aarch64, not ${CMAKE_SYSTEM_PROCESSOR}: "
    "its memory orders were checked on these two only.")
endif()
