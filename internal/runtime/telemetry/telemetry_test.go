package telemetry

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sample(n int) *Snapshot {
	s := &Snapshot{PID: 4711, Wall: int64(n), Started: 17, Program: "resnet", Faults: uint64(n)}
	for i := range 2 {
		s.Devices = append(s.Devices, Device{ID: i, Chip: "Ascend910B3", Ns: int64(n), Engines: []Engine{{"cube", 20, int64(n)}, {"dma0", 1, 7}},
			Moved: uint64(n), Bandwidth: 5, InUse: 6, Peak: 7, Total: 8, Blocks: 9, Tasks: 10, Faults: 11})
	}
	s.Operators = []Operator{{0, "conv1", "Conv2D", uint64(n), 12}}
	s.Streams = []Stream{{Device: 1, ID: 3, Priority: 2, State: Waiting, Waits: "event 5", Depth: uint64(n), Tasks: 4}}
	return s
}

func page(t testing.TB) (*Writer, []byte) {
	b := make([]byte, PageBytes)
	w, err := NewWriter(b)
	if err != nil {
		t.Fatal(err)
	}
	return w, b
}

func TestPage_roundTrip(t *testing.T) {
	w, b := page(t)
	if _, err := Decode(b); !errors.Is(err, ErrEmpty) {
		t.Errorf("a fresh page: %v", err)
	}
	for n := range 3 {
		w.Write(sample(n))
		got, err := Read(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(sample(n), got); d != "" {
			t.Error(d)
		}
	}
	if n := testing.AllocsPerRun(50, func() { w.Write(sampleOne) }); n > 0 {
		t.Errorf("writing allocates %v times", n)
	}
}

var sampleOne = sample(1)

// A process with more than fits leaves out streams, and the page stays readable.
func TestPage_overflow(t *testing.T) {
	w, b := page(t)
	s := sample(1)
	long := strings.Repeat("ä", 200)
	for i := range 100_000 {
		s.Streams = append(s.Streams, Stream{ID: uint32(i), Waits: long})
		s.Operators = append(s.Operators, Operator{Name: long, Type: long})
	}
	for len(s.Devices) < 100 {
		s.Devices = append(s.Devices, Device{Chip: long, Engines: make([]Engine, 100)})
	}
	w.Write(s)
	got, err := Read(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Devices) != MaxDevices || len(got.Operators) != MaxOperators || len(got.Streams) == 0 {
		t.Errorf("%d devices, %d operators, %d streams", len(got.Devices), len(got.Operators), len(got.Streams))
	}
}

// Readers never see half of one sample and half of another.
func TestRead_whileWritten(t *testing.T) {
	w, _ := page(t)
	var stop atomic.Bool
	var wg sync.WaitGroup
	shared := readerFunc(func(p []byte, off int64) (int, error) {
		for i := 0; i < min(len(p), 1024); i += 8 { // the samples here are shorter
			binary.LittleEndian.PutUint64(p[i:], w.words[(int(off)+i)/8].Load())
		}
		return len(p), nil
	})
	wg.Go(func() {
		for n := 0; !stop.Load(); n++ {
			w.Write(sample(n))
			if n%64 == 0 {
				runtime.Gosched()
			}
		}
	})
	good := 0
	for good < 100 {
		s, err := Read(shared)
		if errors.Is(err, ErrBusy) || errors.Is(err, ErrEmpty) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		good++
		if d := cmp.Diff(sample(int(s.Wall)), s); d != "" {
			t.Fatal(d)
		}
	}
	stop.Store(true)
	wg.Wait()
}

type readerFunc func(p []byte, off int64) (int, error)

func (f readerFunc) ReadAt(p []byte, off int64) (int, error) { return f(p, off) }

func TestDecode_damage(t *testing.T) {
	w, b := page(t)
	w.Write(sample(1))
	for _, c := range []struct {
		name string
		do   func(b []byte)
		want string
	}{
		{"magic", func(b []byte) { b[0]++ }, "offset 0"},
		{"writing", func(b []byte) { b[8] |= 1 }, ErrBusy.Error()},
		{"length", func(b []byte) { b[18] = 0xff }, "offset 16"},
		{"cut", func(b []byte) { b[16], b[17] = 60, 0 }, "offset"},
		{"list", func(b []byte) { b[header+24+1+6+8+2] = 1 }, "entries"},
		{"text", func(b []byte) { b[header+24] = 200 }, "text of 200"},
	} {
		x := bytes.Clone(b)
		c.do(x)
		if _, err := Decode(x); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected %q", c.name, err, c.want)
		}
	}
	x := bytes.Clone(b)
	copy(x[header+25:], "\x1b[2J")
	if s, err := Decode(x); err != nil || strings.ContainsRune(s.Program, 0x1b) {
		t.Errorf("an escape code came through: %v, %v", s, err)
	}
}

func FuzzDecode(f *testing.F) {
	w, b := page(f)
	w.Write(sample(1))
	f.Add(b[:600])
	f.Add(b[:10])
	f.Add([]byte("NPUTLM1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Decode(b)
		if err != nil {
			return
		}
		n := len(s.Devices)*8 + len(s.Streams)*8 + len(s.Operators)*8
		if n > len(b) {
			t.Errorf("%d bytes gave %d entries", len(b), n/8)
		}
	})
}
