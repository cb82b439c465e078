// SPDX-License-Identifier: BSD-2-Clause

//go:build !go1.24

// Says to tests that the files for Go before 1.24 are compiled.

package fp

const sinceGo124 = false
