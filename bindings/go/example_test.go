// SPDX-License-Identifier: BSD-2-Clause

// The examples of docs/go.md: each block of Go there is part of this file, and a test
// compares the two.

package fp_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"libfp/fp"
)

func Example() {
	ring, err := fp.NewRing(fp.RingOptions{Capacity: 1000})
	if err != nil {
		log.Fatal(err)
	}
	defer ring.Close()

	n, _ := ring.EnqueueBurst([]uint64{1, 2, 3, 4}) // as many as fit
	fmt.Println(n, "enqueued")

	elems := make([]uint64, 32)
	n, _ = ring.DequeueBurst(elems) // 0: empty for now
	fmt.Println(elems[:n])
	// Output:
	// 4 enqueued
	// [1 2 3 4]
}

func Example_goroutines() {
	ring, err := fp.NewRing(fp.RingOptions{Capacity: 1024, Producer: fp.ST, Consumer: fp.ST})
	if err != nil {
		log.Fatal(err)
	}
	defer ring.Close()

	go func() { // the only producer
		defer ring.CloseProducer()
		burst := make([]uint64, 256)
		for next := uint64(0); next < 1e6; {
			for i := range burst {
				burst[i] = next + uint64(i)
			}
			n, err := ring.EnqueueBurst(burst)
			if err != nil {
				log.Fatal(err)
			}
			if n == 0 { // full: the consumer's turn
				runtime.Gosched()
			}
			next += uint64(n)
		}
	}()

	count := 0
	burst := make([]uint64, 256)
	for {
		n, err := ring.DequeueBurst(burst)
		if errors.Is(err, fp.ErrPipe) { // closed, and all is taken
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		if n == 0 { // empty for now
			runtime.Gosched()
		}
		count += n
	}
	fmt.Println(count >= 1e6)
	// Output: true
}

func ExampleRingOf() {
	type tick struct {
		Symbol uint32
		Size   uint32
		Price  float64
	}
	ticks, err := fp.NewRingOf[tick](fp.RingOptions{Capacity: 64})
	if err != nil {
		log.Fatal(err) // also if tick held a pointer, a string, a slice
	}
	defer ticks.Close()

	ticks.EnqueueBurst([]tick{{Symbol: 7, Size: 100, Price: 9.5}, {Symbol: 8, Size: 1, Price: 2}})
	t, ok, err := ticks.Dequeue()
	fmt.Println(t, ok, err)
	// Output: {7 100 9.5} true <nil>
}

func ExampleRing_ReserveEnqueue() {
	ring, err := fp.NewRing(fp.RingOptions{Capacity: 8, Producer: fp.ST, Consumer: fp.ST})
	if err != nil {
		log.Fatal(err)
	}
	defer ring.Close()

	span, err := ring.ReserveEnqueue(5, 0)
	if err != nil {
		log.Fatal(err)
	}
	if span.Len() > 0 { // else the ring is full, and there is nothing to commit
		first, second := span.Uint64s() // the second piece is what is behind the wrap
		for i := range first {
			first[i] = 1
		}
		for i := range second {
			second[i] = 2
		}
		if err := span.Commit(span.Len()); err != nil { // first and second are dead now
			log.Fatal(err)
		}
	}
	n, err := ring.Count()
	fmt.Println(n, err)
	// Output: 5 <nil>
}

func ExampleRing_EnqueueBytesBurst() {
	ring, err := fp.NewRing(fp.RingOptions{Capacity: 16, ElemSize: 12})
	if err != nil {
		log.Fatal(err)
	}
	defer ring.Close()

	n, err := ring.EnqueueBytesBurst([]byte("first recordsecond rec.."))
	fmt.Println(n, err)
	_, err = ring.EnqueueBytesBurst([]byte("not a record"[:7]))
	fmt.Println(err, errors.Is(err, fp.ErrInvalid))

	record := make([]byte, 12)
	n, err = ring.DequeueBytesBurst(record)
	fmt.Println(n, err, string(record))
	// Output:
	// 2 <nil>
	// fp: 7 bytes are not a multiple of the element size 12: fp: EINVAL: invalid argument true
	// 1 <nil> first record
}

func ExampleLookupRing() {
	ring, err := fp.NewRing(fp.RingOptions{Capacity: 16, Name: "example"})
	if err != nil {
		log.Fatal(err)
	}

	same, err := fp.LookupRing("example") // made by Go, C or Python of this process
	if err != nil {
		log.Fatal(err)
	}
	same.Enqueue(42)
	v, ok, _ := ring.Dequeue()
	fmt.Println(v, ok)

	fmt.Println(errors.Is(ring.Close(), fp.ErrBusy)) // a reference is out
	same.Close()
	fmt.Println(ring.Close())
	// Output:
	// 42 true
	// true
	// <nil>
}

func ExampleRing_Handle() {
	ring, err := fp.NewRing(fp.RingOptions{Capacity: 16})
	if err != nil {
		log.Fatal(err)
	}
	start := func(handle unsafe.Pointer) { fmt.Println(handle != nil) }

	start(ring.Handle()) // C.start_worker((*C.fp_ring)(ring.Handle()))
	// ... until C has stopped using it:
	runtime.KeepAlive(ring)
	ring.Close()
	// Output: true
}

func ExamplePool() {
	pool, err := fp.NewPool(fp.PoolOptions{Count: 1024, ObjectSize: 2048})
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close() // refused while objects are in use

	packet, err := pool.Get()
	if errors.Is(err, fp.ErrAgain) {
		log.Fatal("none left at the moment")
	} else if err != nil {
		log.Fatal(err)
	}
	n := copy(packet.Bytes(), "2048 bytes of the pool")
	fmt.Println(string(packet.Bytes()[:n]), len(packet.Bytes()))

	pool.Put(packet)
	fmt.Println(pool.Put(packet)) // it is dead, and so are its bytes
	// Output:
	// 2048 bytes of the pool 2048
	// fp: EALREADY: already in that state
}

func ExamplePool_indexes() {
	pool, err := fp.NewPool(fp.PoolOptions{Count: 256, ObjectSize: 64})
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	full, err := fp.NewRingOf[uint32](fp.RingOptions{Capacity: 256, Producer: fp.ST, Consumer: fp.ST})
	if err != nil {
		log.Fatal(err)
	}
	defer full.Close()

	go func() { // fills objects
		defer full.CloseProducer()
		cache, err := pool.NewCache()
		if err != nil {
			log.Fatal(err)
		}
		defer cache.Close()
		burst := make([]uint32, 32)
		for i := 0; i < 100; {
			n, err := cache.GetIndexes(burst) // all 32 or none
			if err != nil {
				log.Fatal(err)
			}
			if n == 0 { // all are on their way: the other end's turn
				runtime.Gosched()
				continue
			}
			for _, index := range burst {
				pool.Object(index)[0] = byte(i)
			}
			full.EnqueueBulk(burst) // has room for every object of the pool
			i++
		}
	}()

	cache, err := pool.NewCache()
	if err != nil {
		log.Fatal(err)
	}
	defer cache.Close()
	sum := 0
	burst := make([]uint32, 64)
	for {
		n, err := full.DequeueBurst(burst)
		if errors.Is(err, fp.ErrPipe) {
			break
		}
		if n == 0 {
			runtime.Gosched()
		}
		for _, index := range burst[:n] {
			sum += int(pool.Object(index)[0])
		}
		cache.PutIndexes(burst[:n])
	}
	fmt.Println(sum)
	// Output: 158400
}

func Example_waiting() {
	ring, err := fp.NewRing(fp.RingOptions{Capacity: 64, Flags: fp.RingWait})
	if err != nil {
		log.Fatal(err)
	}
	defer ring.Close()

	go func() {
		defer ring.CloseProducer()
		for i := uint64(1); i <= 1000; i += 10 {
			burst := []uint64{i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7, i + 8, i + 9}
			// waits until there is room for all ten
			if _, err := ring.EnqueueWait(context.Background(), burst, len(burst)); err != nil {
				log.Fatal(err)
			}
		}
	}()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	sum, burst := uint64(0), make([]uint64, 32)
	for {
		n, err := ring.DequeueWait(ctx, burst, 1) // waits for one, takes up to 32
		if errors.Is(err, fp.ErrPipe) {
			break
		}
		if err != nil { // ctx.Err(), if that is over
			log.Fatal(err)
		}
		for _, v := range burst[:n] {
			sum += v
		}
	}
	fmt.Println(sum)
	// Output: 500500
}

func ExampleWakeup() {
	ctx := context.Background()
	orders, err := fp.NewRing(fp.RingOptions{Capacity: 64})
	if err != nil {
		log.Fatal(err)
	}
	defer orders.Close()
	prices, err := fp.NewRing(fp.RingOptions{Capacity: 64})
	if err != nil {
		log.Fatal(err)
	}
	defer prices.Close()
	go func() {
		orders.Enqueue(7)
		prices.Enqueue(35)
	}()

	wakeup, err := fp.NewWakeup(fp.WakeupOptions{})
	if err != nil {
		log.Fatal(err)
	}
	orders.SetWakeup(fp.RingConsumer, wakeup)
	prices.SetWakeup(fp.RingConsumer, wakeup)
	defer func() { // a wake-up that is bound cannot be closed
		orders.SetWakeup(fp.RingConsumer, nil)
		prices.SetWakeup(fp.RingConsumer, nil)
		wakeup.Close()
	}()

	sum := uint64(0)
	look := func() (found bool) { // takes what there is in both
		for _, ring := range []*fp.Ring{orders, prices} {
			if v, ok, _ := ring.Dequeue(); ok {
				sum += v
				found = true
			}
		}
		return found
	}
	for sum < 42 {
		key, err := wakeup.Prepare()
		if err != nil {
			log.Fatal(err)
		}
		if look() { // what came before Prepare
			wakeup.Cancel(key)
			continue
		}
		if err := wakeup.Wait(ctx, key); err != nil { // ends for what came after it
			log.Fatal(err)
		}
	}
	fmt.Println(sum)
	// Output: 42
}

func ExampleService() {
	ring, err := fp.NewRing(fp.RingOptions{Capacity: 64})
	if err != nil {
		log.Fatal(err)
	}
	defer ring.Close()
	sums := make(chan uint64, 1)

	sum, burst := uint64(0), make([]uint64, 32)
	service, err := fp.NewService(fp.ServiceOptions{
		Name: "sum",
		Run: func() (worked bool, err error) {
			n, err := ring.DequeueBurst(burst)
			for _, v := range burst[:n] {
				sum += v
			}
			if sum == 15 {
				sums <- sum
				sum = 0
			}
			return n > 0, err // false: the core may sleep
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	core, err := fp.NewServiceCore(fp.ServiceCoreOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer core.Close()
	ring.SetWakeup(fp.RingConsumer, service.Wakeup()) // elements wake the core
	service.Map(core)
	service.Start()

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- core.Run(ctx) }() // or core.Start() and core.Stop(ctx)

	ring.EnqueueBurst([]uint64{1, 2, 3, 4, 5})
	fmt.Println(<-sums)
	cancel()
	fmt.Println(<-done)
	ring.SetWakeup(fp.RingConsumer, nil)
	// Output:
	// 15
	// context canceled
}

func ExampleWheel() {
	wheel, err := fp.NewWheel(fp.WheelOptions{Flags: fp.WheelWait}) // a tick is a microsecond
	if err != nil {
		log.Fatal(err)
	}
	defer wheel.Close()

	names := []string{"alice", "bob", "carol"}
	sessions, err := wheel.CreateBulk([]uint64{0, 1, 2}) // what records tell: indexes of names
	if err != nil {
		log.Fatal(err)
	}
	now, _ := wheel.Now()
	deadline := func(ms time.Duration) uint64 { return now + wheel.TicksFrom(ms*time.Millisecond) }
	wheel.ArmBulk(sessions, []uint64{deadline(2), deadline(3), deadline(1)}, nil)
	wheel.Touch(sessions[2], deadline(4)) // carol has said something
	if armed, _ := wheel.Cancel(sessions[1]); armed {
		fmt.Println("bob has left, and will not expire")
	}

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	expired := make([]fp.Expired, 64)
	for left := 2; left > 0; {
		if err := wheel.Wait(ctx); err != nil { // until the next expiry, or an earlier arm
			log.Fatal(err)
		}
		now, _ := wheel.Now()
		n, err := wheel.PollBurst(now, expired)
		if err != nil {
			log.Fatal(err)
		}
		for _, e := range expired[:n] {
			fmt.Println(names[e.User], "has expired")
		}
		left -= n
	}
	// Output:
	// bob has left, and will not expire
	// alice has expired
	// carol has expired
}

func ExampleWheel_packets() {
	wheel, err := fp.NewWheel(fp.WheelOptions{Flags: fp.WheelStartAt}) // time begins at 0
	if err != nil {
		log.Fatal(err)
	}
	defer wheel.Close()
	const idle = 30_000_000 // ticks: 30 s in microseconds

	flow, err := wheel.Create(7)
	if err != nil {
		log.Fatal(err)
	}
	expired := make([]fp.Expired, 64)
	for _, stamp := range []uint64{1_000_000, 2_500_000, 60_000_000} { // of packets
		n, _ := wheel.PollBurst(stamp, expired)
		for _, e := range expired[:n] {
			fmt.Println("flow", e.User, "ended at", e.Expiry)
		}
		if armed, _ := wheel.Touch(flow, stamp+idle); !armed {
			wheel.Arm(flow, stamp+idle)
		}
	}
	// Output: flow 7 ended at 32500000
}

// What the guide shows is what runs here.
func TestTheGuideIsTheseExamples(t *testing.T) {
	guide, err := os.ReadFile("../../docs/go.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	flat := func(text string) string { return strings.ReplaceAll(text, "\t", "") }
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(guide), -1)
	for _, block := range blocks {
		if !strings.Contains(flat(string(source)), flat(block[1])) {
			t.Errorf("not in example_test.go:\n%s", block[1])
		}
	}
	if len(blocks) < 5 {
		t.Error("blocks of Go in the guide:", len(blocks))
	}
}
