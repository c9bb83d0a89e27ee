package top

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"npu/internal/problem"
)

// Filter keeps the rows that it matches. The zero Filter keeps all.
type Filter struct {
	re   *regexp.Regexp
	not  bool
	keys bool // the expression names a column: "health=Alarm"
	text string
}

// ParseFilter reads a regular expression that any word of a row may match: an id, a name, a user, a command. With a "="
// in it, it is matched against KEY=VALUE, as in user=root. Lower case matches both cases; a leading ! inverts.
func ParseFilter(s string) (Filter, error) {
	f := Filter{text: s}
	s, f.not = strings.CutPrefix(s, "!")
	if s == "" {
		return Filter{}, nil
	}
	f.keys = strings.Contains(s, "=")
	expr := s
	if !strings.ContainsFunc(s, unicode.IsUpper) {
		expr = "(?i)" + s
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return Filter{}, problem.Usagef("filter %q: %w", s, err)
	}
	f.re = re
	return f, nil
}

// String is the filter as it was typed.
func (f Filter) String() string { return f.text }

// Active reports whether the filter can drop a row.
func (f Filter) Active() bool { return f.re != nil }

func keep[T any](f Filter, fields []field[T], row *T) bool {
	if f.re == nil {
		return true
	}
	for _, c := range fields {
		s := ""
		switch r := c.ref(row).(type) {
		case *string:
			s = *r
		case *Text:
			s = r.S
		case *int:
			s = fmt.Sprint(*r)
		default:
			if c.key != "chip" && !f.keys { // figures change: only who asks for a column means them
				continue
			}
			if v, _ := plainValue(r); v != nil {
				s = fmt.Sprint(v)
			}
		}
		if f.keys {
			s = c.key + "=" + s
		} else if s == "" {
			continue
		}
		if f.re.MatchString(s) {
			return !f.not
		}
	}
	return f.not
}

// Sort is the column to sort by and its direction; the zero Sort keeps the order of the source.
type Sort struct {
	Key  string
	Down bool
}

// natural is the direction that a column is read in: the largest figures first, names from a.
func natural(key string) Sort {
	switch key {
	case "npu", "chip", "phy", "device", "index", "name", "bus", "user", "command", "pid", "container_pid", "owner", "stream", "state", "type", "source":
		return Sort{Key: key}
	}
	return Sort{Key: key, Down: true}
}

// ParseSort reads KEY or -KEY; -KEY turns the natural direction of the column around. Every key of a device or a process is
// a column, mem also stands for the memory that matters.
func ParseSort(s string) (Sort, error) {
	key, turn := strings.CutPrefix(s, "-")
	if key == "" {
		return Sort{}, nil
	}
	o := natural(key)
	o.Down = o.Down != turn
	for _, known := range SortKeys() {
		if key == known {
			return o, nil
		}
	}
	return Sort{}, problem.Usagef("--sort %s: no such column (there are %s)", key, strings.Join(SortKeys(), ", "))
}

// SortKeys lists the columns that rows can be sorted by.
func SortKeys() []string {
	out := []string{"mem"}
	add := func(key string) {
		if key != "engines" && key != "facts" && !slices.Contains(out, key) {
			out = append(out, key)
		}
	}
	for _, f := range deviceFields {
		add(f.key)
	}
	for _, f := range processFields {
		add(f.key)
	}
	return out
}

// order sorts rows stably; a key that the rows do not have keeps their order. Unknown values come last, whatever the
// direction.
func order[T any](rows []*T, fields []field[T], s Sort) {
	i := slices.IndexFunc(fields, func(f field[T]) bool { return f.key == s.Key })
	if i < 0 {
		return
	}
	ref := fields[i].ref
	slices.SortStableFunc(rows, func(a, b *T) int {
		va, vb := sortValue(ref(a)), sortValue(ref(b))
		switch {
		case va == nil || vb == nil:
			return cmp.Compare(b2i(va == nil), b2i(vb == nil))
		case s.Down:
			va, vb = vb, va
		}
		if na, ok := va.(float64); ok {
			return cmp.Compare(na, vb.(float64))
		}
		return cmp.Compare(va.(string), vb.(string))
	})
}

// sortValue is a float64, a string, or nil for unknown.
func sortValue(ref any) any {
	switch r := ref.(type) {
	case *Value:
		if r.Known {
			return r.N
		}
	case *Pair:
		if r.Used.Known {
			return r.Used.N
		}
	case *Text:
		if r.S != "" {
			return strings.ToLower(r.S)
		}
	case *string:
		return strings.ToLower(*r)
	case *int:
		return float64(*r)
	}
	return nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// pick is the rows that a filter keeps, sorted. The rows of the list are not changed.
func pick[T any](list []T, fields []field[T], f Filter, s Sort) []*T {
	out := make([]*T, 0, len(list))
	for i := range list {
		if keep(f, fields, &list[i]) {
			out = append(out, &list[i])
		}
	}
	order(out, fields, s)
	return out
}

// pickDevices knows the columns "mem" and "free" too: the share of the memory that matters, and what is left of it.
func pickDevices(list []Device, f Filter, s Sort) []*Device {
	if s.Key != "mem" && s.Key != "free" {
		return pick(list, deviceFields, f, s)
	}
	more := []field[Device]{{"mem", func(d *Device) any { v := d.Mem().Share(); return &v }}, {"free", func(d *Device) any { v := d.free(); return &v }}}
	return pick(list, append(more, deviceFields...), f, s)
}

// pickProcesses reads "mem" as mem_mb.
func pickProcesses(list []Process, f Filter, s Sort) []*Process {
	if s.Key == "mem" {
		s.Key = "mem_mb"
	}
	return pick(list, processFields, f, s)
}
