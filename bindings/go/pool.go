// SPDX-License-Identifier: BSD-2-Clause

// Pools: create, close, inspect. What gets and puts is in pool_cache.go, what an object is
// in pool_block.go.

package fp

// #include "pool_shim.h"
import "C"

import (
	"fmt"
	"math"
	"unsafe"
)

// PoolOptions says what NewPool makes. Count and ObjectSize have no default. The flags
// PoolSTGet and PoolSTPut are promises about all goroutines and threads together.
type PoolOptions struct {
	Count      int    // objects, 1 to PoolCountMax
	ObjectSize int    // bytes, 1 and up
	Align      int    // bytes, a power of two up to PoolAlignMax; 0: 8
	CacheSize  int    // objects that a Cache keeps at most; 0: Count / 8, at most 512
	Name       string // for LookupPool, in this process and in any language; "": none
	Flags      uint32 // Stats, Checked, MemHuge, MemPrefault, MemNode, PoolNoCache, PoolSTGet, PoolSTPut
	NUMANode   uint32 // with MemNode
	MaxThreads int    // threads of other languages with a cache at a time; 0: PoolThreadsMax
}

// Pool is a number of objects of one size, in memory that the garbage collector does not
// look at: see Block for what an object is. Make one with NewPool; do not copy it.
//
// Get and put go through a cache that the pool has for all goroutines; goroutines that
// do so often have a Cache each.
type Pool struct {
	handle     *C.fpgo_pool // never changes; gates and caches say whether it is still alive
	base       *byte
	stride     uintptr
	objectSize int
	capacity   int
	cacheSize  int
	name       string
	ages       []uint32 // of each object: how often it was got and put
	own        *core
	caches     *caches // all, own too
	net        net
	gates      gates // of the sides only others: get and put have the locks of the caches
}

// NewPool makes a pool. Its objects start as zeroes; a Checked pool fills what is
// available with a pattern. Errors: ErrInvalid (a value out of range), ErrNotSupported (a
// flag that the library does not know, or a library of another version),
// ErrNameTooLong, ErrExist, ErrNoMemory.
func NewPool(options PoolOptions) (*Pool, error) {
	if errVersion != nil {
		return nil, errVersion
	}
	for _, o := range []struct {
		what             string
		value, low, high int
	}{
		{"Count", options.Count, 1, PoolCountMax},
		{"ObjectSize", options.ObjectSize, 1, math.MaxUint32},
		{"Align", options.Align, 0, PoolAlignMax},
		{"CacheSize", options.CacheSize, 0, PoolCacheMax},
		{"MaxThreads", options.MaxThreads, 0, PoolThreadsMax},
	} {
		if o.value < o.low || o.value > o.high {
			return nil, fmt.Errorf("fp: %s of a pool is %d, not %d to %d: %w", o.what, o.value,
				o.low, o.high, ErrInvalid)
		}
	}
	var name *C.char
	if options.Name != "" {
		text, err := terminated(options.Name)
		if err != nil {
			return nil, err
		}
		name = (*C.char)(unsafe.Pointer(&text[0]))
	}
	made := C.fpgo_pool_create(name, C.uint32_t(options.Count), C.uint32_t(options.ObjectSize),
		C.uint32_t(options.Align), C.uint32_t(options.CacheSize),
		C.uint32_t(options.MaxThreads), C.uint32_t(options.Flags),
		C.uint32_t(options.NUMANode))
	if made.code < 0 {
		return nil, fmt.Errorf("fp: the library refused the pool: %w", Errno(-made.code))
	}
	return newPool(made.pool, false), nil
}

// LookupPool finds a pool by its name, whoever made it, and takes a reference: the pool
// cannot be freed before this Pool is closed. Blocks of one Pool are not Blocks of another
// one; indexes are the same in all. Errors: ErrNotExist, ErrInvalid.
func LookupPool(name string) (*Pool, error) {
	if errVersion != nil {
		return nil, errVersion
	}
	text, err := terminated(name)
	if err != nil {
		return nil, err
	}
	made := C.fpgo_pool_lookup((*C.char)(unsafe.Pointer(&text[0])))
	if made.code < 0 {
		return nil, fmt.Errorf("fp: pool %q: %w", name, Errno(-made.code))
	}
	return newPool(made.pool, true), nil
}

