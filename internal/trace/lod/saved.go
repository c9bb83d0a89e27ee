package lod

import (
	"npu/internal/trace"
	"npu/internal/trace/image"
)

// Saved is where the index of a lane lies in an image.
type Saved struct {
	Calls        bool
	Rows, Starts image.Ref
	Levels       []image.Ref
}

// Save writes the index.
func (l *Lane) Save(w *image.Writer) Saved {
	s := Saved{Calls: l.calls}
	for _, level := range l.levels { // the coarse ones lie together at the end
		s.Levels = append(s.Levels, image.Put(w, level))
	}
	s.Starts, s.Rows = image.Put(w, l.starts), image.Put(w, l.rows)
	return s
}

// Load gives the index that was saved, of rows of t.
func Load(f *image.File, s Saved, t *trace.Trace) (*Lane, error) {
	l := &Lane{t: t, calls: s.Calls, levels: make([][]block, len(s.Levels))}
	var err error
	for i, r := range s.Levels {
		if l.levels[i], err = image.Get[block](f, r); err != nil {
			return nil, err
		}
	}
	if l.starts, err = image.Get[int64](f, s.Starts); err != nil {
		return nil, err
	}
	if l.rows, err = image.Get[int32](f, s.Rows); err != nil {
		return nil, err
	}
	if len(l.starts) != (len(l.rows)+fan-1)/fan {
		return nil, image.ErrDamaged
	}
	for i, n := 0, len(l.rows)/fan; n > 0 || i < len(l.levels); i, n = i+1, n/fan {
		if i >= len(l.levels) || len(l.levels[i]) != n {
			return nil, image.ErrDamaged
		}
	}
	return l, nil
}

// Bytes is the size of the index in memory.
func (l *Lane) Bytes() int64 {
	n := int64(4*cap(l.rows) + 8*cap(l.starts))
	for _, level := range l.levels {
		n += blockBytes * int64(cap(level))
	}
	return n
}

// SavedSeries is where the index of a counter lies in an image.
type SavedSeries struct {
	Times    image.Ref
	Levels   []image.Ref
	Max, Min float64
}

// Save writes the index.
func (s *Series) Save(w *image.Writer) SavedSeries {
	out := SavedSeries{Times: image.Put(w, s.times), Max: s.Max, Min: s.Min}
	for _, level := range s.levels {
		out.Levels = append(out.Levels, image.Put(w, level))
	}
	return out
}

// LoadSeries gives the index that was saved.
func LoadSeries(f *image.File, saved SavedSeries) (*Series, error) {
	s := &Series{Max: saved.Max, Min: saved.Min}
	var err error
	if s.times, err = image.Get[int64](f, saved.Times); err != nil {
		return nil, err
	}
	for i, n := 0, len(s.times); i == 0 || n > 0; i, n = i+1, n/fan {
		if i >= len(saved.Levels) {
			return nil, image.ErrDamaged
		}
		level, err := image.Get[float64](f, saved.Levels[i])
		if err != nil || len(level) != n {
			return nil, image.ErrDamaged
		}
		s.levels = append(s.levels, level)
	}
	return s, nil
}
