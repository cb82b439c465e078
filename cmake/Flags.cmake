# SPDX-License-Identifier: BSD-2-Clause
#
# Compiler and linker flags: LIBFP_WERROR, LIBFP_SANITIZE, LTO, alignment.
# Result: target libfp_flags, LIBFP_LIBRARY_OPTIONS, LIBFP_ALIGN_OPTIONS,
# LIBFP_LINK_OPTIONS, LIBFP_LTO.

option(LIBFP_WERROR "Warnings are errors (for CI; a newer compiler warns anew)" OFF)
set(LIBFP_SANITIZE "" CACHE STRING "Empty, address (with undefined) or thread")
set_property(CACHE LIBFP_SANITIZE PROPERTY STRINGS "" address thread)

add_library(libfp_flags INTERFACE)
target_compile_options(libfp_flags INTERFACE
  -Wall -Wextra -fno-plt
  $<$<BOOL:${LIBFP_WERROR}>:-Werror>)

# Everything that is linked to an instrumented library must be instrumented too.
if(LIBFP_SANITIZE STREQUAL "address")
  set(sanitize_options -fsanitize=address,undefined -fno-sanitize-recover=all
      -fno-omit-frame-pointer)
elseif(LIBFP_SANITIZE STREQUAL "thread")
  set(sanitize_options -fsanitize=thread -fno-omit-frame-pointer)
elseif(LIBFP_SANITIZE)
  message(FATAL_ERROR
    "LIBFP_SANITIZE is \"${LIBFP_SANITIZE}\"; it must be empty, address or thread.")
endif()
add_compile_options(${sanitize_options})
add_link_options(${sanitize_options})

# What the library itself is built with. The prefix maps keep the place of the build
# out of it: the same sources give the same file.
set(LIBFP_LIBRARY_OPTIONS
  -ffile-prefix-map=${PROJECT_BINARY_DIR}=build
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  list(APPEND LIBFP_LIBRARY_OPTIONS -fcf-protection)
endif()

set(LIBFP_ALIGN_OPTIONS -falign-functions=64)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  list(APPEND LIBFP_ALIGN_OPTIONS -falign-jumps=64)
endif()

set(LIBFP_LINK_OPTIONS
  LINKER:--no-undefined-version
  LINKER:-z,nodelete
  LINKER:-z,relro
  LINKER:-z,now)
# The linker marks a file for shadow stacks (SHSTK) only if all parts have the mark, and
# Debian's crti.o has not, although its code keeps calls and returns paired: so we say
# it. IBT we may not say: _init in crti.o is called through a pointer and has no endbr64.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  list(APPEND LIBFP_LINK_OPTIONS LINKER:-z,shstk)
endif()
# clang leaves the sanitizer runtime to the executable, so there the library's
# references to it must stay open.
if(NOT LIBFP_SANITIZE OR NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
  list(APPEND LIBFP_LINK_OPTIONS LINKER:--no-undefined)
endif()

# Only the shared library: an LTO static library would tie its users to our compiler.
set(LIBFP_LTO OFF)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT LIBFP_SANITIZE)
  include(CheckIPOSupported)
  check_ipo_supported(RESULT LIBFP_LTO OUTPUT ipo_output LANGUAGES C)
  if(NOT LIBFP_LTO)
    message(STATUS "libfp: no link-time optimisation with this compiler and linker")
  endif()
endif()
