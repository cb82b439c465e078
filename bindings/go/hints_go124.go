// SPDX-License-Identifier: BSD-2-Clause

//go:build go1.24

// Tells Go since 1.24 that these calls neither keep a pointer nor come back into Go, so
// that buffers passed to them may live on a goroutine's stack.
//
// The second is true as long as no handler of fp_log_set_handler leads into Go: a Checked
// ring or pool calls that handler from inside such a call. This package does not set one.

package fp

/*
#cgo noescape fpgo_enqueue
#cgo nocallback fpgo_enqueue
#cgo noescape fpgo_dequeue
#cgo nocallback fpgo_dequeue
#cgo noescape fpgo_peek
#cgo nocallback fpgo_peek
#cgo noescape fpgo_enqueue_try
#cgo nocallback fpgo_enqueue_try
#cgo noescape fpgo_dequeue_try
#cgo nocallback fpgo_dequeue_try
#cgo noescape fpgo_pool_get
#cgo nocallback fpgo_pool_get
#cgo noescape fpgo_pool_put
#cgo nocallback fpgo_pool_put
#cgo noescape fpgo_pool_get_one
#cgo nocallback fpgo_pool_get_one
#cgo nocallback fpgo_pool_put_one
#cgo noescape fpgo_timer_create_bulk
#cgo nocallback fpgo_timer_create_bulk
#cgo noescape fpgo_timer_destroy_bulk
#cgo nocallback fpgo_timer_destroy_bulk
#cgo noescape fpgo_timer_arm_bulk
#cgo nocallback fpgo_timer_arm_bulk
#cgo noescape fpgo_timer_touch_bulk
#cgo nocallback fpgo_timer_touch_bulk
#cgo noescape fpgo_timer_cancel_bulk
#cgo nocallback fpgo_timer_cancel_bulk
#cgo noescape fpgo_wheel_poll_burst
#cgo nocallback fpgo_wheel_poll_burst
*/
import "C"
