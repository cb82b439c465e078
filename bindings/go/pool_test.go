// SPDX-License-Identifier: BSD-2-Clause

// Pools from one goroutine: every call, every error, every boundary.

package fp

import (
	"errors"
	"io/fs"
	"math"
	"strings"
	"testing"
	"unsafe"
)

// makePool makes a pool that is whole, and closed, when the test ends.
func makePool(t testing.TB, options PoolOptions) *Pool {
	t.Helper()
	p, err := NewPool(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Audit(); err != nil && err != ErrClosed {
			t.Errorf("Audit at the end: %v", err)
		}
		if err := p.Close(); err != nil {
			t.Errorf("Close at the end: %v", err)
		}
	})
	return p
}

// mustGet gets one object.
func mustGet(t testing.TB, from interface{ Get() (Block, error) }) Block {
	t.Helper()
	b, err := from.Get()
	if err != nil {
		t.Fatal("Get:", err)
	}
	return b
}

func mustPut(t testing.TB, to interface{ Put(Block) error }, b Block) {
	t.Helper()
	if err := to.Put(b); err != nil {
		t.Fatal("Put:", err)
	}
}

func TestPoolGetsAreAllOrNothing(t *testing.T) {
	p := makePool(t, PoolOptions{Count: 10, ObjectSize: 16, CacheSize: 4})
	first := make([]uint32, 7)
	n, err := p.GetIndexes(first)
	moved(t, "GetIndexes of 7 of 10", n, err, 7)
	n, err = p.GetIndexes(make([]uint32, 4))
	moved(t, "GetIndexes of 4 of 3", n, err, 0)
	n, err = p.GetBulk(make([]Block, 4))
	moved(t, "GetBulk of 4 of 3", n, err, 0)
	rest := make([]Block, 3)
	n, err = p.GetBulk(rest)
	moved(t, "GetBulk of the rest", n, err, 3)
	_, err = p.Get()
	wantErr(t, "Get of nothing", err, ErrAgain)
	_, err = p.GetIndexes(make([]uint32, 11))
	wantErr(t, "GetIndexes beyond the capacity", err, ErrInvalid)
	_, err = p.GetBulk(make([]Block, 11))
	wantErr(t, "GetBulk beyond the capacity", err, ErrInvalid)
	_, err = p.PutIndexes(make([]uint32, 11))
	wantErr(t, "PutIndexes beyond the capacity", err, ErrInvalid)
	_, err = p.PutBulk(make([]Block, 11))
	wantErr(t, "PutBulk beyond the capacity", err, ErrInvalid)
	n, err = p.InUse()
	moved(t, "InUse", n, err, 10)
	if empty, err := p.IsEmpty(); !empty || err != nil {
		t.Error("IsEmpty:", empty, err)
	}
	n, err = p.PutIndexes(first)
	moved(t, "PutIndexes", n, err, 7)
	n, err = p.PutBulk(rest)
	moved(t, "PutBulk", n, err, 3)
	if full, err := p.IsFull(); !full || err != nil {
		t.Error("IsFull:", full, err)
	}
	for name, call := range map[string]func() (int, error){
		"GetBulk":    func() (int, error) { return p.GetBulk(nil) },
		"PutBulk":    func() (int, error) { return p.PutBulk([]Block{}) },
		"GetIndexes": func() (int, error) { return p.GetIndexes([]uint32{}) },
		"PutIndexes": func() (int, error) { return p.PutIndexes(nil) },
	} {
		n, err := call()
		moved(t, name+" of none", n, err, 0)
	}
}

