package flow

import (
	"npu/internal/trace"
	"npu/internal/trace/image"
)

// Saved is where arrows lie in an image.
type Saved struct{ Submits, Callers, Records, Releases image.Ref }

// Save writes the arrows.
func (a *Arrows) Save(w *image.Writer) Saved {
	return Saved{image.Put(w, a.Submits), image.Put(w, a.Callers), image.Put(w, a.Records), image.Put(w, a.releases)}
}

// Load gives the arrows of t that were saved.
func Load(f *image.File, s Saved, t *trace.Trace) (*Arrows, error) {
	a := &Arrows{t: t}
	var err error
	for _, part := range []struct {
		rows *[]int32
		ref  image.Ref
		n    int
	}{{&a.Submits, s.Submits, t.Spans.Len()}, {&a.Callers, s.Callers, t.Tasks.Len()}, {&a.Records, s.Records, t.Tasks.Len()}} {
		if *part.rows, err = image.Get[int32](f, part.ref); err != nil {
			return nil, err
		}
		if len(*part.rows) != part.n {
			return nil, image.ErrDamaged
		}
	}
	a.releases, err = image.Get[Release](f, s.Releases)
	return a, err
}
