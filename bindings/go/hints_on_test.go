// SPDX-License-Identifier: BSD-2-Clause

//go:build go1.24

// Says to tests that the files of Go 1.24 are compiled.

package fp

const sinceGo124 = true
