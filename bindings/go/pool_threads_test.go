// SPDX-License-Identifier: BSD-2-Clause

// Pools between goroutines: no object has two users, none is lost, Close at any moment,
// and what the garbage collector does with what nobody closed.

package fp

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

// both is what a Pool and a Cache have in common.
type both interface {
	Get() (Block, error)
	Put(Block) error
	GetBulk([]Block) (int, error)
	PutBulk([]Block) (int, error)
	GetIndexes([]uint32) (int, error)
	PutIndexes([]uint32) (int, error)
}

// own marks an object as that of a user, who must be the only one.
func own(t *testing.T, data []byte, from, to uint64) {
	if !atomic.CompareAndSwapUint64((*uint64)(unsafe.Pointer(&data[0])), from, to) {
		t.Errorf("an object of user %d or nobody is that of another", from+to)
	}
}

// work gets, marks, unmarks and puts, in all forms.
func work(t *testing.T, p *Pool, via both, user uint64, rounds int) {
	blocks, indexes := make([]Block, 7), make([]uint32, 7)
	for round := 0; round < rounds && !t.Failed(); round++ {
		size := 1 + (round+int(user))%7
		var n int
		var err error
		switch round % 3 {
		case 0:
			blocks[0], err = via.Get()
			if err == nil {
				n, indexes[0] = 1, blocks[0].Index()
			} else if err == ErrAgain {
				err = nil
			}
		case 1:
			n, err = via.GetBulk(blocks[:size])
			for i, b := range blocks[:n] {
				indexes[i] = b.Index()
			}
		case 2:
			n, err = via.GetIndexes(indexes[:size])
			for i := range blocks[:n] {
				blocks[i], _ = p.Block(indexes[i])
			}
		}
		if err != nil {
			t.Error("get:", err)
		}
		if n == 0 {
			idle()
			continue
		}
		for i := range blocks[:n] {
			own(t, blocks[i].Bytes(), 0, user)
		}
		for i := range blocks[:n] {
			own(t, p.Object(indexes[i]), user, 0)
		}
		put := n
		switch (round / 3) % 3 {
		case 0:
			for _, b := range blocks[:n] {
				if err = via.Put(b); err != nil {
					break
				}
			}
		case 1:
			put, err = via.PutBulk(blocks[:n])
		case 2:
			put, err = via.PutIndexes(indexes[:n])
		}
		if put != n || err != nil {
			t.Errorf("put of %d: %d, %v", n, put, err)
		}
	}
}

func TestPoolOfManyGoroutines(t *testing.T) {
	const users, rounds = 6, 3000
	for _, flags := range []uint32{0, Stats, PoolNoCache} {
		for name, via := range map[string]func(p *Pool, user uint64){
			"the pool's cache": func(p *Pool, user uint64) { work(t, p, p, user, rounds) },
			"a Cache each": func(p *Pool, user uint64) {
				c, err := p.NewCache()
				if err != nil {
					t.Error(err)
					return
				}
				work(t, p, c, user, rounds)
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			},
			"Caches that come and go": func(p *Pool, user uint64) {
				for i := 0; i < 30; i++ {
					c, err := p.NewCache()
					if err != nil {
						t.Error(err)
						return
					}
					work(t, p, c, user, rounds/30)
					if _, err := p.Reclaim(); err != nil {
						t.Error(err)
					}
					if err := c.Close(); err != nil {
						t.Error(err)
					}
				}
			},
		} {
			p := makePool(t, PoolOptions{Count: 50, ObjectSize: 16, CacheSize: 8, Flags: flags})
			var wait sync.WaitGroup
			for user := uint64(1); user <= users; user++ {
				wait.Add(1)
				go func(user uint64) {
					defer wait.Done()
					via(p, user)
				}(user)
			}
			wait.Wait()
			n, err := p.Available()
			moved(t, "Available after "+name, n, err, 50)
			if err := p.Audit(); err != nil {
				t.Errorf("Audit after %s: %v", name, err)
			}
		}
	}
}

// one is what gets and puts single objects, as Blocks or as indexes.
type one struct {
	name string
	get  func(p *Pool, c *Cache) (uint32, error)
	put  func(p *Pool, c *Cache, index uint32) error
}

