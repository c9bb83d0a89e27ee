package lanes

import "npu/internal/trace/image"

// Saved is where a layout lies in an image.
type Saved struct {
	Lanes                   []Lane
	Streams, Engines, Spans image.Ref
}

// Save writes the layout.
func (l *Layout) Save(w *image.Writer) Saved {
	return Saved{l.Lanes, image.Put(w, l.streams), image.Put(w, l.engines), image.Put(w, l.spans)}
}

// Load gives the layout that was saved.
func Load(f *image.File, s Saved) (*Layout, error) {
	l := &Layout{Lanes: s.Lanes}
	for _, part := range []struct {
		rows *[]int32
		ref  image.Ref
	}{{&l.streams, s.Streams}, {&l.engines, s.Engines}, {&l.spans, s.Spans}} {
		var err error
		if *part.rows, err = image.Get[int32](f, part.ref); err != nil {
			return nil, err
		}
	}
	return l, nil
}
