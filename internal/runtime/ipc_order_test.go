package runtime

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// doOrder are the commands of a peer about events and notifies.
func (c *child) doOrder(w []string, num func(int) int64) string {
	var err error
	switch w[0] {
	case "newevent":
		key := make([]byte, 65)
		if c.event, err = c.CreateEventExWithFlag(EventIPC); err == nil {
			err = c.ExportEvent(c.event, key)
		}
		return answer(err, keyText(key))
	case "openevent":
		c.event, err = c.OpenEvent([]byte(w[1]))
		return answer(err)
	case "newnotify":
		key := make([]byte, 65)
		if c.notify, err = c.CreateNotify(0); err == nil {
			err = c.ExportNotify(c.notify, key, NoPidCheck)
		}
		return answer(err, keyText(key))
	case "opennotify":
		c.other, err = c.ImportNotify([]byte(w[1]), 0)
		return answer(err)
	case "record":
		return answer(c.RecordEvent(c.event, c.stream))
	case "wait":
		return answer(c.WaitEvent(c.stream, c.event))
	case "recordnotify":
		return answer(c.RecordNotify(c.other, c.stream))
	case "waitnotify":
		return answer(c.WaitNotify(c.notify, c.stream, 0))
	case "waitother":
		return answer(c.WaitNotify(c.other, c.stream, 0))
	case "syncevent":
		return answer(c.SynchronizeEvent(c.event))
	case "query":
		done, err := c.QueryEvent(c.event)
		return answer(err, done)
	case "elapsed":
		_, err := c.ElapsedTime(c.event, c.event)
		return answer(err)
	case "kernel":
		return answer(c.LaunchKernel(c.long, nil, c.stream))
	case "sync":
		return answer(c.SynchronizeStream(c.stream))
	case "recordaside": // on a stream that nothing holds up
		s, err := c.CreateStream(StreamConfig{})
		if err == nil {
			err = c.RecordNotify(c.other, s)
		}
		return answer(err)
	case "why":
		if err = c.SynchronizeStream(c.stream); err != nil {
			return err.Error()
		}
		return "ok"
	case "clock":
		return answer(nil, c.Clock())
	case "open":
		c.opened, err = c.OpenEvent([]byte(w[1]))
		return answer(err)
	case "chaos":
		return c.chaos(uint64(num(1)), int(num(2)))
	case "hold":
		c.hold = true
		return "ok"
	case "play":
		return c.play(w[1], int(num(2)))
	}
	return "unknown command " + w[0]
}

// play runs a part of a piece for several processes and answers with everything that its clock has seen. Part first
// begins, part later waits before it records; free records without waiting, slow waits without recording.
func (c *child) play(part string, n int) string {
	h := uint64(14695981039346656037)
	side, err := c.CreateStream(StreamConfig{})
	do := func(errs ...error) {
		for _, e := range errs {
			if e != nil && err == nil {
				err = e
			}
		}
	}
	launch := func(k *Kernel, s *Stream) { do(c.LaunchKernel(k, nil, s)) }
	for i := range n {
		switch part {
		case "first":
			launch(c.tiny, c.stream)
			do(c.RecordNotify(c.other, c.stream), c.WaitNotify(c.notify, c.stream, 0))
		case "later":
			do(c.WaitNotify(c.notify, c.stream, 0))
			launch(c.tiny, c.stream)
			do(c.RecordNotify(c.other, c.stream))
		case "free":
			for range 20 {
				launch(c.tiny, c.stream)
			}
			do(c.RecordNotify(c.other, c.stream))
		case "slow":
			do(c.WaitNotify(c.notify, c.stream, 0))
			for range 100 {
				launch(c.tiny, c.stream)
			}
		}
		launch(c.tiny, side)
		if i%7 == 0 {
			do(c.SynchronizeStream(side))
			h = (h ^ uint64(c.Clock())) * 1099511628211
		}
		if i%10 == 9 {
			do(c.SynchronizeStream(c.stream))
			h = (h ^ uint64(c.Clock())) * 1099511628211
		}
		if err != nil {
			return answer(err)
		}
	}
	do(c.SynchronizeStream(c.stream), c.SynchronizeStream(side), c.DestroyStream(side))
	late := uint64(0)
	do(c.port.Call(func() { late = c.rt.machine.Stats().Late }))
	return answer(err, fmt.Sprintf("%016x", h), c.Clock(), "late", late)
}

// ring links peers: each records the notify of the next.
func ring(t testing.TB, peers ...*peer) {
	t.Helper()
	for i, p := range peers {
		key, ok := strings.CutPrefix(p.ask("newnotify"), "ok ")
		if !ok {
			t.Fatal("no notify: ", key)
		}
		peers[(i+len(peers)-1)%len(peers)].want("ok", "opennotify %s", key)
	}
}

func linkedPair(t testing.TB, dir string) (a, b *peer) {
	t.Helper()
	a, b = startPeer(t, dir), startPeer(t, dir)
	key, ok := strings.CutPrefix(a.ask("newevent"), "ok ")
	if !ok {
		t.Fatal("no event: ", key)
	}
	b.want("ok", "openevent %s", key)
	return a, b
}

