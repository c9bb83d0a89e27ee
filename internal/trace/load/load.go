// Package load opens traces whatever their format is: captures, raw profiling directories, exported JSON, CSV and databases,
// and directories with the data of many devices and ranks. It knows the formats by their first bytes, and nothing of what
// is in them. It never writes beside the data.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/cache"
	"npu/internal/trace/merge"
	"npu/internal/trace/npt"
	"npu/internal/trace/profcomm"
	"npu/internal/trace/profcsv"
	"npu/internal/trace/profdb"
	"npu/internal/trace/timeline"
)

// File reads the trace at path, a file or a directory, with the default options. See Read.
func File(ctx context.Context, path string) (*trace.Trace, error) { return Read(ctx, path, Options{}) }

// Options bounds the work.
type Options struct {
	Memory  int64 // bytes for what is read at once of a directory with many parts; 0 for 4 GiB
	Workers int   // parts that are read at once; 0 for one a processor

	// Tap sees the tasks of a single capture as they are read, by time on each stream; other formats are shown when all is read.
	Tap func(rows []trace.Task)

	Cache cache.Cache // keeps what took long to read; without a Dir nothing is kept

	Align bool       // bring the clocks of several parts together, and say so in the trace's notes
	Mode  merge.Mode // how
}

// align sets the shifts of parts when that was asked for, and says what it did.
func (o *Options) align(parts []merge.Part) []string {
	if !o.Align {
		return nil
	}
	return merge.Align(parts, o.Mode)
}

// Read reads the trace at path. When it is damaged, both what could be read and a problem.Damaged error are given; the trace
// is nil when nothing can be read. A cancelled ctx ends the reading.
func Read(ctx context.Context, path string, o Options) (*trace.Trace, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, problem.Mark(problem.Damaged, err)
	}
	key := ""
	if !strings.HasSuffix(path, npt.Suffix) && !o.Align { // an entry holds times as they are
		key = o.Cache.Key(path)
	}
	if key != "" {
		if t := o.Cache.Get(ctx, key); t != nil {
			return t, nil
		}
	}
	if dir := collection(path, st.IsDir()); dir != "" {
		return within(ctx, path, dir, o)
	}
	var t *trace.Trace
	if st.IsDir() {
		t, err = directory(ctx, path, o)
	} else if t, err = tapped(ctx, path, o.Tap); t == nil && ctx.Err() == nil {
		if dir := around(path); dir != "" {
			if whole, err := within(ctx, path, dir, o); whole != nil {
				return whole, err
			}
		}
	}
	if key != "" && err == nil {
		_ = o.Cache.Put(key, t) // a full disk only makes the next time as slow as this one
	}
	return t, err
}

// tapped is as file, with a tap for captures.
func tapped(ctx context.Context, path string, tap func(rows []trace.Task)) (*trace.Trace, error) {
	if tap == nil || !strings.HasSuffix(path, npt.Suffix) {
		return file(ctx, path, nil, 0)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, problem.Mark(problem.Damaged, err)
	}
	defer f.Close()
	rec := trace.NewRecorder()
	rec.Tap(tap)
	t, err := npt.ReadInto(&reader{ctx, f}, rec)
	return t, named(path, err)
}

// within reads the collection that path is a part of.
func within(ctx context.Context, path, dir string, o Options) (*trace.Trace, error) {
	t, err := Read(ctx, dir, o)
	if t == nil {
		return nil, err
	}
	out := *t
	out.Source.Notes = append(slices.Clip(out.Source.Notes), fmt.Sprintf("%s is a part of %s: all of it was read", base(path), dir))
	return &out, err
}

// Paths reads several traces and makes one of them.
func Paths(ctx context.Context, paths []string, o Options) (*trace.Trace, error) {
	if len(paths) == 1 {
		return Read(ctx, paths[0], o)
	}
	o.Tap = nil
	var parts []merge.Part
	var errs []error
	for _, path := range paths {
		t, err := Read(ctx, path, o)
		errs = append(errs, err)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if t != nil {
			parts = append(parts, merge.Part{Trace: t, Group: path, Label: base(filepath.Clean(path))})
		}
	}
	if len(parts) == 0 {
		return nil, errors.Join(errs...)
	}
	said := o.align(parts)
	t := *merge.Traces(parts)
	t.Source.Notes = append(slices.Clip(t.Source.Notes), said...)
	return &t, errors.Join(errs...)
}

// details is what a second file says of tasks; see timeline.Options.
type details func(start int64, name string) timeline.Detail

