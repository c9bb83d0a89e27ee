// Package timeline is the timeline of a trace as a screen: lanes of host threads, streams, engines and counters, to zoom,
// to walk along, and to ask why nothing ran. The same picture goes to a pipe as text.
//
// What it shows is Data, which a Source gives: of a file, read in the background. Drawing a frame asks each visible lane's
// level-of-detail index (package lod) for its cells, and nothing that grows with the trace; what has to look at every
// task, as the table of operators and the arrows, is made in the background.
package timeline

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"npu/internal/trace"
	"npu/internal/trace/flow"
	"npu/internal/trace/lanes"
	"npu/internal/trace/lod"
	"npu/internal/tui/cell"
)

// Kind is what a lane shows.
type Kind uint8

// Kinds.
const (
	Host Kind = iota
	Stream
	Engine
	Counter
)

// Lane is one line.
type Lane struct {
	Name   string
	Short  string // in the column of names, below the lane that it belongs to; empty for Name
	Kind   Kind
	Device uint16 // of all but host threads
	ID     uint32 // number of the thread, stream or engine
	Group  int
	index  *lod.Lane   // of all but counters
	series *lod.Series // of counters
	pipe   *pipe       // of an engine's pipe, which shares the index of its engine
}

// Group is the lanes of the host or of one device.
type Group struct {
	Name  string
	Lanes []*Lane
}

// Data is a trace with everything that its picture needs. It is not changed once made, but for
// the arrows, which link finds, and the statistics of the whole.
type Data struct {
	Name     string // of the file
	T        *trace.Trace
	Groups   []Group
	Lanes    []*Lane
	From, To int64 // first start and last end
	Zero     int64 // what times are counted from: From, but for a run whose start scrolled away
	Note     string
	sides    []side           // of several traces; nil of one
	plain    *Data            // what an aligned picture was made of; else nil
	matches  *counterparts    // where sides were compared
	live     bool             // more of it may come
	coarse   int              // tasks read so far, when slices stand for several tasks each; else 0
	widest   int              // columns of the longest name of a lane
	ranks    []trace.StringID // operator types and call names by total time, the longest first
	rankOf   map[trace.StringID]int
	layout   *lanes.Layout
	streams  []*Lane // by lane of the layout, of streams and engines
	calls    [][]*Lane
	found    atomic.Pointer[flow.Arrows] // nil until link has found them
	counting sync.Mutex
	counted  *counts // of the whole trace; nil until it is asked for
}

// NewData indexes t.
func NewData(t *trace.Trace, name string) *Data {
	d := &Data{Name: name, T: t, layout: lanes.New(t)}
	rows := make([][]int32, len(d.layout.Lanes))
	for i := range t.Tasks.Len() {
		if n := d.layout.Stream(i); n >= 0 {
			rows[n] = append(rows[n], int32(i))
		}
		if n := d.layout.Engine(i); n >= 0 {
			rows[n] = append(rows[n], int32(i))
		}
	}
	for i := range t.Spans.Len() {
		if n := d.layout.Span(i); n >= 0 {
			rows[n] = append(rows[n], int32(i))
		}
	}
	d.streams, d.calls = make([]*Lane, len(rows)), make([][]*Lane, len(rows))
	host := Group{Name: "Host"}
	var work sync.WaitGroup
	devices := map[uint16]*Group{}
	group := func(id uint16) *Group {
		if devices[id] == nil {
			devices[id] = &Group{Name: t.DeviceName(id)}
		}
		return devices[id]
	}
	for n, l := range d.layout.Lanes {
		if l.Of == lanes.Thread {
			d.calls[n] = nested(t, l, rows[n])
			host.Lanes = append(host.Lanes, d.calls[n]...)
			continue
		}
		kind := Stream
		if l.Of == lanes.Engine {
			kind = Engine
		}
		d.streams[n] = &Lane{Name: laneTitle(l), Short: shortOverlap(l), Kind: kind, Device: l.Device, ID: l.ID}
		work.Go(func() { d.streams[n].index = lod.Tasks(t, rows[n]) })
		g := group(l.Device)
		g.Lanes = append(g.Lanes, d.streams[n])
	}
	for _, l := range counters(t) {
		g := group(l.Device)
		g.Lanes = append(g.Lanes, l)
	}
	if len(host.Lanes) > 0 {
		d.Groups = append(d.Groups, host)
	}
	for _, id := range sortedKeys(devices) {
		d.Groups = append(d.Groups, *devices[id])
	}
	for i := range d.Groups {
		d.widest = max(d.widest, cell.Width(d.Groups[i].Name))
		for _, l := range d.Groups[i].Lanes {
			l.Group = i
			d.Lanes = append(d.Lanes, l)
			d.widest = max(d.widest, cell.Width(l.short()))
		}
	}
	work.Wait()
	d.bounds()
	d.rank()
	return d
}

