package bbox

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func sample(t testing.TB, elem ...string) string {
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
	b, err := os.ReadFile(filepath.Join(append([]string{dir, "..", "shared", "data", "dump", "bbox", "hisi_logs"}, elem...)...))
	if err != nil {
		t.Skipf("the samples are not here: %v", err)
	}
	return string(b)
}

func TestHistory(t *testing.T) {
	es, probs := ParseHistory(sample(t, "device-0", "history.log"))
	if len(es) != 1 || len(probs) != 0 {
		t.Fatalf("%+v %v", es, probs)
	}
	e := es[0]
	if e.ID != 0xB4060006 || e.Module != "TS" || e.Reason != "TS_EXCEPTION" || !strings.Contains(e.Meaning, "reason 0x33") || e.Folder != "20201224011056-159304001" ||
		strings.Join(e.Level, " ") != "device record level warning module TS submodule 0 code 6" {
		t.Errorf("%+v", e)
	}
	facts, rows := ParseDeviceInfo(sample(t, "device_info.txt"))
	if len(facts) != 4 || len(rows) != 1 || rows[0] != (DeviceRow{"device-0", "0", "0", "os running"}) {
		t.Errorf("%v %+v", facts, rows)
	}
}

// rdr builds a black-box head as the layout in docs/formats/blackbox.md says.
func rdr() []byte {
	b := make([]byte, 0x2000+64+0x400)
	le := binary.LittleEndian
	le.PutUint32(b, magicRDR)
	le.PutUint32(b[4:], versionRDR)
	le.PutUint32(b[8:], 2)
	copy(b[16:], "demo")
	base := b[32:]
	le.PutUint32(base, 0xb4060006)
	base[12], base[13] = 0x33, 3
	copy(base[20:], "20261130044855")
	copy(base[80:], "task exception")
	log := b[176:]
	le.PutUint32(log[8:], 1)
	le.PutUint32(log[8+12:], 0x68020002)
	log[8+16], log[8+17] = 0x2d, 1
	le.PutUint64(log[8+24:], 1796013784)
	for i, m := range []byte{3, 12} {
		a := b[3784+16*i:]
		le.PutUint64(a, uint64(0x2040+0x200*i))
		le.PutUint32(a[8:], 0x200)
		a[12] = m
	}
	le.PutUint32(b[0x2000:], magicRoot)
	ts := b[0x2040:]
	le.PutUint32(ts, 0x56312e31)
	ts[4] = 1
	le.PutUint64(ts[20:], 1796013784)
	le.PutUint32(ts[36:], 0xb4060006)
	le.PutUint32(b[0x2240:], 7)
	return b
}

func TestHead(t *testing.T) {
	x, err := Parse(rdr(), "")
	if err != nil || len(x.Problems) > 0 {
		t.Fatal(err, x.Problems)
	}
	if x.Product != "demo" || len(x.Exceptions) != 3 || len(x.Areas) != 2 {
		t.Fatalf("%+v", x)
	}
	if e := x.Exceptions[0]; e.ID != 0xb4060006 || e.Module != "TS" || e.Reason != "TS_EXCEPTION" || !strings.Contains(e.Meaning, "task exception") {
		t.Errorf("%+v", e)
	}
	if e := x.Exceptions[1]; e.ID != 0x68020002 || e.Reason != "HEARTBEAT_EXCEPTION" || e.Time != "2026-11-30 04:43:04.000000" {
		t.Errorf("%+v", e)
	}
	if a := x.Areas; a[0].Module != "TS" || a[0].Form != "proxy" || a[1].Module != "LPM" {
		t.Errorf("%+v", a)
	}
	found := false
	for _, f := range x.Facts {
		found = found || f.Area == "LPM" && f.Name == "excep_reason" && f.Value == "0x7" && f.Offset == 0x2240
	}
	if !found {
		t.Errorf("no LPM reason in %+v", x.Facts)
	}
	full := rdr()
	for cut := 0; cut < len(full); cut += 61 {
		Parse(full[:cut], "950")
		c := append([]byte(nil), full...)
		c[cut] ^= 0xff
		Parse(c, "910B/A3")
	}
}

func TestHDR(t *testing.T) {
	b := make([]byte, 512<<10)
	le := binary.LittleEndian
	le.PutUint32(b, magicHDR)
	le.PutUint32(b[8:], 9)
	st := b[0x70c00:]
	le.PutUint32(st, magicStatus)
	le.PutUint32(st[0x48:], 0x4849)
	x, err := Parse(b, "950")
	if err != nil || len(x.Problems) > 0 {
		t.Fatal(err)
	}
	want := map[string]string{"HDR/HDR_LOG reset_count": "0x9", "HDR/HDR_STATUS area_2_control_info.type": "0x4849 history"}
	for _, f := range x.Facts {
		if w, ok := want[f.Area+" "+f.Name]; ok && f.Value == w {
			delete(want, f.Area+" "+f.Name)
		}
	}
	if len(want) > 0 {
		t.Errorf("missing %v among %d facts", want, len(x.Facts))
	}
	if x, err := Parse(b[:1000], ""); err != nil || len(x.Problems) == 0 {
		t.Error("a cut HDR must say so")
	}
}

func TestPrintk(t *testing.T) {
	var b []byte
	for _, s := range []string{"boot", "hello ok"} {
		r := make([]byte, 16+len(s))
		binary.LittleEndian.PutUint64(r, 1000)
		binary.LittleEndian.PutUint16(r[8:], uint16(len(r)))
		binary.LittleEndian.PutUint16(r[10:], uint16(len(s)))
		r[15] = 6 << 5
		copy(r[16:], s)
		b = append(b, r...)
	}
	b = append(b, make([]byte, 16)...)
	rs, probs := ParsePrintk(b)
	if !SniffPrintk(b) || len(rs) != 2 || len(probs) != 0 || rs[1].Text != "hello ok" || rs[0].Level != 6 {
		t.Errorf("%+v %v", rs, probs)
	}
	if _, probs := ParsePrintk(b[:30]); len(probs) != 1 {
		t.Errorf("a cut record: %v", probs)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(rdr())
	f.Add([]byte("\x20\x20\xea\xea12345678"))
	f.Add([]byte("pihc0123456789abcdef"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if x, err := Parse(b, "950"); err == nil && len(x.Facts) > maxFacts {
			t.Fatal("too many facts")
		}
		ParsePrintk(b)
		ParseHistory(string(b))
		ParseDeviceInfo(string(b))
	})
}
