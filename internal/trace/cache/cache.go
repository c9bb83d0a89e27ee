// Package cache keeps traces that took long to read, as captures in a directory of their own: the user's cache directory,
// never beside the data. An entry goes by the names, sizes and times of change of the files that it was read from, so that it
// is never stale. Everything in it may be deleted at any time.
package cache

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cespare/xxhash/v2"

	"npu/internal/outfile"
	"npu/internal/trace"
	"npu/internal/trace/npt"
)

// Cache is a directory of entries.
type Cache struct {
	Dir   string
	Least int64 // bytes of input from which on a trace is kept; 0 for 64 MiB
	Most  int64 // bytes of all entries; the oldest go first; 0 for 4 GiB
}

// Default is the cache of the user; its Dir is empty when there is no place for one.
func Default() Cache {
	dir, err := os.UserCacheDir()
	if err != nil {
		return Cache{}
	}
	return Cache{Dir: filepath.Join(dir, "npu", "traces")}
}

// version changes when readers make something else of the same files.
const version = 2

// Key names the entry for path; empty when the input is not worth one.
func (c *Cache) Key(path string) string {
	if c.Dir == "" {
		return ""
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	h, total := xxhash.New(), int64(0)
	fmt.Fprintf(h, "%d %s\n", version, full)
	err = filepath.WalkDir(full, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		total += info.Size()
		fmt.Fprintf(h, "%s %d %d\n", path, info.Size(), info.ModTime().UnixNano())
		return nil
	})
	if err != nil || total < cmp.Or(c.Least, 64<<20) {
		return ""
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// Image is the path of the image (package image) that a view of the traces at paths keeps; empty when there is no place for one.
func (c *Cache) Image(paths []string) string {
	if c.Dir == "" {
		return ""
	}
	all := Cache{Dir: c.Dir, Least: 1}
	h := xxhash.New()
	for _, path := range paths {
		key := all.Key(path)
		if key == "" {
			return ""
		}
		fmt.Fprintln(h, key)
	}
	return filepath.Join(c.Dir, fmt.Sprintf("%016x.image", h.Sum64()))
}

// Fits says whether an entry of so many bytes may be kept: it would not drive out all others, and takes no more than a quarter
// of what is free on the disk.
func (c *Cache) Fits(bytes int64) bool {
	free, known := freeBytes(c.Dir)
	return bytes <= cmp.Or(c.Most, 4<<30) && (!known || bytes <= free/4)
}

// Get reads the entry key; nil when there is none, or none that can be read.
func (c *Cache) Get(ctx context.Context, key string) *trace.Trace {
	return c.entry(key, func(f *os.File) (*trace.Trace, error) { return npt.Read(&reader{ctx, f}) })
}

// Skim is as Get, but to sees the tasks and calls once, and nobody keeps them: see npt.Skim.
func (c *Cache) Skim(ctx context.Context, key string, fields []trace.Field, to npt.Skimmer) *trace.Trace {
	return c.entry(key, func(f *os.File) (*trace.Trace, error) { return npt.Skim(&reader{ctx, f}, fields, to) })
}

func (c *Cache) entry(key string, read func(f *os.File) (*trace.Trace, error)) *trace.Trace {
	base := filepath.Join(c.Dir, key)
	b, err := os.ReadFile(base + ".gob")
	if err != nil {
		return nil
	}
	var source trace.Source
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&source); err != nil {
		return nil
	}
	f, err := os.Open(base + npt.Suffix)
	if err != nil {
		return nil
	}
	defer f.Close()
	t, err := read(f)
	if err != nil {
		return nil
	}
	out := *t
	out.Source = source
	return &out
}

type reader struct {
	ctx context.Context
	io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// Put keeps t as the entry key. A cache that cannot be written to is no error worth telling: the next time takes as long.
func (c *Cache) Put(key string, t *trace.Trace) error {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	base := filepath.Join(c.Dir, key)
	if err := outfile.Write(base+npt.Suffix, func(w io.Writer) error { return npt.Write(w, t) }); err != nil {
		return err
	}
	if err := outfile.Write(base+".gob", func(w io.Writer) error { return gob.NewEncoder(w).Encode(&t.Source) }); err != nil {
		return err
	}
	return c.Prune()
}

// Prune removes the oldest entries until the rest fits.
func (c *Cache) Prune() error {
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	total := int64(0)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
			total += info.Size()
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, f := range files {
		if total <= cmp.Or(c.Most, 4<<30) {
			return nil
		}
		if err := os.Remove(filepath.Join(c.Dir, f.Name())); err != nil {
			return err
		}
		total -= f.Size()
	}
	return nil
}
