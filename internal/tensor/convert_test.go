package tensor

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// place is the oracle: the position of a logical element in memory, straight from the definition of the format.
func place(l Layout, c0 int, s Shape, at []int) int {
	fold := func(dims, index []int) int {
		p := 0
		for i := range dims {
			p = p*dims[i] + index[i]
		}
		return p
	}
	up := func(a, b int) int { return (a + b - 1) / b }
	switch l.Format {
	case NC1HWC0:
		return fold([]int{s[0], up(s[1], c0), s[2], s[3], c0}, []int{at[0], at[1] / c0, at[2], at[3], at[1] % c0})
	case FractalNZ:
		r := len(s)
		m, n := s[r-2], s[r-1]
		dims := append(append([]int{}, s[:r-2]...), up(n, c0), up(m, 16), 16, c0)
		return fold(dims, append(append([]int{}, at[:r-2]...), at[r-1]/c0, at[r-2]/16, at[r-2]%16, at[r-1]%c0))
	case FractalZ:
		g := max(l.Groups, 1)
		out, in := s[0]/g, s[1]
		e := 1
		for e < g && (e*in%c0 != 0 || e*out%16 != 0) { // the least common number of groups, by search
			e++
		}
		if g == 1 {
			e = 1
		}
		grp := at[0] / out
		o, i := grp%e*out+at[0]%out, grp%e*in+at[1]
		c1, n1 := up(e*in, c0), up(e*out, 16)
		return fold([]int{up(g, e), c1, s[2], s[3], n1, 16, c0}, []int{grp / e, i / c0, at[2], at[3], o / 16, o % 16, i % c0})
	}
	return fold(s, at)
}

// bit4 reads and writes elements of any size as small integers.
func get(b []byte, bits, i int) byte {
	if bits == 4 {
		return b[i/2] >> (i % 2 * 4) & 15
	}
	return b[i*bits/8]
}

func TestLayout_againstDefinition(t *testing.T) {
	types := []DType{Int4, Uint8, Float16, Float32, Int64, Complex128}
	rapid.Check(t, func(t *rapid.T) {
		l := Layout{Format: rapid.SampledFrom([]Format{NC1HWC0, FractalZ, FractalNZ}).Draw(t, "format")}
		dt := rapid.SampledFrom(types).Draw(t, "type")
		l.C0 = rapid.SampledFrom([]int{0, 0, 8}).Draw(t, "c0")
		c0 := l.C0
		if c0 == 0 {
			c0 = map[int]int{4: 64, 8: 32}[dt.Bits()]
			if c0 == 0 {
				c0 = 16
			}
		}
		dim := func(most int) int { return rapid.IntRange(0, most).Draw(t, "dim") }
		s := Shape{dim(3), dim(40), dim(4), dim(4)}
		switch l.Format {
		case FractalZ:
			l.Groups = rapid.IntRange(0, 5).Draw(t, "groups")
			s[0] *= 7 * max(l.Groups, 1)
		case FractalNZ:
			s = Shape{dim(3), dim(40), dim(70)}[rapid.IntRange(0, 1).Draw(t, "drop"):]
		}
		n, _ := s.Bytes(dt)
		src := make([]byte, n)
		rand.NewChaCha8([32]byte{1}).Read(src)
		if s.Count()%2 == 1 && dt == Int4 {
			src[n-1] &= 15
		}
		stored, err := l.StorageShape(s, dt)
		if err != nil {
			t.Fatal(err)
		}
		size, _ := stored.Bytes(dt)
		dst := bytes.Repeat([]byte{0xff}, size)
		if err := l.Pack(dst, src, s, dt); err != nil {
			t.Fatal(err)
		}
		used := make(map[int]bool)
		if s.Count() > 0 {
			i := 0
			walkRows(append(s.Clone(), 1), func(_ int, at []int) {
				p := place(l, c0, s, at)
				used[p] = true
				if g, w := get(dst, dt.Bits(), p), get(src, dt.Bits(), i); g != w {
					t.Fatalf("%v %v %v: element %v at %d is %d, want %d", l, dt, s, at, p, g, w)
				}
				i++
			})
		}
		for p := range stored.Count() {
			if !used[p] && get(dst, dt.Bits(), p) != 0 {
				t.Fatalf("%v %v %v: padding at %d is not zero", l, dt, s, p)
			}
		}
		back := bytes.Repeat([]byte{0xff}, n)
		if err := l.Unpack(back, dst, s, dt); err != nil || !bytes.Equal(back, src) {
			t.Fatalf("%v %v %v does not come back (%v)", l, dt, s, err)
		}
	})
}

