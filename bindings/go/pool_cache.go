// SPDX-License-Identifier: BSD-2-Clause

// Caches, and what goes through them: get and put.
//
// Go uses explicit caches alone: a goroutine changes threads between two calls, and so
// would the cache of a thread. The lock of a cache makes it safe for any number of
// goroutines, and is what Close waits for; there is no word that all goroutines of a pool
// write to, so goroutines with a Cache each do not slow down each other.

package fp

// #include "pool_shim.h"
import "C"

import (
	"fmt"
	"math"
	"sync"
	"unsafe"
)

// core is a cache without what would keep a Pool reachable: the pool's list and the net
// hold cores. The library's cache is made at the first call, and after a Close that was
// refused once more.
type core struct {
	_       [128]byte
	mutex   sync.Mutex
	cache   *C.fpgo_cache // nil: not made yet, or closed
	closed  bool
	indexes []uint32 // of Blocks on their way
	_       [128]byte
}

// enter lets a call in, alone; nil: it may go on, and leaves.
func (c *core) enter(p *Pool) error {
	if c == nil {
		return ErrInvalid
	}
	c.mutex.Lock()
	if c.cache == nil {
		if err := c.open(p.pool); err != nil {
			c.mutex.Unlock()
			return err
		}
	}
	return nil
}

func (c *core) open(pool *C.fpgo_pool) error {
	if c.closed {
		return ErrClosed
	}
	made := C.fpgo_cache_create(pool)
	if made.code < 0 {
		return Errno(-made.code)
	}
	c.cache = made.cache
	return nil
}

func (c *core) leave() { c.mutex.Unlock() }

// drop gives the library's cache back, and what is in it to the common store.
func (c *core) drop() {
	if c.cache != nil {
		C.fpgo_cache_destroy(c.cache)
		c.cache = nil
	}
}

func agesOf(p *Pool) *C.uint32_t { return (*C.uint32_t)(unsafe.Pointer(&p.ages[0])) }

func table(indexes []uint32) *C.uint32_t {
	if len(indexes) == 0 {
		return nil
	}
	return (*C.uint32_t)(unsafe.Pointer(&indexes[0]))
}

func (c *core) get(p *Pool) (Block, error) {
	if err := c.enter(p); err != nil {
		return Block{}, err
	}
	got := C.fpgo_pool_get_one(p.pool, c.cache, agesOf(p))
	raceGet(p, nil)
	c.leave()
	if got.got <= 0 {
		if got.got == 0 {
			return Block{}, ErrAgain
		}
		return Block{}, Errno(-got.got)
	}
	return p.block(uint32(got.index)), nil
}

func (c *core) put(p *Pool, b Block) error {
	if err := c.enter(p); err != nil {
		return err
	}
	defer c.leave()
	if err := b.end(p); err != nil {
		return err
	}
	racePut(p, nil)
	if put := C.fpgo_pool_put_one(p.pool, c.cache, C.uint32_t(b.index)); put < 0 {
		b.revive()
		return Errno(-put)
	}
	return nil
}

func (c *core) getIndexes(p *Pool, indexes []uint32) (int, error) {
	if err := c.enter(p); err != nil {
		return 0, err
	}
	defer c.leave()
	return c.getInside(p, indexes)
}

func (c *core) getInside(p *Pool, indexes []uint32) (int, error) {
	if len(indexes) > math.MaxInt32 {
		return 0, ErrInvalid
	}
	got := C.fpgo_pool_get(p.pool, c.cache, agesOf(p), table(indexes), C.uint32_t(len(indexes)))
	if got < 0 {
		return 0, Errno(-got)
	}
	raceGet(p, indexes[:got])
	return int(got), nil
}

func (c *core) putIndexes(p *Pool, indexes []uint32) (int, error) {
	if err := c.enter(p); err != nil {
		return 0, err
	}
	defer c.leave()
	return c.putInside(p, indexes, agesOf(p))
}

func (c *core) putInside(p *Pool, indexes []uint32, ages *C.uint32_t) (int, error) {
	if len(indexes) > math.MaxInt32 {
		return 0, ErrInvalid
	}
	racePut(p, indexes)
	put := C.fpgo_pool_put(p.pool, c.cache, ages, table(indexes), C.uint32_t(len(indexes)))
	return counted(int64(put))
}

