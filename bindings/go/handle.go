// SPDX-License-Identifier: BSD-2-Clause

// What a Ring and a Pool have in common, as all objects of the library will: found by
// name, asked, read and closed, safely beside calls of other goroutines.

package fp

// #include "shim.h"
import "C"

import (
	"fmt"
	"strings"
	"unsafe"
)

// handle is the part of an object that is the same for all kinds. Each kind embeds one,
// beside its typed pointer for C. The methods that a user's call may reach with a nil
// object accept nil: go through the object's method held, not straight to them.
//
// Calls that move elements or objects do not come through here, but enter their gate or
// cache themselves: what is asked of C there would have to be a closure, called each time.
type handle struct {
	made  bool   // false: of a zero object
	name  string // "": none
	net   net    // for who does not call Close
	gates gates
}

// ---- make and find ----

// create is call with the name as C wants it; code is what the library returned. Whoever
// makes an object looks at errVersion first, then at the options, then comes here.
func create(kind, name string, call func(name *C.char) (code C.int)) error {
	var text *C.char
	if name != "" {
		var err error
		if text, err = terminated(name); err != nil {
			return err
		}
	}
	if code := call(text); code < 0 {
		return fmt.Errorf("fp: the library refused the %s: %w", kind, Errno(-code))
	}
	return nil
}

// lookup is call with the name of an object that is there.
func lookup(kind, name string, call func(name *C.char) (code C.int)) error {
	if errVersion != nil {
		return errVersion
	}
	text, err := terminated(name)
	if err != nil {
		return err
	}
	if code := call(text); code < 0 {
		return fmt.Errorf("fp: %s %q: %w", kind, name, Errno(-code))
	}
	return nil
}

// terminated is the string as C wants it, in memory of Go.
func terminated(name string) (*C.char, error) {
	if strings.IndexByte(name, 0) >= 0 {
		return nil, fmt.Errorf("fp: a zero byte in the name %q: %w", name, ErrInvalid)
	}
	text := append([]byte(name), 0)
	return (*C.char)(unsafe.Pointer(&text[0])), nil
}

// limit is what an option may be.
type limit struct {
	what             string
	value, low, high int
}

// within tells the first of the options of an object that is beyond its limits.
func within(kind string, limits ...limit) error {
	for _, l := range limits {
		if l.value < l.low || l.value > l.high {
			return fmt.Errorf("fp: %s of a %s is %d, not %d to %d: %w", l.what, kind, l.value,
				l.low, l.high, ErrInvalid)
		}
	}
	return nil
}

// hold makes the handle of an object that the library has just given. free gives it back
// when nobody closes it; it holds nothing that leads to the object.
func hold[T any](object *T, h *handle, name *C.char, free func() error) {
	h.made = true
	h.name = C.GoString(name)
	h.net = spread(object, func() {
		_ = free() // busy: it stays, as the library says it must
	})
}

// ---- close ----

// end is Close of every kind: free runs while no call is inside and none can come in. An
// error of free leaves the object as it was.
func end[T any](object *T, h *handle, free func() error) error {
	if h == nil || !h.made {
		return nil
	}
	err := h.gates.alone(true, func() error {
		if err := free(); err != nil {
			return err
		}
		cut(object, h.net)
		return nil
	})
	if err == ErrClosed {
		return nil
	}
	return err
}

// closed tells whether the memory of the object may be gone.
func (h *handle) closed() bool { return h.gates.side[others].closed.Load() }

// truth is a bool for C.
func truth(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

// ---- calls ----

// look lets a call in that is on no side; nil: it may go on, and leaves.
func (h *handle) look() error {
	if h == nil || !h.made {
		return ErrInvalid
	}
	if !h.gates.side[others].enter() {
		return ErrClosed
	}
	return nil
}

func (h *handle) leave() { h.gates.side[others].leave() }

// alone runs action while no call is inside and none can come in.
func (h *handle) alone(action func() error) error {
	if h == nil || !h.made {
		return ErrInvalid
	}
	return h.gates.alone(false, action)
}

// ask is one question whose answer is a number.
func (h *handle) ask(question func() int64) (int, error) {
	if err := h.look(); err != nil {
		return 0, err
	}
	answer := question()
	h.leave()
	return counted(answer)
}

// tell is one question whose answer is yes (1) or no.
func (h *handle) tell(question func() C.int) (bool, error) {
	n, err := h.ask(func() int64 { return int64(question()) })
	return n == 1, err
}

// read is for counters: get returns their size, 0 if the library did not give them.
func (h *handle) read(get func() (size C.uint32_t)) error {
	if err := h.look(); err != nil {
		return err
	}
	size := get()
	h.leave()
	if size == 0 {
		return ErrInvalid
	}
	return nil
}

// pointer is what get returns; nil if the object is not there.
func (h *handle) pointer(get func() unsafe.Pointer) unsafe.Pointer {
	if h.look() != nil {
		return nil
	}
	p := get()
	h.leave()
	return p
}

// named is the name given at create.
func (h *handle) named() string {
	if h == nil {
		return ""
	}
	return h.name
}

// ---- what the library returns ----

// status is a result that has no count.
func status(code C.int) error {
	if code < 0 {
		return Errno(-code)
	}
	return nil
}

// counted is a result that is a count, or below 0 an error.
func counted(n int64) (int, error) {
	if n < 0 {
		return 0, Errno(-n)
	}
	return int(n), nil
}
