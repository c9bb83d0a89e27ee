package load

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"npu/internal/trace"
	"npu/internal/trace/merge"
	"npu/internal/trace/profcomm"
	"npu/internal/trace/profcsv"
	"npu/internal/trace/profdb"
)

// withSides reads a part, and the files beside it that hold tables, counters and sums of the same collection. Sides that cannot
// be read are named as missing.
func withSides(read reading, sides []string) reading {
	if len(sides) == 0 {
		return read
	}
	return func(ctx context.Context) (*trace.Trace, error) {
		t, err := read(ctx)
		if t == nil || ctx.Err() != nil {
			return t, err
		}
		device, known := onlyDevice(t)
		var more, databases []*trace.Trace
		var missing []string
		for _, path := range sides {
			side, err := readSide(ctx, path, device)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				missing = append(missing, err.Error())
			}
			if side != nil {
				for i, m := range side.Source.Missing {
					side.Source.Missing[i] = base(path) + ": " + m
				}
				if known {
					own(side, device)
				}
				if strings.HasSuffix(path, ".db") {
					databases = append(databases, side)
				} else {
					more = append(more, side)
				}
			}
		}
		// Text and databases may say the same: text says a little more.
		out := *merge.Attach(merge.Attach(t, more...), databases...)
		out.Source.Missing = append(out.Source.Missing[:len(out.Source.Missing):len(out.Source.Missing)], missing...)
		return &out, err
	}
}

// nothing is a trace without tasks, for tables that stand alone.
func nothing(context.Context) (*trace.Trace, error) {
	rec := trace.NewRecorder()
	rec.SetSource(trace.Source{Format: "tables", Records: map[string]int64{}})
	return rec.Finish(), nil
}

// orElse reads next where read gives nothing. The error stays that of read.
func orElse(read, next reading) reading {
	if next == nil {
		return read
	}
	return func(ctx context.Context) (*trace.Trace, error) {
		t, err := read(ctx)
		if t != nil || ctx.Err() != nil {
			return t, err
		}
		other, _ := next(ctx)
		if other == nil || other.Tasks.Len() == 0 && len(other.Source.Sheets) == 0 && len(other.Source.Steps) == 0 {
			return nil, err
		}
		out := *other
		out.Source.Missing = append([]string{err.Error()}, out.Source.Missing...)
		return &out, err
	}
}

// onlyDevice is the device of all tasks; known is false when there are several.
func onlyDevice(t *trace.Trace) (device uint16, known bool) {
	for i := range t.Tasks.Len() {
		switch d := t.Tasks.Device.At(i); {
		case i == 0:
			device = d
		case d != device:
			return 0, false
		}
	}
	if t.Tasks.Len() == 0 && len(t.Source.Devices) == 1 {
		return t.Source.Devices[0].ID, true
	}
	return device, t.Tasks.Len() > 0
}

// own says that side is of this device: its tables that name no device, and those that name one other, which timelines without
// the number of theirs call 0.
func own(t *trace.Trace, device uint16) {
	named := map[int64]bool{}
	for i := range t.Source.Sheets {
		s := &t.Source.Sheets[i]
		if s.Column("rank") == nil && s.Name != "communication_group" {
			s.Fixed(trace.IntColumn("device"), int64(device))
		}
		if c := s.Column("device"); c != nil && c.Type == trace.ColumnInt {
			for k := range s.Rows {
				if v := c.IntAt(k); v != trace.NoInt {
					named[v] = true
				}
			}
		}
	}
	for _, c := range t.Counters.All() {
		named[int64(c.Device)] = true
	}
	if len(named) != 1 || named[int64(device)] {
		return
	}
	for i := range t.Source.Sheets {
		if c := t.Source.Sheets[i].Column("device"); c != nil && c.Type == trace.ColumnInt {
			c.Own()
			for k, v := range c.Int {
				if v != trace.NoInt {
					c.Int[k] = int64(device)
				}
			}
		}
	}
	for _, c := range t.Counters.All() {
		c.Device = device
	}
}

func readSide(ctx context.Context, path string, device uint16) (*trace.Trace, error) {
	name := strings.TrimSuffix(filepath.Base(path), ".gz")
	if strings.HasSuffix(name, ".db") {
		return profdb.Read(ctx, path)
	}
	if st, err := os.Stat(path); err == nil && st.Size() == 0 {
		return nil, nil // exporters leave empty files
	}
	in, err := openAny(path)
	if err != nil {
		return nil, named(path, err)
	}
	defer in.Close()
	var t *trace.Trace
	if strings.HasSuffix(name, ".json") {
		t, err = profcomm.Read(ctx, in)
	} else {
		t, err = profcsv.Read(ctx, in, profcsv.Options{Name: profcsv.TableName(path), Device: device, Side: true})
	}
	return t, named(path, err)
}

// openAny opens a text file that may be packed.
func openAny(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var magic [2]byte
	n, err := io.ReadFull(f, magic[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return openText(path, string(magic[:n]) == gzipMagic)
}

// entry is a file or a folder, seen through links.
type entry struct {
	name string
	dir  bool
	file bool // a regular file
}

// list is the entries of dir.
func list(dir string) ([]entry, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	out := make([]entry, 0, len(entries))
	for _, e := range entries {
		mode := e.Type()
		if mode&os.ModeSymlink != 0 {
			st, err := os.Stat(filepath.Join(dir, e.Name()))
			if err != nil {
				continue // leads nowhere
			}
			mode = st.Mode()
		}
		out = append(out, entry{e.Name(), mode.IsDir(), mode.IsRegular()})
	}
	return out, nil
}
