package decode

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"npu/internal/problem"
	"npu/internal/tensor"
)

// data is the folder with samples beside the repository; tests that need it skip without it.
func data(t testing.TB, elem ...string) string {
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
	p := filepath.Join(append([]string{dir, "..", "shared", "data", "dump"}, elem...)...)
	if m, _ := filepath.Glob(p); len(m) == 1 {
		p = m[0]
	}
	if _, err := os.Stat(p); err != nil {
		t.Skip("the samples are not here")
	}
	return p
}

func decodeText(t *testing.T, path string, o Options) (string, *Report) {
	t.Helper()
	r, err := File(context.Background(), path, o)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var b bytes.Buffer
	if err := Write(&b, r, Style{}); err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return b.String(), r
}

// The facts that the description of the samples lists, by file. A line of the output must hold all words of a fact.
func TestFactsOfSamples(t *testing.T) {
	demo := "DemoScatter_5f0c1d2e3a4b5968778695a4b3c2d1e0"
	for _, c := range []struct {
		file  []string
		facts []string
	}{
		{[]string{"atrace", "ts_0*"}, []string{"pid 17990", "stream 2 task 0", "error type 8", "entry pc 0x1240c0018874", "10 AIV cores", "bits 23 78", "write bus error",
			"pc 0x1240c00188ec repaired by MTE to 0x1240c00188d0, entry+0x5c", "the firmware repaired the program counter to 0x1240c00188d0: agrees", "PARA_BASE 0x124180000000", "stack 967 rows"}},
		{[]string{"bbox", "hisi_logs", "device-0", "history.log"}, []string{"2020-12-24-01:10:56.177575 0xb4060006", "device level warning module TS code 6", "TS_EXCEPTION reason 0x33", "20201224011056-159304001"}},
		{[]string{"bbox", "hisi_logs", "device_info.txt"}, []string{"device num 0x1", "online num 0x1", "offline num 0x0", "device-0: phy 0 logic 0 os running"}},
		{[]string{"device-log", "device-0_2020*"}, []string{"exception code 0xb4060006", "stream 517 task 3", "bits 4", "entry+0xa4"}},
		{[]string{"device-log", "device-0_2025*"}, []string{"lines 845", "from 1970-01-01"}},
		{[]string{"kernel-json", "AddCustom*"}, []string{"x float16", "y float16", "z float16", "tiling bytes 16", "block dim dynamic"}},
		{[]string{"kernel-json", "GatherV3*"}, []string{"tiling bytes 200", "entry GatherV3 10430"}},
		{[]string{"kernel-json", "te_gather*"}, []string{"kernel __kernel0", "block dim 40"}},
		{[]string{"stack", "core-coredump*"}, []string{"SIGSEGV in ChildPthread atrace_test.cc:288", "thread 3"}},
		{[]string{"stack", "coretrace_17*"}, []string{"signal 11", "mappings 10", "22994 test", "0x400594", "0xffff8200b118", "0x4004b0"}},
		{[]string{"stack", "coretrace_log*"}, []string{"signal 11", "pid 6613", "log-daemon"}},
		{[]string{"stack", "stackcore_tracer_6*"}, []string{"signal 6", "pid 570350", "libc.so.6"}},
		{[]string{"stack", "stackcore_tracer_atrace*"}, []string{"SIGSEGV", "pid 40945", "tid 40957", "thread 3"}},
		{[]string{"writer", "core", "Demo*.core"}, []string{"910B/A3", "kernel " + demo + "_0", "sections 44", "0x12c0dead0000 could not be read", "0x12c0dead0000 128 UNREADABLE",
			"stack of AIC 3 0x124090018000 4096", "stack of AIV 6 0x124090230000", "stack of AIV 7 0x124090238000", "kernel text 0x124080014000 181", "argument block 0x12c100010000 64",
			"AIC 3 bystander", "AIV 6 0x124080014028 repaired by MTE to 0x124080014014 text+0x14 store_tile+0xd demo_scatter.c:14", "write bus error", "bits 23",
			"AIV 7 0x124080014070 repaired by VEC to 0x124080014058 entry+0x28 demo_scatter.c:21", "bits 62", "L0A 65536 L0C 131072 L1 524288", "UB 196608"}},
		{[]string{"writer", "core", "core950*"}, []string{"chip 950", "sections 25", "AIV 4", "codes 95", "0x124080014014", "store_tile+0xd demo_scatter.c:14", "UB 253952", "0x12c0dead0000 could not be read"}},
		{[]string{"writer", "core", "*.o"}, []string{"entry 0x30: " + demo + "_0, 104 bytes", "function 0x7: store_tile, 41 bytes", "lines yes", "flags 0x950000"}},
		{[]string{"writer", "exception", "exception_info.3.42.20261130044856428"}, []string{"version 2.0", "header 2112 of 2848 bytes", "input.0 float32 4x6 11.5 0x12c041200000",
			"input.1 float16 16 32", "input.2 int64 2x3 -3 -2 1 6 13 22", "input.3 tiling data 72", "input.4 128 0x12c0dead0000", "output.0 float32 -1.25", "space.0 256 0x12c041201000",
			"argument 6 null pointer", demo + ".json"}},
		{[]string{"writer", "exception", "exception_info.3.42.20261130044856788"}, []string{"header 2183 of 2911 bytes", "64", "32"}},
		{[]string{"writer", "exception", "MatMul*"}, []string{"exception dump L1", "operator layer/0/attention.self query", "header 1201 of 1737 bytes", "input.1 float16 FRACTAL_NZ 1x1x4x4 32",
			"output.0 float32 NCHW 1x2x3x4 0x12c041200600", "MatMulV2"}},
		{[]string{"writer", "exception", "kv_cache*"}, []string{"custom exception dump", "header 783 of 1063 bytes", "user_tag rank=3;phase=decode"}},
		{[]string{"writer", "atrace", "*.bin"}, []string{"version 3", "2094763 cycles per ms", "04:43:00.432.159 tid[1000]", "launch_5 ret[507015]", "stream 2 aborted after error"}},
		{[]string{"writer", "stackcore", "stackcore_tracer_35*.bin"}, []string{"signal 35", "pid 5618", "[maps] 4440", "[system memory] 1475", "[process status] 1418", "[process limits] 1323", "04:43:04.695591"}},
		{[]string{"writer", "stackcore", "stackcore_tracer_15*"}, []string{"signal 15", "clock_nanosleep", "register rip 0x00007f2c966ed545"}},
		{[]string{"writer", "stackcore", "stackcore_tracer_11*922.txt"}, []string{"signal 11", "#3 libc.so.6"}},
		{[]string{"writer", "stackcore", "stackcore_tracer_11*147.txt"}, []string{"exit status(103)", "could not be written"}},
		{[]string{"synthetic", "dump_workspace_legacy.bin"}, []string{"core 0 start, name=tile0 f=1.500000 x=0xabc0", "core_1_index_7 UB 2x4 10 10.25", "core_0_index_9 GM 1 -2 0.5 65504",
			"id 3 cycle 1000017 pc 0x1240c0001001", "core 1 full", "[ASSERT] add_custom.cpp:42: Assertion failed"}},
		{[]string{"synthetic", "asc_kernel_data_aiv_1.bin"}, []string{"blk 1 val 0.125000", "index_11 bfloat16 UB 1 2 -1 +Inf", "id 4 cycle 123456789 pc 0x12408001502c entry cycle 0x1240800140b0"}},
		{[]string{"synthetic", "asc_kernel_data_simt_72.bin"}, []string{"block (1,0,0) thread (5,0,0): tid 5 says hi", "assert x>0 line 7"}},
		{[]string{"synthetic", "Conv2D*"}, []string{"task 12", "stream 7", "input.0 float16 NC1HWC0 1x1x4x4x16 0x12c041200000", "input.0: original shape 1x16x4x4", "input.1 int8 FRACTAL_Z 4x1x4x4",
			"output.0 bfloat16 4x4 -4 -3.5", "buffer.0 64", "tile 0 done", "tile 1 done", "core 2 start", "dynamic false"}},
		{[]string{"synthetic", "Cast*"}, []string{"input.0 uint1 64", "input.1 float8_e4m3fn 1 2 448", "output.0 complex64 1 2 3 -4"}},
		{[]string{"synthetic", "Opdebug*3999"}, []string{"model none stream 7 task 12 0x124080014000 0x12c0c0002000 core 6 block 3 0x200000000000000", "bit 57"}},
		{[]string{"synthetic", "Opdebug*0001"}, []string{"model 1 stream 7 task 12 type 0 0x124080014000 0x12c0c0002000 0x200000 0x2"}},
		{[]string{"synthetic", "truncated*"}, []string{"input.0 509 of 512", "254 whole elements", "damage 0xbf"}},
		{[]string{"synthetic", "Fully*"}, []string{"tiny-chip", "operator fc/MatMul", "input.0 int8 2x4 1 2 3 4", "output.0 float32 4 0.5 -1.5 2.25 1000000", "original shape 2x2"}},
	} {
		t.Run(filepath.Join(c.file...), func(t *testing.T) {
			text, r := decodeText(t, data(t, c.file...), Options{})
			for _, f := range c.facts {
				if !holds(text, f) {
					t.Errorf("%s: no line with %q", r.File, f)
				}
			}
			if strings.HasPrefix(filepath.Base(r.File), "truncated") != (len(r.Problems) > 0) {
				t.Errorf("problems: %+v", r.Problems)
			}
			if t.Failed() {
				t.Log(text[:min(len(text), 3000)])
			}
		})
	}
}

