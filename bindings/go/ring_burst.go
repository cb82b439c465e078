// SPDX-License-Identifier: BSD-2-Clause

// What moves elements by copying: bursts, bulks and single calls, of uint64 and of bytes.

package fp

// #include "shim.h"
import "C"

import (
	"fmt"
	"unsafe"
)

const (
	burst = C.int(0)
	bulk  = C.int(1)
)

// enqueue is every copying call of the producer side; p has n elements.
func (r *Ring) enqueue(p *C.uint8_t, n int, how C.int) (int, error) {
	if !r.gates.side[producers].enter() {
		return 0, ErrClosed
	}
	raceEnqueue(r, unsafe.Pointer(p), n)
	got := C.fpgo_enqueue(r.ring, p, C.uint32_t(n), how)
	r.gates.side[producers].leave()
	return counted(int64(got))
}

// dequeue is every copying call of the consumer side; p has room for n elements.
func (r *Ring) dequeue(p *C.uint8_t, n int, how C.int) (int, error) {
	if !r.gates.side[consumers].enter() {
		return 0, ErrClosed
	}
	got := C.fpgo_dequeue(r.ring, p, C.uint32_t(n), how)
	raceDequeue(r, unsafe.Pointer(p), int(got))
	r.gates.side[consumers].leave()
	return counted(int64(got))
}

// peek is dequeue without taking.
func (r *Ring) peek(p *C.uint8_t, n int) (int, error) {
	if !r.gates.side[consumers].enter() {
		return 0, ErrClosed
	}
	got := C.fpgo_peek(r.ring, p, C.uint32_t(n))
	raceDequeue(r, unsafe.Pointer(p), int(got))
	r.gates.side[consumers].leave()
	return counted(int64(got))
}

// ---- uint64 ----

func words(v []uint64) *C.uint8_t {
	if len(v) == 0 {
		return nil
	}
	return (*C.uint8_t)(unsafe.Pointer(&v[0]))
}

// EnqueueBurst enqueues as many of v as fit, from the first on, and returns how many.
// Errors: ErrPipe after CloseProducer; ErrInvalid if elements are not 8 bytes.
func (r *Ring) EnqueueBurst(v []uint64) (int, error) {
	if !r.fits(8, len(v)) {
		return 0, r.misfit(8, len(v))
	}
	return r.enqueue(words(v), len(v), burst)
}

// EnqueueBulk enqueues all of v and returns their number, or none and returns 0. More than
// the capacity could never succeed: ErrInvalid. Other errors as EnqueueBurst.
func (r *Ring) EnqueueBulk(v []uint64) (int, error) {
	if !r.fits(8, len(v)) {
		return 0, r.misfit(8, len(v))
	}
	return r.enqueue(words(v), len(v), bulk)
}

// DequeueBurst takes up to len(v) elements, oldest first, and returns how many. Errors:
// ErrPipe when the producing side is closed and all is taken; ErrInvalid if elements are
// not 8 bytes.
func (r *Ring) DequeueBurst(v []uint64) (int, error) {
	if !r.fits(8, len(v)) {
		return 0, r.misfit(8, len(v))
	}
	return r.dequeue(words(v), len(v), burst)
}

// DequeueBulk takes len(v) elements, or none and returns 0. ErrPipe: the producing side is
// closed and fewer remain (a burst gets these). Other errors as DequeueBurst and
// EnqueueBulk.
func (r *Ring) DequeueBulk(v []uint64) (int, error) {
	if !r.fits(8, len(v)) {
		return 0, r.misfit(8, len(v))
	}
	return r.dequeue(words(v), len(v), bulk)
}

// Peek copies up to len(v) elements from the head and leaves them in the ring. Errors:
// ErrNotSupported on an MT consumer side, where another could take them meanwhile; others
// as DequeueBurst.
func (r *Ring) Peek(v []uint64) (int, error) {
	if !r.fits(8, len(v)) {
		return 0, r.misfit(8, len(v))
	}
	return r.peek(words(v), len(v))
}

// Enqueue enqueues one element; false: the ring is full. Errors as EnqueueBurst.
func (r *Ring) Enqueue(v uint64) (bool, error) {
	if !r.fits(8, 1) {
		return false, r.misfit(8, 1)
	}
	if !r.gates.side[producers].enter() {
		return false, ErrClosed
	}
	raceRelease(r)
	got := C.fpgo_enqueue_u64(r.ring, C.uint64_t(v))
	r.gates.side[producers].leave()
	n, err := counted(int64(got))
	return n == 1, err
}

// Dequeue takes one element; false: the ring is empty. Errors as DequeueBurst.
func (r *Ring) Dequeue() (uint64, bool, error) {
	if !r.fits(8, 1) {
		return 0, false, r.misfit(8, 1)
	}
	if !r.gates.side[consumers].enter() {
		return 0, false, ErrClosed
	}
	word := C.fpgo_dequeue_u64(r.ring)
	raceAcquire(r)
	r.gates.side[consumers].leave()
	n, err := counted(int64(word.got))
	return uint64(word.value), n == 1, err
}

// ---- bytes ----

// elems is the number of elements in p, which is to hold whole ones.
func (r *Ring) elems(p []byte) (*C.uint8_t, int, error) {
	if r == nil || !r.made {
		return nil, 0, ErrInvalid
	}
	if len(p)%r.elemSize != 0 {
		return nil, 0, fmt.Errorf("fp: %d bytes are not a multiple of the element size %d: %w",
			len(p), r.elemSize, ErrInvalid)
	}
	n := len(p) / r.elemSize
	if !r.fits(r.elemSize, n) {
		return nil, 0, r.misfit(r.elemSize, n)
	}
	if n == 0 {
		return nil, 0, nil
	}
	return (*C.uint8_t)(unsafe.Pointer(&p[0])), n, nil
}

// EnqueueBytesBurst is EnqueueBurst for elements of any size: p holds whole elements, one
// after the other (else ErrInvalid). Counts are elements, not bytes.
func (r *Ring) EnqueueBytesBurst(p []byte) (int, error) {
	first, n, err := r.elems(p)
	if err != nil {
		return 0, err
	}
	return r.enqueue(first, n, burst)
}

// EnqueueBytesBulk is EnqueueBulk for elements of any size, as EnqueueBytesBurst.
func (r *Ring) EnqueueBytesBulk(p []byte) (int, error) {
	first, n, err := r.elems(p)
	if err != nil {
		return 0, err
	}
	return r.enqueue(first, n, bulk)
}

// DequeueBytesBurst is DequeueBurst for elements of any size: p is filled with whole
// elements; its length is a multiple of the element size (else ErrInvalid). Counts are
// elements, not bytes.
func (r *Ring) DequeueBytesBurst(p []byte) (int, error) {
	first, n, err := r.elems(p)
	if err != nil {
		return 0, err
	}
	return r.dequeue(first, n, burst)
}

// DequeueBytesBulk is DequeueBulk for elements of any size, as DequeueBytesBurst.
func (r *Ring) DequeueBytesBulk(p []byte) (int, error) {
	first, n, err := r.elems(p)
	if err != nil {
		return 0, err
	}
	return r.dequeue(first, n, bulk)
}

// PeekBytes is Peek for elements of any size, as DequeueBytesBurst.
func (r *Ring) PeekBytes(p []byte) (int, error) {
	first, n, err := r.elems(p)
	if err != nil {
		return 0, err
	}
	return r.peek(first, n)
}
