package stats

import "npu/internal/trace"

// IsCopy says whether k moves data.
func IsCopy(k *trace.Task) bool { return k.Kind == trace.Memcpy || k.Kind == trace.Memset }

// IsKernel says whether k computes.
func IsKernel(k *trace.Task) bool { return k.Kind.Kernel() }

// Overlap is the time during which at least one task of a and at least one of b ran at once on the same device, summed
// over the devices. A task in both sets counts in both.
func Overlap(t *trace.Trace, a, b func(*trace.Task) bool) int64 {
	type device struct{ a, b cover }
	devices := map[uint16]*device{}
	total := int64(0)
	for _, k := range t.Tasks.All() {
		d := devices[k.Device]
		if d == nil {
			d = &device{}
			devices[k.Device] = d
		}
		if k.Flags&trace.FlagPart != 0 {
			continue
		}
		// Tasks come by start: what k adds to its own set, it shares with what the other set covers already; what the
		// other set adds later is counted when it comes.
		inA, inB := a(&k), b(&k)
		var fresh span
		if inA {
			fresh = d.a.add(k.Start, k.End)
			total += d.b.shared(fresh)
		}
		if inB {
			fresh = d.b.add(k.Start, k.End)
			total += d.a.shared(fresh)
		}
	}
	return total
}

type span struct{ from, to int64 }

// cover is the part of the time line that is covered after the start of the task at hand: one range, since tasks come
// by start.
type cover struct {
	span
	some bool
}

// add covers a range and gives the part that was not covered before.
func (c *cover) add(from, to int64) span {
	if !c.some || from > c.to {
		c.from, c.to, c.some = from, max(from, to), true
		return c.span
	}
	fresh := span{max(from, c.to), max(to, c.to)}
	c.to = fresh.to
	return fresh
}

// shared is how much of s is covered.
func (c *cover) shared(s span) int64 {
	if !c.some {
		return 0
	}
	return max(min(s.to, c.to)-max(s.from, c.from), 0)
}
