package bench

import (
	"slices"
	"strings"

	"npu/internal/problem"
)

// Family is the benchmarks of one topic.
type Family struct {
	Name  string
	Specs []Spec
}

// Families are those that can be run.
func Families() []Family {
	return []Family{
		{"streams", streamSpecs()},
		{"events", eventSpecs()},
		{"launch", launchSpecs()},
		{"memory", memorySpecs()},
		{"copy", copySpecs()},
		{"graph", graphSpecs()},
		{"loop", loopSpecs()},
		{"collective", collectiveSpecs()},
		{"ipc", ipcSpecs()},
		{"capture", captureSpecs()},
	}
}

// Select finds the families of these names; no name, or "all", is every one.
func Select(names []string) ([]Family, error) {
	all := Families()
	if len(names) == 0 || slices.Contains(names, "all") {
		names = nil
		for _, f := range all {
			names = append(names, f.Name)
		}
	}
	var list []Family
	for _, n := range names {
		i := slices.IndexFunc(all, func(f Family) bool { return f.Name == n })
		switch {
		case i >= 0:
			list = append(list, all[i])
		default:
			return nil, problem.Usagef("benchmarks %q: expected %s or all", n, strings.Join(known(all), ", "))
		}
	}
	return list, nil
}

func known(all []Family) (names []string) {
	for _, f := range all {
		names = append(names, f.Name)
	}
	return names
}

// spec finds a benchmark by name.
func spec(name string) (Spec, bool) {
	for _, f := range Families() {
		for _, s := range f.Specs {
			if s.Name == name {
				return s, true
			}
		}
	}
	return Spec{}, false
}
