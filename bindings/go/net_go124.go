// SPDX-License-Identifier: BSD-2-Clause

//go:build go1.24

// The net under rings that nobody closed, with what Go has for it since 1.24: unlike a
// finalizer, a cleanup does not keep the object for one more collection.

package fp

// #include "shim.h"
import "C"

import "runtime"

type net struct {
	cleanup runtime.Cleanup
}

type leftover struct {
	handle *C.fpgo_ring
	found  bool
}

func (r *Ring) spreadNet() {
	r.net.cleanup = runtime.AddCleanup(r, func(l leftover) {
		_ = release(l.handle, l.found) // busy: it stays, as the library says it must
	}, leftover{r.handle, r.found})
}

func (r *Ring) cutNet() {
	r.net.cleanup.Stop()
}
