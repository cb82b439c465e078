// SPDX-License-Identifier: BSD-2-Clause

//go:build !race

// Says to tests that the race detector is off.

package fp

const raceEnabled = false
