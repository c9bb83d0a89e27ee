package plog

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
)

func scanAll(t *testing.T, text string, o Options) []Record {
	t.Helper()
	var out []Record
	if _, err := Scan(strings.NewReader(text), 0, o, func(r *Record) error {
		c := *r
		c.Text = bytes.Clone(r.Text)
		out = append(out, c)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestHeads(t *testing.T) {
	all := Options{Level: Debug, Since: NoTime}
	for _, c := range []struct {
		line, module, proc, text string
		pid                      int
		level                    Level
		origin                   Origin
		when                     string
	}{
		{"[ERROR] RUNTIME(588579,execute_add_op):2025-04-02-07:19:26.271.231 [stars_engine.cc:1551]588579 ProcLogicCqReport:Task run failed, device_id=0",
			"RUNTIME", "execute_add_op", "588579 ProcLogicCqReport:Task run failed, device_id=0", 588579, Error, Host, "2025-04-02 07:19:26.271231"},
		{"[INFO] HDC(13694,a)b,c):2020-09-09-15:22:33.194.689 [x/../hdc.c:190][CfgFileOpen:190] >>> not exist",
			"HDC", "a)b,c", "[CfgFileOpen:190] >>> not exist", 13694, Info, Host, "2020-09-09 15:22:33.194689"},
		{"[ERROR] TSCH(-1,null):1970-01-01-00:00:01.014.351 2121 (dieid:0,cpuid:0) [dfx.c:363] f: x",
			"TSCH", "null", "2121 (dieid:0,cpuid:0) [dfx.c:363] f: x", -1, Error, Firmware, "1970-01-01 00:00:01.014351"},
		{"[ERROR] KERNEL(4723,sklogd):2025-05-08-02:45:10.858.289 [klogd.c:247][24634.433552] OOM_NOTIFIER: oom type 2",
			"KERNEL", "sklogd", "[24634.433552] OOM_NOTIFIER: oom type 2", 4723, Error, Device, "2025-05-08 02:45:10.858289"},
		{"[2025-05-07-19:54:27.371626] [ascend] [uda] [WARNING] [fn 125] <kworker:231> Ns info.",
			"DRV", "", "<kworker:231> Ns info.", -1, Warning, Host, "2025-05-07 19:54:27.371626"},
		{"[2020-12-24-01:10:56.177575] system exception code [0xB4060006]: ModuleName [TS]",
			"BBOX", "", "system exception code [0xB4060006]: ModuleName [TS]", -1, Error, Host, "2020-12-24 01:10:56.177575"},
		{"[ERROR] 2024-06-27-10:50:39 (PID:6210, Device:2, RankID:7) ERR00100 PTA call acl api failed",
			"APP", "", "ERR00100 PTA call acl api failed", 6210, Error, Host, "2024-06-27 10:50:39.000000"},
		{"\x1b[31m[rank3]:[ERROR] GE(7,p):2025-01-02-03:04:05.006.007 [a.cc:1]7 f: text\x1b[0m",
			"GE", "p", "7 f: text", 7, Error, Host, "2025-01-02 03:04:05.006007"},
		{"[EXCEPTION] KERNEL(118,ffff4effd1e0,python):2025-01-02-03:04:05.006.007 [a/b.cc:1] Run] text [x] y] z",
			"KERNEL", "python", "text [x] y] z", 118, Error, Host, "2025-01-02 03:04:05.006007"},
		{`{"log":"[ERROR] GE(7,p):2025-01-02-03:04:05.006.007 [a.cc:1]7 f: a \"b\"\n","stream":"stderr","time":"2025-01-02T03:04:05Z"}`,
			"GE", "p", `7 f: a "b"`, 7, Error, Host, "2025-01-02 03:04:05.006007"},
		{"> [ERROR] GE(7,p):2025-01-02-03:04:05.006.007 [a.cc:1]7 f: text\r",
			"GE", "p", "7 f: text", 7, Error, Host, "2025-01-02 03:04:05.006007"},
	} {
		got := scanAll(t, c.line+"\n", all)
		if len(got) != 1 {
			t.Fatalf("%q: %d records", c.line, len(got))
		}
		r := got[0]
		if r.Module != c.module || r.Proc != c.proc || string(r.Text) != c.text || r.PID != c.pid || r.Level != c.level || r.Origin != c.origin || Clock(r.Time) != c.when {
			t.Errorf("%q:\n got %s %q %q pid %d %v %v %s", c.line, r.Module, r.Proc, r.Text, r.PID, r.Level, r.Origin, Clock(r.Time))
		}
	}
}

// A message code stands behind what launchers, collectors and test runners put in front of a line, and is no code inside
// a sentence.
func TestPrefixedCodes(t *testing.T) {
	for _, prefix := range []string{"", "worker-1: ", "(EngineCore_DP0 pid=7) ", "2025-07-23T03:47:57.07Z stderr F ", "app-1  | ", "[pod/a/b] ", "> ", "E   ", "  12  ",
		"a.log:14:", "2025-07-23 03:47:57,070 - name - ERROR - ", "[collector]"} {
		got := scanAll(t, prefix+"EZ9999: [PID: 9] 2025-01-02-03:04:05.006.007 (EZ9999):  text\n", Options{Level: Event, Since: NoTime})
		if len(got) != 1 || got[0].Code != "EZ9999" || got[0].PID != 9 || string(got[0].Text) != "text" {
			t.Errorf("%q: %+v", prefix, got)
		}
	}
	for _, line := range []string{"see the page of EZ9999: it says more", ":EZ9999: text", "(EZ9999: text", "E"} {
		for _, r := range scanAll(t, line+"\n", Options{Level: Event, Since: NoTime}) {
			if r.Code != "" {
				t.Errorf("%q has code %s", line, r.Code)
			}
		}
	}
}

func TestLinesInJSON(t *testing.T) {
	o := Options{Level: Event, Since: NoTime}
	got := scanAll(t, `{"level":"error","message":"EZ9999: Inner Error!\nEZ9999: first\r\n\n        second"}`+"\n"+`{"a":"b"}`+"\n"+`{"log":"cut`+"\n", o)
	var texts []string
	for _, r := range got {
		texts = append(texts, string(r.Text))
	}
	if want := []string{"Inner Error!", "first", "second", `{"a":"b"}`, `{"log":"cut`}; !slices.Equal(texts, want) {
		t.Errorf("%q", texts)
	}
}

// A program's own line of an error is read although the line before is below the level.
func TestPlainLevels(t *testing.T) {
	got := scanAll(t, "[INFO] begin\nmore\n[ERROR]  failed: code 5\n", Options{Level: Event, Since: NoTime})
	if len(got) != 1 || got[0].Level != Error || string(got[0].Text) != "[ERROR]  failed: code 5" {
		t.Errorf("%+v", got)
	}
}

func TestTimeAgainstStandardLibrary(t *testing.T) {
	for _, s := range []string{"1970-01-01-00:00:00", "2000-02-29-23:59:59", "2024-12-31-12:00:01", "1999-03-01-00:00:00", "2100-03-01-05:06:07"} {
		us, n := ParseTime([]byte(s + ".123.456 "))
		want, err := time.Parse("2006-01-02-15:04:05", s)
		if err != nil {
			t.Fatal(err)
		}
		if us != want.UnixMicro()+123456 || n != len(s)+8 {
			t.Errorf("%s: %d (%d bytes), expected %d", s, us, n, want.UnixMicro()+123456)
		}
	}
	for _, s := range []string{"", "2024-13-01-00:00:00", "2024-01-01-00:61:00", "20240101000000", "2024-01-01x00:00:00"} {
		if us, n := ParseTime([]byte(s)); n != 0 || us != NoTime {
			t.Errorf("%q reads as %d", s, us)
		}
	}
}

const longLine = "[ERROR] RUNTIME(9120,test):2026-02-19-09:41:55.002.321 [device_error_core_proc.cc:297]9120 Process:The error from device(chipId:0, dieId:0), serial number is 17, there is an aivec error exception, core id is 0, error code = 0x200000000, dump info: pc start: 0x12c080030000, current: 0x12c0800312b8, vec error info: 0x2100040a3, mte error info: 0xc40000008c, ifu error info: 0x11c0a0030080, ccu error info: 0x6208000008c, cube error info: 0, biu error info: 0, aic error mask: 0x6500020bd000288, para base: 0x12c1c0000400."

func TestBrokenLines(t *testing.T) {
	text := strings.Repeat(longLine+"\n", 3)
	var hard, soft strings.Builder
	for _, l := range strings.Split(strings.TrimSpace(text), "\n") {
		for len(l) > 80 {
			hard.WriteString(strings.TrimRight(l[:80], " ") + "\n")
			l = l[80:]
		}
		hard.WriteString(l + "\n")
	}
	for _, l := range strings.Split(strings.TrimSpace(text), "\n") {
		n := 0
		for i, w := range strings.Fields(l) {
			if i > 0 && n+1+len(w) > 100 {
				soft.WriteString("\n> ")
				n = 0
			} else if i > 0 {
				soft.WriteString(" ")
				n++
			} else {
				soft.WriteString("> ")
			}
			soft.WriteString(w)
			n += len(w)
		}
		soft.WriteString("\r\n")
	}
	want := scanAll(t, text, Options{Since: NoTime})
	for name, broken := range map[string]string{"hard": hard.String(), "soft": soft.String()} {
		got := scanAll(t, broken, Options{Since: NoTime})
		if len(got) != 3 {
			t.Errorf("%s: %d records, expected 3:\n%s", name, len(got), broken)
			continue
		}
		for i := range got {
			if strings.Join(strings.Fields(string(got[i].Text)), " ") != strings.Join(strings.Fields(string(want[i].Text)), " ") {
				t.Errorf("%s: record %d is\n%s\nexpected\n%s", name, i, got[i].Text, want[i].Text)
			}
		}
	}
}

func TestLevelsAndSince(t *testing.T) {
	text := "[INFO] GE(1,p):2025-01-01-00:00:01.000.000 [a:1]1 f: i\ncontinued info\n[ERROR] GE(1,p):2025-01-01-00:00:02.000.000 [a:1]1 f: e\ncontinued error\n[EVENT] DRV(1,p):2025-01-01-00:00:03.000.000 [a:1]1 f: v\n"
	if n := len(scanAll(t, text, Options{Since: NoTime})); n != 3 {
		t.Errorf("default: %d records, expected the error, its continuation and the event", n)
	}
	if n := len(scanAll(t, text, Options{Level: Info, Since: NoTime})); n != 5 {
		t.Errorf("info: %d records, expected 5", n)
	}
	since, _ := ParseTime([]byte("2025-01-01-00:00:03"))
	if n := len(scanAll(t, text, Options{Since: since})); n != 1 {
		t.Errorf("since: %d records, expected 1", n)
	}
}

func TestMessageCodes(t *testing.T) {
	for _, c := range []struct{ line, code, text string }{
		{"EZ9999: [PID: 6210] 2024-06-27-10:50:38.123.456 The error from device", "EZ9999", "The error from device"},
		{"EZ9999[PID: 18914] 2025-05-07-09:45:12.123.456 (EZ9999):  Kernel task happen error", "EZ9999", "Kernel task happen error"},
		{"[PID: 18914] 2025-05-07-09:45:12.123.456 (EE9999): text", "EE9999", "text"},
		{"EL0004: 2025-07-25-22:10:05.000.210 Memory", "EL0004", "Memory"},
		{"E19999: Inner Error!", "E19999", "Inner Error!"},
	} {
		got := scanAll(t, c.line, Options{Since: NoTime})
		if len(got) != 1 || got[0].Code != c.code || string(got[0].Text) != c.text {
			t.Errorf("%q: %+v", c.line, got)
		}
	}
	for _, s := range []string{"EZ99999x", "E1", "ERR1", "EZ99", "WORD12345", "ERROR"} {
		if n := codeLen([]byte(s)); n != 0 {
			t.Errorf("%q reads as a code of %d", s, n)
		}
	}
}

func TestOverlongLine(t *testing.T) {
	text := "first\n" + strings.Repeat("x", 3<<20) + "\nlast\n"
	var got []string
	st, err := Scan(strings.NewReader(text), 0, Options{Since: NoTime}, func(r *Record) error {
		got = append(got, string(r.Text[:min(len(r.Text), 8)]))
		return nil
	})
	if err != nil || st.Cut != 1 || strings.Join(got, " ") != "first xxxxxxxx last" || st.Bytes != int64(len(text)) {
		t.Errorf("%v, cut %d, %d bytes: %q", err, st.Cut, st.Bytes, got)
	}
}

func TestWalk(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var zip, tgz bytes.Buffer
	z := gzip.NewWriter(&zip)
	fmt.Fprintln(z, longLine)
	z.Close()
	z = gzip.NewWriter(&tgz)
	tw := tar.NewWriter(z)
	for _, n := range []string{"../../outside.log", "a/b.log"} {
		if err := tw.WriteHeader(&tar.Header{Name: n, Size: int64(len(longLine)), Mode: 0o600, Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		io.WriteString(tw, longLine)
	}
	tw.Close()
	z.Close()
	write("1.log", []byte(longLine))
	write("2.log.gz", zip.Bytes())
	write("3.tar.gz", tgz.Bytes())
	write("4.bin", []byte{0, 1, 2})
	var names []string
	n := 0
	err := Walk([]string{dir}, nil, func(name string, r io.Reader) error {
		names = append(names, strings.TrimPrefix(name, dir+"/"))
		_, err := Scan(r, 0, Options{Since: NoTime}, func(r *Record) error { n++; return nil })
		return err
	})
	if err != nil || n != 4 || len(names) != 4 {
		t.Errorf("%v: %d records in %q", err, n, names)
	}
	write("5.gz", tgz.Bytes()[:len(tgz.Bytes())/2])
	if err := Walk([]string{dir + "/5.gz"}, nil, func(_ string, r io.Reader) error {
		_, err := io.Copy(io.Discard, r)
		return err
	}); err == nil {
		t.Error("a gzip cut short must be an error")
	}
}

// The fast path must not allocate: a gigabyte of INFO lines costs no memory.
func TestSkipAllocates(t *testing.T) {
	line := []byte("[INFO] GE(1,p):2025-01-01-00:00:01.000.000 [a:1]1 f: i")
	if n := testing.AllocsPerRun(100, func() { skippable(line, Event) }); n != 0 {
		t.Errorf("%v allocations a line", n)
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte(longLine))
	f.Add([]byte("[ERROR] A(1,b):2025-01-01-00:00:01.000.000 [\n<exception_print>PC=0x1\nEZ9999: [PID:"))
	f.Add([]byte("[rank1]:[ERROR] 2024-06-27-10:50:39 (PID:\n> \x1b[3\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		last := 0
		if _, err := Scan(bytes.NewReader(b), 0, Options{Level: Debug, Since: NoTime}, func(r *Record) error {
			if r.Line < last {
				t.Fatalf("line %d after %d", r.Line, last)
			}
			last = r.Line
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkScan(b *testing.B) {
	var text bytes.Buffer
	for text.Len() < 64<<20 {
		for i := range 40 {
			fmt.Fprintf(&text, "[INFO] RUNTIME(9120,test):2026-02-19-09:41:55.%03d.321 [stream.cc:297]9120 Launch:stream_id=%d, task_id=%d, something that a run at info level prints\n", i, i, i)
		}
		text.WriteString(longLine + "\n")
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Scan(bytes.NewReader(text.Bytes()), 0, Options{Since: NoTime}, func(r *Record) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