func TestX16_eventsBetweenProcesses(t *testing.T) {
	clocks := map[string]int{}
	for range rounds(50) {
		a, b := linkedPair(t, runDir(t))
		a.want("ok", "wait") // nothing was recorded: nothing to wait for
		a.want("ok", "kernel")
		a.want("ok", "record")
		b.want("ok", "wait")
		b.want("ok", "kernel")
		b.want("ok", "record")
		b.want("ok", "sync")
		a.want("ok", "syncevent")
		a.want("ok true", "query")
		b.want("ok true", "query")
		a.want("code 207000", "elapsed")
		ca, cb := a.ask("clock"), b.ask("clock")
		clocks[ca+" "+cb]++
		var ns int64
		if _, err := fmt.Sscanf(cb, "ok %d", &ns); err != nil || ns < 2*50*ms {
			t.Fatalf("the second kernel was over at %s, before both could be", cb)
		}
		a.kill()
		b.kill()
	}
	if len(clocks) != 1 {
		t.Errorf("outcomes differ: %v", clocks)
	}
}

// rounds is n, less under -short.
func rounds(n int) int {
	if testing.Short() {
		return max(2, n/10)
	}
	return n
}

func TestX17_notifyOfAnotherProcess(t *testing.T) {
	dir := runDir(t)
	a, b := startPeer(t, dir), startPeer(t, dir)
	ring(t, a, b)
	a.want("code 107000", "waitother")
	b.want("ok", "recordnotify")
	b.want("ok", "sync")
	a.want("ok", "waitnotify")
	a.want("ok", "sync")
	a.want("ok", "waitnotify") // the record was taken: this waits for the next
	a.send("sync")
	b.want("ok", "recordnotify")
	b.want("ok", "sync")
	if s := a.read(); s != "ok" {
		t.Error(s)
	}
	a.want("code 107000", "opennotify %s", "zz")
}

// Processes that wait for each other have the same outcome however fast each of them is.
func TestLink_outcome(t *testing.T) {
	for _, c := range []struct {
		name  string
		parts []string
		n     []int
	}{
		{"ping-pong", []string{"first", "later"}, []int{100, 100}},
		{"three", []string{"first", "later", "later"}, []int{60, 60, 60}},
		{"flag", []string{"free", "slow"}, []int{200, 40}},
	} {
		t.Run(c.name, func(t *testing.T) {
			seen := map[string]int{}
			for round := range rounds(50) {
				dir := runDir(t)
				var peers []*peer
				for range c.parts {
					peers = append(peers, startPeer(t, dir))
				}
				ring(t, peers...)
				for _, p := range peers {
					p.want("ok", "hold")
				}
				for i := range peers { // in another order each time
					k := (i + round) % len(peers)
					peers[k].send("play %s %d", c.parts[k], c.n[k])
					time.Sleep(time.Duration(round*7%5) * time.Millisecond)
				}
				var out []string
				for _, p := range peers {
					out = append(out, p.read())
				}
				for i, p := range peers {
					p.kill()
					if !strings.HasSuffix(out[i], "late 0") {
						t.Errorf("part %d simulated ahead of a record: %s", i, out[i])
					}
				}
				seen[strings.Join(out, "; ")]++
				if !strings.HasPrefix(out[0], "ok") || len(seen) > 1 {
					t.Fatalf("round %d: %v", round, seen)
				}
			}
		})
	}
}

// A killed peer releases its waiters with an error, a stopped one only delays them.
func TestLink_peers(t *testing.T) {
	t.Run("killed", func(t *testing.T) {
		for _, sync := range []string{"sync", "syncevent"} {
			var b *peer
			for attempt := 0; ; attempt++ {
				var a *peer
				a, b = linkedPair(t, runDir(t))
				for range 4 {
					a.want("ok", "kernel")
				}
				a.want("ok", "record")
				a.signal(syscall.SIGSTOP) // what it has submitted is not done yet
				b.want("ok", "wait")
				b.send("%s", sync)
				time.Sleep(20 * time.Millisecond)
				a.kill()
				dead := time.Now()
				err := b.read()
				if err == "ok" && attempt < 10 {
					continue // the peer was quicker than the signal: its record counts
				}
				if err != "code 507001" {
					t.Errorf("%s of a waiter whose peer has died: %q", sync, err)
				}
				t.Logf("released %v after the death", time.Since(dead).Round(time.Millisecond))
				break
			}
			if sync == "syncevent" {
				b.want("code 507001", "sync") // the stream has waited too
			}
			b.want("ok", "kernel") // it goes on
			b.want("ok", "sync")
		}
	})
	t.Run("killed notifier", func(t *testing.T) {
		dir := runDir(t)
		a, b := startPeer(t, dir), startPeer(t, dir)
		ring(t, a, b)
		b.want("ok", "waitnotify")
		b.send("sync")
		time.Sleep(30 * time.Millisecond)
		a.kill()
		if s := b.read(); s != "code 507001" {
			t.Errorf("a waiter whose peer has died: %q", s)
		}
	})
	t.Run("stopped", func(t *testing.T) {
		var out [2]string
		for i := range out {
			dir := runDir(t)
			a, b := startPeer(t, dir), startPeer(t, dir)
			ring(t, a, b)
			a.want("ok", "hold")
			b.want("ok", "hold")
			a.send("play first 200")
			b.send("play later 200")
			if i == 1 {
				for _, p := range []*peer{a, b} {
					time.Sleep(5 * time.Millisecond)
					p.signal(syscall.SIGSTOP)
					time.Sleep(60 * time.Millisecond)
					p.signal(syscall.SIGCONT)
				}
			}
			out[i] = a.read() + b.read()
		}
		if out[0] != out[1] || !strings.HasPrefix(out[0], "ok") {
			t.Errorf("undisturbed %q, with stops %q", out[0], out[1])
		}
	})
}
