// SPDX-License-Identifier: BSD-2-Clause

//go:build !go1.24

// The net under objects that nobody closed, for Go before 1.24: a finalizer.

package fp

import "runtime"

type net struct{}

// spread has free called some time after the object has become unreachable; free holds
// nothing that leads to the object.
func spread[T any](object *T, free func()) net {
	runtime.SetFinalizer(object, func(*T) { free() })
	return net{}
}

// cut is for an object that was closed.
func cut[T any](object *T, _ net) {
	runtime.SetFinalizer(object, nil)
}