func newPool(handle *C.fpgo_pool, found bool) *Pool {
	p := &Pool{
		handle:     handle,
		base:       (*byte)(C.fpgo_pool_base(handle)),
		stride:     uintptr(C.fpgo_pool_stride(handle)),
		objectSize: int(C.fpgo_pool_object_size(handle)),
		capacity:   int(C.fpgo_pool_capacity(handle)),
		cacheSize:  int(C.fpgo_pool_cache_size(handle)),
		name:       C.GoString(C.fpgo_pool_name(handle)),
		own:        new(core),
		caches:     &caches{pool: handle, found: found, all: map[*core]struct{}{}},
	}
	p.ages = make([]uint32, p.capacity)
	p.caches.all[p.own] = struct{}{}
	set := p.caches
	p.net = spread(p, func() {
		_ = set.alone(set.release) // busy: it stays, as the library says it must
	})
	return p
}

// alone runs action while no call is inside and none can come in, neither to the pool nor
// to a cache. last: as gates.alone.
func (p *Pool) alone(last bool, action func() error) error {
	return p.gates.alone(last, func() error { return p.caches.alone(action) })
}

// Close frees the pool and the memory of its objects, and closes its Caches. For a pool
// from LookupPool it gives back the reference instead, and what was got stays in use:
// another Pool may put it by index. Calls that other goroutines are inside finish first;
// later ones return ErrClosed. Closing again, or closing a nil or zero Pool, does nothing.
//
// ErrBusy: objects are in use (the text says how many, InUse too), references by lookup
// remain, or others have caches. The pool lives on then, and all objects are where they
// were, except that the Caches were flushed.
func (p *Pool) Close() error {
	if p == nil || p.handle == nil {
		return nil
	}
	err := p.alone(true, func() error {
		if err := p.caches.release(); err != nil {
			return err
		}
		cut(p, p.net)
		return nil
	})
	if err == ErrClosed {
		return nil
	}
	return err
}

// look lets a call in that belongs to no cache; nil: it may go on, and leaves.
func (p *Pool) look() error {
	if p == nil || p.handle == nil {
		return ErrInvalid
	}
	if !p.gates.side[others].enter() {
		return ErrClosed
	}
	return nil
}

func (p *Pool) leave() { p.gates.side[others].leave() }

// closed tells whether the memory of the objects may be gone.
func (p *Pool) closed() bool { return p.gates.side[others].closed.Load() }

// ask is one question about the pool.
func (p *Pool) ask(question func(*C.fpgo_pool) int64) (int, error) {
	if err := p.look(); err != nil {
		return 0, err
	}
	answer := question(p.handle)
	p.leave()
	if answer < 0 {
		return 0, Errno(-answer)
	}
	return int(answer), nil
}

// Available is the number of objects that are not in use: in the common store and in all
// caches. Like the other answers of this kind it is of the moment of the call.
func (p *Pool) Available() (int, error) {
	return p.ask(func(pool *C.fpgo_pool) int64 { return int64(C.fpgo_pool_avail_count(pool)) })
}

// InUse is the number of objects that were got and not put.
func (p *Pool) InUse() (int, error) {
	return p.ask(func(pool *C.fpgo_pool) int64 { return int64(C.fpgo_pool_in_use_count(pool)) })
}

// IsFull tells whether all objects are available.
func (p *Pool) IsFull() (bool, error) {
	n, err := p.ask(func(pool *C.fpgo_pool) int64 { return int64(C.fpgo_pool_is_full(pool)) })
	return n == 1, err
}

// IsEmpty tells whether all objects are in use.
func (p *Pool) IsEmpty() (bool, error) {
	n, err := p.ask(func(pool *C.fpgo_pool) int64 { return int64(C.fpgo_pool_is_empty(pool)) })
	return n == 1, err
}

// Memory is the number of bytes that the pool occupies, objects included.
func (p *Pool) Memory() (int, error) {
	return p.ask(func(pool *C.fpgo_pool) int64 { return int64(C.fpgo_pool_memory(pool)) })
}

// Reclaim flushes all Caches of this Pool, and asks threads of other languages for what
// theirs hold: each gives it back at its next call. It returns how many objects remain
// there for now.
func (p *Pool) Reclaim() (int, error) {
	return p.ask(func(pool *C.fpgo_pool) int64 {
		if err := p.caches.flush(); err != 0 {
			return err
		}
		return int64(C.fpgo_pool_reclaim(pool))
	})
}

// Audit checks the pool, when the calls that other goroutines are inside have finished:
// that each object is in one place only and all counts agree; of a Checked pool also
// every byte that nobody may write. The faults go to the library's log. Errors:
// ErrUnclean: something is wrong; ErrNoMemory; ErrBusy (Checked: a thread of another
// language is inside a call).
func (p *Pool) Audit() error {
	if p == nil || p.handle == nil {
		return ErrInvalid
	}
	return p.alone(false, func() error {
		if code := C.fpgo_pool_audit(p.handle); code < 0 {
			return Errno(-code)
		}
		return nil
	})
}

// Capacity is the number of objects, in use or not; 0 for a nil or zero Pool.
func (p *Pool) Capacity() int {
	if p == nil {
		return 0
	}
	return p.capacity
}

