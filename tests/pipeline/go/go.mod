// SPDX-License-Identifier: BSD-2-Clause

module libfp/pipeline

go 1.19

require libfp/fp v0.0.0

replace libfp/fp => ../../../bindings/go
