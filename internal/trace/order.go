package trace

import (
	"cmp"
	"math"
	"slices"
)

// order brings the rows into canonical order: start, end, device, stream; rows of one stream that are equal in that
// keep the order in which they came, which is the order in which the stream ran them.
func (t *Tasks) order() {
	perm := sorted(t.n, t.Start.At, t.compare)
	if perm == nil {
		return
	}
	for _, c := range t.columns() {
		c.permute(perm)
	}
}

func (t *Tasks) compare(a, b uint32) int {
	i, j := int(a), int(b)
	return cmp.Or(cmp.Compare(t.Start.At(i), t.Start.At(j)), cmp.Compare(t.End.At(i), t.End.At(j)),
		cmp.Compare(t.Device.At(i), t.Device.At(j)), cmp.Compare(t.Stream.At(i), t.Stream.At(j)))
}

// Ordered says whether the rows stand in canonical order.
func (t *Tasks) Ordered() bool { return inOrder(t.n, t.Start.At, t.compare) }

// Follows says whether the first row may come behind k in canonical order.
func (t *Tasks) Follows(k *Task) bool {
	return t.n == 0 || cmp.Or(cmp.Compare(k.Start, t.Start.At(0)), cmp.Compare(k.End, t.End.At(0)),
		cmp.Compare(k.Device, t.Device.At(0)), cmp.Compare(k.Stream, t.Stream.At(0))) <= 0
}

func orderSpans(r *Rows[Span]) {
	compare := func(a, b uint32) int {
		x, y := r.At(int(a)), r.At(int(b))
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(y.End, x.End), cmp.Compare(x.Thread, y.Thread))
	}
	if perm := sorted(r.n, func(i int) int64 { return r.At(i).Start }, compare); perm != nil {
		r.permute(perm)
	}
}

func orderCounters(r *Rows[Counter], strings []string) {
	name := func(c *Counter) string {
		if int(c.Name) < len(strings) {
			return strings[c.Name]
		}
		return ""
	}
	compare := func(a, b uint32) int {
		x, y := r.At(int(a)), r.At(int(b))
		return cmp.Or(cmp.Compare(x.Time, y.Time), cmp.Compare(x.Device, y.Device), cmp.Compare(name(x), name(y)))
	}
	if perm := sorted(r.n, func(i int) int64 { return r.At(i).Time }, compare); perm != nil {
		r.permute(perm)
	}
}

// sorted is the stable order of n rows by compare, whose first criterion is time; nil when they are in order already.
// Rows come nearly in order of time but not quite, and there may be many millions: so a radix sort over the time,
// then a comparison sort within equal times.
func sorted(n int, time func(int) int64, compare func(a, b uint32) int) []uint32 {
	if inOrder(n, time, compare) {
		return nil
	}
	perm := make([]uint32, n)
	lo, hi := time(0), time(0)
	for i := range perm {
		perm[i] = uint32(i)
		at := time(i)
		lo, hi = min(lo, at), max(hi, at)
	}
	perm = radix(perm, lo, uint64(hi)-uint64(lo), time)
	for i := 0; i < n; {
		k := i + 1
		for k < n && time(int(perm[k])) == time(int(perm[i])) {
			k++
		}
		if k-i > 1 {
			slices.SortStableFunc(perm[i:k], compare)
		}
		i = k
	}
	return perm
}

func inOrder(n int, time func(int) int64, compare func(a, b uint32) int) bool {
	last := int64(math.MinInt64)
	for i := range n {
		at := time(i)
		if at < last || at == last && i > 0 && compare(uint32(i-1), uint32(i)) > 0 {
			return false
		}
		last = at
	}
	return true
}

// radix sorts perm by time-lo, a number up to span, 11 bits a pass from the lowest.
func radix(perm []uint32, lo int64, span uint64, time func(int) int64) []uint32 {
	const bits = 11
	next := make([]uint32, len(perm))
	for shift := 0; shift < 64 && span>>shift != 0; shift += bits {
		var place [1 << bits]uint32
		for _, row := range perm {
			place[digit(time(int(row)), lo, shift, bits)]++
		}
		sum := uint32(0)
		for i, count := range place {
			place[i] = sum
			sum += count
		}
		for _, row := range perm {
			d := digit(time(int(row)), lo, shift, bits)
			next[place[d]] = row
			place[d]++
		}
		perm, next = next, perm
	}
	return perm
}

func digit(at, lo int64, shift, bits int) uint64 {
	return (uint64(at) - uint64(lo)) >> shift & (1<<bits - 1)
}
