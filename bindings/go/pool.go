// SPDX-License-Identifier: BSD-2-Clause

// Pools: create, close, inspect. What gets and puts is in pool_cache.go, what an object is
// in pool_block.go.

package fp

// #include "pool_shim.h"
import "C"

import (
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
	handle // get and put use no side of its gates: they have the locks of the caches

	pool       *C.fpgo_pool // never changes; handle and caches say whether it is still alive
	base       *byte
	stride     uintptr
	objectSize int
	capacity   int
	cacheSize  int
	ages       []uint32 // of each object: how often it was got and put
	own        *core
	caches     *caches // all, own too
}

// NewPool makes a pool. Its objects start as zeroes; a Checked pool fills what is
// available with a pattern. Errors: ErrInvalid (a value out of range), ErrNotSupported (a
// flag that the library does not know, or a library of another version),
// ErrNameTooLong, ErrExist, ErrNoMemory.
func NewPool(options PoolOptions) (*Pool, error) {
	if errVersion != nil {
		return nil, errVersion
	}
	if err := within("pool",
		limit{"Count", options.Count, 1, PoolCountMax},
		limit{"ObjectSize", options.ObjectSize, 1, math.MaxUint32},
		limit{"Align", options.Align, 0, PoolAlignMax},
		limit{"CacheSize", options.CacheSize, 0, PoolCacheMax},
		limit{"MaxThreads", options.MaxThreads, 0, PoolThreadsMax},
	); err != nil {
		return nil, err
	}
	var made C.fpgo_made_pool
	err := create("pool", options.Name, func(name *C.char) C.int {
		made = C.fpgo_pool_create(name, C.uint32_t(options.Count),
			C.uint32_t(options.ObjectSize), C.uint32_t(options.Align),
			C.uint32_t(options.CacheSize), C.uint32_t(options.MaxThreads),
			C.uint32_t(options.Flags), C.uint32_t(options.NUMANode))
		return made.code
	})
	if err != nil {
		return nil, err
	}
	return newPool(made.pool, false), nil
}

// LookupPool finds a pool by its name, whoever made it, and takes a reference: the pool
// cannot be freed before this Pool is closed. Blocks of one Pool are not Blocks of another
// one; indexes are the same in all. Errors: ErrNotExist, ErrInvalid.
func LookupPool(name string) (*Pool, error) {
	var made C.fpgo_made_pool
	err := lookup("pool", name, func(name *C.char) C.int {
		made = C.fpgo_pool_lookup(name)
		return made.code
	})
	if err != nil {
		return nil, err
	}
	return newPool(made.pool, true), nil
}

func newPool(pool *C.fpgo_pool, found bool) *Pool {
	p := &Pool{
		pool:       pool,
		base:       (*byte)(C.fpgo_pool_base(pool)),
		stride:     uintptr(C.fpgo_pool_stride(pool)),
		objectSize: int(C.fpgo_pool_object_size(pool)),
		capacity:   int(C.fpgo_pool_capacity(pool)),
		cacheSize:  int(C.fpgo_pool_cache_size(pool)),
		own:        new(core),
		caches:     &caches{pool: pool, found: found, all: map[*core]struct{}{}},
	}
	p.ages = make([]uint32, p.capacity)
	p.caches.all[p.own] = struct{}{}
	set := p.caches
	hold(p, &p.handle, C.fpgo_pool_name(pool), func() error { return set.alone(set.release) })
	return p
}

// held is the handle.
func (p *Pool) held() *handle {
	if p == nil {
		return nil
	}
	return &p.handle
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
	return end(p, p.held(), func() error { return p.caches.alone(p.caches.release) })
}

// Available is the number of objects that are not in use: in the common store and in all
// caches. Like the other answers of this kind it is of the moment of the call.
func (p *Pool) Available() (int, error) {
	return p.held().ask(func() int64 { return int64(C.fpgo_pool_avail_count(p.pool)) })
}

// InUse is the number of objects that were got and not put.
func (p *Pool) InUse() (int, error) {
	return p.held().ask(func() int64 { return int64(C.fpgo_pool_in_use_count(p.pool)) })
}

// IsFull tells whether all objects are available.
func (p *Pool) IsFull() (bool, error) {
	return p.held().tell(func() C.int { return C.fpgo_pool_is_full(p.pool) })
}

// IsEmpty tells whether all objects are in use.
func (p *Pool) IsEmpty() (bool, error) {
	return p.held().tell(func() C.int { return C.fpgo_pool_is_empty(p.pool) })
}

// Memory is the number of bytes that the pool occupies, objects included.
func (p *Pool) Memory() (int, error) {
	return p.held().ask(func() int64 { return int64(C.fpgo_pool_memory(p.pool)) })
}

// Reclaim flushes all Caches of this Pool, and asks threads of other languages for what
// theirs hold: each gives it back at its next call. It returns how many objects remain
// there for now.
func (p *Pool) Reclaim() (int, error) {
	return p.held().ask(func() int64 {
		if err := p.caches.flush(); err != 0 {
			return err
		}
		return int64(C.fpgo_pool_reclaim(p.pool))
	})
}

// Audit checks the pool, when the calls that other goroutines are inside have finished:
// that each object is in one place only and all counts agree; of a Checked pool also
// every byte that nobody may write. The faults go to the library's log. Errors:
// ErrUnclean: something is wrong; ErrNoMemory; ErrBusy (Checked: a thread of another
// language is inside a call).
func (p *Pool) Audit() error {
	return p.held().alone(func() error {
		return p.caches.alone(func() error { return status(C.fpgo_pool_audit(p.pool)) })
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
func (p *Pool) Name() string { return p.held().named() }

// Handle is the fp_mempool * for C code of yours; nil if the pool is nil or closed. The
// caller keeps the Pool reachable (runtime.KeepAlive) and open while C uses the handle.
func (p *Pool) Handle() unsafe.Pointer {
	return p.held().pointer(func() unsafe.Pointer { return unsafe.Pointer(C.fpgo_pool_of(p.pool)) })
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
	var s C.fp_mempool_stats
	err := p.held().read(func() C.uint32_t {
		s = C.fpgo_pool_stats(p.pool)
		return s.size
	})
	if err != nil {
		return PoolStats{}, err
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
	if err := p.held().look(); err != nil {
		return nil, err
	}
	defer p.leave()
	for room := C.int64_t(0); ; {
		list := make([]C.fp_mempool_leak, room+1)
		n := C.fpgo_pool_leaks(p.pool, &list[0], C.uint32_t(len(list)))
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
