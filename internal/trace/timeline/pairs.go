package timeline

import (
	"slices"

	"npu/internal/trace"
)

// deepest is how far an end looks for the begin of its name.
const deepest = 256

// pop takes the slice that an end closes: the innermost of its name, or else, as names are not always right, the innermost.
func (b *builder) pop(stack []opened, e *event, ts int64) (o opened, rest []opened, ok bool) {
	i := len(stack) - 1
	if name, known := b.names[string(e.name)]; known && len(e.name) > 0 {
		for of := i; of >= 0 && of > i-deepest; of-- {
			if stack[of].name == name {
				i = of
				break
			}
		}
	}
	if i < 0 || stack[i].start > ts {
		return opened{}, stack, false
	}
	o = stack[i]
	return o, slices.Delete(stack, i, i+1), true
}

// asynchronous joins the begin and the end of a slice that belongs to no thread: of phases b and e, which nest by category and
// id, and of the older S and F, which go by their name as well.
func (b *builder) asynchronous(ph byte, e *event, ts int64) {
	k := b.key[:0]
	for _, part := range [][]byte{e.cat, e.id, e.scope} {
		k = append(append(k, part...), 0)
	}
	if !e.global {
		k = append(append(k, e.pid...), 0)
	}
	if ph == 'S' || ph == 'F' {
		k = append(append(k, 1), e.name...)
	}
	b.key = k
	if ph == 'b' || ph == 'S' {
		key := string(k) // track needs the buffer
		name, t := b.intern(e.name), b.track(e.pid, e.tid)
		b.async[key] = append(b.async[key], opened{ts, name, t})
		return
	}
	o, rest, ok := b.pop(b.async[string(k)], e, ts)
	if !ok {
		b.source.BadRecords++
		return
	}
	if len(rest) == 0 {
		delete(b.async, string(k))
	} else {
		b.async[string(k)] = rest
	}
	b.span(o.track, trace.Span{Start: o.start, End: ts, Name: o.name}, 0)
}

// maxFlows bounds the categories of arrows that are counted apart.
const maxFlows = 64

// flow counts an end of an arrow. Connection ids say better what submitted what.
func (b *builder) flow(ph byte, category []byte) {
	n := b.flows[string(category)]
	if n == nil {
		if len(b.flows) >= maxFlows || len(category) == 0 || len(category) > 64 {
			return
		}
		n = new([2]int64)
		b.flows[string(category)] = n
	}
	if ph == 's' {
		n[0]++
	} else {
		n[1]++
	}
}
