// SPDX-License-Identifier: BSD-2-Clause

// The conformance script of wake-ups.

package fp

import "syscall"

type wakeupPlayer struct {
	wakeups map[string]*Wakeup
	keys    map[string]WaitKey
}

func newWakeupPlayer(kind) player {
	return &wakeupPlayer{map[string]*Wakeup{}, map[string]WaitKey{}}
}

func (p *wakeupPlayer) open() int { return len(p.wakeups) }

func (p *wakeupPlayer) end() {
	for _, w := range p.wakeups {
		_ = w.Close()
	}
}

func (p *wakeupPlayer) create(f fields, name string) error {
	w, err := NewWakeup(WakeupOptions{Flags: flag(f.yes("fence"), WakeupFence)})
	if err == nil {
		p.wakeups[name] = w
	}
	return err
}

func (p *wakeupPlayer) wait(w *Wakeup, f fields) error {
	ctx, cancel := f.context()
	defer cancel()
	return w.Wait(ctx, p.keys[f.text("key", "k")])
}

// isReadable is what select says of the descriptor.
func isReadable(w *Wakeup) (int, error) {
	fd, err := w.FD()
	if err != nil {
		return 0, err
	}
	var set syscall.FdSet
	set.Bits[fd/64] |= 1 << (fd % 64)
	return syscall.Select(fd+1, &set, nil, nil, &syscall.Timeval{})
}

// call makes the call of a step and says what came of it.
func (p *wakeupPlayer) call(do string, f fields) (o outcome) {
	name := f.text("wakeup", "w")
	if do == "create" {
		o.expect = result(0, p.create(f, name))
		return o
	}
	w := p.wakeups[name]
	if w == nil {
		panic("no wake-up " + name)
	}
	var n int
	var yes bool
	var err error
	switch do {
	case "destroy":
		if err = w.Close(); err == nil {
			delete(p.wakeups, name)
		}
	case "is_fenced":
		n, err = w.Mode()
		n = number(n == WakeupModeFence)
	case "prepare":
		p.keys[f.text("key", "k")], err = w.Prepare()
	case "cancel":
		err = w.Cancel(p.keys[f.text("key", "k")])
	case "wait":
		err = p.wait(w, f)
	case "signal":
		yes, err = w.Signal()
		n = number(yes)
	case "interrupt":
		err = w.Interrupt()
	case "fd":
		n, err = w.FD()
	case "is_readable":
		n, err = isReadable(w)
	case "arm":
		err = w.Arm()
	case "clear":
		yes, err = w.Clear()
		n = number(yes)
	case "stats":
		var s WakeupStats
		s, err = w.Stats()
		o.fields = map[string]uint64{"flags": uint64(s.Flags), "waiting": s.Waiting,
			"bound": s.Bound, "sleeps": s.Sleeps, "wakes": s.Wakes, "spurious": s.Spurious,
			"fallback_polls": s.FallbackPolls, "fd_writes": s.FDWrites,
			"interrupts": s.Interrupts}
	default:
		panic("unknown call " + do)
	}
	o.expect = result(n, err)
	return o
}
