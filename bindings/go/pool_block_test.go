// SPDX-License-Identifier: BSD-2-Clause

// Objects of pools: their memory, their indexes, and what happens to a Block that is used
// too late.

package fp

import (
	"bytes"
	"math"
	"testing"
	"unsafe"
)

// panicOf is what f panics with.
func panicOf(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = p.(error)
		}
	}()
	f()
	return nil
}

func TestPoolObjectsAreApartAndKeepTheirContents(t *testing.T) {
	for _, options := range []PoolOptions{
		{Count: 1, ObjectSize: 1},
		{Count: 9, ObjectSize: 24},
		{Count: 100, ObjectSize: 7, Align: 1},
		{Count: 33, ObjectSize: 100, Align: 64},
		{Count: 5, ObjectSize: 4096, Align: 4096, CacheSize: 5},
		{Count: 40, ObjectSize: 60, Align: 4, Flags: Checked},
	} {
		p := makePool(t, options)
		blocks := make([]Block, options.Count)
		n, err := p.GetBulk(blocks)
		moved(t, "GetBulk of all", n, err, options.Count)
		seen := map[uint32]bool{}
		for i, b := range blocks {
			seen[b.Index()] = true
			data := b.Bytes()
			want(t, "length", len(data), options.ObjectSize)
			want(t, "room beyond", cap(data), options.ObjectSize)
			if align := uintptr(options.Align); align > 0 &&
				uintptr(unsafe.Pointer(&data[0]))%align != 0 {
				t.Errorf("object %d is not aligned to %d", b.Index(), align)
			}
			if options.Flags == 0 && len(bytes.Trim(data, "\x00")) != 0 {
				t.Errorf("object %d does not start as zeroes", b.Index())
			}
			for j := range data {
				data[j] = byte(i + j)
			}
		}
		want(t, "different objects", len(seen), options.Count)
		for i, b := range blocks {
			for j, v := range b.Bytes() {
				if v != byte(i+j) {
					t.Fatalf("byte %d of object %d was overwritten", j, b.Index())
				}
			}
			index, err := p.IndexOf(b.Bytes())
			moved(t, "IndexOf", int(index), err, int(b.Index()))
		}
		n, err = p.PutBulk(blocks)
		moved(t, "PutBulk", n, err, options.Count)
		if options.Flags != 0 {
			continue // what is available is not what it was
		}
		again := mustGet(t, p)
		want(t, "the last one put comes first", again.Index(), blocks[len(blocks)-1].Index())
		want(t, "its first byte", again.Bytes()[0], byte(options.Count-1))
		mustPut(t, p, again)
	}
}

// A stride that is a power of two, and ones that are not, up to large tables.
func TestPoolIndexesOfEveryObject(t *testing.T) {
	for _, size := range []int{1, 8, 24, 40, 56, 104, 1000, 1048} {
		for _, flags := range []uint32{0, Checked} {
			const count = 3000
			p := makePool(t, PoolOptions{Count: count, ObjectSize: size, Flags: flags})
			indexes := make([]uint32, count)
			n, err := p.GetIndexes(indexes)
			moved(t, "GetIndexes", n, err, count)
			seen := make([]bool, count)
			for _, index := range indexes {
				if index >= count || seen[index] {
					t.Fatalf("size %d: index %d is wrong or came twice", size, index)
				}
				seen[index] = true
				at := uintptr(unsafe.Pointer(&p.Object(index)[0])) - uintptr(unsafe.Pointer(p.base))
				if at != uintptr(index)*uintptr(p.Stride()) {
					t.Fatalf("size %d: object %d is at %d", size, index, at)
				}
			}
			n, err = p.PutIndexes(indexes)
			moved(t, "PutIndexes", n, err, count)
		}
	}
}

