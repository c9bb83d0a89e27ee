// Package theme holds every colour and attribute of the screens, and the glyphs they draw with. Drawing code names a
// role; what the role looks like depends on the variant (dark or light background) and on how many colours there are.
//
// The palette is safe for the colour-blind by construction: blue to yellow means more, orange and red always come with a
// sign, and nothing is told apart by red against green. Without colour the roles vanish altogether and only signs are
// left, so drawing code must never say something by a role alone.
package theme

import (
	"fmt"
	"strings"
)

// Profile is how many colours the terminal has.
type Profile uint8

// Profiles.
const (
	None    Profile = iota // no escape at all
	Ansi                   // the terminal's own 16 colours
	Indexed                // 256
	True                   // 24 bits
)

// Role is what a cell is for. The high bit marks a selected row.
type Role uint8

// Selected is added to the role of a cell in the selected row.
const Selected Role = 0x80

// Roles.
const (
	Text   Role = iota
	Strong      // the figure that matters
	Dim         // units, labels, ids that repeat
	Faint       // troughs of bars, zero lines
	Frame       // box lines
	Title       // of a box
	Active      // title of the box that has the keys
	Head        // column names
	Sorted      // the column name that sorts
	Brand       // the program's name
	Bar         // top and bottom line
	BarKey      // a key in the bottom line
	Good
	Warn
	Bad
	Fault // white on red: lost or critical
	Match // what a filter found
	Util0
	Util1
	Util2
	Util3
	Util4
	Util5
	Util6
	Util7
	Mem0
	Mem1
	Mem2
	Mem3
	Mem4
	Mem5
	Mem6
	Mem7
	Power
	Heat
	Tint0 // what a slice of a timeline is, as a line
	Tint1
	Tint2
	Tint3
	Tint4
	Tint5
	Tint6
	Tint7
	Slab0 // the same as a ground, with its name on it
	Slab1
	Slab2
	Slab3
	Slab4
	Slab5
	Slab6
	Slab7
	roles
)

// Steps is the number of roles in the Util and Mem ramps.
const Steps = 8

// Tints is the number of Tint and of Slab roles. Their order is that in which they are told apart best.
const Tints = 8

// UtilRamp and MemRamp are the role for a share of 0 to 1.
func UtilRamp(share float64) Role { return Util0 + step(share) }

// MemRamp is the role of memory that is in use to a share of 0 to 1.
func MemRamp(share float64) Role { return Mem0 + step(share) }

func step(share float64) Role {
	if !(share > 0) {
		return 0
	}
	return Role(min(Steps-1, int(share*Steps)))
}

// Theme is the escape sequence of each role, made once.
type Theme struct {
	Profile Profile
	Light   bool
	Glyphs  Glyphs
	seq     [2][roles]string
}

// New makes the theme for a profile and a background.
func New(p Profile, light bool, g Glyphs) *Theme {
	t := &Theme{Profile: p, Light: light, Glyphs: g}
	if p == None {
		return t
	}
	look := &dark
	if light {
		look = &bright
	}
	for r := range roles {
		t.seq[0][r] = look[r].sgr(p, nil)
		t.seq[1][r] = look[r].sgr(p, &selected[b2i(light)])
	}
	return t
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// SGR is the escape that starts a role, from any state; empty without colour.
func (t *Theme) SGR(r Role) string { return t.seq[r>>7][min(r&^Selected, roles-1)] }

// colour is one colour in each depth; 0 in rgb means the terminal's default.
type colour struct {
	rgb  uint32
	ansi uint8 // 0-15
}

func (c colour) param(p Profile, base int) string {
	switch {
	case c == colour{}:
		return ""
	case p == Ansi && c.ansi >= 8:
		return fmt.Sprint(base + 60 + int(c.ansi) - 8)
	case p == Ansi:
		return fmt.Sprint(base + int(c.ansi))
	case p == Indexed:
		return fmt.Sprintf("%d;5;%d", base+8, nearest(c.rgb))
	}
	return fmt.Sprintf("%d;2;%d;%d;%d", base+8, c.rgb>>16, c.rgb>>8&255, c.rgb&255)
}

// look is how one role appears.
type look struct {
	fg, bg        colour
	bold, underln bool
}

func (l look) sgr(p Profile, sel *look) string {
	parts := []string{"0"}
	add := func(on bool, s string) {
		if on && s != "" {
			parts = append(parts, s)
		}
	}
	add(l.bold, "1")
	add(l.underln, "4")
	bg := l.bg
	if sel != nil {
		bg = sel.bg
		if p == Ansi { // 16 colours have no grey that is sure to differ from both grounds
			add(true, "7")
			bg, l.fg = colour{}, colour{}
		}
	}
	add(true, l.fg.param(p, 30))
	add(true, bg.param(p, 40))
	if len(parts) == 1 {
		return ""
	}
	return "\x1b[" + strings.Join(parts, ";") + "m"
}

// Reset ends every role.
const Reset = "\x1b[0m"

// nearest is the entry of the 256-colour cube or grey ramp next to rgb.
func nearest(rgb uint32) int {
	r, g, b := int(rgb>>16), int(rgb>>8&255), int(rgb&255)
	levels := [6]int{0, 95, 135, 175, 215, 255}
	pick := func(v int) int {
		best := 0
		for i, l := range levels {
			if abs(l-v) < abs(levels[best]-v) {
				best = i
			}
		}
		return best
	}
	ri, gi, bi := pick(r), pick(g), pick(b)
	dist := func(x, y, z int) int { return (x-r)*(x-r) + (y-g)*(y-g) + (z-b)*(z-b) }
	cube := dist(levels[ri], levels[gi], levels[bi])
	grey := min(23, max(0, ((r+g+b)/3-3)/10))
	if v := 8 + 10*grey; dist(v, v, v) < cube {
		return 232 + grey
	}
	return 16 + 36*ri + 6*gi + bi
}

func abs(a int) int { return max(a, -a) }
