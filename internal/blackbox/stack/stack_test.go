package stack

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func sample(t testing.TB, elem ...string) []byte {
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
	b, err := os.ReadFile(filepath.Join(append([]string{dir, "..", "shared", "data", "dump"}, elem...)...))
	if err != nil {
		t.Skipf("the samples are not here: %v", err)
	}
	return b
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		file          []string
		form          string
		signal        int
		pid, threads  int
		crash, inside string // of the thread that crashed: first frame holds
	}{
		{[]string{"stack", "core-coredump-8032-1717033942.txt"}, "gdb", 11, 40896, 0, "atrace_test.cc:288", "ChildPthread"},
		{[]string{"stack", "coretrace_1738757896_22994_test"}, "coretrace", 11, 22994, 1, "test+0x594", ""},
		{[]string{"stack", "coretrace_log.log-daemon.1749023973.11"}, "coretrace", 11, 6613, 0, "", ""},
		{[]string{"stack", "stackcore_tracer_6_570350_atrace_test_20241010031221412850.txt"}, "stackcore text", 6, 570350, 0, "libc.so.6+0x4300b", ""},
		{[]string{"stack", "stackcore_tracer_atrace_test_40945_1716517732910.txt"}, "stackcore text", 11, 40945, 3, "", ""},
		{[]string{"writer", "stackcore", "stackcore_tracer_15_5618_npudemo_app_20261130044309786218.txt"}, "stackcore text", 15, 5618, 0, "clock_nanosleep", ""},
		{[]string{"writer", "stackcore", "stackcore_tracer_11_5832_npudemo_app_20261130044312917922.txt"}, "stackcore text", 11, 5832, 0, "npudemo_app+0x2dabe", ""},
		{[]string{"writer", "stackcore", "stackcore_tracer_11_5832_npudemo_app_20261130044311896147.txt"}, "stackcore log", 11, 5832, 0, "", ""},
	} {
		name := c.file[len(c.file)-1]
		got, err := ParseText(sample(t, c.file...))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.Form != c.form || got.Signal != c.signal || got.PID != c.pid || c.threads > 0 && len(got.Threads) != c.threads || len(got.Problems) > 0 {
			t.Errorf("%s: %s signal %d pid %d, %d threads, %v", name, got.Form, got.Signal, got.PID, len(got.Threads), got.Problems)
		}
		if c.crash == "" {
			continue
		}
		found := ""
		for _, th := range got.Threads {
			if th.Crashed && len(th.Frames) > 0 {
				found = th.Frames[0].String()
			}
		}
		if !strings.Contains(found, c.crash) || !strings.Contains(found, c.inside) {
			t.Errorf("%s: crashed in %q, expected %q", name, found, c.crash)
		}
	}
}

func TestImage(t *testing.T) {
	b := sample(t, "writer", "stackcore", "stackcore_tracer_35_5618_npudemo_app_20261130044304695826.bin")
	c, err := ParseImage(b)
	if err != nil || len(c.Problems) > 0 {
		t.Fatal(err, c.Problems)
	}
	frames := 0
	for _, th := range c.Threads {
		frames += len(th.Frames)
	}
	if c.Signal != 35 || c.PID != 5618 || c.TID != 5618 || c.TimeNS != 1796013784695591065 || frames != 25 || c.Process != "npudemo_app" {
		t.Errorf("signal %d pid %d tid %d time %d, %d frames, %q", c.Signal, c.PID, c.TID, c.TimeNS, frames, c.Process)
	}
	want := map[string]int64{"[maps]": 4440, "[system memory]": 1475, "[process status]": 1418, "[process limits]": 1323}
	for _, s := range c.Sections {
		if n, ok := want[s.Name]; ok && n != s.Bytes {
			t.Errorf("%s has %d bytes, expected %d", s.Name, s.Bytes, n)
		}
		delete(want, s.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing %v", want)
	}
	if f := c.Threads[0].Frames[0]; f.Func == "" || !strings.Contains(f.Lib, "/") {
		t.Errorf("first frame %+v", f)
	}
	for cut := 0; cut < len(b); cut += 211 {
		ParseImage(b[:cut])
		x := bytes.Clone(b)
		x[cut] ^= 0xff
		ParseImage(x)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("[process]\ncrash reason: signal 15\n[stack]\nThread 1 (5, a)\n#00 0x1 0x0 /lib.so (f)\n"))
	f.Add([]byte("Signal 11 pid 0\n00400000-00401000 /root/test\nPID 1 TGID 1 comm t\n#0 0000000000400594"))
	f.Add([]byte("Program terminated with signal SIGSEGV, x.\nThread 3 (Thread 0x1 (LWP 4)):\n#0 0x1 in f (a=1) at b.c:3\nrax 0x1"))
	img := make([]byte, 64+640+704)
	copy(img[64:], "\x01[stack]\x00")
	img[64+36], img[64+37], img[64+40], img[64+44], img[64+45], img[64+52] = 0xc0, 2, 1, 0xc0, 2, 1
	f.Add(img)
	old := make([]byte, 1024)
	old[0], old[1], old[2], old[4] = 0x23, 0xac, 1, 2
	f.Add(old)
	f.Fuzz(func(t *testing.T, b []byte) {
		ParseText(b)
		ParseImage(b)
	})
}
