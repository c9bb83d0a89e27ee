package timeline

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"time"

	"npu/internal/outfile"
	"npu/internal/trace"
	"npu/internal/trace/flow"
	"npu/internal/trace/image"
	"npu/internal/trace/lanes"
	"npu/internal/trace/lod"
	"npu/internal/tui/cell"
)

// savedVersion changes when lanes are made in another way of the same trace.
const savedVersion = 2

// leastSaved is how many rows a trace needs to be worth an image: smaller ones are laid out in less time than anyone notices.
const leastSaved = 100_000

// saved is where a laid-out trace lies in an image.
type saved struct {
	Trace    trace.Saved
	Layout   lanes.Saved
	Groups   []string
	Lanes    []savedLane
	From, To int64
	Ranks    []trace.StringID
	Arrows   flow.Saved
	Counts   *counts
	Sides    []side
}

type savedLane struct {
	Name   string
	Short  string
	Kind   Kind
	Device uint16
	ID     uint32
	Group  int
	Layout int // lane of the layout; -1 for counters
	Index  lod.Saved
	Series lod.SavedSeries
}

// save keeps d, with its arrows, in the file at path, for loadSaved.
func (d *Data) save(ctx context.Context, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	place := map[*Lane]int{}
	for n, l := range d.streams {
		if l != nil {
			place[l] = n
		}
	}
	for n, list := range d.calls {
		for _, l := range list {
			place[l] = n
		}
	}
	return outfile.Write(path, func(out io.Writer) error {
		w := image.NewWriter(&patient{ctx, out})
		s := saved{From: d.From, To: d.To, Ranks: d.ranks, Counts: d.all(), Sides: d.sides}
		for _, g := range d.Groups {
			s.Groups = append(s.Groups, g.Name)
		}
		for _, l := range d.Lanes { // what the first frame needs lies in front
			sl := savedLane{Name: l.Name, Short: l.Short, Kind: l.Kind, Device: l.Device, ID: l.ID, Group: l.Group, Layout: -1}
			if l.series != nil {
				sl.Series = l.series.Save(w)
			} else {
				sl.Index, sl.Layout = l.index.Save(w), place[l]
			}
			s.Lanes = append(s.Lanes, sl)
		}
		s.Layout, s.Arrows, s.Trace = d.layout.Save(w), d.found.Load().Save(w), d.T.Save(w)
		return w.Close(s, savedVersion)
	})
}

// patient writes until ctx ends.
type patient struct {
	ctx context.Context
	w   io.Writer
}

func (p *patient) Write(b []byte) (int, error) {
	for n := 0; ; {
		if err := p.ctx.Err(); err != nil {
			return n, err
		}
		if n == len(b) {
			return n, nil
		}
		k, err := p.w.Write(b[n:min(n+1<<20, len(b))])
		if n += k; err != nil {
			return n, err
		}
	}
}

// loadSaved gives what was saved in the file at path. Its rows are the file's memory, which is verified by Check of the image.
func loadSaved(path, name string) (*Data, *image.File, error) {
	var s saved
	f, err := image.Open(path, savedVersion, &s)
	if err != nil {
		return nil, nil, err
	}
	d := &Data{Name: name, From: s.From, To: s.To, Zero: s.From, ranks: s.Ranks, counted: s.Counts, sides: s.Sides}
	if d.T, err = trace.Load(f, s.Trace); err != nil {
		return nil, nil, err
	}
	if d.layout, err = lanes.Load(f, s.Layout); err != nil {
		return nil, nil, err
	}
	arrows, err := flow.Load(f, s.Arrows, d.T)
	if err != nil {
		return nil, nil, err
	}
	d.found.Store(arrows)
	d.streams, d.calls = make([]*Lane, len(d.layout.Lanes)), make([][]*Lane, len(d.layout.Lanes))
	for _, g := range s.Groups {
		d.Groups = append(d.Groups, Group{Name: g})
		d.widest = max(d.widest, cell.Width(g))
	}
	for _, sl := range s.Lanes {
		l := &Lane{Name: sl.Name, Short: sl.Short, Kind: sl.Kind, Device: sl.Device, ID: sl.ID, Group: sl.Group}
		if sl.Group < 0 || sl.Group >= len(d.Groups) || sl.Layout >= len(d.layout.Lanes) {
			return nil, nil, image.ErrDamaged
		}
		switch {
		case sl.Layout < 0:
			l.series, err = lod.LoadSeries(f, sl.Series)
		case sl.Kind == Host:
			l.index, err = lod.Load(f, sl.Index, d.T)
			d.calls[sl.Layout] = append(d.calls[sl.Layout], l)
		default:
			l.index, err = lod.Load(f, sl.Index, d.T)
			d.streams[sl.Layout] = l
		}
		if err != nil {
			return nil, nil, err
		}
		g := &d.Groups[sl.Group]
		g.Lanes, d.Lanes = append(g.Lanes, l), append(d.Lanes, l)
		d.widest = max(d.widest, cell.Width(l.short()))
	}
	d.rankPlaces()
	now := time.Now()
	_ = os.Chtimes(path, now, now) // the cache drops first what was not looked at for longest
	return d, f, nil
}
