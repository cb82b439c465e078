# SPDX-License-Identifier: BSD-2-Clause
#
# For -DCMAKE_PROJECT_INCLUDE: once the tools are found, find_package looks below
# CMAKE_PREFIX_PATH alone, whatever the machine has installed.

set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)
set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)
set(CMAKE_FIND_USE_PACKAGE_REGISTRY OFF)
set(CMAKE_FIND_USE_SYSTEM_PACKAGE_REGISTRY OFF)
