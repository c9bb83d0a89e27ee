package timeline

import "slices"

// lanesOf is the lanes of a group in the order that was chosen.
func (m *model) lanesOf(group int) []*Lane {
	if list := m.order[group]; list != nil {
		return list
	}
	return m.d.Groups[group].Lanes
}

// moveLane moves the lane of the cursor by n lines, within its group or among those that are pinned.
func (m *model) moveLane(n int) {
	if m.at.lane == nil {
		m.say("a lane can be moved, a device can not")
		return
	}
	list := m.beside(m.at.lane)
	i := slices.Index(list, m.at.lane)
	if i < 0 {
		m.say("a pipe stays with its engine")
		return
	}
	to := i + n
	for to >= 0 && to < len(list) && m.hidden[list[to]] { // what is not seen is no place to go to
		to += n
	}
	if to < 0 || to >= len(list) {
		m.say("the lane is at its end; p pins it on top")
		return
	}
	m.put(list, i, to)
}

// moveTo moves a lane to the place of a line of its group.
func (m *model) moveTo(l line, i int) {
	if l.lane == nil {
		return
	}
	list := m.beside(l.lane)
	from, to := slices.Index(list, l.lane), slices.Index(list, m.lines[i].lane)
	if m.lines[i].lane == nil && m.lines[i].group == l.group {
		to = 0
	}
	if to < 0 || from < 0 {
		m.say("a lane stays with its device; p pins it on top")
		return
	}
	m.put(list, from, to)
}

// beside is the lanes that a lane can be moved among.
func (m *model) beside(l *Lane) []*Lane {
	if slices.Contains(m.pinned, l) {
		return m.pinned
	}
	if m.order[l.Group] == nil {
		m.order[l.Group] = slices.Clone(m.d.Groups[l.Group].Lanes)
	}
	return m.order[l.Group]
}

// put moves the element at i of a list to another place, and those between by one.
func (m *model) put(list []*Lane, i, to int) {
	l := list[i]
	copy(list[i:], list[i+1:])
	copy(list[to+1:], list[to:len(list)-1])
	list[to] = l
	m.arrange()
}