func sortedKeys[V any](m map[uint16]V) []uint16 {
	out := make([]uint16, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// firstMade is the number from which on readers number streams that have none, as those of collective operations.
const firstMade = 1 << 30

// laneTitle is the name of a lane, without a number that means nothing.
func laneTitle(l lanes.Lane) string {
	if rest, ok := strings.CutPrefix(l.Name, fmt.Sprintf("Stream %d ", l.ID)); ok && l.Of == lanes.Stream && l.ID >= firstMade {
		return rest
	}
	return l.Name
}

// shortOverlap is what a further lane of a stream is called below its first.
func shortOverlap(l lanes.Lane) string {
	if l.Of == lanes.Stream && l.Sub > 0 {
		return fmt.Sprintf("  overlap %d", l.Sub)
	}
	return ""
}

// short is the lane's name below others.
func (l *Lane) short() string {
	if l.Short != "" {
		return l.Short
	}
	return l.Name
}

// deepest is how many calls within calls have a lane of their own.
const deepest = 64

// nested gives a lane to each depth of a thread's calls.
func nested(t *trace.Trace, l lanes.Lane, rows []int32) []*Lane {
	var deep [][]int32
	var open []int64
	for _, row := range rows {
		s := t.Spans.At(int(row))
		for len(open) > 0 && open[len(open)-1] <= s.Start {
			open = open[:len(open)-1]
		}
		if n := len(open); n < deepest {
			if n == len(deep) {
				deep = append(deep, nil)
			}
			deep[n] = append(deep[n], row)
		}
		open = append(open, s.End)
	}
	var out []*Lane
	for n, rows := range deep {
		name, short := l.Name, ""
		if n > 0 {
			name, short = fmt.Sprintf("%s, depth %d", l.Name, n+1), fmt.Sprintf("  depth %d", n+1)
		}
		out = append(out, &Lane{Name: name, Short: short, Kind: Host, ID: l.ID, index: lod.Calls(t, rows)})
	}
	return out
}

// counters makes a lane of each counter of each device.
func counters(t *trace.Trace) []*Lane {
	type key struct {
		device uint16
		name   trace.StringID
	}
	rows := map[key][]int32{}
	for i, c := range t.Counters.All() {
		k := key{c.Device, c.Name}
		rows[k] = append(rows[k], int32(i))
	}
	var out []*Lane
	for k, r := range rows {
		out = append(out, &Lane{Name: t.String(k.name), Kind: Counter, Device: k.device, series: lod.Values(t, r)})
	}
	slices.SortFunc(out, func(a, b *Lane) int {
		return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// worked is the first start and the last end of tasks and calls, which counters may exceed by far; else the bounds of d.
func (d *Data) worked() (from, to int64) {
	from, to = math.MaxInt64, math.MinInt64
	for _, l := range d.Lanes {
		if l.index != nil && l.index.Len() > 0 {
			from, to = min(from, l.index.Start(0)), max(to, l.index.End(l.index.Len()-1))
		}
	}
	if from >= to {
		return d.From, d.To
	}
	return from, to
}

func (d *Data) bounds() {
	from, to := int64(math.MaxInt64), int64(math.MinInt64)
	for _, l := range d.Lanes {
		if l.index != nil && l.index.Len() > 0 {
			from, to = min(from, l.index.Start(0)), max(to, l.index.End(l.index.Len()-1))
		}
		if l.series != nil {
			if a, b, ok := l.series.Bounds(); ok {
				from, to = min(from, a), max(to, b)
			}
		}
	}
	if from > to {
		from, to = 0, 1
	}
	d.From, d.To, d.Zero = from, max(to, from+1), from
}

// rank orders operator types and calls by the time they take, which decides their colours.
func (d *Data) rank() {
	sums := make([]int64, len(d.T.Strings))
	for i := range d.T.Tasks.Len() {
		if op := d.T.Tasks.Op.At(i); op != 0 && int(op) < len(sums) {
			sums[op] += d.T.Tasks.End.At(i) - d.T.Tasks.Start.At(i)
		}
	}
	for id, ns := range sums {
		if ns > 0 {
			d.ranks = append(d.ranks, trace.StringID(id))
		}
	}
	slices.SortStableFunc(d.ranks, func(a, b trace.StringID) int { return cmp.Compare(sums[b], sums[a]) })
	d.rankPlaces()
}

func (d *Data) rankPlaces() {
	d.rankOf = map[trace.StringID]int{}
	for i, id := range d.ranks {
		d.rankOf[id] = i
	}
}

// ref is a row on a lane.
type ref struct {
	lane *Lane
	at   int // place; -1 for none
}

func (r ref) ok() bool { return r.lane != nil && r.lane.index != nil && r.at >= 0 }

// task finds a task on its stream, or its engine when the stream's lane is not wanted.
func (d *Data) task(row int, engine bool) ref {
	n := d.layout.Stream(row)
	if engine && d.layout.Engine(row) >= 0 {
		n = d.layout.Engine(row)
	}
	if n < 0 {
		return ref{}
	}
	return ref{d.streams[n], d.streams[n].index.Find(row)}
}

// call finds a host call.
func (d *Data) call(row int) ref {
	for _, l := range d.calls[d.layout.Span(row)] {
		if at := l.index.Find(row); at >= 0 {
			return ref{l, at}
		}
	}
	return ref{}
}

// label is what a row is called.
func (d *Data) label(r ref) string {
	row := r.lane.index.Row(r.at)
	if r.lane.Kind == Host {
		return d.T.String(d.T.Spans.At(row).Name)
	}
	k := d.T.Tasks.At(row)
	return d.T.Label(&k)
}

// where names a lane with its device.
func (d *Data) where(l *Lane) string {
	if l.Kind == Host || len(d.Groups) <= 2 && d.Groups[0].Name == "Host" || len(d.Groups) == 1 {
		return l.Name
	}
	return d.Groups[l.Group].Name + " " + l.Name
}
