package image

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

type row struct {
	A int64
	B uint16
	C [3]int32
	D bool
}

type index struct {
	Rows, Numbers, None Ref
	Names               Text
	Note                string
}

func sample(t testing.TB) ([]byte, []row, []string) {
	t.Helper()
	rows := []row{{1, 2, [3]int32{3, 4, 5}, true}, {-1, 7, [3]int32{}, false}, {A: 1 << 62}}
	names := []string{"", "conv1", "输入", ""}
	var b bytes.Buffer
	w := NewWriter(&b)
	ix := index{Rows: PutParts(w, rows[:1], rows[1:]), Numbers: Put(w, []float64{1.5, -2}), None: Put[int32](w, nil), Names: PutText(w, names), Note: "made up"}
	if err := w.Close(ix, 3); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), rows, names
}

func TestOpen(t *testing.T) {
	b, rows, names := sample(t)
	path := filepath.Join(t.TempDir(), "x.image")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	var ix index
	f, err := Open(path, 3, &ix)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Check(t.Context()); err != nil || ix.Note != "made up" {
		t.Error(err, ix)
	}
	got, err := Get[row](f, ix.Rows)
	text, err2 := GetText(f, ix.Names)
	numbers, err3 := Get[float64](f, ix.Numbers)
	none, err4 := Get[int32](f, ix.None)
	if errors.Join(err, err2, err3, err4) != nil || !slices.Equal(got, rows) || !slices.Equal(text, names) || !slices.Equal(numbers, []float64{1.5, -2}) || none != nil {
		t.Error(got, text, numbers, none, err, err2, err3, err4)
	}
	if _, err := Get[int64](f, ix.Numbers); !errors.Is(err, ErrOther) {
		t.Errorf("rows of another layout: %v", err)
	}
	if _, err := Open(path, 4, &ix); !errors.Is(err, ErrOther) {
		t.Errorf("another version: %v", err)
	}
}

// Whatever byte is wrong is found: at once, or by Check.
func TestOpen_damaged(t *testing.T) {
	b, _, _ := sample(t)
	check := func(b []byte) error {
		var ix index
		f, err := open(b, bytes.NewReader(b), 3, &ix)
		if err != nil {
			return err
		}
		return f.Check(t.Context())
	}
	if err := check(b); err != nil {
		t.Fatal(err)
	}
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 0x20
		if check(bad) == nil {
			t.Fatalf("byte %d of %d flipped: no error", i, len(b))
		}
		if check(b[:i]) == nil {
			t.Fatalf("cut after %d of %d bytes: no error", i, len(b))
		}
	}
}

// References that point outside of the file are errors.
func TestGet_outside(t *testing.T) {
	b, _, _ := sample(t)
	var ix index
	f, err := open(b, bytes.NewReader(b), 3, &ix)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []Ref{{Off: 8, Rows: 1}, {Off: 1 << 40, Rows: 1}, {Rows: 1 << 60}, {Off: 64, Rows: 1 << 20}} {
		r.Layout = ix.Rows.Layout
		if _, err := Get[row](f, r); !errors.Is(err, ErrDamaged) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

func TestPut_pointers(t *testing.T) {
	w := NewWriter(&bytes.Buffer{})
	Put(w, []string{"x"})
	if err := w.Close(index{}, 1); !errors.Is(err, errPointers) {
		t.Error(err)
	}
	for _, v := range []any{layoutOf[struct{ A, B int32 }], layoutOf[struct{ B, A int32 }], layoutOf[[2]int32], layoutOf[int64], layoutOf[uint64]} {
		if reflect.ValueOf(v).Call(nil)[0].Uint() == 0 {
			t.Error("a layout has no hash")
		}
	}
}

// Opening never panics, and gives nothing that lies outside of the file.
func FuzzOpen(f *testing.F) {
	b, _, _ := sample(f)
	f.Add(b)
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		var ix index
		if file, err := open(b, bytes.NewReader(b), 3, &ix); err == nil {
			_, _ = Get[row](file, ix.Rows)
			_, _ = GetText(file, ix.Names)
		}
	})
}
