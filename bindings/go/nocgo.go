// SPDX-License-Identifier: BSD-2-Clause

//go:build !cgo

// Without cgo there is no way to call the library. The compiler's complaint about the
// name below tells what to do; nothing but the constants is compiled beside it.

package fp

var _ = libfp_is_a_C_library__set_CGO_ENABLED_to_1_and_install_a_C_compiler
