// SPDX-License-Identifier: BSD-2-Clause

// A thousand goroutines that wait take a few threads of the system.

package fp

import (
	"os"
	"regexp"
	"strconv"
	"sync"
	"testing"
)

// threads is the number of threads of this process.
func threads(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(string(regexp.MustCompile(`(?m)^Threads:\s*(\d+)$`).FindSubmatch(status)[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const (
	many = 1000
	// The runtime's own, and calls that are inside C at a time, which a busy machine
	// makes many: but no thread for each that waits.
	fewThreads = many / 3
)

func TestManyWaitersOfOneRing(t *testing.T) {
	r := makeWaitingRing(t, kind{MT, MT}, many)
	before := threads(t)
	var all sync.WaitGroup
	for i := 0; i < many; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			if n, err := r.DequeueWait(bg, make([]uint64, 1), 1); n != 1 || err != nil {
				t.Errorf("DequeueWait: %d, %v", n, err)
			}
		}()
	}
	asleep(t, r, consumers, many)
	if n := threads(t); n > before+fewThreads {
		t.Errorf("%d goroutines wait with %d threads", many, n)
	}
	for i := 0; i < many; i += 10 {
		n, err := r.EnqueueBurst(upTo(0, 10))
		moved(t, "EnqueueBurst", n, err, 10)
	}
	all.Wait()
	t.Logf("%d threads before, %d after", before, threads(t))
}

func TestManyWaitersOfManyRings(t *testing.T) {
	const rings = many
	before := threads(t)
	var all sync.WaitGroup
	var made []*Ring
	for i := 0; i < rings; i++ {
		r := makeWaitingRing(t, kind{ST, ST}, 4)
		made = append(made, r)
		all.Add(1)
		go func() {
			defer all.Done()
			if n, err := r.DequeueWait(bg, make([]uint64, 1), 1); n != 1 || err != nil {
				t.Errorf("DequeueWait: %d, %v", n, err)
			}
		}()
	}
	for _, r := range made {
		asleep(t, r, consumers, 1)
	}
	if n := threads(t); n > before+fewThreads {
		t.Errorf("%d rings are waited for with %d threads", rings, n)
	}
	for _, r := range made {
		r.Enqueue(1)
	}
	all.Wait()
}
