package merge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"npu/internal/trace"
)

// Mode is how the clocks of parts are brought together.
type Mode uint8

// Modes. Host leaves times as they are: each part has the clock of its host. Collectives makes the ends of the same collective
// operations meet. Auto does so only where parts are of different hosts, or no host is known and their clocks are an
// obvious distance apart.
const (
	Host Mode = iota
	Collectives
	Auto
)

// ParseMode reads the name of a mode.
func ParseMode(s string) (Mode, bool) {
	m, ok := map[string]Mode{"host": Host, "collectives": Collectives, "auto": Auto}[s]
	return m, ok
}

// least is how many collective operations must agree before clocks are moved.
const least = 3

// collective is the same operation on all ranks: name, and how often the rank ran it before.
type collective struct {
	name string
	nth  int
}

// Align sets the shifts of parts and says what it did and how well the clocks agree, a sentence a group of parts. The first
// group keeps its times.
func Align(parts []Part, mode Mode) []string {
	groups := []string{}
	ends := map[string]map[collective]int64{}
	hosts := map[string]string{}
	for i := range parts {
		g := parts[i].Group
		if ends[g] == nil {
			groups = append(groups, g)
			ends[g] = map[collective]int64{}
		}
		collect(parts[i].Trace, ends[g])
		for _, d := range parts[i].Trace.Source.Devices {
			hosts[g] = cmp.Or(hosts[g], d.Host)
		}
	}
	if len(groups) < 2 {
		return nil
	}
	if mode == Host {
		return []string{"clocks are those of each host, as recorded"}
	}
	shifts := map[string]int64{groups[0]: 0}
	var notes []string
	for len(shifts) < len(groups) {
		g, d := nearest(groups, shifts, ends)
		if g == "" {
			break
		}
		shift := -d.median + shifts[d.to]
		same := hosts[g] != "" && hosts[g] == hosts[d.to]
		what := labelOf(parts, g)
		switch {
		case d.pairs < least:
			shift = 0
			notes = append(notes, fmt.Sprintf("%s: clock of its host, as recorded: only %d collective operations are shared with %s", what, d.pairs, labelOf(parts, d.to)))
		case mode == Auto && same:
			shift = shifts[d.to]
			notes = append(notes, fmt.Sprintf("%s: clock of its host, which is that of %s: the ends of %d collective operations are %v apart in the median, and %v around it",
				what, labelOf(parts, d.to), d.pairs, time.Duration(d.median), time.Duration(d.residual)))
		case mode == Auto && hosts[g] == "" && max(d.median, -d.median) <= max(4*d.residual, int64(time.Millisecond)):
			shift = shifts[d.to]
			notes = append(notes, fmt.Sprintf("%s: times as recorded: the ends of %d collective operations shared with %s are %v apart in the median, and %v around it",
				what, d.pairs, labelOf(parts, d.to), time.Duration(d.median), time.Duration(d.residual)))
		default:
			notes = append(notes, fmt.Sprintf("%s: shifted by %v, so that the ends of %d collective operations meet those of %s; they stay %v apart in the median, %v at most",
				what, time.Duration(shift), d.pairs, labelOf(parts, d.to), time.Duration(d.residual), time.Duration(d.worst)))
		}
		shifts[g] = shift
	}
	for _, g := range groups {
		if _, ok := shifts[g]; !ok {
			notes = append(notes, labelOf(parts, g)+": clock of its host, as recorded: no collective operation is shared with the others")
		}
	}
	for i := range parts {
		parts[i].Shift += shifts[parts[i].Group]
	}
	return notes
}

func labelOf(parts []Part, group string) string {
	for i := range parts {
		if parts[i].Group == group && parts[i].Label != "" {
			return parts[i].Label
		}
	}
	return cmp.Or(group, "the first part")
}

// distance is how far the clock of a group is from that of group to.
type distance struct {
	to                      string
	pairs                   int
	median, residual, worst int64
}

// nearest is the group without a shift that shares the most collective operations with one that has.
func nearest(groups []string, shifts map[string]int64, ends map[string]map[collective]int64) (group string, best distance) {
	for _, g := range groups {
		if _, done := shifts[g]; done {
			continue
		}
		for _, to := range groups {
			if _, done := shifts[to]; !done {
				continue
			}
			if d := between(ends[g], ends[to]); d.pairs > best.pairs {
				d.to = to
				group, best = g, d
			}
		}
	}
	return group, best
}

