// SPDX-License-Identifier: BSD-2-Clause

// Objects of a pool: as a Block, which knows when it is over, as an index, and as bytes.

package fp

// #include "pool_shim.h"
import "C"

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

// Block is an object of a pool in use, from Get until Put. It is a small value: copy it,
// keep it, send it through a channel. Every copy is dead once one of them was put: Put
// returns ErrAlready then, and Bytes panics. That is so whenever this Pool has put the
// object or got it again; what another language put with the index it was given shows
// only at the next get.
//
// To send it through a ring, send its Index; Pool.Block makes a Block of it at the other
// end.
type Block struct {
	pool  *Pool
	index uint32
	age   uint32 // of the object while this Block lives; after 2^31 more gets of it again
}

// Index is the number of the object, 0 to Capacity - 1: the same in every language.
func (b Block) Index() uint32 { return b.index }

// Bytes are the object's memory: what the last user left in it, or zeroes. They are dead
// after Put, and nothing can take them back: do not keep them. After that this call
// panics, with an error that matches ErrAlready (put), ErrClosed (the pool was closed) or
// ErrInvalid (a zero Block).
func (b Block) Bytes() []byte {
	if err := b.over(); err != nil {
		panic(err)
	}
	return b.pool.object(b.index)
}

// over is why the Block may not be used any more.
func (b Block) over() error {
	switch {
	case b.pool == nil:
		return fmt.Errorf("fp: use of a zero Block: %w", ErrInvalid)
	case b.pool.closed():
		return ErrClosed
	case atomic.LoadUint32(&b.pool.ages[b.index]) != b.age:
		return fmt.Errorf("fp: use of a Block of object %d after Put: %w", b.index, ErrAlready)
	}
	return nil
}

// end is for a Block that is going to be put: of several who try, one gets nil.
func (b Block) end(p *Pool) error {
	if b.pool != p {
		if b.pool == nil {
			return ErrInvalid
		}
		return ErrFault
	}
	if !atomic.CompareAndSwapUint32(&p.ages[b.index], b.age, b.age+1) {
		return ErrAlready
	}
	return nil
}

// revive is for a Block that was not put after all.
func (b Block) revive() { atomic.StoreUint32(&b.pool.ages[b.index], b.age) }

func (p *Pool) block(index uint32) Block {
	return Block{p, index, atomic.LoadUint32(&p.ages[index])}
}

func (p *Pool) object(index uint32) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(p.base), uintptr(index)*p.stride)),
		p.objectSize)
}

// Block is the Block of an object in use that came as an index, for example through a
// ring. Errors: ErrFault: no object has this index.
func (p *Pool) Block(index uint32) (Block, error) {
	switch {
	case p == nil || !p.made:
		return Block{}, ErrInvalid
	case p.closed():
		return Block{}, ErrClosed
	case int(index) >= p.capacity:
		return Block{}, ErrFault
	}
	return p.block(index), nil
}

// Object is the memory of the object with this index, whether in use or not: for who
// works with indexes alone. What was put in the meantime goes unnoticed, and the bytes of
// an object that is not in use are there only while the Pool is reachable and open. It
// panics if there is no such object or the pool is nil or closed.
func (p *Pool) Object(index uint32) []byte {
	if _, err := p.Block(index); err != nil {
		panic(err)
	}
	return p.object(index)
}

// IndexOf is the index of the object that data starts with. ErrFault: it is no object of
// this pool, or not its start.
func (p *Pool) IndexOf(data []byte) (uint32, error) {
	index, err := p.held().ask(func() int64 {
		return int64(C.fpgo_pool_index(p.pool, first(data)))
	})
	return uint32(index), err
}

// Contains tells whether data starts in an object of this pool, at its start or inside.
func (p *Pool) Contains(data []byte) (bool, error) {
	return p.held().tell(func() C.int { return C.fpgo_pool_contains(p.pool, first(data)) })
}

// first is where data starts, if it is anywhere.
func first(data []byte) *C.uint8_t {
	if cap(data) == 0 {
		return nil
	}
	return (*C.uint8_t)(unsafe.Pointer(&data[:1][0]))
}

// SetTag notes a number with an object in use, for Leaks: say, where in the program it
// is. The next get clears it. Errors: ErrNotSupported: the pool is not Checked;
// ErrAlready: the Block was put; ErrFault: it is of another pool.
func (p *Pool) SetTag(b Block, tag uint64) error {
	if err := p.held().look(); err != nil {
		return err
	}
	defer p.leave()
	if b.pool != p && b.pool != nil {
		return ErrFault
	}
	if err := b.over(); err != nil {
		return err
	}
	return status(C.fpgo_pool_set_tag(p.pool, C.uint32_t(b.index), C.uint64_t(tag)))
}
