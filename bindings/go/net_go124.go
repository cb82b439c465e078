// SPDX-License-Identifier: BSD-2-Clause

//go:build go1.24

// The net under objects that nobody closed, with what Go has for it since 1.24: unlike a
// finalizer, a cleanup does not keep the object for one more collection.

package fp

import "runtime"

type net struct {
	cleanup runtime.Cleanup
}

// spread has free called some time after the object has become unreachable; free holds
// nothing that leads to the object.
func spread[T any](object *T, free func()) net {
	return net{runtime.AddCleanup(object, func(free func()) { free() }, free)}
}

// cut is for an object that was closed.
func cut[T any](_ *T, n net) {
	n.cleanup.Stop()
}
