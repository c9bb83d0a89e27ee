package msprof

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// slice is one file of a stream of records.
type slice struct {
	path   string
	stream string // what else the name says: records run on from slice to slice of the same stream only
	number int
	size   int64
}

// folder is the raw data of one collection domain: the host, or a device.
type folder struct {
	path  string
	kinds map[string][]slice // by kind of data, in order
	host  bool               // all records start with the magic of the host's
}

// openFolder lists the raw slices of path and of path/data.
func openFolder(path string) (folder, error) {
	f := folder{path: path, kinds: map[string][]slice{}}
	for _, dir := range []string{path, filepath.Join(path, "data")} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			if errors.Is(err, os.ErrNotExist) && dir != path {
				continue
			}
			return f, err
		}
		for _, e := range entries {
			kind, s, ok := parseSlice(e.Name())
			if !ok {
				continue
			}
			info, err := os.Stat(filepath.Join(dir, e.Name())) // through links
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			s.size = info.Size()
			s.path = filepath.Join(dir, e.Name())
			f.kinds[kind] = append(f.kinds[kind], s)
		}
	}
	for _, list := range f.kinds {
		slices.SortFunc(list, func(a, b slice) int {
			return cmp.Or(cmp.Compare(a.stream, b.stream), cmp.Compare(a.number, b.number))
		})
	}
	return f, nil
}

// parseSlice takes the name of a slice apart: aging.compact.task_track.slice_1, stars_soc.data.0.slice_0, or as it was
// until 2022, hwts.log.data.45.dev.profiler_default_tag.1.slice_0.
func parseSlice(name string) (kind string, s slice, ok bool) {
	s.stream, name, ok = cutLast(name, ".slice_")
	if !ok {
		return "", s, false
	}
	number, err := strconv.Atoi(name)
	if err != nil || number < 0 {
		return "", s, false // .done, .complete, .zip
	}
	s.number = number
	kind = s.stream
	if rest, old := strings.CutPrefix(kind, "DATA_PREPROCESS.dev."); old {
		kind = "DATA_PREPROCESS." + rest
	}
	for _, old := range []string{".profiler_default_tag", ".dev"} {
		if at := strings.Index(kind, old); at > 0 {
			kind = kind[:at]
		}
	}
	kind = strings.TrimPrefix(strings.TrimPrefix(kind, "aging."), "unaging.")
	kind = strings.TrimPrefix(strings.TrimPrefix(kind, "compact."), "additional.")
	if rest, last, found := cutLast(kind, "."); found {
		if _, err := strconv.Atoi(last); err == nil {
			kind = rest
		}
	}
	if rest, ok := strings.CutPrefix(kind, "hwts.log"); ok {
		kind = "hwts" + rest
	}
	return kind, s, true
}

// IsSlice says whether name is that of a raw slice.
func IsSlice(name string) bool {
	_, _, ok := parseSlice(name)
	return ok
}

// holes says which slices of the streams of kind are not there, and how many bytes are short of what the collector wrote. Slices that
// age are deleted from the front.
func (f *folder) holes(kind string, say func(format string, args ...any)) {
	last := map[string]int{}
	for _, s := range f.kinds[kind] {
		before, ok := last[s.stream]
		switch {
		case !ok && s.number > 0 && !strings.HasPrefix(filepath.Base(s.path), "aging."):
			say("slices 0 to %d of %s", s.number-1, s.stream)
		case ok && s.number > before+1:
			say("slices %d to %d of %s", before+1, s.number-1, s.stream)
		}
		last[s.stream] = s.number
		if want, ok := wrote(s.path); ok && s.size < want {
			say("%d bytes of %s, which held %d when it was collected", want-s.size, filepath.Base(s.path), want)
		}
	}
}

// wrote is how many bytes the collector says it wrote.
func wrote(path string) (int64, bool) {
	text, err := readControl(path + ".done")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(text) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "filesize:"); ok {
			return word(strings.TrimSpace(n)).int()
		}
	}
	return 0, false
}

func cutLast(s, sep string) (before, after string, found bool) {
	at := strings.LastIndex(s, sep)
	if at < 0 {
		return s, "", false
	}
	return s[:at], s[at+len(sep):], true
}