func holds(text, words string) bool {
	for _, l := range strings.Split(text, "\n") {
		ok := true
		for _, w := range strings.Fields(words) {
			if !strings.Contains(l, w) {
				ok = false
				break
			}
		}
		if ok {
			return true
		}
	}
	return false
}

// Every tensor that was exported as .npy holds the numbers that the report shows.
func TestExports(t *testing.T) {
	out := t.TempDir()
	r, err := File(context.Background(), data(t, "synthetic", "Conv2D*"), Options{Out: out})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, x := range r.Tensors {
		if !strings.HasSuffix(x.File, ".npy") {
			continue
		}
		got := readNPY(t, x.File)
		f, err := tensor.Floats(got)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range x.First {
			if f[i] != float64(v) {
				t.Errorf("%s: element %d is %v, the report says %v", x.File, i, f[i], v)
			}
		}
		lo := math.Inf(1)
		for _, v := range f {
			lo = min(lo, v)
		}
		if lo != float64(*x.Min) {
			t.Errorf("%s: minimum %v, the report says %v", x.File, lo, *x.Min)
		}
		n++
	}
	if n != 9 {
		t.Errorf("%d arrays", n)
	}
	// the natural order of NC1HWC0 [1,1,4,4,16] is [1,16,4,4]: element (n,c,h,w) from (n,0,h,w,c)
	raw, nat := readNPY(t, r.Tensors[0].File), readNPY(t, r.Tensors[0].Natural)
	a, _ := tensor.Floats(raw)
	b, _ := tensor.Floats(nat)
	for c := range 16 {
		for hw := range 16 {
			if b[c*16+hw] != a[hw*16+c] {
				t.Fatalf("channel %d, pixel %d: %v, expected %v", c, hw, b[c*16+hw], a[hw*16+c])
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(out, ".npu-*")); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

func readNPY(t *testing.T, path string) *tensor.Tensor {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, _ := f.Stat()
	x, err := tensor.ReadNPY(f, st.Size())
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return x
}

func TestSafeNames(t *testing.T) {
	for in, want := range map[string]string{"../../etc/passwd": "_.._etc_passwd", "a b/c\\d": "a_b_c_d", "": "_", "...": "_", "x\x00y": "x_y", strings.Repeat("a", 500): strings.Repeat("a", 200)} {
		if got := safeName(in); got != want {
			t.Errorf("%q becomes %q, expected %q", in, got, want)
		}
	}
}

// A dump whose names point elsewhere must stay inside the output folder.
func TestExportStaysInside(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "in")
	if err := os.MkdirAll(filepath.Join(src, "..evil"), 0o755); err != nil {
		t.Fatal(err)
	}
	msg := []byte{34, 10, 8, 1, 26, 4, 10, 2, 2, 2, 40, 16} // input float32 [2,2] of 16 bytes
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(msg)))
	b = append(append(b, msg...), make([]byte, 16)...)
	if err := os.WriteFile(filepath.Join(src, "..evil", "Op.n\\..\\x.1.2.1700000000000000"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	err := Run(context.Background(), src, Options{Out: out, Format: "npy"}, NewPrinter(io.Discard, "npy", Style{}))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	filepath.WalkDir(dir, func(p string, d os.DirEntry, _ error) error {
		if d.Type().IsRegular() && strings.HasSuffix(p, ".npy") {
			files = append(files, p)
		}
		return nil
	})
	if len(files) != 1 || !strings.HasPrefix(files[0], out+string(filepath.Separator)) {
		t.Errorf("%q", files)
	}
}

// An export that fails leaves nothing; a cancelled one neither.
func TestNothingHalfWritten(t *testing.T) {
	dir := t.TempDir()
	if err := place(filepath.Join(dir, "x"), func(w io.Writer) error {
		w.Write(make([]byte, 1<<20))
		return errors.New("broken")
	}); err == nil {
		t.Error("no error")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r, err := File(ctx, data(t, "synthetic", "Conv2D*"), Options{Out: dir}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v %v", r, err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("%d files are left", len(files))
	}
}

func TestDamageIsExit3(t *testing.T) {
	var b bytes.Buffer
	err := Run(context.Background(), data(t, "synthetic", "truncated*"), Options{}, NewPrinter(&b, "json", Style{}))
	if problem.ClassOf(err) != problem.Damaged || !strings.Contains(err.Error(), "offset 0xbf") {
		t.Errorf("%v", err)
	}
	var r Report
	if err := json.Unmarshal(b.Bytes(), &struct {
		Problems *[]Problem `json:"problems"`
	}{&r.Problems}); err != nil || len(r.Problems) != 6 {
		t.Errorf("what could be read comes first: %v, %d problems", err, len(r.Problems))
	}
	for name, content := range map[string]string{"empty": "", "one": "x", "words": "hello\n"} {
		p := filepath.Join(t.TempDir(), name)
		os.WriteFile(p, []byte(content), 0o600)
		if err := Run(context.Background(), p, Options{}, NewPrinter(io.Discard, "text", Style{})); problem.ClassOf(err) != problem.Damaged {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Truncated and bit-flipped samples: a report or a clear error, never a panic.
func TestDamagedCorpus(t *testing.T) {
	var files []string
	for _, p := range []string{"writer/exception/*", "writer/atrace/*", "writer/stackcore/*", "synthetic/*", "stack/*", "kernel-json/*", "bbox/hisi_logs/device-0/*"} {
		m, _ := filepath.Glob(filepath.Join(data(t), p))
		files = append(files, m...)
	}
	dir := t.TempDir()
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil || len(b) > 64<<10 {
			continue
		}
		p := filepath.Join(dir, filepath.Base(f))
		for i := range 24 {
			c := bytes.Clone(b)
			if i%2 == 0 {
				c = c[:len(c)*i/24]
			} else {
				for k := i; k < len(c); k += 1 + len(c)/7 {
					c[k] ^= 1 << (i % 8)
				}
			}
			if err := os.WriteFile(p, c, 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := File(context.Background(), p, Options{})
			if err == nil {
				if err := Write(io.Discard, r, Style{}); err != nil {
					t.Errorf("%s, form %d: %v", f, i, err)
				}
			} else if problem.ClassOf(err) != problem.Damaged {
				t.Errorf("%s, form %d: %v", f, i, err)
			}
		}
	}
}

func TestPump(t *testing.T) {
	src := make([]byte, 5*piece+123)
	for i := range src {
		src[i] = byte(i * 7)
	}
	for _, first := range []int64{piece, piece - 128, 1} {
		var a, b bytes.Buffer
		err := pump(context.Background(), bytes.NewReader(src), 5, int64(len(src))-5, first, writer(&a), writer(&b))
		if err != nil || !bytes.Equal(a.Bytes(), src[5:]) || !bytes.Equal(b.Bytes(), src[5:]) {
			t.Errorf("first %d: %v, %d and %d bytes", first, err, a.Len(), b.Len())
		}
	}
	broken := errors.New("broken")
	n := 0
	err := pump(context.Background(), bytes.NewReader(src), 0, int64(len(src)), piece, func([]byte) error { return nil }, func([]byte) error {
		if n++; n == 2 {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if err := pump(context.Background(), bytes.NewReader(src[:100]), 0, 200, piece, writer(io.Discard)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a payload that ends early: %v", err)
	}
}

func TestJSONWithoutNumbers(t *testing.T) {
	n := Number(math.NaN())
	b, err := json.Marshal(Tensor{Min: &n, First: []Value{Value(math.Inf(-1)), 2}})
	if err != nil || !strings.Contains(string(b), `"min":null`) || !strings.Contains(string(b), `["-inf",2]`) {
		t.Errorf("%s %v", b, err)
	}
	if got := string(bareNaN([]byte(`{"a":NaN,"b":"NaN \" Infinity","c":-Infinity}`))); got != `{"a":"NaN","b":"NaN \" Infinity","c":"-Infinity"}` {
		t.Error(got)
	}
}

func FuzzFile(f *testing.F) {
	f.Add([]byte("[process]\ncrash reason:6\n[stack]\nThread 1 (5, a)\n#0 0x1 0x0 lib.so\n"))
	f.Add([]byte(`{"binFileName":"x","kernelName":"y","supportInfo":{"inputs":[{"name":"a","dtype":"float16"}]}}`))
	f.Add([]byte(`{"task":"statistics","level":"L1","data":{"a.b":{"output":[{"dtype":"x","Max":NaN}]}}}`))
	f.Add([]byte("Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value\nInput,0,4,DT_FLOAT,ND,1,3\n"))
	f.Add([]byte("<exception_print>TIME:2020-12-23-17:10:54.083.569, device_id=0, stream_id=517, task_id=3\n<exception_print>####AICORE_INFO_START: core_id=0\n<exception_print>AIC_ERROR=0x10\n"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		p := filepath.Join(dir, fmt.Sprintf("f%d", os.Getpid()))
		if err := os.WriteFile(p, b, 0o600); err != nil {
			t.Skip()
		}
		r, err := File(context.Background(), p, Options{})
		if err != nil {
			return
		}
		if err := Write(io.Discard, r, Style{Brief: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Fatal(err)
		}
	})
}

// The export of a big tensor beside a plain copy of the same file: MB/s of both in one run.
func BenchmarkExport(b *testing.B) {
	dir := b.TempDir()
	const n = 64 << 20
	msg := []byte{10, 3, '2', '.', '0'}
	shape := binary.AppendUvarint([]byte{8}, n)
	out := append([]byte{8, 1, 16, 2, 26, byte(len(shape))}, shape...)
	out = binary.AppendUvarint(append(out, 48), 4*n)
	msg = append(append(msg, 26, byte(len(out))), out...)
	src := filepath.Join(dir, "Big.big.1.2.1700000000000000")
	head := append(binary.LittleEndian.AppendUint64(nil, uint64(len(msg))), msg...)
	if err := os.WriteFile(src, append(head, make([]byte, 4*n)...), 0o600); err != nil {
		b.Fatal(err)
	}
	b.Run("npy", func(b *testing.B) {
		b.SetBytes(4 * n)
		for b.Loop() {
			if _, err := File(context.Background(), src, Options{Out: dir, Format: "npy"}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("npy-and-statistics", func(b *testing.B) {
		b.SetBytes(4 * n)
		for b.Loop() {
			if _, err := File(context.Background(), src, Options{Out: dir}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("plain-copy", func(b *testing.B) {
		b.SetBytes(4 * n)
		for b.Loop() {
			in, err := os.Open(src)
			if err != nil {
				b.Fatal(err)
			}
			to, err := os.Create(filepath.Join(dir, "copy"))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(to, in); err != nil {
				b.Fatal(err)
			}
			in.Close()
			to.Close()
		}
	})
}
