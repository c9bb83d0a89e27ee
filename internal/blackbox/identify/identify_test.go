package identify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBytes(t *testing.T) {
	for _, c := range []struct {
		head, want string
	}{
		{"", Empty}, {"IMOD....", "om"}, {"\x89NPT\r\n\x1a\n", "npt"}, {"\x93NUMPY\x01\x00", NPY},
		{"PK\x03\x04" + strings.Repeat("\x00", 22) + "\x05\x00\x00\x00a.npyrest", NPZ}, {"PK\x03\x04" + strings.Repeat("\x00", 22) + "\x05\x00\x00\x00a.txtrest", ""},
		{"\x08\x07\x12\x07pytorch", "onnx"}, {"hello world\n", Text}, {"\x00\x01\x02\x03", ""},
		{"{\"binFileName\": \"x\"}", KernelJSON}, {"Signal 11 pid 5\n", StackText},
		{"[ERROR] RUNTIME(1,a):2025-04-02-07:19:26.271.231 [x.cc:1]1 f:text\n", Log},
		{"EZ9999: Inner Error!\n", Log}, {"2026-11-30 04:43:00.441.936 plain text record one\n", Log},
	} {
		if got := Bytes([]byte(c.head), int64(len(c.head))); got != c.want {
			t.Errorf("%q is %q, expected %q", c.head, got, c.want)
		}
	}
}

func TestSamples(t *testing.T) {
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
	root := filepath.Join(dir, "..", "shared", "data", "dump")
	if _, err := os.Stat(root); err != nil {
		t.Skip("the samples are not here")
	}
	want := map[string]string{
		"writer/core/*.core": Core, "writer/core/*.o": KernelObject, "writer/exception/*.json": KernelJSON, "writer/exception/exception_info*": TensorDump,
		"writer/exception/MatMul*": TensorDump, "writer/exception/kv_cache*": TensorDump, "writer/atrace/*.bin": ATrace, "writer/atrace/*.txt": Log,
		"writer/stackcore/*.bin": StackImage, "writer/stackcore/*.txt": StackText, "stack/*": StackText, "synthetic/Conv*": TensorDump, "synthetic/Opdebug*": TensorDump,
		"synthetic/asc_*": KernelPrint, "synthetic/dump_work*": KernelPrint, "synthetic/Cast*": TensorDump, "synthetic/Fully*": TensorDump, "synthetic/trunc*": TensorDump,
		"bbox/hisi_logs/device-0/history.log": History, "bbox/hisi_logs/device_info.txt": DeviceInfo, "device-log/*": Log, "plog-real/*": Log, "atrace/*": Log,
		"kernel-json/*": KernelJSON,
	}
	n := 0
	for pattern, kind := range want {
		files, _ := filepath.Glob(filepath.Join(root, pattern))
		for _, f := range files {
			n++
			if got, err := File(f); err != nil || got != kind {
				t.Errorf("%s is %q (%v), expected %q", f, got, err, kind)
			}
		}
	}
	if n < 45 {
		t.Errorf("only %d samples", n)
	}
}

func FuzzBytes(f *testing.F) {
	f.Add([]byte("[ERROR] RUNTIME(1,a):2025-04-02-07:19:26.271.231 [x.cc:1]1 f:text\n"))
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if k := Bytes(b, int64(len(b))); k != "" && Description(k) == "" {
			t.Errorf("kind %q has no description", k)
		}
	})
}
