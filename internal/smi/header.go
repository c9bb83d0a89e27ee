package smi

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// figure is what a title of a header line stands for.
type figure uint8

const (
	otherFigure figure = iota // known to be there, not to us
	powerFigure
	tempFigure
	hugeFigure
	utilFigure
	memoryFigure
	hbmFigure
	figures
)

// title is one figure of a header cell: what it is, in what unit, and whether its values are "used / total".
type title struct {
	figure figure
	pair   bool
	npu    bool // utilisation of the whole NPU
	unit   string
	scale  float64 // to our unit; 0: the unit is not known
	col    int     // where it begins in its cell, in characters; its values begin there too, unless a copy has moved them
}

// The titles of the layout that most versions print, for tables without a header.
var (
	classicFirst = []title{{figure: powerFigure, unit: "W", scale: 1, col: -1}, {figure: tempFigure, unit: "C", scale: 1, col: -1},
		{figure: hugeFigure, pair: true, unit: "page", scale: 1, col: -1}}
	classicSecond = []title{{figure: utilFigure, unit: "%", scale: 1, col: -1}, {figure: memoryFigure, pair: true, unit: "MB", scale: 1, col: -1},
		{figure: hbmFigure, pair: true, unit: "MB", scale: 1, col: -1}}
)

// layout is what the header lines say about the rows below them: which cell holds what, and which figures, in what order.
// The header is the only safe sign: widths, blanks before the last bar, and even the bars of the rules differ between
// versions.
type layout struct {
	cells, health, first     int // cells of a first line, and where health and figures are
	second, bus, secondCells int // the same of a second line
	split                    bool
	ids                      []string // words of the first cell of the second header: Chip, Phy-ID
	top, bottom              []title
	bare                     bool // no header was seen
	full                     bool // both lines of the header were seen: a third one is of lines that we do not know
}

func classic() layout {
	return layout{cells: 3, health: 1, first: 2, secondCells: 3, bus: 1, second: 2, ids: []string{"Chip"}, top: classicFirst, bottom: classicSecond, bare: true}
}

// wide turns the brackets and blanks of full width, which copies through a translated page have, into plain ones.
var wide = strings.NewReplacer("（", "(", "）", ")", "　", " ", "％", "%", "℃", "C", "°C", "C", "｜", "|")

// titlesOf reads a header cell, as "AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)". A cell without a unit in brackets holds
// none.
func titlesOf(cell string) []title {
	var out []title
	percent := 0
	for at := 0; ; {
		open := strings.IndexByte(cell[at:], '(')
		end := strings.IndexByte(cell[at:], ')')
		if open < 0 || end < 0 {
			break
		}
		if end < open { // a bracket that nothing opens
			at += end + 1
			continue
		}
		text := strings.TrimLeft(cell[at:at+end+1], " ")
		name := strings.ToLower(strings.ReplaceAll(text, " ", ""))
		t := title{unit: strings.TrimSpace(cell[at+open+1 : at+end]), col: utf8.RuneCountInString(cell[:at+end+1]) - utf8.RuneCountInString(text)}
		at += end + 1
		unit := strings.ToLower(t.unit)
		t.scale = map[string]float64{"w": 1, "kw": 1000, "mw": 0.001, "c": 1, "%": 1, "page": 1, "pages": 1,
			"mb": 1, "mib": 1, "gb": 1024, "gib": 1024, "kb": 1. / 1024, "kib": 1. / 1024}[unit]
		size := strings.HasSuffix(unit, "b")
		switch {
		case strings.HasPrefix(unit, "page"):
			t.figure, t.pair = hugeFigure, true
		case size && strings.Contains(name, "hbm"):
			t.figure, t.pair = hbmFigure, true
		case size:
			t.figure, t.pair = memoryFigure, true
		case unit == "w" || unit == "kw" || unit == "mw":
			t.figure = powerFigure
		case unit == "c" || strings.Contains(name, "temp"):
			t.figure = tempFigure
		case unit == "%" && (strings.Contains(name, "aicore") || strings.Contains(name, "npuutil")):
			t.figure, t.npu = utilFigure, strings.Contains(name, "npuutil")
		case unit == "%":
			percent++
		}
		out = append(out, t)
	}
	if percent == 1 && !has(out, utilFigure) { // the only share there is, under another name
		for i := range out {
			if out[i].figure == otherFigure && out[i].unit == "%" {
				out[i].figure = utilFigure
			}
		}
	}
	return out
}