var oneByOne = []one{
	{"Block", func(p *Pool, c *Cache) (uint32, error) {
		b, err := c.Get()
		return b.Index(), err
	}, func(p *Pool, c *Cache, index uint32) error {
		b, err := p.Block(index)
		if err == nil {
			err = c.Put(b)
		}
		return err
	}},
	{"Blocks", func(p *Pool, c *Cache) (uint32, error) {
		b := make([]Block, 1)
		n, err := c.GetBulk(b)
		if n == 0 && err == nil {
			err = ErrAgain
		}
		return b[0].Index(), err
	}, func(p *Pool, c *Cache, index uint32) error {
		b, err := p.Block(index)
		if err == nil {
			_, err = c.PutBulk([]Block{b})
		}
		return err
	}},
	{"index", func(p *Pool, c *Cache) (uint32, error) {
		v := make([]uint32, 1)
		n, err := c.GetIndexes(v)
		if n == 0 && err == nil {
			err = ErrAgain
		}
		return v[0], err
	}, func(p *Pool, c *Cache, index uint32) error {
		_, err := c.PutIndexes([]uint32{index})
		return err
	}},
}

// Objects travel from goroutine to goroutine as indexes through a ring. What was written
// before a put is seen after the next get; -race would complain if the detector had not
// been told.
func TestPoolObjectsThroughARing(t *testing.T) {
	for _, maker := range oneByOne {
		for _, taker := range oneByOne {
			t.Run(maker.name+"-"+taker.name, func(t *testing.T) {
				p := makePool(t, PoolOptions{Count: 16, ObjectSize: 8, CacheSize: 4})
				r, err := NewRingOf[uint32](RingOptions{Capacity: 16, Producer: ST, Consumer: ST})
				if err != nil {
					t.Fatal(err)
				}
				const rounds = 1500
				beside := make([]int, 16) // memory of Go, one for each object
				go func() {
					if err := makeObjects(p, r, maker, rounds, beside); err != nil {
						t.Error(err)
					}
				}()
				if n := takeObjects(t, p, r, taker, beside); n != rounds && !t.Failed() {
					t.Error("objects that arrived:", n)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func makeObjects(p *Pool, r *RingOf[uint32], form one, rounds int, beside []int) error {
	defer r.CloseProducer()
	c, err := p.NewCache()
	if err != nil {
		return err
	}
	defer c.Close()
	for i := 0; i < rounds; {
		index, err := form.get(p, c)
		if err == ErrAgain {
			idle()
			continue
		}
		if err != nil {
			return err
		}
		*(*uint64)(unsafe.Pointer(&p.Object(index)[0])) = uint64(i)
		beside[index] = i
		if _, err := r.EnqueueBulk([]uint32{index}); err != nil { // has room for all objects
			return err
		}
		i++
	}
	return nil
}

func takeObjects(t *testing.T, p *Pool, r *RingOf[uint32], form one, beside []int) int {
	c, err := p.NewCache()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := 0; ; {
		index, ok, err := r.Dequeue()
		if err == ErrPipe {
			return i
		}
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			idle()
			continue
		}
		got := *(*uint64)(unsafe.Pointer(&p.Object(index)[0]))
		if got != uint64(i) || beside[index] != i {
			t.Fatalf("object %d came with %d and %d", i, got, beside[index])
		}
		beside[index] = -1
		if err := form.put(p, c, index); err != nil {
			t.Fatal("put:", err)
		}
		i++
	}
}

func TestPoolOneOfSeveralPutsWins(t *testing.T) {
	p := makePool(t, PoolOptions{Count: 4, ObjectSize: 8})
	for round := 0; round < 500; round++ {
		b := mustGet(t, p)
		var won atomic.Int32
		var wait sync.WaitGroup
		for i := 0; i < 3; i++ {
			wait.Add(1)
			go func() {
				defer wait.Done()
				switch err := p.Put(b); err {
				case nil:
					won.Add(1)
				case ErrAlready:
				default:
					t.Error("Put:", err)
				}
			}()
		}
		wait.Wait()
		if won.Load() != 1 {
			t.Fatal("puts of one Block that succeeded:", won.Load())
		}
	}
}

// Goroutines hammer on a pool while others close it: each call works or gets ErrClosed.
func TestPoolCloseAtAnyMoment(t *testing.T) {
	var calm atomic.Bool // for now nobody gets: Close is not to be refused forever
	getPut := func(via both) error {
		if calm.Load() {
			_, err := via.GetBulk(nil)
			return err
		}
		b, err := via.Get()
		if err == nil {
			err = via.Put(b)
		}
		return err
	}
	for round := 0; round < 10; round++ {
		calm.Store(round%2 == 1)
		p, err := NewPool(PoolOptions{Count: 64, ObjectSize: 32})
		if err != nil {
			t.Fatal(err)
		}
		c, err := p.NewCache()
		if err != nil {
			t.Fatal(err)
		}
		calls := []func() error{
			func() error { return getPut(p) },
			func() error { return getPut(c) },
			func() error { _, err := p.Stats(); return err },
			func() error { _, err := p.Reclaim(); return err },
			func() error { return p.Audit() },
			func() error {
				short, err := p.NewCache()
				if err != nil {
					return err
				}
				err = getPut(short)
				if closing := short.Close(); err == nil {
					err = closing
				}
				return err
			},
		}
		var inside, closers sync.WaitGroup
		var started atomic.Int32
		for _, call := range calls {
			inside.Add(1)
			go func(call func() error) {
				defer inside.Done()
				started.Add(1)
				for {
					err := call()
					if err == ErrClosed {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			}(call)
		}
		for started.Load() < int32(len(calls)) {
			idle()
		}
		for i := 0; i < 3; i++ {
			closers.Add(1)
			go func() {
				defer closers.Done()
				err := p.Close()
				for refused := 0; err != nil; refused++ { // an object was in use just then
					wantErr(t, "Close", err, ErrBusy)
					calm.Store(calm.Load() || refused > 5)
					idle()
					err = p.Close()
				}
			}()
		}
		closers.Wait()
		inside.Wait()
	}
}

// A Close that is refused disturbs nobody, whatever it is refused for.
func TestPoolRefusedCloseIsNotSeen(t *testing.T) {
	p := makePool(t, PoolOptions{Count: 64, ObjectSize: 16, Name: "go.pool.refused"})
	found, err := LookupPool("go.pool.refused")
	if err != nil {
		t.Fatal(err)
	}
	b := mustGet(t, p)
	var stop atomic.Bool
	var wait sync.WaitGroup
	for user := uint64(1); user <= 3; user++ {
		wait.Add(1)
		go func(user uint64) {
			defer wait.Done()
			c, err := p.NewCache()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for !stop.Load() {
				work(t, p, c, user, 9)
				work(t, p, p, user, 9)
			}
		}(user)
	}
	for i := 0; i < 100; i++ {
		wantErr(t, "Close with an object in use", p.Close(), ErrBusy)
		idle()
	}
	stop.Store(true)
	wait.Wait()
	mustPut(t, p, b)
	wantErr(t, "Close with a reference out", p.Close(), ErrBusy)
	mustPut(t, p, mustGet(t, p)) // through a cache that was given back meanwhile
	if err := found.Close(); err != nil {
		t.Error(err)
	}
}

// The net: what nobody closed is given back when the collector finds it.
func TestTheNetUnderForgottenPools(t *testing.T) {
	func() {
		p, err := NewPool(PoolOptions{Count: 4, ObjectSize: 8, Name: "go.pool.forgotten"})
		if err != nil {
			t.Fatal(err)
		}
		c, err := p.NewCache()
		if err != nil {
			t.Fatal(err)
		}
		mustPut(t, p, mustGet(t, c))
	}()
	for {
		runtime.GC()
		p, err := NewPool(PoolOptions{Count: 4, ObjectSize: 8, Name: "go.pool.forgotten"})
		if err == nil {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			return
		}
		wantErr(t, "NewPool", err, ErrExist)
		idle()
	}
}

func TestTheNetUnderForgottenCaches(t *testing.T) {
	p := makePool(t, PoolOptions{Count: 8, ObjectSize: 8, CacheSize: 8})
	func() {
		c, err := p.NewCache()
		if err != nil {
			t.Fatal(err)
		}
		all := make([]uint32, 8)
		n, err := c.GetIndexes(all)
		moved(t, "GetIndexes", n, err, 8)
		n, err = c.PutIndexes(all)
		moved(t, "PutIndexes", n, err, 8)
	}()
	for {
		b, err := p.Get()
		if err == nil {
			mustPut(t, p, b)
			return
		}
		wantErr(t, "Get", err, ErrAgain)
		runtime.GC()
		idle()
	}
}

// An object in use keeps its memory, even if nobody holds the Pool and the Block.
func TestTheNetSparesWhatIsInUse(t *testing.T) {
	var index uint32
	data := func() []byte {
		p, err := NewPool(PoolOptions{Count: 4, ObjectSize: 8, Name: "go.pool.spared"})
		if err != nil {
			t.Fatal(err)
		}
		b := mustGet(t, p)
		index = b.Index()
		return b.Bytes()
	}()
	for i := 0; i < 5; i++ {
		runtime.GC()
		idle()
		copy(data, "in use..")
	}
	found, err := LookupPool("go.pool.spared")
	if err != nil {
		t.Fatal("the pool is gone:", err)
	}
	want(t, "the object", string(found.Object(index)), "in use..")
	n, err := found.PutIndexes([]uint32{index})
	moved(t, "PutIndexes", n, err, 1)
	if err := found.Close(); err != nil {
		t.Error(err)
	}
}

func TestPoolsComeAndGo(t *testing.T) {
	for i := 0; i < 3000; i++ {
		p, err := NewPool(PoolOptions{Count: 16, ObjectSize: 16})
		if err != nil {
			t.Fatal(err)
		}
		mustPut(t, p, mustGet(t, p))
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