func between(a, b map[collective]int64) (d distance) {
	var apart []int64
	for k, at := range a {
		if other, ok := b[k]; ok {
			apart = append(apart, at-other)
		}
	}
	if d.pairs = len(apart); d.pairs == 0 {
		return d
	}
	d.median = median(apart)
	for i, v := range apart {
		apart[i] = max(v-d.median, d.median-v)
	}
	d.residual, d.worst = median(apart), slices.Max(apart)
	return d
}

func median(list []int64) int64 {
	slices.Sort(list)
	if n := len(list); n%2 == 0 {
		return list[n/2-1] + (list[n/2]-list[n/2-1])/2
	}
	return list[len(list)/2]
}

// collect notes the ends of the collective operations of t.
func collect(t *trace.Trace, into map[collective]int64) {
	whole := map[trace.StringID]bool{}
	nth := map[string]int{}
	type at struct {
		name string
		end  int64
	}
	seen := map[at]bool{}              // a source may show an operation on several tracks
	shown := map[trace.StringID]bool{} // as a whole
	for _, k := range t.Tasks.All() {
		if k.Kind == trace.Communication && !trace.Carrier(k.Kind, k.Op, k.Flags) {
			shown[k.Name] = true
		}
	}
	for _, k := range t.Tasks.All() {
		if k.Kind != trace.Communication || trace.Carrier(k.Kind, k.Op, k.Flags) && shown[k.Name] {
			continue
		}
		is, known := whole[k.Name]
		if !known {
			is = isCollective(t.String(k.Name))
			whole[k.Name] = is
		}
		if !is {
			continue
		}
		name := t.String(k.Name)
		if seen[at{name, k.End}] {
			continue
		}
		seen[at{name, k.End}] = true
		key := collective{name, nth[name]}
		nth[name]++
		if _, ok := into[key]; !ok {
			into[key] = k.End
		}
	}
}

// isCollective says whether name is that of an operation whose ranks end together: not of a send or a piece.
func isCollective(name string) bool {
	s := strings.ToLower(strings.ReplaceAll(name, "_", ""))
	for _, word := range []string{"allreduce", "allgather", "reducescatter", "broadcast", "alltoall", "barrier"} {
		if strings.Contains(s, word) {
			return true
		}
	}
	return false
}

// sheet is s with the devices of the merged trace.
func (m *merger) sheet(group string, s *trace.Sheet) *trace.Sheet {
	out := &trace.Sheet{Name: s.Name, Rows: s.Rows}
	for i := range s.Columns {
		c := s.Columns[i].Clone()
		if c.Name == "device" && c.Type == trace.ColumnInt {
			c.Own()
			for k, v := range c.Int {
				if v < 0 || v >= 1<<16 {
					continue
				}
				if d, ok := m.devices[deviceKey{group, uint16(v)}]; ok {
					c.Int[k] = int64(d.ID)
				}
			}
		}
		out.Columns = append(out.Columns, c)
	}
	return out
}

// shiftSheet moves the times of a table.
func shiftSheet(s *trace.Sheet, shift int64) {
	if shift == 0 {
		return
	}
	for i := range s.Columns {
		c := &s.Columns[i]
		if c.Type != trace.ColumnInt || !slices.Contains([]string{"start_ns", "end_ns", "timestamp_ns", "time_ns", "allocation_time_ns", "release_time_ns", "active_release_time_ns"}, c.Name) {
			continue
		}
		c.Own()
		for k, v := range c.Int {
			if v != trace.NoInt {
				c.Int[k] = v + shift
			}
		}
	}
}

// devicesOf is the devices of the sheets of t.
func devicesOf(t *trace.Trace) []uint16 {
	seen := map[uint16]bool{}
	for i := range t.Source.Sheets {
		if c := t.Source.Sheets[i].Column("device"); c != nil && c.Type == trace.ColumnInt {
			for k := range t.Source.Sheets[i].Rows {
				if v := c.IntAt(k); v >= 0 && v < 1<<16 {
					seen[uint16(v)] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