func TestPoolCaches(t *testing.T) {
	p := makePool(t, PoolOptions{Count: 12, ObjectSize: 8, CacheSize: 4, Flags: Stats})
	want(t, "CacheSize", p.CacheSize(), 4)
	one, err := p.NewCache()
	if err != nil {
		t.Fatal(err)
	}
	two, err := p.NewCache()
	if err != nil {
		t.Fatal(err)
	}
	indexes := make([]uint32, 12)
	n, err := one.GetIndexes(indexes)
	moved(t, "GetIndexes", n, err, 12)
	n, err = two.PutIndexes(indexes[:4]) // got here, put there
	moved(t, "PutIndexes", n, err, 4)
	n, err = two.Count()
	moved(t, "Count", n, err, 4)
	_, err = one.Get()
	wantErr(t, "Get of what another Cache has", err, ErrAgain)
	stats, err := p.Stats()
	if err != nil {
		t.Fatal(err)
	}
	want(t, "Stats", stats, PoolStats{Flags: PoolStatsCounted, Capacity: 12, Available: 4, InUse: 8,
		InExplicitCaches: 4, ExplicitCaches: 2, Gets: 1, ObjectsGot: 12, Puts: 1, ObjectsPut: 4,
		Failures: 1, CacheHits: 1, DepotExchanges: 1})
	n, err = two.Flush()
	moved(t, "Flush", n, err, 4)
	mustPut(t, one, mustGet(t, one))
	n, err = p.Reclaim()
	moved(t, "Reclaim", n, err, 0)
	for name, c := range map[string]*Cache{"one": one, "two": two} {
		n, err = c.Count()
		moved(t, "Count of "+name+" after Reclaim", n, err, 0)
	}
	n, err = p.GetIndexes(indexes[:4])
	moved(t, "GetIndexes after Reclaim", n, err, 4)
	n, err = one.PutIndexes(indexes[:12])
	moved(t, "PutIndexes", n, err, 12)

	for i := 0; i < 2; i++ {
		if err := two.Close(); err != nil {
			t.Error("Close of a Cache:", err)
		}
	}
	for call, err := range everyCacheCall(two) {
		wantErr(t, call+" after Close", err, ErrClosed)
	}
	if err := p.Close(); err != nil { // with a Cache open, and objects in it
		t.Error("Close:", err)
	}
	for call, err := range everyCacheCall(one) {
		wantErr(t, call+" after Close of the pool", err, ErrClosed)
	}
	if err := one.Close(); err != nil {
		t.Error("Close of a Cache of a closed pool:", err)
	}
}

// everyCacheCall is every method of a Cache that can be refused.
func everyCacheCall(c *Cache) map[string]error {
	errs := map[string]error{}
	_, errs["Get"] = c.Get()
	errs["Put"] = c.Put(Block{})
	_, errs["GetBulk"] = c.GetBulk(make([]Block, 1))
	_, errs["PutBulk"] = c.PutBulk(nil)
	_, errs["GetIndexes"] = c.GetIndexes(make([]uint32, 1))
	_, errs["PutIndexes"] = c.PutIndexes(nil)
	_, errs["Flush"] = c.Flush()
	_, errs["Count"] = c.Count()
	return errs
}

// everyPoolCall is the same for a Pool.
func everyPoolCall(p *Pool) map[string]error {
	errs := map[string]error{}
	_, errs["Get"] = p.Get()
	errs["Put"] = p.Put(Block{})
	_, errs["GetBulk"] = p.GetBulk(make([]Block, 1))
	_, errs["PutBulk"] = p.PutBulk(nil)
	_, errs["GetIndexes"] = p.GetIndexes(make([]uint32, 1))
	_, errs["PutIndexes"] = p.PutIndexes(nil)
	_, errs["NewCache"] = p.NewCache()
	_, errs["Block"] = p.Block(0)
	_, errs["IndexOf"] = p.IndexOf(nil)
	_, errs["Contains"] = p.Contains(nil)
	_, errs["Available"] = p.Available()
	_, errs["InUse"] = p.InUse()
	_, errs["IsFull"] = p.IsFull()
	_, errs["IsEmpty"] = p.IsEmpty()
	_, errs["Memory"] = p.Memory()
	_, errs["Reclaim"] = p.Reclaim()
	_, errs["Stats"] = p.Stats()
	_, errs["Leaks"] = p.Leaks()
	errs["SetTag"] = p.SetTag(Block{}, 1)
	errs["Audit"] = p.Audit()
	return errs
}

func TestNilAndZeroPools(t *testing.T) {
	for name, p := range map[string]*Pool{"nil": nil, "zero": new(Pool)} {
		for call, err := range everyPoolCall(p) {
			wantErr(t, call+" of a "+name+" Pool", err, ErrInvalid)
		}
		if err := p.Close(); err != nil {
			t.Errorf("Close of a %s Pool: %v", name, err)
		}
		if p.Handle() != nil || p.Capacity() != 0 || p.ObjectSize() != 0 || p.Stride() != 0 ||
			p.CacheSize() != 0 || p.Name() != "" {
			t.Errorf("a %s Pool has properties", name)
		}
	}
	for name, c := range map[string]*Cache{"nil": nil, "zero": new(Cache)} {
		for call, err := range everyCacheCall(c) {
			wantErr(t, call+" of a "+name+" Cache", err, ErrInvalid)
		}
		if err := c.Close(); err != nil {
			t.Errorf("Close of a %s Cache: %v", name, err)
		}
	}
}