func TestConvert_roundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dt := rapid.SampledFrom([]DType{Int4, Bool, BFloat16, Int32, Float64}).Draw(t, "type")
		dims := rapid.SliceOfN(rapid.IntRange(1, 20), 4, 4).Draw(t, "dims")
		x, err := New(dt, dims)
		if err != nil {
			t.Fatal(err)
		}
		rand.NewChaCha8([32]byte{2}).Read(x.Data)
		if dt == Int4 && x.Shape.Count()%2 == 1 {
			x.Data[len(x.Data)-1] &= 15
		}
		y := x
		path := rapid.SliceOfN(rapid.SampledFrom([]Format{ND, NCHW, NHWC, NC1HWC0, FractalZ, FractalNZ}), 1, 5).Draw(t, "path")
		for _, f := range append(path, ND) {
			if y, err = Convert(y, f); err != nil {
				t.Fatal(err)
			}
			want := x.Shape
			if f == NHWC {
				want = Shape{dims[0], dims[2], dims[3], dims[1]}
			}
			if !y.Shape.Equal(want) || y.Format != f {
				t.Fatalf("%v: %v in %v, want %v", path, y, y.Format, want)
			}
		}
		if !bytes.Equal(y.Data, x.Data) {
			t.Fatalf("%v %v by %v does not come back", dt, x.Shape, path)
		}
	})
}

func TestConvert_nhwc(t *testing.T) {
	x, _ := FromInt32s(Shape{1, 2, 1, 3}, []int32{0, 1, 2, 10, 11, 12})
	x.Format = NCHW
	y, err := Convert(x, NHWC)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := FromInt32s(Shape{1, 1, 3, 2}, []int32{0, 10, 1, 11, 2, 12})
	if !bytes.Equal(y.Data, want.Data) || !y.Shape.Equal(want.Shape) {
		t.Errorf("%v %v", y.Shape, View[int32](y.Data))
	}
}

func TestStorageShape(t *testing.T) {
	for _, c := range []struct {
		l    Layout
		t    DType
		s    string
		want string // empty: an error
	}{
		{Layout{Format: NC1HWC0}, Float16, "1x3x224x224", "1x1x224x224x16"},
		{Layout{Format: NC1HWC0}, Int8, "1x33x2x2", "1x2x2x2x32"},
		{Layout{Format: NC1HWC0}, Float32, "40", "1x3x1x1x16"},
		{Layout{Format: NC1HWC0, C0: 8}, Float32, "40", "1x5x1x1x8"},
		{Layout{Format: FractalZ}, Float16, "96x3x11x11", "121x6x16x16"},
		{Layout{Format: FractalZ, Groups: 32}, Float16, "32x1x3x3", "18x1x16x16"},
		{Layout{Format: FractalZ, Groups: 3}, Float16, "9x8x1x1", "2x1x16x16"},
		{Layout{Format: FractalNZ}, Float16, "2x17x33", "2x3x2x16x16"},
		{Layout{Format: FractalNZ}, Int4, "65", "2x1x16x64"},
		{Layout{Format: NHWC}, Float16, "2x3", "2x3"},
		{Layout{Format: NC1HWC0}, Float16, "2x3", ""},
		{Layout{Format: FractalZ, Groups: 3}, Float16, "8x8x1x1", ""},
		{Layout{Format: FractalNZ}, Float16, "", ""},
		{Layout{Format: FractalNZ}, String, "4x4", ""},
		{Layout{Format: NC1HWC0, Groups: 2}, Float16, "1x3x2x2", ""},
		{Layout{Format: 77}, Float16, "1x3x2x2", ""},
		{Layout{Format: FractalZ}, Float16, "1x1x9000000000000x9000000000000", ""},
	} {
		s, err := ParseShape(c.s)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.l.StorageShape(s, c.t)
		if (err != nil) != (c.want == "") || err == nil && got.String() != c.want {
			t.Errorf("%v %v of %s: %v, %v, want %s", c.l, c.t, c.s, got, err, c.want)
		}
	}
	if c := C0FromCode(5<<24 | 3); c != 16 {
		t.Errorf("C0 code 5 is %d", c)
	}
	if c := C0FromCode(3); c != 0 {
		t.Errorf("no C0 code is %d", c)
	}
}

func BenchmarkPack(b *testing.B) {
	for _, f := range []Format{NC1HWC0, FractalZ, FractalNZ} {
		b.Run(f.String(), func(b *testing.B) {
			x, _ := New(Float16, Shape{64, 64, 28, 28})
			if f == FractalZ {
				x, _ = New(Float16, Shape{512, 512, 3, 3})
			}
			s, _ := StorageShape(f, x.Shape, Float16)
			n, _ := s.Bytes(Float16)
			dst := make([]byte, n)
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				_ = Layout{Format: f}.Pack(dst, x.Data, x.Shape, Float16)
			}
		})
	}
}
