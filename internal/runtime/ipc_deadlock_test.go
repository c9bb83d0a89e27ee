package runtime

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// knot ties two processes so that neither can go on: a waits for b's notify and records behind it what b waits for.
func knot(t *testing.T, dir string) (a, b *peer, key string) {
	t.Helper()
	a, b = linkedPair(t, dir)
	key, _ = strings.CutPrefix(a.ask("newnotify"), "ok ")
	b.want("ok", "opennotify %s", key)
	a.want("ok", "kernel")
	a.want("ok", "waitnotify")
	a.want("ok", "record")
	b.want("ok", "wait")
	b.want("ok", "recordnotify")
	return a, b, key
}

// readSoon is the next answer, if it comes within limit.
func (p *peer) readSoon(limit time.Duration) (string, bool) {
	if p.soon == nil {
		p.soon = make(chan string, 1)
		go func() { p.soon <- p.read() }()
	}
	select {
	case s := <-p.soon:
		p.soon = nil
		return s, true
	case <-time.After(limit):
		return "", false
	}
}

// Processes that wait for each other for ever get an error that names both, their streams, and what they wait for.
func TestLink_deadlock(t *testing.T) {
	for range rounds(5) {
		a, b, _ := knot(t, runDir(t))
		for _, p := range []*peer{a, b} {
			p.send("why")
		}
		for _, p := range []*peer{a, b} {
			text, ok := p.readSoon(30 * time.Second)
			if !ok {
				t.Fatal("no answer")
			}
			for _, want := range []string{"deadlock of the processes", fmt.Sprint(a.pid()), fmt.Sprint(b.pid()),
				fmt.Sprintf("of process %d", a.pid()), fmt.Sprintf("of process %d", b.pid()), "stream", "event", "notify", "(peer)"} {
				if !strings.Contains(strings.ToLower(text), want) {
					t.Errorf("no %q in %s", want, text)
				}
			}
		}
		b.want("ok", "recordaside") // whoever knows how may go on
		a.want("ok", "sync")
		b.want("ok", "sync")
	}
}

// Whatever could still happen is no deadlock: a third process that may import what is waited for, or that has it and
// stands outside.
func TestLink_noDeadlock(t *testing.T) {
	for _, linked := range []bool{false, true} {
		t.Run(fmt.Sprint("linked ", linked), func(t *testing.T) {
			dir := runDir(t)
			c := startPeer(t, dir)
			a, b, key := knot(t, dir)
			if linked {
				c.want("ok", "opennotify %s", key)
			}
			for _, p := range []*peer{a, b} {
				p.send("why")
			}
			if s, ok := a.readSoon(2 * time.Second); ok {
				t.Fatal("too early: ", s)
			}
			if !linked {
				c.want("ok", "opennotify %s", key)
			}
			c.want("ok", "recordnotify")
			c.want("ok", "sync")
			for _, p := range []*peer{a, b} {
				if s, ok := p.readSoon(30 * time.Second); s != "ok" {
					t.Error(s, ok)
				}
			}
		})
	}
}

// A process can tie itself up with an event that others could wait for.
func TestLink_deadlockAlone(t *testing.T) {
	r := ipcRig(t, runDir(t))
	e, err := r.CreateEventExWithFlag(EventIPC)
	r.ok(err)
	s, behind := r.stream(), r.stream()
	n, err := r.CreateNotify(0)
	r.ok(err)
	r.ok(r.WaitNotify(n, behind, 0))
	r.ok(r.RecordEvent(e, behind))
	r.ok(r.WaitEvent(s, e))
	if err := r.SynchronizeStream(s); err == nil || !strings.Contains(err.Error(), "deadlock") {
		t.Error(err)
	}
	r.ok(r.RecordNotify(n, r.stream()))
	r.ok(r.SynchronizeStream(s))
}
