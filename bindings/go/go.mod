// SPDX-License-Identifier: BSD-2-Clause

module libfp/fp

go 1.19
