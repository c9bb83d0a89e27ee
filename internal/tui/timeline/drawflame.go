package timeline

import (
	"fmt"
	"strings"

	"npu/internal/trace"
	"npu/internal/tui/cell"
	"npu/internal/tui/theme"
	"npu/internal/tui/widget"
)

// drawFlame draws where the time went as boxes below each other, each as wide as its share: of the stream or thread that the
// cursor is on, elsewhere of its device by operator, or of all threads.
func (m *model) drawFlame(a cell.Area) {
	from, to := m.measured()
	title := "Flame of " + dur(to-from)
	if !m.fresh() {
		in := widget.Box(a, title, "", false)
		in.Text(1, 0, theme.Dim, "counting"+more)
		return
	}
	root := m.flameRoot()
	if root == nil || root.Ns == 0 {
		in := widget.Box(a, title, "", false)
		in.Text(1, 0, theme.Dim, "nothing ran here")
		return
	}
	in := widget.Box(a, title, dur(root.Ns)+" in "+root.Name, false)
	high := min(max(in.H/max(root.depth(), 1), 1), 3)
	m.drawKids(in, root, 0, high, untinted)
}

// untinted is the colour of a node whose parts choose theirs.
const untinted = theme.Tints

// depth is how many levels there are below a node.
func (f *flame) depth() int {
	n := 0
	for _, k := range f.Kids {
		n = max(n, 1+k.depth())
	}
	return n
}

// flameRoot is the node of the cursor's lane, or of its group.
func (m *model) flameRoot() *flame {
	group := m.counts.Flame.named(m.d.Groups[m.group].Name)
	switch l := m.at.lane; {
	case group == nil:
		return nil
	case l != nil && l.Kind == Stream:
		return group.named(l.Name)
	case l != nil && l.Kind == Host:
		for _, k := range group.Kids { // lanes of calls within calls are named behind their thread
			if strings.HasPrefix(l.Name, k.Name) {
				return k
			}
		}
	}
	if m.d.Groups[m.group].Lanes[0].Kind == Host {
		return group
	}
	return group.merged()
}

// named is the part of a name; nil when there is none.
func (f *flame) named(name string) *flame {
	for _, k := range f.Kids {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// merged is f without the level of its parts: theirs of one name are one.
func (f *flame) merged() *flame {
	out := &flame{Name: f.Name, Ns: f.Ns, Count: f.Count}
	for _, k := range f.Kids {
		out.take(k.Kids)
	}
	out.finish()
	return out
}

// take adds parts, and theirs.
func (f *flame) take(kids []*flame) {
	for _, k := range kids {
		x := f.named(k.Name)
		if x == nil {
			x = &flame{Name: k.Name}
			f.Kids = append(f.Kids, x)
		}
		x.Ns, x.Count = x.Ns+k.Ns, x.Count+k.Count
		x.take(k.Kids)
	}
}

// drawKids draws the parts of a node beside each other, and their parts below, in the same colour.
func (m *model) drawKids(a cell.Area, f *flame, y, high int, tint theme.Role) {
	if y >= a.H || f.Ns == 0 {
		return
	}
	at, sum := 0, int64(0)
	for i, k := range f.Kids {
		sum += k.Ns
		end := int(float64(a.W) * float64(sum) / float64(f.Ns))
		if end <= at {
			continue
		}
		own := tint
		if own == untinted || m.at.lane != nil && m.at.lane.Kind == Host {
			own = m.flameTint(k, i)
		}
		m.drawBox(a.Sub(at, y, end-at, high), k, own, f)
		m.drawKids(a.Sub(at, 0, end-at, a.H), k, y+high, high, own)
		at = end
	}
}

// drawBox draws one node: its name, and its share and time where there is room.
func (m *model) drawBox(a cell.Area, k *flame, tint theme.Role, of *flame) {
	role := theme.Slab0 + tint
	fill := ' '
	if m.th.Profile == theme.None {
		role, fill = theme.Text, '·'
	}
	for y := range a.H {
		a.Fill(0, y, a.W, role, fill)
		a.Rune(0, y, role, '▏')
	}
	if a.W <= 3 {
		return
	}
	percent := fmt.Sprintf("%.0f%%", share(k.Ns, of.Ns))
	lines := []string{k.Name + " " + percent}
	switch {
	case a.H >= 3:
		lines = []string{k.Name, percent, dur(k.Ns)}
	case a.H == 2:
		lines = []string{k.Name, percent + " " + dur(k.Ns)}
	case cell.Width(lines[0]) > a.W-1:
		lines[0] = k.Name
	}
	for y, text := range lines[:min(len(lines), a.H)] {
		if cell.Width(text) > a.W-1 && y == 1 {
			text = percent
		}
		if y == 0 || cell.Width(text) <= a.W-1 {
			a.Text(1, y, role, cell.Cut(text, a.W-1, more))
		}
	}
}

// flameTint colours an operator type as its tasks are coloured by type, and what else there is by its place.
func (m *model) flameTint(k *flame, i int) theme.Role {
	for n, id := range m.d.ranks[:min(len(m.d.ranks), len(typeSigns))] {
		if m.d.T.String(id) == k.Name {
			return theme.Role(n)
		}
	}
	for kind := trace.Kind(0); kind < 64; kind++ {
		if kind.String() == k.Name {
			return kindClasses[kindClass(kind)].tint
		}
	}
	return theme.Role(i*3+7) % theme.Tints
}
