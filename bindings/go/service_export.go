// SPDX-License-Identifier: BSD-2-Clause

// The one function of Go that C calls, apart from service_call.go because cgo copies the
// C code of a file with an export twice.

package fp

// #include <stdint.h>
import "C"

import "runtime/cgo"

//export fpgoServiceRun
func fpgoServiceRun(f C.uintptr_t, place C.uintptr_t) C.int32_t {
	return C.int32_t(cgo.Handle(f).Value().(*function).call(uintptr(place)))
}
