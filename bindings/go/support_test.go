// SPDX-License-Identifier: BSD-2-Clause

// What the tests of this package share.

package fp

import (
	"errors"
	"reflect"
	"runtime"
	"testing"
)

// kind is who may be on each side of a ring.
type kind struct{ producer, consumer uint32 }

var kinds = []kind{{ST, ST}, {ST, MT}, {MT, ST}, {MT, MT}}

func (k kind) String() string {
	name := map[uint32]string{ST: "st", MT: "mt"}
	return name[k.producer] + "-" + name[k.consumer]
}

// forEachKind runs a test for every combination of sides.
func forEachKind(t *testing.T, test func(t *testing.T, k kind)) {
	for _, k := range kinds {
		t.Run(k.String(), func(t *testing.T) { test(t, k) })
	}
}

// makeRing makes a ring that is closed when the test ends.
func makeRing(t testing.TB, k kind, capacity, elemSize int) *Ring {
	t.Helper()
	r, err := NewRing(RingOptions{Capacity: capacity, ElemSize: elemSize, Producer: k.producer,
		Consumer: k.consumer})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close at the end: %v", err)
		}
	})
	return r
}

func wantErr(t testing.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: error %v, want %v", what, got, want)
	}
}

func want[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// moved checks the result of a call that moves elements, or counts them.
func moved(t testing.TB, what string, n int, err error, want int) {
	t.Helper()
	if n != want || err != nil {
		t.Fatalf("%s: %d, %v; want %d", what, n, err, want)
	}
}

// upTo is first, first+1, ... of n numbers.
func upTo(first uint64, n int) []uint64 {
	v := make([]uint64, n)
	for i := range v {
		v[i] = first + uint64(i)
	}
	return v
}

// idle is what goroutines of the tests do when a ring has nothing for them.
func idle() { runtime.Gosched() }
