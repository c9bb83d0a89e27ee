package textdump

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"npu/internal/blackbox/aicore"
	"npu/internal/blackbox/plog"
)

func parse(t testing.TB, b []byte) *Parser {
	t.Helper()
	p := &Parser{}
	if _, err := plog.Scan(bytes.NewReader(b), 0, plog.Options{Level: plog.Debug, Since: plog.NoTime}, func(r *plog.Record) error {
		p.Feed(r.Text, r.Time, r.Line)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return p
}

// shared finds the folder with real samples beside the repository.
func shared(t *testing.T, elem ...string) []byte {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if filepath.Dir(dir) == dir {
			t.Skip("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	b, err := os.ReadFile(filepath.Join(append([]string{dir, "..", "shared", "data"}, elem...)...))
	if err != nil {
		t.Skipf("real samples are not here: %v", err)
	}
	return b
}

func TestNewDialectRealFile(t *testing.T) {
	p := parse(t, shared(t, "dump", "atrace", "ts_0_17990_20240302100546761462.head.txt"))
	if len(p.Events) != 1 {
		t.Fatalf("%d events", len(p.Events))
	}
	e := p.Events[0]
	if e.PID != 17990 || e.Stream != 2 || e.Task != 0 || e.ErrorType != 8 || e.EntryPC() != 0x1240c0018874 || e.ArgBlock() != 0x124180000000 {
		t.Errorf("head: %+v", e)
	}
	if _, aiv := e.Ran(); aiv != 10 || len(e.Slots) != 16 {
		t.Errorf("%d vector cores ran it, %d slots", aiv, len(e.Slots))
	}
	c := e.Cores[0]
	w, in, start, cur := c.Fault()
	if c.Type != "AIV" || c.ID != 0 || !c.Complete || w != (aicore.Words{0x800000, 0x4000, 0}) || in.MTE != 0x6206000034 || start != 0x1240c0018874 || cur != 0x1240c00188ec {
		t.Errorf("core: %s %d complete %v, words %x, infos %+v, %x %x", c.Type, c.ID, c.Complete, w, in, start, cur)
	}
	if pcs := aicore.Repair(e.Family(), cur, w.Bits(), in); len(pcs) == 0 || pcs[0].Value != c.FirmwarePC || c.FirmwarePC != 0x1240c00188d0 {
		t.Errorf("repair %+v, the firmware says 0x%x", pcs, c.FirmwarePC)
	}
	if n := len(c.Stack[0].Rows); n != 967 {
		t.Errorf("%d rows of stack, expected 967", n)
	}
	if len(c.Memories) != 4 || c.Memories[0].Name != "UB" || len(c.Memories[0].Rows) != 4 {
		t.Errorf("memories: %d", len(c.Memories))
	}
	if len(e.Cores) != 2 || e.Cores[1].Complete {
		t.Errorf("the file is cut inside the second core: %d cores", len(e.Cores))
	}
}

func TestOldDialectRealFile(t *testing.T) {
	p := parse(t, shared(t, "dump", "device-log", "device-0_20201224011054112.head.log"))
	if len(p.Events) != 1 {
		t.Fatalf("%d events", len(p.Events))
	}
	e := p.Events[0]
	if !e.Old || e.Stream != 517 || e.Task != 3 || e.ExceptionCode != 0xb4060006 || e.AICBitmap != 3 || len(e.Cores) != 1 {
		t.Errorf("%+v", e)
	}
	w, _, start, cur := e.Cores[0].Fault()
	if w[0] != 0x10 || start != 0x108080056000 || cur != 0x1080800560a4 {
		t.Errorf("words %x, %x %x", w, start, cur)
	}
	if v, ok := e.Cores[0].Register("X29"); !ok || v != 0x3ffa0 {
		t.Errorf("X29 = %x", v)
	}
}

func FuzzFeed(f *testing.F) {
	f.Add([]byte("<exception_print>TIME:2020-12-23-17:10:54.083.569, device_id=0, stream_id=517\n<exception_print>####AICORE_INFO_START: core_id=0\n<exception_print>AIC_ERROR=0x10\n<exception_print> ***ub begin***\n<exception_print> 0x0: 0x1 0x2"))
	f.Add([]byte("x proc_stars_acc_exception_inner: stream_id=1, task_id=2\nx dump_sqe_tohost: word[3]=0x1\n<exception_print>MASK=0x1\n<exception_print>fsm_id=0, aiv_id=3\nx stack mem info, addr=0x1: 0 ff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := &Parser{}
		for i, l := range bytes.Split(b, []byte{'\n'}) {
			p.Feed(l, plog.NoTime, i)
		}
		for _, e := range p.Events {
			for _, c := range e.Cores {
				c.Fault()
			}
		}
	})
}
