package soc

import (
	"slices"
	"strings"

	"npu/internal/problem"
)

// Default is the chip that commands assume when nothing names one.
const Default = "Ascend910B3"

// All lists every known chip by name. The chips are shared.
func All() []*Chip {
	all, err := load()
	if err != nil {
		panic("soc: " + err.Error()) // the embedded table is broken: no input of the user can cause this
	}
	return slices.Clone(all)
}

// Lookup finds a chip by name ("Ascend910B3"); case and the prefix "Ascend" do not matter. An unknown name is a usage
// error that lists the nearest ones.
func Lookup(name string) (*Chip, error) {
	want := key(name)
	all := All()
	for _, c := range all {
		if key(c.Name) == want {
			return c, nil
		}
	}
	near := nearest(all, want)
	if len(near) == 0 {
		return nil, problem.Usagef("unknown chip %q (see 'npu soc list')", name)
	}
	return nil, problem.Usagef("unknown chip %q; nearest: %s (see 'npu soc list')", name, strings.Join(near, ", "))
}

func key(name string) string {
	return strings.TrimPrefix(strings.ToLower(strings.TrimSpace(name)), "ascend")
}

// nearest picks up to four names: those that start with what was asked for, else those with few letters wrong.
func nearest(all []*Chip, want string) []string {
	type candidate struct {
		name string
		cost int
	}
	var found []candidate
	for _, c := range all {
		k := key(c.Name)
		d := distance(want, k)
		if want != "" && strings.HasPrefix(k, want) {
			d = 0
		}
		if d <= 2 || d <= len(k)/3 {
			found = append(found, candidate{c.Name, d})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.cost - b.cost })
	var names []string
	for _, f := range found[:min(4, len(found))] {
		names = append(names, f.name)
	}
	return names
}

// distance counts the letters to insert, delete or replace between two names.
func distance(a, b string) int {
	if len(a) > 40 {
		return len(a)
	}
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		cur := make([]int, len(b)+1)
		cur[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			cur[j+1] = min(prev[j]+cost, prev[j+1]+1, cur[j]+1)
		}
		prev = cur
	}
	return prev[len(b)]
}
