// SPDX-License-Identifier: BSD-2-Clause

//go:build !go1.24

// The net under rings that nobody closed, for Go before 1.24: a finalizer.

package fp

import "runtime"

type net struct{}

func (r *Ring) spreadNet() {
	runtime.SetFinalizer(r, func(r *Ring) {
		_ = release(r.handle, r.found) // busy: it stays, as the library says it must
	})
}

func (r *Ring) cutNet() {
	runtime.SetFinalizer(r, nil)
}