// file reads one file.
func file(ctx context.Context, path string, more details, device uint16) (*trace.Trace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, problem.Mark(problem.Damaged, err)
	}
	defer f.Close()
	var buf [4096]byte
	n, err := io.ReadFull(f, buf[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, problem.Damagedf("read %s: %w", path, err)
	}
	head := string(buf[:n])
	if strings.HasPrefix(head, npt.Magic[:4]) {
		t, err := npt.Read(&reader{ctx, io.MultiReader(strings.NewReader(head), f)})
		return t, named(path, err)
	}
	if strings.HasPrefix(head, profdb.Magic) {
		t, err := profdb.Read(ctx, path)
		if t != nil && err == nil && t.Tasks.Len() == 0 && filepath.Base(filepath.Dir(path)) == "sqlite" {
			return nil, problem.Damagedf("%s is an intermediate database of the vendor's parser", path)
		}
		return t, err
	}
	packed := strings.HasPrefix(head, gzipMagic)
	if packed {
		if head, err = unpackHead(path); err != nil {
			return nil, problem.Damagedf("%s: gzip data: %w", path, err)
		}
	}
	if packed && strings.HasPrefix(head, npt.Magic[:4]) {
		in, err := openText(path, true)
		if err != nil {
			return nil, problem.Damagedf("%s: %w", path, err)
		}
		defer in.Close()
		t, err := npt.Read(&reader{ctx, in})
		return t, named(path, err)
	}
	switch look(head) {
	case isJSON:
		if profcomm.Sniff(head) {
			in, err := openText(path, packed)
			if err != nil {
				return nil, problem.Damagedf("%s: %w", path, err)
			}
			defer in.Close()
			t, err := profcomm.Read(ctx, in)
			return t, named(path, err)
		}
		t, err := timeline.Read(ctx, func() (io.ReadCloser, error) { return openText(path, packed) }, timeline.Options{Device: device, Details: more})
		return t, named(path, err)
	case isText:
		in, err := openText(path, packed)
		if err != nil {
			return nil, problem.Damagedf("%s: %w", path, err)
		}
		defer in.Close()
		t, err := profcsv.Read(ctx, in, profcsv.Options{Name: tableOf(path), Device: device})
		return t, named(path, err)
	}
	return nil, problem.Damagedf("%s is no trace: it %s; expected an .npt capture, a PROF_* directory, Chrome trace JSON, or an msprof or torch_npu CSV or database", path, looks(head, packed))
}

// tableOf is the name of the table in path, where its name or folder is of the vendor's tools.
func tableOf(path string) string {
	name := profcsv.TableName(path)
	if name == "memory" { // of "msprof op", when the operator stands beside it
		if entries, err := list(filepath.Dir(path)); err == nil && slices.ContainsFunc(entries, operator) {
			return name
		}
	}
	if dir := filepath.Base(filepath.Dir(path)); profcsv.Module(name) || dir == "ASCEND_PROFILER_OUTPUT" || strings.HasPrefix(dir, "OPPROF_") || slices.Contains(exports, dir) {
		return name
	}
	return ""
}

func named(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, err)
}

const gzipMagic = "\x1f\x8b"

// openText opens a text file that may be packed.
func openText(path string, packed bool) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil || !packed {
		return f, err
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return &unpacked{z, f}, nil
}

type unpacked struct {
	*gzip.Reader
	file *os.File
}

func (u *unpacked) Close() error { return errors.Join(u.Reader.Close(), u.file.Close()) }

// unpackHead is the first bytes of a packed file.
func unpackHead(path string) (string, error) {
	in, err := openText(path, true)
	if err != nil {
		return "", err
	}
	defer in.Close()
	var buf [4096]byte
	n, err := io.ReadFull(in, buf[:])
	if n == 0 && err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return string(buf[:n]), nil
}

// kind is what the first bytes of a file look like.
type kind uint8

const (
	isOther kind = iota
	isJSON
	isText
)

func look(head string) kind {
	text := strings.TrimLeft(head, " \t\r\n\ufeff")
	switch {
	case strings.HasPrefix(text, "{") || strings.HasPrefix(text, "["):
		return isJSON
	case text != "" && strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' }) < 0 && plausible(text):
		return isText
	}
	return isOther
}

// plausible says whether the first line could be the header of a table.
func plausible(text string) bool {
	line, _, _ := strings.Cut(text, "\n")
	return strings.ContainsAny(line, ",\t;")
}

// looks says what a file that starts with head is, as far as a reader would want to know.
func looks(head string, packed bool) string {
	for _, f := range []struct{ start, is string }{
		{"\xff\xfe", "is UTF-16 text (save it as UTF-8)"}, {"\xfe\xff", "is UTF-16 text (save it as UTF-8)"},
		{"PAR1", "is a Parquet file"}, {"PK\x03\x04", "is a zip archive (unpack it first)"}, {profdb.Magic[:15], "is a packed SQLite database (unpack it first)"}, {"BZh", "is packed with bzip2 (unpack it first)"}, {"\x28\xb5\x2f\xfd", "is packed with zstd (unpack it first)"}, {"\xfd7zXZ", "is packed with xz (unpack it first)"}, {"\x7fELF", "is an ELF file"}, {"IMOD", "is an offline model (.om)"},
	} {
		if strings.HasPrefix(head, f.start) {
			return f.is
		}
	}
	text := strings.TrimLeft(head, " \t\r\n\ufeff")
	switch {
	case len(head) > 262 && head[257:262] == "ustar":
		return "is a tar archive (unpack it first)"
	case packed:
		return "is gzip data that holds no JSON and no table"
	case head == "":
		return "is empty"
	case page(text):
		return "is a web page (save the trace that it shows as JSON)"
	case strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == '\ufffd' }) < 0:
		return "looks like text"
	}
	if head[0] == '\n' {
		return "looks like protobuf, as Perfetto traces are: those are written and checked here, not read (save it as Chrome JSON)"
	}
	return fmt.Sprintf("starts with the bytes % x", head[:min(len(head), 8)])
}

// page says whether text is HTML.
func page(text string) bool {
	start := strings.ToLower(text[:min(len(text), 14)])
	return strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html")
}

// base is the name of a file in messages.
func base(path string) string { return filepath.Base(path) }

// reader stops reading when ctx is done.
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