func TestEveryPoolCallAfterClose(t *testing.T) {
	p := makePool(t, PoolOptions{Count: 4, ObjectSize: 8})
	b := mustGet(t, p)
	wantErr(t, "Close with an object in use", p.Close(), ErrBusy)
	if err := p.Close(); !strings.Contains(err.Error(), "1 objects") {
		t.Error("Close does not say how many are in use:", err)
	}
	b.Bytes()[0] = 1 // lives on
	mustPut(t, p, b)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	for call, err := range everyPoolCall(p) {
		if err != ErrClosed {
			t.Errorf("%s after Close: %v", call, err)
		}
	}
	wantErr(t, "Bytes after Close", panicOf(func() { b.Bytes() }), ErrClosed)
	wantErr(t, "Object after Close", panicOf(func() { p.Object(0) }), ErrClosed)
	if p.Handle() != nil {
		t.Error("a closed pool has a Handle")
	}
	want(t, "Capacity of a closed pool", p.Capacity(), 4)
}

func TestPoolOptionsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		options PoolOptions
		err     error
	}{
		{PoolOptions{}, ErrInvalid},
		{PoolOptions{Count: 1}, ErrInvalid},
		{PoolOptions{ObjectSize: 1}, ErrInvalid},
		{PoolOptions{Count: -1, ObjectSize: 1}, ErrInvalid},
		{PoolOptions{Count: PoolCountMax + 1, ObjectSize: 1}, ErrInvalid},
		{PoolOptions{Count: 1, ObjectSize: -1}, ErrInvalid},
		{PoolOptions{Count: 1, ObjectSize: math.MaxUint32 + 1}, ErrInvalid},
		{PoolOptions{Count: 1, ObjectSize: 1, Align: 3}, ErrInvalid},
		{PoolOptions{Count: 1, ObjectSize: 1, Align: -8}, ErrInvalid},
		{PoolOptions{Count: 1, ObjectSize: 1, Align: 2 * PoolAlignMax}, ErrInvalid},
		{PoolOptions{Count: 1, ObjectSize: 1, CacheSize: 2}, ErrInvalid},
		{PoolOptions{Count: 1, ObjectSize: 1, CacheSize: -1}, ErrInvalid},
		{PoolOptions{Count: 1, ObjectSize: 1, MaxThreads: PoolThreadsMax + 1}, ErrInvalid},
		{PoolOptions{Count: 1, ObjectSize: 1, MaxThreads: -1}, ErrInvalid},
		{PoolOptions{Count: 1, ObjectSize: 1, Flags: 1 << 31}, ErrNotSupported},
		{PoolOptions{Count: 1, ObjectSize: 1, Name: strings.Repeat("x", NameMax+1)}, ErrNameTooLong},
		{PoolOptions{Count: 1, ObjectSize: 1, Name: "a\x00b"}, ErrInvalid},
		{PoolOptions{Count: PoolCountMax, ObjectSize: math.MaxUint32}, ErrNoMemory},
	} {
		p, err := NewPool(c.options)
		if p != nil || !errors.Is(err, c.err) {
			t.Errorf("%+v: %v, %v; want %v", c.options, p, err, c.err)
		}
	}
	for _, options := range []PoolOptions{
		{Count: 1, ObjectSize: 1, Name: strings.Repeat("x", NameMax)},
		{Count: 1000, ObjectSize: 100, Flags: MemHuge | MemPrefault | MemNode, MaxThreads: 2},
		{Count: 100, ObjectSize: 100, Flags: PoolNoCache},
		{Count: 100, ObjectSize: 100, Flags: PoolSTGet | PoolSTPut},
	} {
		p := makePool(t, options)
		mustPut(t, p, mustGet(t, p))
	}
}

func TestPoolNamesAndReferences(t *testing.T) {
	options := PoolOptions{Count: 8, ObjectSize: 12, Name: "go.pool.shared"}
	p, err := NewPool(options)
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewPool(options)
	wantErr(t, "a name that is taken", err, fs.ErrExist)
	_, err = LookupPool("go.pool.nobody")
	wantErr(t, "a name that nothing has", err, ErrNotExist)
	_, err = LookupPool("go\x00pool")
	wantErr(t, "a name with a zero byte", err, ErrInvalid)

	found, err := LookupPool("go.pool.shared")
	if err != nil {
		t.Fatal(err)
	}
	want(t, "Name", found.Name(), "go.pool.shared")
	want(t, "Capacity", found.Capacity(), 8)
	want(t, "ObjectSize", found.ObjectSize(), 12)
	b := mustGet(t, found)
	copy(b.Bytes(), "hello, there")
	here, err := p.Block(b.Index())
	if err != nil {
		t.Fatal(err)
	}
	want(t, "the same memory", string(here.Bytes()), "hello, there")
	mustPut(t, p, here)
	wantErr(t, "Close with a reference out", p.Close(), ErrBusy)
	mustPut(t, p, mustGet(t, p)) // after a refused Close

	b = mustGet(t, found)
	for i := 0; i < 2; i++ {
		if err := found.Close(); err != nil {
			t.Error("Close of a reference:", err)
		}
	}
	wantErr(t, "Bytes by a closed reference", panicOf(func() { b.Bytes() }), ErrClosed)
	wantErr(t, "Put by a closed reference", found.Put(b), ErrClosed)
	wantErr(t, "Close with its object in use", p.Close(), ErrBusy)
	n, err := p.PutIndexes([]uint32{b.Index()})
	moved(t, "PutIndexes", n, err, 1)
	if err := p.Close(); err != nil {
		t.Error("Close:", err)
	}
	_, err = LookupPool("go.pool.shared")
	wantErr(t, "the name of a closed pool", err, ErrNotExist)
}

