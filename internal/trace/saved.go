package trace

import (
	"fmt"

	"npu/internal/trace/image"
)

// Saved is where the tables of a trace lie in an image.
type Saved struct {
	Meta     Meta
	Source   Source
	Streams  []Stream
	Threads  []Thread
	Strings  image.Text
	Accounts image.Ref

	Tasks    int
	Columns  []SavedChunks // in the order of Tasks.columns
	Spans    SavedChunks
	Counters SavedChunks
	SpanRows int
	Values   int
}

// SavedChunks is where the chunks of a column or table lie. Those with only zeros are left out.
type SavedChunks struct{ There, Chunks image.Ref }

// Save writes the tables of t, without the sheets of its source, which only queries ask for.
func (t *Trace) Save(w *image.Writer) Saved {
	s := Saved{
		Meta: t.Meta, Source: t.Source, Streams: t.Streams, Threads: t.Threads, Strings: image.PutText(w, t.Strings), Accounts: image.Put(w, t.Accounts),
		Tasks: t.Tasks.n, SpanRows: t.Spans.n, Values: t.Counters.n,
	}
	s.Source.Sheets = nil
	for _, c := range t.Tasks.columns() {
		s.Columns = append(s.Columns, c.save(w))
	}
	s.Spans, s.Counters = saveChunks(w, t.Spans.chunks), saveChunks(w, t.Counters.chunks)
	return s
}

// Load gives the trace that was saved. Its rows are the image's memory.
func Load(f *image.File, s Saved) (*Trace, error) {
	t := &Trace{Meta: s.Meta, Source: s.Source, Streams: s.Streams, Threads: s.Threads}
	var err error
	if t.Strings, err = image.GetText(f, s.Strings); err != nil {
		return nil, fmt.Errorf("names: %w", err)
	}
	if t.Accounts, err = image.Get[Account](f, s.Accounts); err != nil {
		return nil, fmt.Errorf("accounts: %w", err)
	}
	columns := t.Tasks.columns()
	if len(s.Columns) != len(columns) || s.Tasks < 0 || s.SpanRows < 0 || s.Values < 0 {
		return nil, image.ErrOther
	}
	for i, c := range columns {
		if err := c.load(f, s.Columns[i], s.Tasks); err != nil {
			return nil, fmt.Errorf("column %d: %w", i, err)
		}
	}
	t.Tasks.n = s.Tasks
	if t.Spans, err = loadRows[Span](f, s.Spans, s.SpanRows); err != nil {
		return nil, fmt.Errorf("calls: %w", err)
	}
	if t.Counters, err = loadRows[Counter](f, s.Counters, s.Values); err != nil {
		return nil, fmt.Errorf("counters: %w", err)
	}
	return t, nil
}

func (c *Column[T]) save(w *image.Writer) SavedChunks { return saveChunks(w, c.chunks) }

func (c *Column[T]) load(f *image.File, s SavedChunks, rows int) (err error) {
	c.chunks, err = loadChunks[T](f, s, rows)
	return err
}

func saveChunks[T any](w *image.Writer, chunks []*[chunkRows]T) SavedChunks {
	there, parts := make([]bool, len(chunks)), make([][]T, 0, len(chunks))
	for i, p := range chunks {
		if there[i] = p != nil; p != nil {
			parts = append(parts, p[:])
		}
	}
	return SavedChunks{image.Put(w, there), image.PutParts(w, parts...)}
}

func loadChunks[T any](f *image.File, s SavedChunks, rows int) ([]*[chunkRows]T, error) {
	there, err := image.Get[bool](f, s.There)
	if err != nil {
		return nil, err
	}
	all, err := image.Get[T](f, s.Chunks)
	if err != nil {
		return nil, err
	}
	if len(there) != (rows+chunkRows-1)/chunkRows {
		return nil, image.ErrDamaged
	}
	out := make([]*[chunkRows]T, len(there))
	for i, is := range there {
		switch {
		case !is:
		case len(all) < chunkRows:
			return nil, image.ErrDamaged
		default:
			out[i], all = (*[chunkRows]T)(all), all[chunkRows:]
		}
	}
	return out, nil
}

func loadRows[T any](f *image.File, s SavedChunks, rows int) (Rows[T], error) {
	chunks, err := loadChunks[T](f, s, rows)
	for _, p := range chunks {
		if p == nil && err == nil {
			err = image.ErrDamaged
		}
	}
	return Rows[T]{chunks, rows}, err
}
