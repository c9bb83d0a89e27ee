package msprof

// chain finds rows by stream and task id, those of each key in the order in which they were added, which is that of time. Who
// asks in the order of time as well gets an answer without a search. Ids are mostly dense, so keys live in pages.
type chain struct {
	next, before []int32
	pages        map[uint64]*page
	recent       [32]recentPage
}

const (
	pageBits = 5
	pageMask = 1<<pageBits - 1
)

type page [1 << pageBits]ends

// ends is the rows of one key; last is 0 when there are none, else a row plus one.
type ends struct{ first, last, at int32 }

type recentPage struct {
	number uint64
	page   *page
}

// rowKey packs a device, a stream and a task id.
func rowKey(device uint16, stream, id uint32) uint64 {
	return (uint64(device)<<16|uint64(stream&0xFFFF))<<32 | uint64(id)
}

func newChain(rows int) *chain {
	return &chain{next: make([]int32, rows), before: make([]int32, rows), pages: map[uint64]*page{}}
}

// find is the rows of key; nil when grow is false and its page is not there.
func (c *chain) find(key uint64, grow bool) *ends {
	number := key >> pageBits
	r := &c.recent[(number^number>>(32-pageBits))%uint64(len(c.recent))]
	if r.page == nil || r.number != number {
		p := c.pages[number]
		if p == nil {
			if !grow {
				return nil
			}
			p = new(page)
			c.pages[number] = p
		}
		r.number, r.page = number, p
	}
	return &r.page[key&pageMask]
}

// add adds a row; rows come in rising order.
func (c *chain) add(key uint64, row int32) {
	e := c.find(key, true)
	c.next[row], c.before[row] = -1, -1
	if e.last == 0 {
		e.first, e.at = row, row
	} else {
		c.next[e.last-1], c.before[row] = row, e.last-1
	}
	e.last = row + 1
}

// latest is the last row of key that early says true of; -1 for none. early is true up to some row and false from there on.
func (c *chain) latest(key uint64, early func(row int32) bool) int32 {
	e := c.find(key, false)
	if e == nil || e.last == 0 {
		return -1
	}
	at := e.at
	if at < 0 {
		at = e.last - 1
	}
	for at >= 0 && !early(at) {
		at = c.before[at]
	}
	if at < 0 {
		return -1
	}
	for next := c.next[at]; next >= 0 && early(next); next = c.next[at] {
		at = next
	}
	e.at = at
	return at
}

// following is the first row of key that it did not give yet; -1 after the last.
func (c *chain) following(key uint64) int32 {
	e := c.find(key, false)
	if e == nil || e.last == 0 || e.at < 0 {
		return -1
	}
	row := e.at
	e.at = c.next[row]
	return row
}

// take is the first row of key that was not taken yet; the last one when all were, -1 for a key without rows.
func (c *chain) take(key uint64) int32 {
	e := c.find(key, false)
	if e == nil || e.last == 0 {
		return -1
	}
	row := e.at
	if next := c.next[row]; next >= 0 {
		e.at = next
	}
	return row
}
