// SPDX-License-Identifier: BSD-2-Clause

// Pools against a model: random calls through several caches, after each of which every
// object is where the model says, and dead Blocks are refused.

package fp

import (
	"encoding/binary"
	"fmt"
	"math/rand"
	"testing"
)

// poolModel knows who has what.
type poolModel struct {
	t      *testing.T
	pool   *Pool
	caches []*Cache
	live   []Block         // in use, each with its index in its memory
	dead   []Block         // were put
	in     map[uint32]bool // indexes of live
	random *rand.Rand
}

// within is what cache c has and what the common store has.
func (m *poolModel) within(c *Cache) int {
	n, err := c.Count()
	if err != nil {
		m.t.Fatal("Count:", err)
	}
	stats, err := m.pool.Stats()
	if err != nil {
		m.t.Fatal("Stats:", err)
	}
	want(m.t, "InUse", int(stats.InUse), len(m.live))
	return n + int(stats.InDepot)
}

func (m *poolModel) took(b Block) {
	if m.in[b.Index()] {
		m.t.Fatal("an object came twice:", b.Index())
	}
	binary.LittleEndian.PutUint32(b.Bytes(), b.Index())
	m.in[b.Index()] = true
	m.live = append(m.live, b)
}

// give chooses n live Blocks and takes them out of the model.
func (m *poolModel) give(n int) []Block {
	m.random.Shuffle(len(m.live), func(i, j int) { m.live[i], m.live[j] = m.live[j], m.live[i] })
	at := len(m.live) - n
	out := append([]Block(nil), m.live[at:]...)
	m.live = m.live[:at]
	for _, b := range out {
		if v := binary.LittleEndian.Uint32(b.Bytes()); v != b.Index() {
			m.t.Fatalf("object %d holds %d", b.Index(), v)
		}
		delete(m.in, b.Index())
	}
	m.dead = append(m.dead, out...)
	return out
}

func indexesOf(blocks []Block) []uint32 {
	indexes := make([]uint32, len(blocks))
	for i, b := range blocks {
		indexes[i] = b.Index()
	}
	return indexes
}

func (m *poolModel) step() {
	c := m.caches[m.random.Intn(len(m.caches))]
	n := m.random.Intn(12)
	there := m.within(c)
	fits := n
	if n > there {
		fits = 0
	}
	switch m.random.Intn(8) {
	case 0:
		b, err := c.Get()
		if there == 0 {
			wantErr(m.t, "Get of nothing", err, ErrAgain)
		} else if err != nil {
			m.t.Fatal("Get:", err)
		} else {
			m.took(b)
		}
	case 1:
		blocks := make([]Block, n)
		got, err := c.GetBulk(blocks)
		moved(m.t, "GetBulk", got, err, fits)
		for _, b := range blocks[:got] {
			m.took(b)
		}
	case 2:
		indexes := make([]uint32, n)
		got, err := c.GetIndexes(indexes)
		moved(m.t, "GetIndexes", got, err, fits)
		for _, index := range indexes[:got] {
			b, err := m.pool.Block(index)
			if err != nil {
				m.t.Fatal("Block:", err)
			}
			m.took(b)
		}
	case 3:
		if len(m.live) > 0 {
			mustPut(m.t, c, m.give(1)[0])
		}
	case 4:
		if n <= len(m.live) {
			put, err := c.PutBulk(m.give(n))
			moved(m.t, "PutBulk", put, err, n)
		}
	case 5:
		if n <= len(m.live) {
			put, err := c.PutIndexes(indexesOf(m.give(n)))
			moved(m.t, "PutIndexes", put, err, n)
		}
	case 6:
		if _, err := c.Flush(); err != nil {
			m.t.Fatal("Flush:", err)
		}
	case 7:
		if len(m.dead) > 0 {
			b := m.dead[m.random.Intn(len(m.dead))]
			wantErr(m.t, "Put of a dead Block", c.Put(b), ErrAlready)
			wantErr(m.t, "Bytes of a dead Block", panicOf(func() { b.Bytes() }), ErrAlready)
		}
	}
}

func TestPoolAgainstTheModel(t *testing.T) {
	for seed := int64(1); seed <= 12; seed++ {
		for _, flags := range []uint32{0, Checked, Stats} {
			t.Run(fmt.Sprint(seed, "/", flags), func(t *testing.T) {
				p := makePool(t, PoolOptions{Count: 20 + int(seed), ObjectSize: 4 * int(seed),
					CacheSize: int(seed), Flags: flags})
				m := &poolModel{t: t, pool: p, in: map[uint32]bool{},
					random: rand.New(rand.NewSource(seed))}
				for i := 0; i < 3; i++ {
					c, err := p.NewCache()
					if err != nil {
						t.Fatal(err)
					}
					m.caches = append(m.caches, c)
				}
				for i := 0; i < 1500; i++ {
					m.step()
				}
				n, err := p.PutBulk(m.live)
				moved(t, "PutBulk of the rest", n, err, len(m.live))
			})
		}
	}
}