// room is a table for n indexes, kept for the next call.
func (c *core) room(n int) []uint32 {
	if n > cap(c.indexes) {
		c.indexes = make([]uint32, n)
	}
	return c.indexes[:n]
}

func (c *core) getBlocks(p *Pool, blocks []Block) (int, error) {
	if err := c.enter(p); err != nil {
		return 0, err
	}
	defer c.leave()
	if len(blocks) > p.capacity {
		return 0, ErrInvalid
	}
	indexes := c.room(len(blocks))
	n, err := c.getInside(p, indexes)
	for i, index := range indexes[:n] {
		blocks[i] = p.block(index)
	}
	return n, err
}

func (c *core) putBlocks(p *Pool, blocks []Block) (int, error) {
	if err := c.enter(p); err != nil {
		return 0, err
	}
	defer c.leave()
	if len(blocks) > p.capacity {
		return 0, ErrInvalid
	}
	indexes := c.room(len(blocks))
	ended := 0
	var err error
	for ; ended < len(blocks); ended++ {
		if err = blocks[ended].end(p); err != nil {
			err = fmt.Errorf("fp: block %d of %d: %w", ended, len(blocks), err)
			break
		}
		indexes[ended] = blocks[ended].index
	}
	if err == nil {
		_, err = c.putInside(p, indexes, nil)
	}
	if err != nil {
		for _, b := range blocks[:ended] {
			b.revive()
		}
		return 0, err
	}
	return len(blocks), nil
}

// caches are all caches of a Pool, and the pool itself without what keeps it reachable.
type caches struct {
	mutex sync.Mutex // before that of a core
	pool  *C.fpgo_pool
	found bool // a reference by LookupPool: Close gives it back
	all   map[*core]struct{}
}

// alone runs action while no call is inside any cache.
func (s *caches) alone(action func() error) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for c := range s.all {
		c.mutex.Lock()
		defer c.mutex.Unlock()
	}
	return action()
}

// release gives back what NewPool or LookupPool took. It runs alone.
func (s *caches) release() error {
	if !s.found {
		if n := C.fpgo_pool_in_use_count(s.pool); n > 0 {
			return fmt.Errorf("fp: %d objects of the pool are in use: %w", n, ErrBusy)
		}
	}
	for c := range s.all {
		c.drop()
	}
	if code := C.fpgo_pool_release(s.pool, truth(s.found)); code < 0 {
		return Errno(-code)
	}
	for c := range s.all {
		c.closed = true
	}
	return nil
}

// flush gives what is in any cache to the common store; below 0: why it could not.
func (s *caches) flush() (code int64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for c := range s.all {
		c.mutex.Lock()
		if c.cache != nil && code >= 0 {
			if n := int64(C.fpgo_cache_flush(c.cache)); n < 0 {
				code = n
			}
		}
		c.mutex.Unlock()
	}
	return code
}

// remove is for a cache that is not used any more.
func (s *caches) remove(c *core) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.drop()
	c.closed = true
	delete(s.all, c)
}

// Cache keeps objects of a pool at hand, CacheSize at most, so that most calls touch
// nothing that other goroutines touch. Make one with Pool.NewCache for each goroutine that
// gets and puts often, and close it at the end; do not copy it. It may be used by several
// goroutines, who then wait for each other, and gets and puts may be mixed with those of
// other Caches in any way.
//
// What a Cache keeps, others do not get: n goroutines that use h objects each never starve
// if the pool has n * (h + CacheSize). Flush and Pool.Reclaim give it back.
type Cache struct {
	pool *Pool
	core *core
	net  net
}

// NewCache makes a Cache. Errors: ErrNoMemory.
func (p *Pool) NewCache() (*Cache, error) {
	if err := p.held().look(); err != nil {
		return nil, err
	}
	defer p.leave()
	c := new(core)
	if err := c.open(p.pool); err != nil {
		return nil, err
	}
	set := p.caches
	set.mutex.Lock()
	set.all[c] = struct{}{}
	set.mutex.Unlock()
	cache := &Cache{pool: p, core: c}
	cache.net = spread(cache, func() { set.remove(c) })
	return cache, nil
}

