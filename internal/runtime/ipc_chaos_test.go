package runtime

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"npu/internal/runtime/ipc"
)

// chaos does random things with what the child has of others, n times. What is asked of a process that has died may
// fail; nothing may hang.
func (c *child) chaos(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 1))
	for range n {
		switch r.IntN(9) {
		case 0, 1:
			_ = c.RecordEvent(c.event, c.stream)
		case 2:
			_ = c.WaitEvent(c.stream, c.opened)
		case 3:
			_ = c.RecordNotify(c.other, c.stream)
		case 4:
			_ = c.LaunchKernel(c.rig.add, []uint64{uint64(c.ptr), 1}, c.stream)
		case 5:
			if p, err := c.ImportMemory(c.key, 0); err == nil {
				c.ptr = p
			}
		case 6:
			_ = c.CloseMemory(c.key)
		case 7:
			_ = c.SynchronizeStream(c.stream)
		case 8:
			if r.IntN(10) == 0 { // at times what others use goes away
				_ = c.Free(c.mine)
				_ = c.SynchronizeEvent(c.opened)
			}
		}
	}
	_ = c.SynchronizeStream(c.stream)
	return "ok"
}

// Processes that share memory and wait for each other are killed at any moment: nobody hangs, and nothing is left.
// NPU_CHAOS is the number of rounds.
func TestIPC_chaos(t *testing.T) {
	n := rounds(20)
	if s := os.Getenv("NPU_CHAOS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	for round := range n {
		dir := runDir(t)
		peers := make([]*peer, 2+r.IntN(3))
		keys := make([][]string, len(peers))
		for i := range peers {
			peers[i] = startPeer(t, dir)
			for _, what := range []string{"export", "newevent", "newnotify"} {
				k, ok := strings.CutPrefix(peers[i].ask("%s", what), "ok ")
				if !ok {
					t.Fatal(what, ": ", k)
				}
				keys[i] = append(keys[i], k)
			}
		}
		for i, p := range peers {
			k := keys[(i+1)%len(peers)]
			p.want("ok", "import %s", k[0])
			p.want("ok", "open %s", k[1])
			p.want("ok", "opennotify %s", k[2])
		}
		for _, p := range peers {
			p.send("chaos %d 300", r.Uint32())
		}
		dead := r.IntN(len(peers) + 1)
		for _, p := range peers[:dead] {
			time.Sleep(time.Duration(r.IntN(8000)) * time.Microsecond)
			p.kill()
		}
		for i, p := range peers[dead:] {
			answer := make(chan string, 1)
			go func() { answer <- p.read() }()
			select {
			case a := <-answer:
				if a != "ok" {
					t.Errorf("round %d: peer %d says %q", round, dead+i, a)
				}
			case <-time.After(30 * time.Second):
				t.Fatalf("round %d of seed %d: peer %d of %d hangs, %d were killed", round, seed, dead+i, len(peers), dead)
			}
		}
		for _, p := range peers {
			p.kill()
		}
		nothingLeft(t, dir)
	}
}

// nothingLeft checks that a run directory without processes is empty.
func nothingLeft(t testing.TB, dir string) {
	t.Helper()
	d := must[*ipc.Dir](t)(ipc.Open(dir))
	defer d.Close()
	if list := d.Processes(); len(list) != 0 {
		t.Errorf("processes left: %+v", list)
	}
	s := must[*ipc.Slot](t)(d.Join())
	if got := s.Group(); len(got) != 0 {
		t.Errorf("links left: %v", got)
	}
	if held := d.Held(); held != 0 {
		t.Errorf("%d bytes are still held", held)
	}
	s.Close()
	files := must[[]os.DirEntry](t)(os.ReadDir(dir))
	for _, f := range files {
		if name := f.Name(); name != "table" && !strings.HasSuffix(name, ".slot") {
			t.Errorf("%s was left", fmt.Sprint(name))
		}
	}
}