func TestPoolBlockAfterPut(t *testing.T) {
	for _, flags := range []uint32{0, Checked} {
		p := makePool(t, PoolOptions{Count: 8, ObjectSize: 16, Flags: flags})
		b := mustGet(t, p)
		same := b
		byIndex, err := p.Block(b.Index())
		if err != nil || byIndex != b {
			t.Error("Block of the index:", byIndex, err)
		}
		mustPut(t, p, same)
		for what, dead := range map[string]Block{"put": b, "put as a copy": same, "from its index": byIndex} {
			wantErr(t, "Bytes of a Block that was "+what, panicOf(func() { dead.Bytes() }), ErrAlready)
			wantErr(t, "Put of a Block that was "+what, p.Put(dead), ErrAlready)
			n, err := p.PutBulk([]Block{dead})
			if n != 0 {
				t.Error("PutBulk of a dead Block:", n)
			}
			wantErr(t, "PutBulk of a Block that was "+what, err, ErrAlready)
			wantErr(t, "SetTag", p.SetTag(dead, 1), ErrAlready)
		}
		// The object lives on, as another Block.
		again := mustGet(t, p)
		want(t, "the same object", again.Index(), b.Index())
		wantErr(t, "Bytes of the old Block", panicOf(func() { b.Bytes() }), ErrAlready)
		wantErr(t, "Put of the old Block", p.Put(b), ErrAlready)
		again.Bytes()[0] = 1
		n, err := p.PutIndexes([]uint32{again.Index()})
		moved(t, "PutIndexes", n, err, 1)
		wantErr(t, "Put after PutIndexes", p.Put(again), ErrAlready)

		// Put by who has nothing but the index, and cannot tell this Pool: seen at the next get.
		b = mustGet(t, p)
		other, err := NewPool(PoolOptions{Count: 8, ObjectSize: 16, Name: "go.pool.stale"})
		if err != nil {
			t.Fatal(err)
		}
		found, err := LookupPool("go.pool.stale")
		if err != nil {
			t.Fatal(err)
		}
		away := mustGet(t, other)
		wantErr(t, "a Block of another Pool", found.Put(away), ErrFault)
		wantErr(t, "a Block of another pool", p.Put(away), ErrFault)
		wantErr(t, "SetTag", p.SetTag(away, 1), ErrFault)
		n, err = found.PutIndexes([]uint32{away.Index()})
		moved(t, "PutIndexes by the other", n, err, 1)
		if _, err := found.Reclaim(); err != nil {
			t.Error(err)
		}
		all := make([]uint32, 8)
		n, err = other.GetIndexes(all)
		moved(t, "GetIndexes", n, err, 8)
		wantErr(t, "Put of the old Block", other.Put(away), ErrAlready)
		n, err = other.PutIndexes(all)
		moved(t, "PutIndexes", n, err, 8)
		for _, pool := range []*Pool{found, other} {
			if err := pool.Close(); err != nil {
				t.Error("Close:", err)
			}
		}
		mustPut(t, p, b)
	}
}

func TestPoolPutBulkPutsAllOrNone(t *testing.T) {
	p := makePool(t, PoolOptions{Count: 8, ObjectSize: 16})
	blocks := make([]Block, 4)
	n, err := p.GetBulk(blocks)
	moved(t, "GetBulk", n, err, 4)
	twice := []Block{blocks[0], blocks[1], blocks[0]}
	_, err = p.PutBulk(twice)
	wantErr(t, "PutBulk of a Block twice", err, ErrAlready)
	_, err = p.PutBulk([]Block{blocks[0], {}})
	wantErr(t, "PutBulk with a zero Block", err, ErrInvalid)
	_, err = p.PutIndexes([]uint32{blocks[0].Index(), 8})
	wantErr(t, "PutIndexes with an index too large", err, ErrFault)
	_, err = p.PutIndexes([]uint32{math.MaxUint32})
	wantErr(t, "PutIndexes of no index", err, ErrFault)
	n, err = p.InUse()
	moved(t, "InUse", n, err, 4)
	n, err = p.PutBulk(blocks) // all live on
	moved(t, "PutBulk", n, err, 4)
}

func TestPoolWithoutABlock(t *testing.T) {
	p := makePool(t, PoolOptions{Count: 2, ObjectSize: 8})
	var zero Block
	wantErr(t, "Bytes of a zero Block", panicOf(func() { zero.Bytes() }), ErrInvalid)
	wantErr(t, "Put of a zero Block", p.Put(zero), ErrInvalid)
	_, err := p.Block(2)
	wantErr(t, "Block of no index", err, ErrFault)
	wantErr(t, "Object of no index", panicOf(func() { p.Object(2) }), ErrFault)
	wantErr(t, "Object of a nil Pool", panicOf(func() { (*Pool)(nil).Object(0) }), ErrInvalid)

	inside := p.Object(1)
	if yes, err := p.Contains(inside[3:]); !yes || err != nil {
		t.Error("Contains inside an object:", yes, err)
	}
	_, err = p.IndexOf(inside[3:])
	wantErr(t, "IndexOf inside an object", err, ErrFault)
	for name, data := range map[string][]byte{"nothing": nil, "memory of Go": make([]byte, 8)} {
		if yes, err := p.Contains(data); yes || err != nil {
			t.Errorf("Contains of %s: %v, %v", name, yes, err)
		}
		_, err = p.IndexOf(data)
		wantErr(t, "IndexOf of "+name, err, ErrFault)
	}
	index, err := p.IndexOf(inside[:0])
	moved(t, "IndexOf of an empty slice there", int(index), err, 1)
}
