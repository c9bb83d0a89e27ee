package cache

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"npu/internal/trace"
	"npu/internal/trace/gen"
)

func TestCache(t *testing.T) {
	input := filepath.Join(t.TempDir(), "x.json")
	write := func(text string, at int64) {
		if err := os.WriteFile(input, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		os.Chtimes(input, time.Unix(at, 0), time.Unix(at, 0))
	}
	write("input", 1)
	c := Cache{Dir: filepath.Join(t.TempDir(), "sub", "dir"), Least: 3}
	key := c.Key(input)
	if key == "" || c.Get(context.Background(), key) != nil {
		t.Fatalf("key %q", key)
	}
	want := gen.Trace(gen.Options{Tasks: 500})
	want.Source = trace.Source{Format: "msprof JSON", Ranks: 2, Missing: []string{"x"}, Records: map[string]int64{"events": 9}, Steps: []trace.Step{{Name: "1", Free: 5}}}
	if err := c.Put(key, want); err != nil {
		t.Fatal(err)
	}
	got := c.Get(context.Background(), key)
	if got == nil || !reflect.DeepEqual(got.Source, want.Source) || got.Tasks.Len() != want.Tasks.Len() || got.Meta != want.Meta {
		t.Fatalf("%+v", got)
	}
	write("INPUT", 2)
	if again := c.Key(input); again == key || again == "" {
		t.Error("a changed file has the key of the old one")
	}
	if c.Least = 100; c.Key(input) != "" {
		t.Error("a small file has a key")
	}
	if (&Cache{}).Key(input) != "" {
		t.Error("no directory, but a key")
	}
	os.WriteFile(filepath.Join(c.Dir, key+".npt"), []byte("damaged"), 0o644)
	if c.Get(context.Background(), key) != nil {
		t.Error("a damaged entry is used")
	}
}

func TestCache_oldEntriesGo(t *testing.T) {
	c := Cache{Dir: t.TempDir(), Most: 1}
	tr := gen.Trace(gen.Options{})
	if err := c.Put("a", tr); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(c.Dir); len(entries) != 0 {
		t.Errorf("%v", entries)
	}
}

// The path of an image goes by what is in the inputs and by their order.
func TestCache_Image(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.npt"), filepath.Join(dir, "b.npt")
	for _, p := range []string{a, b} {
		if err := os.WriteFile(p, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := Cache{Dir: filepath.Join(dir, "cache")}
	one := c.Image([]string{a})
	if one == "" || c.Image([]string{a}) != one || filepath.Dir(one) != c.Dir {
		t.Errorf("path %q", one)
	}
	seen := map[string]bool{one: true, c.Image([]string{a, b}): true, c.Image([]string{b, a}): true}
	if err := os.WriteFile(a, []byte("xy"), 0o600); err != nil {
		t.Fatal(err)
	}
	if seen[c.Image([]string{a})] = true; len(seen) != 4 {
		t.Errorf("%d paths, expected 4", len(seen))
	}
	if c.Image([]string{filepath.Join(dir, "none")}) != "" || new(Cache).Image([]string{a}) != "" {
		t.Error("a path for what is not there, or without a place")
	}
}

func TestCache_Fits(t *testing.T) {
	c := Cache{Dir: filepath.Join(t.TempDir(), "not", "there", "yet"), Most: 1000}
	if !c.Fits(1000) || c.Fits(1001) {
		t.Error("the size of the cache does not count")
	}
	if c.Most = 1 << 62; c.Fits(1 << 61) {
		t.Error("more than any disk has fits")
	}
}