// unread is the sizes of the kinds of data that are not known.
func (f *folder) unread(known func(kind string) bool) map[string]int64 {
	out := map[string]int64{}
	for kind, list := range f.kinds {
		if known(kind) {
			continue
		}
		for _, s := range list {
			out[kind] += s.size
		}
	}
	return out
}

func (f *folder) has(kind string) bool { return len(f.kinds[kind]) > 0 }

// bytes is the size of all raw data.
func (f *folder) bytes() (n int64) {
	for _, list := range f.kinds {
		for _, s := range list {
			n += s.size
		}
	}
	return n
}

// about is how many records of so many bytes there can be of kind.
func (f *folder) about(kind string, size int) int {
	bytes := int64(0)
	for _, s := range f.kinds[kind] {
		bytes += s.size
	}
	return int(bytes / int64(size))
}

// records gives each record of so many bytes to take, which must not keep it, and how many there were and how many bytes
// were left over at the ends of streams. The slices of a stream are cut anywhere, also within a record.
func (f *folder) records(ctx context.Context, kind string, size int, take func(rec []byte)) (n, left int64, err error) {
	list := f.kinds[kind]
	for len(list) > 0 {
		k := 1
		for k < len(list) && list[k].stream == list[0].stream && list[k].number == list[k-1].number+1 {
			k++
		}
		in := &sliceReader{ctx: ctx, list: list[:k]}
		r := bufio.NewReaderSize(in, 1<<18)
		if at := len(f.kinds[kind]) - len(list); list[0].number > 0 && (at == 0 || list[0].number > 1+f.kinds[kind][at-1].number || list[0].stream != f.kinds[kind][at-1].stream) {
			skip := f.resync(r, kind, size)
			left += int64(skip)
			r.Discard(skip)
		}
		for {
			rec, err := r.Peek(size)
			if err != nil {
				left += int64(len(rec))
				if !errors.Is(err, io.EOF) {
					in.close()
					return n, left, fmt.Errorf("read %s: %w", kind, err)
				}
				break
			}
			take(rec)
			n++
			r.Discard(size)
		}
		in.close()
		list = list[k:]
	}
	return n, left, nil
}

// resync is how many bytes there are before the first whole record of data whose beginning is lost. Slices are cut anywhere.
func (f *folder) resync(r *bufio.Reader, kind string, size int) int {
	at, word := 0, uint16(hostMagic)
	switch {
	case kind == "stars_soc.data" || kind == "stars_soc_profile.data" || kind == "stars_block.data" || kind == "ffts_profile.data" || kind == "hwts.data" || kind == "hwts.aiv_data":
		at, word = 2, magic
	case !f.host:
		return 0
	}
	b, _ := r.Peek(8 * size)
	best, most := 0, 0
	for skip := range min(size, len(b)) {
		n := 0
		for i := skip + at; i+2 <= len(b) && binary.LittleEndian.Uint16(b[i:]) == word; i += size {
			n++
		}
		if n > most {
			best, most = skip, n
		}
	}
	return best
}

// text is the content of a stream of text, up to limit bytes.
func (f *folder) text(ctx context.Context, kind string, limit int64) (string, error) {
	in := &sliceReader{ctx: ctx, list: f.kinds[kind]}
	defer in.close()
	b, err := io.ReadAll(io.LimitReader(in, limit))
	return string(b), err
}

// sliceReader reads slices one after the other, with one file open at a time.
type sliceReader struct {
	ctx  context.Context
	list []slice
	open *os.File
}

func (s *sliceReader) Read(p []byte) (int, error) {
	for {
		if err := s.ctx.Err(); err != nil {
			return 0, err
		}
		if s.open == nil {
			if len(s.list) == 0 {
				return 0, io.EOF
			}
			f, err := os.Open(s.list[0].path)
			if err != nil {
				return 0, err
			}
			s.open, s.list = f, s.list[1:]
		}
		n, err := s.open.Read(p)
		if n > 0 {
			return n, nil
		}
		s.close()
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
	}
}

func (s *sliceReader) close() {
	if s.open != nil {
		s.open.Close()
		s.open = nil
	}
}