func TestPoolCheckedFindsMisuse(t *testing.T) {
	p := makePool(t, PoolOptions{Count: 8, ObjectSize: 16, Flags: Checked})
	plain := makePool(t, PoolOptions{Count: 8, ObjectSize: 16})
	_, err := plain.Leaks()
	wantErr(t, "Leaks of a pool that is not Checked", err, ErrNotSupported)
	wantErr(t, "SetTag there", func() error {
		b := mustGet(t, plain)
		defer mustPut(t, plain, b)
		return plain.SetTag(b, 1)
	}(), ErrNotSupported)

	blocks := make([]Block, 3)
	n, err := p.GetBulk(blocks)
	moved(t, "GetBulk", n, err, 3)
	if err := p.SetTag(blocks[1], 77); err != nil {
		t.Error("SetTag:", err)
	}
	leaks, err := p.Leaks()
	if err != nil || len(leaks) != 3 {
		t.Fatal("Leaks:", leaks, err)
	}
	tags := map[uint32]uint64{blocks[1].Index(): 77}
	for i, l := range leaks {
		if l.Tag != tags[l.Index] || l.Thread <= 0 || l.SinceNS == 0 ||
			i > 0 && l.Index <= leaks[i-1].Index {
			t.Errorf("leak %d: %+v", i, l)
		}
	}
	n, err = p.PutIndexes([]uint32{blocks[0].Index()})
	moved(t, "PutIndexes", n, err, 1)
	_, err = p.PutIndexes([]uint32{blocks[1].Index(), blocks[0].Index()})
	wantErr(t, "an index put twice", err, ErrAlready)
	dead, err := p.Block(blocks[0].Index()) // not in use, which nobody looked at
	if err != nil {
		t.Fatal(err)
	}
	wantErr(t, "Put of an object that is not in use", p.Put(dead), ErrAlready)
	wantErr(t, "SetTag of it", p.SetTag(dead, 1), ErrAlready)

	// Beyond the end: refused once and mended, the Block lives on.
	data := blocks[1].Bytes()
	beyond := (*byte)(unsafe.Add(unsafe.Pointer(&data[0]), len(data)))
	*beyond++
	wantErr(t, "Put of an object with a guard overwritten", p.Put(blocks[1]), ErrUnclean)
	blocks[1].Bytes()[0] = 1
	mustPut(t, p, blocks[1])

	// After the put: the next get of it is refused, once.
	data[0]++
	wantErr(t, "Audit", p.Audit(), ErrUnclean)
	_, err = p.Get()
	wantErr(t, "Get of an object written to after its put", err, ErrUnclean)
	mustPut(t, p, mustGet(t, p))
	mustPut(t, p, blocks[2])
	stats, err := p.Stats()
	if err != nil || stats.Misuses < 4 {
		t.Error("Misuses:", stats.Misuses, err)
	}
}

func TestWhatAPoolSaysAboutItself(t *testing.T) {
	p := makePool(t, PoolOptions{Count: 100, ObjectSize: 8, Name: "go.pool.self"})
	want(t, "Name", p.Name(), "go.pool.self")
	want(t, "Stride", p.Stride(), 8)
	want(t, "CacheSize", p.CacheSize(), 12)
	if p.Handle() == nil {
		t.Error("no Handle")
	}
	n, err := p.Available()
	moved(t, "Available", n, err, 100)
	if n, err := p.Memory(); n < 800 || err != nil {
		t.Error("Memory:", n, err)
	}
	// A goroutine's thread gets no cache of its own, whatever is called.
	mustPut(t, p, mustGet(t, p))
	if _, err := p.Reclaim(); err != nil {
		t.Error(err)
	}
	stats, err := p.Stats()
	if err != nil || stats.ThreadCaches != 0 {
		t.Error("thread caches:", stats.ThreadCaches, err)
	}
}