// ObjectSize is the number of bytes of an object; 0 for a nil or zero Pool.
func (p *Pool) ObjectSize() int {
	if p == nil {
		return 0
	}
	return p.objectSize
}

// Stride is the number of bytes from one object to the next; 0 for a nil or zero Pool.
func (p *Pool) Stride() int {
	if p == nil {
		return 0
	}
	return int(p.stride)
}

// CacheSize is the number of objects that the cache of one thread holds at most, and so
// keeps from others, as does a Cache; 0: threads have none, a Cache holds one at least.
func (p *Pool) CacheSize() int {
	if p == nil {
		return 0
	}
	return p.cacheSize
}

// Name is the name given at create, "" if there is none.
func (p *Pool) Name() string {
	if p == nil {
		return ""
	}
	return p.name
}

// Handle is the fp_mempool * for C code of yours; nil if the pool is nil or closed. The
// caller keeps the Pool reachable (runtime.KeepAlive) and open while C uses the handle.
func (p *Pool) Handle() unsafe.Pointer {
	if p.look() != nil {
		return nil
	}
	handle := unsafe.Pointer(C.fpgo_pool_of(p.handle))
	p.leave()
	return handle
}

// PoolStats says where the objects are, exactly when no call is in progress, and what was
// done. A Cache is an explicit cache; thread caches are those of other languages.
type PoolStats struct {
	Flags            uint32 // PoolStatsCounted
	Capacity         uint64 // objects of the pool
	Available        uint64 // of these: not in use, wherever they are
	InUse            uint64 // got and not put
	InDepot          uint64 // in the common store
	InThreadCaches   uint64
	InExplicitCaches uint64
	ThreadCaches     uint64 // threads that have a cache now
	ExplicitCaches   uint64
	Gets             uint64 // get calls that got something (flag Stats, as all below)
	ObjectsGot       uint64
	Puts             uint64
	ObjectsPut       uint64
	Failures         uint64 // get calls refused for want of objects
	CacheHits        uint64 // get and put calls served by a cache alone
	DepotExchanges   uint64 // those that took a lock of the common store
	Misuses          uint64 // found by Checked; always kept there
}

// Stats reads the counters.
func (p *Pool) Stats() (PoolStats, error) {
	if err := p.look(); err != nil {
		return PoolStats{}, err
	}
	s := C.fpgo_pool_stats(p.handle)
	p.leave()
	if s.size == 0 {
		return PoolStats{}, ErrInvalid
	}
	return PoolStats{
		Flags:            uint32(s.flags),
		Capacity:         uint64(s.capacity),
		Available:        uint64(s.available),
		InUse:            uint64(s.in_use),
		InDepot:          uint64(s.in_depot),
		InThreadCaches:   uint64(s.in_own_cache + s.in_other_caches),
		InExplicitCaches: uint64(s.in_explicit_caches),
		ThreadCaches:     uint64(s.thread_caches),
		ExplicitCaches:   uint64(s.explicit_caches),
		Gets:             uint64(s.gets),
		ObjectsGot:       uint64(s.objects_got),
		Puts:             uint64(s.puts),
		ObjectsPut:       uint64(s.objects_put),
		Failures:         uint64(s.failures),
		CacheHits:        uint64(s.cache_hits),
		DepotExchanges:   uint64(s.depot_exchanges),
		Misuses:          uint64(s.misuses),
	}, nil
}

// PoolLeak is an object in use, as Leaks lists it.
type PoolLeak struct {
	Index   uint32
	Thread  int64  // kernel id of the thread that got it: goroutines change threads
	Tag     uint64 // of SetTag; 0: none
	SinceNS uint64 // CLOCK_MONOTONIC of the get
	AgeNS   uint64 // time since then
}

// Leaks lists the objects in use, in order of index. ErrNotSupported: the pool is not
// Checked.
func (p *Pool) Leaks() ([]PoolLeak, error) {
	if err := p.look(); err != nil {
		return nil, err
	}
	defer p.leave()
	for room := C.int64_t(0); ; {
		list := make([]C.fp_mempool_leak, room+1)
		n := C.fpgo_pool_leaks(p.handle, &list[0], C.uint32_t(len(list)))
		if n < 0 {
			return nil, Errno(-n)
		}
		if n > C.int64_t(len(list)) {
			room = n // as many as now, if it does not grow meanwhile
			continue
		}
		leaks := make([]PoolLeak, n)
		for i := range leaks {
			l := &list[i]
			leaks[i] = PoolLeak{uint32(l.index), int64(l.thread), uint64(l.tag),
				uint64(l.since_ns), uint64(l.age_ns)}
		}
		return leaks, nil
	}
}
