package timeline

import "slices"

// arrange makes the lines of pinned lanes, groups and what is neither folded nor hidden.
func (m *model) arrange() {
	m.lines, m.graphs = m.lines[:0], 0
	for _, l := range m.pinned {
		m.lines = append(m.lines, line{l.Group, l})
	}
	for i := range m.d.Groups {
		m.lines = append(m.lines, line{group: i})
		if m.folded[i] {
			continue
		}
		for _, l := range m.lanesOf(i) {
			if !m.hidden[l] && !slices.Contains(m.pinned, l) {
				m.lines = append(m.lines, line{i, l})
				for _, p := range m.pipes[l] {
					if m.piped {
						m.lines = append(m.lines, line{i, p})
					}
				}
			}
		}
	}
	for _, l := range m.lines {
		if l.graph() {
			m.graphs++
		}
	}
}

// graph says whether a line is drawn as a graph, which may be taller than one line.
func (l line) graph() bool { return l.lane != nil && (l.lane.series != nil || l.lane.pipe != nil) }

// high is the height of a line.
func (p *plan) high(l line) int {
	if l.graph() {
		return p.tall
	}
	return 1
}

// lineAt is the place of the line at a height below the first; that behind the last when there is none.
func (m *model) lineAt(y int, p *plan) int {
	i := m.top
	for ; i < len(m.lines); i++ {
		if y -= p.high(m.lines[i]); y < 0 {
			break
		}
	}
	return i
}

// here is the line of the cursor.
func (m *model) here() int {
	return max(0, slices.Index(m.lines, line{m.group, m.at.lane}))
}

// stand puts the cursor on a line.
func (m *model) stand(i int) {
	if len(m.lines) == 0 {
		return
	}
	l := m.lines[min(max(i, 0), len(m.lines)-1)]
	m.group, m.at = l.group, ref{l.lane, -1}
	m.resolve()
}

// resolve finds the task under the cursor: the one that the cell shows.
func (m *model) resolve() {
	m.at.at = -1
	if m.at.lane == nil || m.at.lane.index == nil {
		return
	}
	from, to := m.cell()
	m.cells = grown(m.cells, 1)
	m.at.lane.index.Cells(from, to, m.cells)
	m.at.at = m.cells[0].At
}

// keep holds the task while the cursor's cell touches it.
func (m *model) keep() {
	if m.at.ok() {
		from, to := m.cell()
		s, e := m.at.lane.index.Start(m.at.at), m.at.lane.index.End(m.at.at)
		if s < to && (e > from || s >= from) {
			return
		}
	}
	m.resolve()
}

// toggleFold folds or unfolds the group of the cursor; the cursor goes to its line.
func (m *model) toggleFold() {
	m.folded[m.group] = !m.folded[m.group]
	m.at = ref{at: -1}
	m.arrange()
	if !m.folded[m.group] {
		if i := m.here(); i+1 < len(m.lines) && m.lines[i+1].group == m.group {
			m.stand(i + 1)
		}
	}
}

// unveil makes a lane visible.
func (m *model) unveil(l *Lane) {
	if m.folded[l.Group] && !slices.Contains(m.pinned, l) || m.hidden[l] {
		m.folded[l.Group] = false
		delete(m.hidden, l)
		m.arrange()
	}
}

// togglePin moves a lane to the top of the screen or back.
func (m *model) togglePin() {
	l := m.at.lane
	if l == nil {
		m.say("a lane can be pinned, a device can not")
		return
	}
	if i := slices.Index(m.pinned, l); i >= 0 {
		m.pinned = slices.Delete(m.pinned, i, i+1)
	} else {
		m.pinned = append(m.pinned, l)
	}
	m.arrange()
}

// hideLane takes a lane out of sight.
func (m *model) hideLane() {
	l := m.at.lane
	if l == nil {
		m.say("a lane can be hidden; Space folds a device")
		return
	}
	i := m.here()
	if at := slices.Index(m.pinned, l); at >= 0 {
		m.pinned = slices.Delete(m.pinned, at, at+1)
	}
	m.hidden[l] = true
	m.arrange()
	m.stand(min(i, len(m.lines)-1))
	m.say("hid " + m.d.where(l) + "; X shows all")
}

// showAll brings every lane back.
func (m *model) showAll() {
	clear(m.hidden)
	clear(m.folded)
	clear(m.order)
	m.arrange()
}

// nextGroup goes to the first line of the next group, or of the one before.
func (m *model) nextGroup(n int) {
	for i := m.here() + n; i >= 0 && i < len(m.lines); i += n {
		if m.lines[i].lane == nil {
			m.stand(i)
			return
		}
	}
}
