package timeline

// callTable finds calls by their connection ids. Ids are mostly numbered one after the other, and events come in about that order,
// so they live in pages of which the last few are at hand.
type callTable struct {
	chunks []*[callChunk]call // growing copies nothing
	n      int
	long   map[*call]int64 // ends of those that last longer than a call can say
	pages  map[uint64]*callPage
	recent [16]struct {
		number uint64
		page   *callPage
	}
}

const (
	callPageBits = 4
	callChunk    = 256
)

// callPage is places in calls plus one; 0 for ids without a call.
type callPage [1 << callPageBits]int32

func newCallTable() *callTable {
	return &callTable{pages: map[uint64]*callPage{}, long: map[*call]int64{}}
}

// place is where the number of the call of id stands; nil when grow is false and there is no page.
func (t *callTable) place(id int64, grow bool) *int32 {
	number := uint64(id) >> callPageBits
	r := &t.recent[number%uint64(len(t.recent))]
	if r.page == nil || r.number != number {
		p := t.pages[number]
		if p == nil {
			if !grow {
				return nil
			}
			p = new(callPage)
			t.pages[number] = p
		}
		r.number, r.page = number, p
	}
	return &r.page[uint64(id)&(1<<callPageBits-1)]
}

// find is the call of id; nil for none.
func (t *callTable) find(id int64) *call {
	at := t.place(id, false)
	if at == nil || *at == 0 {
		return nil
	}
	return t.at(*at - 1)
}

// end is when a call ended.
func (t *callTable) end(c *call) int64 {
	if c.length == longest {
		return t.long[c]
	}
	return c.start + int64(c.length)
}

// add adds the call of id; it is false when there is one already.
func (t *callTable) add(id int64, c call, end int64) bool {
	at := t.place(id, true)
	if *at != 0 {
		return false
	}
	if t.n%callChunk == 0 {
		t.chunks = append(t.chunks, new([callChunk]call))
	}
	c.length = uint32(min(end-c.start, longest))
	kept := t.at(int32(t.n))
	if *kept = c; c.length == longest {
		t.long[kept] = end
	}
	t.n++
	*at = int32(t.n)
	return true
}

func (t *callTable) at(i int32) *call { return &t.chunks[i/callChunk][i%callChunk] }
