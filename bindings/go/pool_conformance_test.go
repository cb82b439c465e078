// SPDX-License-Identifier: BSD-2-Clause

// The conformance script of pools.

package fp

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// place is an object of a pool of the case.
type place struct {
	pool  string
	index uint32
}

type poolPlayer struct {
	kind   kind
	pools  map[string]*Pool
	caches map[string]*Cache
	names  map[string]uint32 // of objects: their indexes
	blocks map[place]Block   // those that are out
}

func newPoolPlayer(k kind) player {
	return &poolPlayer{kind: k, pools: map[string]*Pool{}, caches: map[string]*Cache{},
		names: map[string]uint32{}, blocks: map[place]Block{}}
}

func (p *poolPlayer) open() int { return len(p.pools) }

func (p *poolPlayer) end() {
	for at, b := range p.blocks {
		_ = p.pools[at.pool].Put(b)
	}
	for _, pool := range p.pools {
		_ = pool.Close()
	}
}

// keep holds a new pool under a name of the script.
func (p *poolPlayer) keep(name string) func(*Pool, error) any {
	return func(pool *Pool, err error) any {
		if err == nil {
			p.pools[name] = pool
		}
		return result(0, err)
	}
}

func (p *poolPlayer) create(f fields, name string) any {
	return p.keep(name)(NewPool(PoolOptions{
		Count:      f.number("count", 0),
		ObjectSize: f.number("object_size", 64),
		Align:      f.number("align", 0),
		CacheSize:  f.number("cache_size", 0),
		MaxThreads: f.number("max_threads", 0),
		Name:       f.text("name", ""),
		Flags: flag(f.yes("stats"), Stats) | flag(f.yes("checked"), Checked) |
			flag(f.yes("no_cache"), PoolNoCache) |
			flag(p.kind.producer == ST, PoolSTGet) | flag(p.kind.consumer == ST, PoolSTPut),
	}))
}

// names is a list of the script: of names, numbers and nil.
func (f fields) names(key string) (all []any) {
	var raw json.RawMessage
	if !f.take(key, &raw) || json.Unmarshal(raw, &all) == nil {
		return all
	}
	var row struct {
		Name     string
		From, To int
	}
	if err := json.Unmarshal(raw, &row); err != nil {
		panic(err)
	}
	step := 1
	if row.To < row.From {
		step = -1
	}
	for i := row.From; i != row.To+step; i += step {
		all = append(all, fmt.Sprint(row.Name, i))
	}
	return all
}

// index is that of an object of the script.
func (p *poolPlayer) index(object any) uint32 {
	if number, ok := object.(float64); ok {
		return uint32(number)
	}
	index, known := p.names[object.(string)]
	if !known {
		panic(fmt.Sprint(object, " never came out"))
	}
	return index
}

func (p *poolPlayer) object(f fields) uint32 {
	var object any
	f.take("object", &object)
	return p.index(object)
}

// cameOut notes what is out now, and makes the comparison with the script.
func (p *poolPlayer) cameOut(name string, blocks []Block) func(fields) (string, any, any) {
	for _, b := range blocks {
		at := place{name, b.Index()}
		if _, out := p.blocks[at]; out {
			panic(fmt.Sprint("object ", at.index, " came out, and is out already"))
		}
		p.blocks[at] = b
	}
	return func(f fields) (what string, expected, got any) {
		names := f.names("out")
		if len(names) != len(blocks) {
			return "objects", len(names), len(blocks)
		}
		for i, b := range blocks {
			text, isName := names[i].(string)
			if _, known := p.names[text]; isName && !known {
				p.names[text] = b.Index()
			}
			if names[i] != nil && p.index(names[i]) != b.Index() {
				return fmt.Sprint("object ", i, " to be"), names[i], b.Index()
			}
		}
		return "", nil, nil
	}
}

// side is a Pool or a Cache.
type side interface {
	Get() (Block, error)
	Put(Block) error
	GetBulk([]Block) (int, error)
	PutBulk([]Block) (int, error)
}

func (p *poolPlayer) move(do, name string, f fields) (o outcome) {
	var through side = p.pools[name]
	if cache := f.text("cache", ""); cache != "" {
		through = p.caches[cache]
	}
	switch do {
	case "get":
		b, err := through.Get()
		if err == ErrAgain {
			return outcome{expect: 0, check: p.cameOut(name, nil)}
		}
		if o.expect = result(1, err); err == nil {
			o.check = p.cameOut(name, []Block{b})
		}
	case "get_bulk":
		blocks := make([]Block, f.number("n", 0))
		n, err := through.GetBulk(blocks)
		o.expect = result(n, err)
		o.check = p.cameOut(name, blocks[:n])
	case "put":
		at := place{name, p.object(f)}
		err := through.Put(p.blocks[at])
		if o.expect = result(0, err); err == nil {
			delete(p.blocks, at)
		}
	case "put_bulk":
		var places []place
		var blocks []Block
		for _, object := range f.names("objects") {
			at := place{name, p.index(object)}
			places = append(places, at)
			blocks = append(blocks, p.blocks[at])
		}
		n, err := through.PutBulk(blocks)
		o.expect = result(n, err)
		for _, at := range places[:n] {
			delete(p.blocks, at)
		}
	}
	return o
}