func has(titles []title, f figure) bool {
	for _, t := range titles {
		if t.figure == f {
			return true
		}
	}
	return false
}

// header takes what a line says about the lines below it; false if it is none. Its first cell is never a number.
func (l *layout) header(cells, raw []string) bool {
	if cells[0] != "" && cells[0][0] >= '0' && cells[0][0] <= '9' {
		return false
	}
	for i := 2; i < len(cells); i++ {
		titles := titlesOf(wide.Replace(raw[i]))
		switch {
		case has(titles, powerFigure) || has(titles, tempFigure):
			*l = layout{cells: len(cells), health: i - 1, first: i, split: strings.EqualFold(cells[0], "NPU ID"), top: titles,
				secondCells: l.secondCells, bus: l.bus, second: l.second, ids: l.ids, bottom: l.bottom}
			for k, c := range cells {
				if strings.EqualFold(c, "health") || c == "健康状态" || c == "健康" {
					l.health = k
				}
			}
			return true
		case has(titles, utilFigure) || has(titles, memoryFigure) || has(titles, hbmFigure):
			if l.full {
				return true
			}
			l.full = true
			l.secondCells, l.second, l.bus, l.bottom, l.ids, l.bare = len(cells), i, i-1, titles, strings.Fields(cells[0]), false
			for k, c := range cells {
				if strings.EqualFold(c, "bus-id") || strings.Contains(c, "总线") {
					l.bus = k
				}
			}
			return true
		}
	}
	return false
}

// token is one value of a row: a word, or used and total.
type token struct {
	a, b string
	pair bool
	col  int
}

func tokensOf(cell string) []token {
	var out []token
	slash := false // the last thing was a "/" behind a word that may be a used
	for at := 0; at < len(cell); {
		switch c := cell[at]; {
		case c == ' ' || c == '\t':
			at++
		case c == '/':
			slash = len(out) > 0 && !out[len(out)-1].pair
			at++
		default:
			n := strings.IndexAny(cell[at:], " \t/")
			if n < 0 {
				n = len(cell) - at
			}
			word := cell[at : at+n]
			if slash {
				last := &out[len(out)-1]
				last.b, last.pair, slash = word, true, false
			} else {
				out = append(out, token{a: word, col: utf8.RuneCountInString(cell[:at])})
			}
			at += n
		}
	}
	return out
}

// row is the figures of one line.
type row [figures]Usage // a plain figure is Used

// read gives each value to its title. Where their numbers or kinds differ a value is missing, and they are taken only if
// each stands exactly below a title: a wrong figure is worse than none. A line that is cut has its first values.
func read(cell string, titles []title, whole bool) (r row) {
	for f := range r {
		r[f] = noUsage("npu-smi prints no such column")
	}
	tokens := tokensOf(cell)
	if straight(tokens, titles, whole) {
		for i, t := range titles {
			if i >= len(tokens) {
				r.set(t, token{}, "the line is cut here")
				continue
			}
			r.set(t, tokens[i], "")
		}
		return r
	}
	below := map[int]int{} // titles by the token that stands below them
	for i, t := range titles {
		r.set(t, token{}, fmt.Sprintf("npu-smi printed %d of %d figures in this line: which is missing cannot be seen", len(tokens), len(titles)))
		for k, v := range tokens {
			if v.col == t.col && v.pair == t.pair {
				below[k] = i
			}
		}
	}
	if whole && len(below) == len(tokens) && (len(tokens) > 1 || below[0] > 0) {
		for k, i := range below {
			r.set(titles[i], tokens[k], "")
		}
	}
	return r
}

// straight says whether the values follow the titles one by one, to the end or to where the line is cut.
func straight(tokens []token, titles []title, whole bool) bool {
	if len(tokens) != len(titles) && (whole || len(tokens) > len(titles)) {
		return false
	}
	for i, v := range tokens {
		if t := titles[i]; v.pair != t.pair && t.figure != otherFigure && !(t.pair && absent(v.a)) {
			return false
		}
	}
	return true
}

func (r *row) set(t title, v token, why string) {
	u := noUsage(why)
	if why == "" {
		u = Usage{number(v.a).times(t), unknown("npu-smi prints " + v.a)}
		if v.pair {
			u.Total = number(v.b).times(t)
		}
	}
	r[t.figure] = u
}

// times brings a figure into our unit.
func (v Value) times(t title) Value {
	switch {
	case !v.Known:
		return v
	case t.scale == 0:
		return unknown("npu-smi prints it in " + t.unit)
	}
	v.N *= t.scale
	return v
}
