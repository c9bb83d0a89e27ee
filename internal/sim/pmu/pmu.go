// Package pmu is the performance monitoring unit of the simulated cores. It counts the events of one group at a time, as
// many as the chip has counters for, and the events have the numbers of the real ones, so that the formulas for real
// counters (package ascend) hold for these.
//
// Counts come from the cycle account and the work of a kernel, package cost: the cycles of a pipe are those of the account,
// bytes are those of the operands, conflicts follow from the banks of UB and how operands lie in it. What the account does not
// know (full instruction queues, waits for flags) counts 0, and Silent says so. A kernel counts the same in each of its executions.
//
// The package is no sampling profiler: it counts kernels as wholes.
package pmu

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"npu/internal/problem"
	"npu/internal/sim/cost"
	"npu/internal/sim/soc"
	"npu/internal/trace"
)

// Unit is the PMU of a chip with a group of events chosen.
type Unit struct {
	Group        string
	chip         *soc.Chip
	cube, vector []uint16 // events, in the order of the counters
}

// Counters are what one execution of a kernel counts, over all its blocks, in the order of Unit.Events.
type Counters struct {
	Core   cost.Core
	Blocks int
	Cycles int64
	Values [10]int64
}

// Limit is how many events the chip counts at a time.
func Limit(chip *soc.Chip) int {
	if v6(chip) {
		return 10
	}
	return 8
}

// v6 says whether the chip is of the generation with event numbers of its own.
func v6(chip *soc.Chip) bool { return chip.Short == "Ascend950" || chip.Short == "Ascend350" }

// Platform is the number of the chip's family in profiling data.
func Platform(chip *soc.Chip) int {
	switch chip.Short {
	case "Ascend310":
		return 0
	case "Ascend910":
		return 1
	case "Ascend310P":
		return 4
	case "Ascend310B":
		return 7
	case "Ascend950", "Ascend350":
		return 15
	}
	return 5
}

// New chooses the events of a group, by the name that the vendor's tools have for it (--aic-metrics), or of a list of the
// user's own: Custom:0x8,0xa.
func New(chip *soc.Chip, group string) (*Unit, error) {
	u := &Unit{Group: group, chip: chip}
	if list, ok := strings.CutPrefix(group, "Custom:"); ok {
		events, err := parseEvents(list, Limit(chip))
		if err != nil {
			return nil, err
		}
		u.cube, u.vector = events, events
		return u, nil
	}
	for _, g := range groups {
		if g.name != group {
			continue
		}
		switch {
		case v6(chip):
			u.cube, u.vector = g.v6, g.v6
		case chip.Split:
			u.cube, u.vector = g.events, g.events
			if g.cube != nil {
				u.cube = g.cube
			}
		case g.only != "":
		default:
			u.cube, u.vector = g.events, g.events
		}
		if u.cube == nil {
			return nil, problem.Usagef("PMU group %s: %s does not have it; its groups are %s", group, chip.Name, strings.Join(Groups(chip), ", "))
		}
		return u, nil
	}
	return nil, problem.Usagef("PMU group %q: expected one of %s, or Custom:0x8,0xa with at most %d events", group, strings.Join(Groups(chip), ", "), Limit(chip))
}

func parseEvents(list string, most int) (events []uint16, err error) {
	for _, s := range strings.Split(list, ",") {
		n, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimSpace(s), "0x"), 16, 16)
		if err != nil {
			return nil, problem.Usagef("PMU event %q: expected a hexadecimal number such as 0x8", s)
		}
		events = append(events, uint16(n))
	}
	if len(events) > most {
		return nil, problem.Usagef("%d PMU events: the chip counts %d at a time", len(events), most)
	}
	return events, nil
}

// Groups are the names of the groups that the chip has.
func Groups(chip *soc.Chip) (names []string) {
	for _, g := range groups {
		if v6(chip) && g.v6 != nil || !v6(chip) && (g.only == "" || chip.Split) {
			names = append(names, g.name)
		}
	}
	return names
}

// Events are those that cores of a kind count.
func (u *Unit) Events(core cost.Core) []uint16 {
	if core == cost.AIV {
		return u.vector
	}
	return u.cube
}

// Count is what a kernel counts. AI CPU kernels run on no core with a PMU: ok is false for them.
func (u *Unit) Count(core cost.Core, a cost.Account, w cost.Work) (c Counters, ok bool) {
	if core == cost.AICPU {
		return c, false
	}
	c = Counters{Core: core, Blocks: a.Blocks, Cycles: a.Cycles.Total}
	m := newMeter(u.chip, core, a, w)
	for i, e := range u.Events(core) {
		c.Values[i], _ = m.count(e, u.Group)
	}
	return c, true
}

// Silent are the events of the group that the simulator does not model: they count 0.
func (u *Unit) Silent() (events []uint16) {
	m := newMeter(u.chip, cost.AIC, cost.Account{}, cost.Work{})
	for _, list := range [][]uint16{u.cube, u.vector} {
		for _, e := range list {
			if _, ok := m.count(e, u.Group); !ok && !slices.Contains(events, e) {
				events = append(events, e)
			}
		}
	}
	return events
}

// Key finds the counters of a task: kernels of one name and account count alike.
type Key struct {
	Name    string
	Account trace.Account
}

// Hertz is the clock of the cores of a kind.
func (u *Unit) Hertz(core cost.Core) float64 {
	mhz := u.chip.CubeMHz
	if core == cost.AIV && u.chip.VectorCores > 0 {
		mhz = cmp.Or(u.chip.VectorMHz(), mhz)
	}
	return float64(mhz) * 1e6
}
