package timeline

import (
	"slices"

	"npu/internal/trace"
	"npu/internal/trace/merge"
	"npu/internal/tui/cell"
)

// side is a part of a trace that can be held against the others: one of two traces, or a device among those of a job.
type side struct {
	Name    string
	Devices []uint16
}

// Together makes one picture of several traces, each a side of its own. Those whose times have nothing in common, as a
// simulation and a measurement, begin together.
func Together(list []*trace.Trace, labels []string, name string) *Data {
	parts := make([]merge.Part, len(list))
	apart := !overlapping(list)
	for i, t := range list {
		parts[i] = merge.Part{Trace: t, Group: string(rune('0' + min(i, 1000))), Label: labels[i]}
		if from, _, ok := bounds(t); apart && ok {
			parts[i].Shift = -from
		}
	}
	number := merge.Numbers(parts)
	d := NewData(merge.Traces(parts), name)
	for i, t := range list {
		s := side{Name: labels[i]}
		for _, n := range merge.Used(t) {
			id := number(i, n)
			s.Devices = append(s.Devices, id)
			for g := range d.Groups {
				if l := d.Groups[g].Lanes; len(l) > 0 && l[0].Kind != Host && l[0].Device == id {
					d.Groups[g].Name = labels[i] + " " + t.DeviceName(n)
					d.widest = max(d.widest, cell.Width(d.Groups[g].Name))
				}
			}
		}
		d.sides = append(d.sides, s)
	}
	return d
}

// bounds is the first start and the last end of a trace.
func bounds(t *trace.Trace) (from, to int64, ok bool) {
	grow := func(a, b int64) {
		if !ok {
			from, to, ok = a, b, true
		}
		from, to = min(from, a), max(to, b)
	}
	for i := range t.Tasks.Len() {
		grow(t.Tasks.Start.At(i), t.Tasks.End.At(i))
	}
	for _, s := range t.Spans.All() {
		grow(s.Start, s.End)
	}
	for _, c := range t.Counters.All() {
		grow(c.Time, c.Time)
	}
	return from, to, ok
}

// overlapping says whether all traces have some time in common with another.
func overlapping(list []*trace.Trace) bool {
	for i, t := range list {
		from, to, _ := bounds(t)
		if !slices.ContainsFunc(list[:], func(o *trace.Trace) bool {
			a, b, _ := bounds(o)
			return o != list[i] && a < to && b > from
		}) {
			return false
		}
	}
	return true
}

// compared is the sides of d: those of several traces, else its devices.
func (d *Data) compared() []side {
	if d.sides != nil {
		return d.sides
	}
	var out []side
	for _, g := range d.Groups {
		if len(g.Lanes) > 0 && g.Lanes[0].Kind != Host {
			out = append(out, side{g.Name, []uint16{g.Lanes[0].Device}})
		}
	}
	return out
}

// sideOf gives the side of each device; -1 for none.
func sideOf(sides []side) func(device uint16) int {
	of := map[uint16]int{}
	for i, s := range sides {
		for _, n := range s.Devices {
			of[n] = i
		}
	}
	return func(device uint16) int {
		if i, ok := of[device]; ok {
			return i
		}
		return -1
	}
}

// counterparts finds the task of another side that a task corresponds to: the same operator, as often after the start of the
// side.
type counterparts struct {
	t     *trace.Trace
	side  func(device uint16) int
	sides int
	byOp  bool                         // operators are told apart by type, since names have little in common
	rows  []map[trace.StringID][]int32 // of each side, by start
}

func newCounterparts(d *Data) *counterparts {
	sides := d.compared()
	c := &counterparts{t: d.T, side: sideOf(sides), sides: len(sides)}
	c.fill()
	names := c.common()
	c.byOp = true
	if c.fill(); names >= c.common()/2 && names > 0 {
		c.byOp = false
		c.fill()
	}
	return c
}

// key tells operators apart; ok is false for what is none.
func (c *counterparts) key(row int) (key trace.StringID, ok bool) {
	t := &c.t.Tasks
	if k := t.Kind.At(row); !k.Kernel() && k != trace.Communication || t.Flags.At(row)&trace.FlagPart != 0 {
		return 0, false
	}
	if key = t.Name.At(row); c.byOp || key == 0 {
		key = t.Op.At(row)
	}
	return key, key != 0
}

func (c *counterparts) fill() {
	c.rows = make([]map[trace.StringID][]int32, c.sides)
	for i := range c.rows {
		c.rows[i] = map[trace.StringID][]int32{}
	}
	for row := range c.t.Tasks.Len() {
		if s := c.side(c.t.Tasks.Device.At(row)); s >= 0 {
			if key, ok := c.key(row); ok {
				c.rows[s][key] = append(c.rows[s][key], int32(row))
			}
		}
	}
}

// common is how many tasks of the first side have a counterpart on all others.
func (c *counterparts) common() int {
	sum := 0
	if c.sides == 0 {
		return 0
	}
	for key, list := range c.rows[0] {
		n := len(list)
		for _, other := range c.rows[1:] {
			n = min(n, len(other[key]))
		}
		sum += n
	}
	return sum
}

// of is the row on a side that the task in row corresponds to; -1 for none.
func (c *counterparts) of(row, side int) int {
	own := c.side(c.t.Tasks.Device.At(row))
	key, ok := c.key(row)
	if own < 0 || !ok {
		return -1
	}
	n, found := slices.BinarySearch(c.rows[own][key], int32(row))
	if list := c.rows[side][key]; found && n < len(list) {
		return int(list[n])
	}
	return -1
}