// Close gives the objects in the Cache to the common store. Later calls return ErrClosed.
// Closing again, or closing a nil or zero Cache, does nothing.
func (c *Cache) Close() error {
	if c == nil || c.core == nil {
		return nil
	}
	c.pool.caches.remove(c.core)
	cut(c, c.net)
	return nil
}

// through is the pool and the cache of a call.
func (c *Cache) through() (*core, *Pool) {
	if c == nil {
		return nil, nil
	}
	return c.core, c.pool
}

func (p *Pool) through() (*core, *Pool) {
	if p == nil {
		return nil, nil
	}
	return p.own, p
}

// Get gets one object; ErrAgain: there is none at the moment, in this Cache and the common
// store. ErrUnclean, of a Checked pool, once: the object at hand was written to after its
// put.
func (c *Cache) Get() (Block, error) {
	core, pool := c.through()
	return core.get(pool)
}

// Put puts an object back, from whichever Cache it came. Errors: ErrAlready: it was put
// before; ErrFault: it is of another pool; ErrInvalid: a zero Block; ErrUnclean, of a
// Checked pool: bytes before or behind it were overwritten. They are mended then, and the
// Block can be put again.
func (c *Cache) Put(b Block) error {
	core, pool := c.through()
	return core.put(pool, b)
}

// GetBulk gets len(blocks) objects and returns their number, or none and returns 0. The
// first one is the one put last. More than the capacity could never succeed: ErrInvalid.
// ErrUnclean as Get.
func (c *Cache) GetBulk(blocks []Block) (int, error) {
	core, pool := c.through()
	return core.getBlocks(pool, blocks)
}

// PutBulk puts all of blocks back and returns their number; the last one is the next to be
// got. Errors as Put, for the first one that has one: none is put then.
func (c *Cache) PutBulk(blocks []Block) (int, error) {
	core, pool := c.through()
	return core.putBlocks(pool, blocks)
}

// GetIndexes is GetBulk for objects that travel as indexes: the form that costs least.
func (c *Cache) GetIndexes(indexes []uint32) (int, error) {
	core, pool := c.through()
	return core.getIndexes(pool, indexes)
}

// PutIndexes is PutBulk for objects that came as indexes. ErrFault: no object has such an
// index. That an index is put twice is found by Checked pools alone: ErrAlready.
func (c *Cache) PutIndexes(indexes []uint32) (int, error) {
	core, pool := c.through()
	return core.putIndexes(pool, indexes)
}

// Flush gives the objects in the Cache to the common store and returns how many.
func (c *Cache) Flush() (int, error) {
	return c.ask(func(cache *C.fpgo_cache) int64 { return int64(C.fpgo_cache_flush(cache)) })
}

// Count is the number of objects in the Cache.
func (c *Cache) Count() (int, error) {
	return c.ask(func(cache *C.fpgo_cache) int64 { return int64(C.fpgo_cache_count(cache)) })
}

// ask is one question to the cache.
func (c *Cache) ask(question func(*C.fpgo_cache) int64) (int, error) {
	core, pool := c.through()
	if err := core.enter(pool); err != nil {
		return 0, err
	}
	answer := question(core.cache)
	core.leave()
	return counted(answer)
}

// Get is Cache.Get, through the cache that the pool has for all.
func (p *Pool) Get() (Block, error) {
	core, pool := p.through()
	return core.get(pool)
}

// Put is Cache.Put.
func (p *Pool) Put(b Block) error {
	core, pool := p.through()
	return core.put(pool, b)
}

// GetBulk is Cache.GetBulk.
func (p *Pool) GetBulk(blocks []Block) (int, error) {
	core, pool := p.through()
	return core.getBlocks(pool, blocks)
}

// PutBulk is Cache.PutBulk.
func (p *Pool) PutBulk(blocks []Block) (int, error) {
	core, pool := p.through()
	return core.putBlocks(pool, blocks)
}

// GetIndexes is Cache.GetIndexes.
func (p *Pool) GetIndexes(indexes []uint32) (int, error) {
	core, pool := p.through()
	return core.getIndexes(pool, indexes)
}

// PutIndexes is Cache.PutIndexes.
func (p *Pool) PutIndexes(indexes []uint32) (int, error) {
	core, pool := p.through()
	return core.putIndexes(pool, indexes)
}
