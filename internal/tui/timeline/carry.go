package timeline

import "slices"

// laneName finds the lane of one picture in the next, which has more of the trace.
type laneName struct {
	kind   Kind
	device uint16
	id     uint32
	sub    int    // of lanes with the same number
	name   string // of counters
}

// laneNames gives each lane of d a name that it keeps in later pictures of the same trace.
func (d *Data) laneNames() map[*Lane]laneName {
	out, next := map[*Lane]laneName{}, map[laneName]int{}
	for _, l := range d.Lanes {
		n := laneName{kind: l.Kind, device: l.Device, id: l.ID}
		if l.Kind == Counter {
			n.name = l.Name
		}
		first := n
		n.sub = next[first]
		next[first]++
		out[l] = n
	}
	return out
}

// carry brings over what was chosen on the screen of the data before: where one looks, and which lanes are pinned, hidden and
// folded.
func (m *model) carry(old *Data) {
	before, after := old.laneNames(), map[laneName]*Lane{}
	for l, n := range m.d.laneNames() {
		after[n] = l
	}
	lane := func(l *Lane) *Lane {
		if l == nil {
			return nil
		}
		return after[before[l]]
	}
	views := func(list []view) {
		for i := range list {
			if l := lane(list[i].at.lane); l != nil {
				list[i].group, list[i].at = l.Group, ref{l, -1}
			} else {
				list[i].group, list[i].at = 0, ref{at: -1}
			}
		}
	}
	views(m.undone)
	views(m.redone)
	now := []view{m.view}
	views(now)
	m.view = now[0]
	order := map[int][]*Lane{}
	for _, list := range m.order {
		var kept []*Lane
		for _, l := range list {
			if l = lane(l); l != nil {
				kept = append(kept, l)
			}
		}
		if len(kept) == 0 {
			continue
		}
		i := kept[0].Group
		for _, l := range m.d.Groups[i].Lanes {
			if !slices.Contains(kept, l) {
				kept = append(kept, l)
			}
		}
		order[i] = kept
	}
	pinned := m.pinned[:0]
	for _, l := range m.pinned {
		if l = lane(l); l != nil {
			pinned = append(pinned, l)
		}
	}
	hidden := map[*Lane]bool{}
	for l := range m.hidden {
		if l = lane(l); l != nil {
			hidden[l] = true
		}
	}
	folded := map[int]bool{}
	for i, g := range m.d.Groups {
		for j, o := range old.Groups {
			if g.Name == o.Name && m.folded[j] {
				folded[i] = true
			}
		}
	}
	m.pinned, m.hidden, m.folded, m.order = pinned, hidden, folded, order
}