func (p *poolPlayer) cache(do, name string, f fields) (n int, err error) {
	cache := f.text("cache", "c")
	switch do {
	case "cache_create":
		p.caches[cache], err = p.pools[name].NewCache()
	case "cache_destroy":
		err = p.caches[cache].Close()
	case "cache_flush":
		n, err = p.caches[cache].Flush()
	case "cache_count":
		n, err = p.caches[cache].Count()
	}
	return n, err
}

// leaks compares the tags of what is out.
func (p *poolPlayer) leaks(pool *Pool) (o outcome) {
	leaks, err := pool.Leaks()
	o.expect = result(len(leaks), err)
	o.check = func(f fields) (what string, expected, got any) {
		var tags map[string]uint64
		if !f.take("tags", &tags) {
			return "", nil, nil
		}
		wanted, listed := map[uint32]uint64{}, map[uint32]uint64{}
		for name, tag := range tags {
			wanted[p.index(name)] = tag
		}
		for _, leak := range leaks {
			listed[leak.Index] = leak.Tag
		}
		if fmt.Sprint(wanted) != fmt.Sprint(listed) {
			return "tags", wanted, listed
		}
		return "", nil, nil
	}
	return o
}

// call makes the call of a step and says what came of it.
func (p *poolPlayer) call(do string, f fields) (o outcome) {
	name := f.text("pool", "p")
	switch do {
	case "create":
		return outcome{expect: p.create(f, name)}
	case "lookup":
		return outcome{expect: p.keep(name)(LookupPool(f.text("name", "")))}
	}
	pool := p.pools[name]
	if pool == nil {
		panic("no pool " + name)
	}
	var n int
	var err error
	switch do {
	case "get", "put", "get_bulk", "put_bulk":
		return p.move(do, name, f)
	case "cache_create", "cache_destroy", "cache_flush", "cache_count":
		n, err = p.cache(do, name, f)
	case "leaks":
		return p.leaks(pool)
	case "destroy", "unref":
		if err = pool.Close(); err == nil {
			delete(p.pools, name)
		}
	case "reclaim":
		n, err = pool.Reclaim()
	case "audit":
		err = pool.Audit()
	case "index":
		var index uint32
		index, err = pool.IndexOf(pool.Object(p.object(f)))
		n = int(index)
	case "contains":
		var yes bool
		yes, err = pool.Contains(pool.Object(p.object(f)))
		n = number(yes)
	case "set_tag":
		err = pool.SetTag(p.blocks[place{name, p.object(f)}], uint64(f.number("tag", 0)))
	case "write", "holds":
		memory := p.blocks[place{name, p.object(f)}].Bytes()
		wanted := encode(f["bytes"], pool.ObjectSize())
		delete(f, "bytes")
		if do == "write" {
			copy(memory, wanted)
		} else {
			n = number(bytes.Equal(memory, wanted))
		}
	case "avail_count":
		n, err = pool.Available()
	case "in_use_count":
		n, err = pool.InUse()
	case "is_full", "is_empty":
		ask := map[string]func() (bool, error){"is_full": pool.IsFull, "is_empty": pool.IsEmpty}[do]
		var yes bool
		yes, err = ask()
		n = number(yes)
	case "memory":
		n, err = pool.Memory()
	case "capacity":
		n = pool.Capacity()
	case "object_size":
		n = pool.ObjectSize()
	case "stride":
		n = pool.Stride()
	case "cache_size":
		n = pool.CacheSize()
	case "name":
		if o.expect = any(pool.Name()); pool.Name() == "" {
			o.expect = nil
		}
		return o
	case "stats":
		var s PoolStats
		s, err = pool.Stats()
		o.fields = map[string]uint64{"flags": uint64(s.Flags), "capacity": s.Capacity,
			"available": s.Available, "in_use": s.InUse, "in_depot": s.InDepot,
			"in_explicit_caches": s.InExplicitCaches, "thread_caches": s.ThreadCaches,
			"explicit_caches": s.ExplicitCaches, "gets": s.Gets, "objects_got": s.ObjectsGot,
			"puts": s.Puts, "objects_put": s.ObjectsPut, "failures": s.Failures,
			"cache_hits": s.CacheHits, "depot_exchanges": s.DepotExchanges,
			"misuses": s.Misuses}
	default:
		panic("unknown call " + do)
	}
	o.expect = result(n, err)
	return o
}
