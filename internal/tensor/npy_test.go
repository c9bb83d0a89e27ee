package tensor

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// file builds an .npy by hand.
func file(version byte, dict string, data ...byte) []byte {
	b := append([]byte("\x93NUMPY"), version, 0)
	if version == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(dict)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(dict)))
	}
	return append(append(b, dict...), data...)
}

// What NumPy 1.x and 2.x write for np.arange(3, dtype=np.float32).
func TestWriteNPY_bytesOfNumPy(t *testing.T) {
	x, _ := FromFloat32s(Shape{3}, []float32{0, 1, 2})
	var got bytes.Buffer
	if err := WriteNPY(&got, x); err != nil {
		t.Fatal(err)
	}
	dict := "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"
	want := "\x93NUMPY\x01\x00\x76\x00" + dict + strings.Repeat(" ", 117-len(dict)) + "\n" +
		"\x00\x00\x00\x00\x00\x00\x80\x3f\x00\x00\x00\x40"
	if got.String() != want {
		t.Errorf("%q\nwant %q", got.String(), want)
	}
}

func TestReadNPY(t *testing.T) {
	for _, c := range []struct {
		what string
		in   []byte
		want string // type[shape]
		v    []float64
	}{
		{"python 2, keys in another order", file(1, "{'shape': (2L, 1L), 'fortran_order': False, 'descr': '|u1'}\n", 7, 9), "uint8[2x1]", []float64{7, 9}},
		{"double quotes, version 3", file(3, `{"descr": "<i2", "fortran_order": False, "shape": (), }`, 0xfe, 0xff), "int16[scalar]", []float64{-2}},
		{"fortran", file(2, "{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3), }", 1, 4, 2, 5, 3, 6), "int8[2x3]", []float64{1, 2, 3, 4, 5, 6}},
		{"big endian", file(1, "{'descr': '>f2', 'fortran_order': False, 'shape': (1,), }", 0x3c, 0x00), "float16[1]", []float64{1}},
		{"big endian complex", file(1, "{'descr': '>c8', 'fortran_order': False, 'shape': (1,), }", 0x3f, 0x80, 0, 0, 0x40, 0, 0, 0), "complex64[1]", []float64{1, 2}},
		{"bool", file(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", 1, 0, 1), "bool[3]", []float64{1, 0, 1}},
		{"bfloat16 of ml_dtypes", file(1, "{'descr': '<V2', 'fortran_order': False, 'shape': (1,), }", 0xc0, 0x3f), "bfloat16[1]", []float64{1.5}},
		{"raw bytes", file(1, "{'descr': '|V1', 'fortran_order': False, 'shape': (1,), }", 0xc0), "uint8[1]", []float64{192}},
		{"empty", file(1, "{'descr': '<f8', 'fortran_order': True, 'shape': (0, 3), }"), "float64[0x3]", []float64{}},
	} {
		for _, size := range []int64{int64(len(c.in)), -1} {
			x, err := ReadNPY(iotest.OneByteReader(bytes.NewReader(c.in)), size)
			if err != nil {
				t.Errorf("%s: %v", c.what, err)
				continue
			}
			got, err := Floats(x)
			if err != nil || x.String() != c.want || fmt.Sprint(got) != fmt.Sprint(c.v) {
				t.Errorf("%s: %v %v %v, want %s %v", c.what, x, got, err, c.want, c.v)
			}
		}
	}
}

func TestReadNPY_refuses(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", "offset 0"},
		{"\x93NUMPX\x01\x00\x10\x00", "offset 0"},
		{"\x93NUMPY\x04\x00\x10\x00", "offset 6: version 4"},
		{"\x93NUMPY\x01\x00\xff\xff{}", "offset 8"},
		{"\x93NUMPY\x02\x00\xff\xff\xff\xff{}", "offset 8"},
		{string(file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 1, 2, 3)), "needs 12 bytes, 3 are left"},
		{string(file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 9999), }")), "are left"},
		{string(file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999, 9), }")), "2^62"},
		{string(file(1, "{'descr': '<U5', 'fortran_order': False, 'shape': (1,), }")), `offset 20: header: type "<U5"`},
		{string(file(1, "{'descr': '<f16', 'fortran_order': False, 'shape': (1,), }")), "not supported"},
		{string(file(1, "{'descr': '|f4', 'fortran_order': False, 'shape': (1,), }")), "not supported"},
		{string(file(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }")), "structured"},
		{string(file(1, "{'descr': '|u1', 'fortran_order': 0, 'shape': (1,), }", 1)), "offset 44: header: expected \"False\""},
		{string(file(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (1), }", 1)), "comma"},
		{string(file(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (-1,), }", 1)), "no dimension"},
		{string(file(1, "{'descr': '|u1', 'fortran_order': False, }", 1)), `no "shape"`},
		{string(file(1, "{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (1,), }", 1)), "twice"},
		{string(file(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), 'x': 1}", 1)), "unknown key"},
		{string(file(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), } x", 1)), "behind the dictionary"},
		{string(file(1, "{'descr': '|u1", 1)), "does not end"},
	} {
		for _, size := range []int64{int64(len(c.in)), -1} {
			x, err := ReadNPY(strings.NewReader(c.in), size)
			if err == nil {
				t.Errorf("%q: no error but %v", c.in, x)
			} else if size >= 0 && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: %v, want %q", c.in, err, c.want)
			}
		}
	}
}

// A header that claims much must not take memory when nothing follows.
func TestReadNPY_memory(t *testing.T) {
	in := file(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (999999999999,), }", 1, 2, 3)
	for _, size := range []int64{-1, 1 << 50} { // unknown, and a lie
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := ReadNPY(bytes.NewReader(in), size); err == nil {
			t.Fatal("no error")
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
			t.Errorf("size %d: %d bytes", size, n)
		}
	}
}

func TestNPY_roundTrip(t *testing.T) {
	types := []DType{Bool, Int8, Uint8, Int16, Uint16, Int32, Uint32, Int64, Uint64, Float16, Float32, Float64, Complex64, Complex128}
	rapid.Check(t, func(t *rapid.T) {
		dt := rapid.SampledFrom(types).Draw(t, "type")
		x, err := New(dt, rapid.SliceOfN(rapid.IntRange(0, 5), 0, 5).Draw(t, "shape"))
		if err != nil {
			t.Fatal(err)
		}
		rand.NewChaCha8([32]byte{3}).Read(x.Data)
		o := NPYOptions{rapid.IntRange(0, 3).Draw(t, "version"), rapid.Bool().Draw(t, "fortran"), rapid.Bool().Draw(t, "big")}
		var b bytes.Buffer
		if err := WriteNPYAs(&b, x, o); err != nil {
			t.Fatal(err)
		}
		if at := b.Len() - len(x.Data); at%64 != 0 {
			t.Fatalf("data at %d", at)
		}
		b.WriteString("tail")
		y, err := ReadNPY(&b, int64(b.Len()))
		if err != nil || y.String() != x.String() || !bytes.Equal(y.Data, x.Data) || b.String() != "tail" {
			t.Fatalf("%v %+v: %v, %v, %q left", x, o, y, err, b.String())
		}
	})
}

func TestWriteNPY_widens(t *testing.T) {
	v := []float64{1, -3, 0, 7}
	for from, to := range map[DType]DType{BFloat16: Float32, Float8E4M3: Float32, Float8E5M2: Float32, Int4: Int8} {
		x, _ := New(from, Shape{2, 2})
		if err := EncodeFloats(x.Data, from, 0, v); err != nil {
			t.Fatal(err)
		}
		nz, err := Convert(x, FractalNZ)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := WriteNPY(&b, nz); err != nil {
			t.Fatal(err)
		}
		y, err := ReadNPY(&b, -1)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := Floats(y); y.DType != to || fmt.Sprint(got) != fmt.Sprint(v) || !y.Shape.Equal(Shape{2, 2}) {
			t.Errorf("%v is read as %v %v", from, y, got)
		}
	}
	for _, bad := range []*Tensor{{DType: String, Shape: Shape{1}}, {DType: Float32, Shape: Shape{2}, Data: []byte{1}}} {
		if err := WriteNPY(io.Discard, bad); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}

func archive(t testing.TB, entries map[string][]byte) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, data := range entries {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestNPZ(t *testing.T) {
	good := file(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }", 7, 9)
	zipped := archive(t, map[string][]byte{"a/x.npy": good, "notes.txt": []byte("hi"), "bad.npy": good[:30], "long.npy": append(good[:len(good):len(good)], 1)})
	z, err := OpenNPZ(bytes.NewReader(zipped), int64(len(zipped)))
	if err != nil {
		t.Fatal(err)
	}
	if len(z.Names()) != 3 {
		t.Errorf("arrays %v", z.Names())
	}
	if x, err := z.Read("a/x"); err != nil || x.String() != "uint8[2]" || x.Data[1] != 9 {
		t.Errorf("%v, %v", x, err)
	}
	for _, name := range []string{"bad", "long", "nothing"} {
		if _, err := z.Read(name); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A flipped byte of the data is found by the checksum.
	at := bytes.Index(zipped, []byte("PK\x01\x02")) - 40
	for ; at > 0; at-- {
		broken := bytes.Clone(zipped)
		broken[at] ^= 0xff
		if z, err := OpenNPZ(bytes.NewReader(broken), int64(len(broken))); err == nil {
			if x, err := z.Read("a/x"); err == nil && (x.Data[0] != 7 || x.Data[1] != 9) {
				t.Fatalf("byte %d flipped: %v is read without an error", at, x.Data)
			}
		}
	}
	if _, err := OpenNPZ(strings.NewReader("no zip"), 6); err == nil {
		t.Error("no error for text")
	}
}

func TestNPZ_bomb(t *testing.T) {
	// 64 MiB of zeros in 64 KiB are fine; an entry that claims more than deflate can hold is not.
	zeros := append(file(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (1000000,), }"), make([]byte, 1000000)...)
	zipped := archive(t, map[string][]byte{"x.npy": zeros})
	z, err := OpenNPZ(bytes.NewReader(zipped), int64(len(zipped)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Read("x"); err != nil {
		t.Error(err)
	}
	at := bytes.Index(zipped, []byte("PK\x01\x02")) + 24 // uncompressed size in the directory
	binary.LittleEndian.PutUint32(zipped[at:], 0xfffffff0)
	if z, err = OpenNPZ(bytes.NewReader(zipped), int64(len(zipped))); err != nil {
		t.Fatal(err)
	}
	if _, err := z.Read("x"); err == nil || !strings.Contains(err.Error(), "claims") {
		t.Errorf("bomb: %v", err)
	}
}

func FuzzNPY(f *testing.F) {
	f.Add(file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }", 1, 2, 3, 4, 5, 6, 7, 8))
	f.Add(file(2, "{'descr': '>c8', 'fortran_order': True, 'shape': (1, 1), }", 1, 2, 3, 4, 5, 6, 7, 8))
	f.Add(file(3, "{'descr': '|V2', 'fortran_order': True, 'shape': (), }", 1, 2))
	f.Fuzz(func(t *testing.T, in []byte) {
		x, err := ReadNPY(bytes.NewReader(in), int64(len(in)))
		if err != nil {
			return
		}
		if n, err := x.Shape.Bytes(x.DType); err != nil || n != len(x.Data) || n > len(in) {
			t.Fatalf("%v has %d bytes from %d", x, len(x.Data), len(in))
		}
		var b bytes.Buffer
		if err := WriteNPY(&b, x); err != nil {
			t.Fatal(err)
		}
		y, err := ReadNPY(&b, -1)
		if err != nil || !y.Shape.Equal(x.Shape) || y.DType == x.DType && !bytes.Equal(x.Data, y.Data) {
			t.Fatalf("%v comes back as %v, %v", x, y, err)
		}
	})
}

func FuzzNPZ(f *testing.F) {
	f.Add(archive(f, map[string][]byte{"x.npy": file(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }", 1)}))
	f.Fuzz(func(t *testing.T, in []byte) {
		z, err := OpenNPZ(bytes.NewReader(in), int64(len(in)))
		if err != nil {
			return
		}
		for _, name := range z.Names() {
			_, _ = z.Read(name)
		}
	})
}
