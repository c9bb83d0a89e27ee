package runtime

import (
	"fmt"
	"sort"

	"npu/internal/sim"
	"npu/internal/trace"
)

var (
	callAdvise       = call{"aclrtMemManagedAdvise", 2000}
	callPrefetch     = call{"aclrtMemManagedPrefetchAsync", 3000}
	callManagedRange = call{"aclrtMemManagedRangeGetAttribute", 1000}
)

// Advice is what a program says of managed memory.
type Advice int

// Advices.
const (
	SetReadMostly Advice = iota
	UnsetReadMostly
	SetPreferredLocation
	UnsetPreferredLocation
	SetAccessedBy
	UnsetAccessedBy
)

// place checks a place of managed memory.
func (th *Thread) place(at int, c call) error {
	if at < AtHost || at >= len(th.rt.devices) {
		return th.fail(InvalidParam, c.name, fmt.Sprintf("location %d", at), fmt.Sprintf("give a device below %d, or the host", len(th.rt.devices)))
	}
	return nil
}

// notManaged is the error of a range that is no managed memory.
func (th *Thread) notManaged(p Ptr, n int64, c call) error {
	return th.fail(InvalidParam, c.name, fmt.Sprintf("%d bytes at 0x%x lie in no managed memory", n, uint64(p)), "")
}

// Advise notes how the pages of n bytes at p are used; at is a device or AtHost, and means nothing to the advices that
// name no place (aclrtMemManagedAdvise).
func (th *Thread) Advise(p Ptr, n int64, a Advice, at int) (err error) {
	t := th.begin(callAdvise)
	defer func() { th.end(callAdvise, t, err) }()
	if a < SetReadMostly || a > UnsetAccessedBy {
		return th.fail(ACLInvalidParam, callAdvise.name, fmt.Sprintf("advice %d", a), "give 0 to 5")
	}
	if a != SetReadMostly && a != UnsetReadMostly && a != UnsetPreferredLocation {
		if err = th.place(at, callAdvise); err != nil {
			return err
		}
	}
	h := th.rt.hostMem
	h.mu.Lock()
	defer h.mu.Unlock()
	pages := h.managed.pagesOf(p, n)
	if pages == nil {
		return th.notManaged(p, n, callAdvise)
	}
	for i := range pages {
		pages[i].advise(a, at)
	}
	return nil
}

func (p *managedPage) advise(a Advice, at int) {
	switch a {
	case SetReadMostly, UnsetReadMostly:
		p.readMostly = a == SetReadMostly
	case SetPreferredLocation:
		p.preferred = at
	case UnsetPreferredLocation:
		p.preferred = Nowhere
	case SetAccessedBy, UnsetAccessedBy:
		i := sort.SearchInts(p.accessedBy, at)
		known := i < len(p.accessedBy) && p.accessedBy[i] == at
		list := append([]int(nil), p.accessedBy[:i]...)
		if a == SetAccessedBy {
			list = append(list, at)
		}
		if known {
			i++
		}
		p.accessedBy = append(list, p.accessedBy[i:]...)
	}
}

// Prefetch moves the pages of n bytes at p to a device, or to the host, in stream order (aclrtMemManagedPrefetchAsync);
// flags must be 0. Pages that are there already cost nothing.
func (th *Thread) Prefetch(p Ptr, n int64, at int, flags uint32, s *Stream) error {
	s, err := th.use(s, callPrefetch)
	if err != nil {
		return err
	}
	if flags != 0 {
		return th.fail(InvalidParam, callPrefetch.name, fmt.Sprintf("flags 0x%x", flags), "give 0")
	}
	if err := th.place(at, callPrefetch); err != nil {
		return err
	}
	h := th.rt.hostMem
	h.mu.Lock()
	pages := h.managed.pagesOf(p, n)
	moves := 0
	for i := range pages {
		if pages[i].at != at {
			moves++
		}
		pages[i].at, pages[i].prefetched = at, at
	}
	h.mu.Unlock()
	if pages == nil {
		return th.notManaged(p, n, callPrefetch)
	}
	dir := trace.HostToDevice
	if at == AtHost {
		dir = trace.DeviceToHost
	}
	from := p &^ (sim.Page - 1)
	for left := int64(moves) * sim.Page; left > 0; left -= busTask {
		t := copyTask(from, from, min(left, busTask), dir) // the bytes stay where they are
		if err := th.submit(s, &t, nil, callPrefetch); err != nil {
			return err
		}
	}
	return nil
}

// ManagedItem is a range of a batch.
type ManagedItem struct {
	Addr  Ptr
	Bytes int64
}

// PrefetchBatch is Prefetch of several ranges (aclrtMemManagedPrefetchBatchAsync): place k serves the items from
// indexes[k] to the one before indexes[k+1]. The first index is 0, the others rise.
func (th *Thread) PrefetchBatch(items []ManagedItem, places, indexes []int, flags uint32, s *Stream) error {
	bad := ""
	switch {
	case len(items) == 0:
		bad = "no items"
	case len(places) == 0 || len(places) != len(indexes):
		bad = fmt.Sprintf("%d locations with %d indexes", len(places), len(indexes))
	case indexes[0] != 0:
		bad = fmt.Sprintf("the first location begins at item %d, not at 0", indexes[0])
	}
	for k := 1; k < len(indexes) && bad == ""; k++ {
		if indexes[k] <= indexes[k-1] || indexes[k] >= len(items) {
			bad = fmt.Sprintf("location %d begins at item %d of %d", k, indexes[k], len(items))
		}
	}
	if bad != "" {
		return th.fail(InvalidParam, callPrefetch.name, bad, "")
	}
	k := 0
	for i, x := range items {
		if k+1 < len(indexes) && indexes[k+1] == i {
			k++
		}
		if err := th.Prefetch(x.Addr, x.Bytes, places[k], flags, s); err != nil {
			return err
		}
	}
	return nil
}

// ManagedRange is what holds for all pages of a range; what differs among them is said in Mixed.
type ManagedRange struct {
	ReadMostly bool
	Preferred  int   // a device, AtHost, or Nowhere
	AccessedBy []int // devices, and AtHost
	Prefetched int   // where the latest prefetch went
	Mixed      struct{ ReadMostly, Preferred, AccessedBy, Prefetched bool }
}

// ManagedRangeOf is what was advised of the pages of n bytes at p (aclrtMemManagedRangeGetAttributes).
func (th *Thread) ManagedRangeOf(p Ptr, n int64) (r ManagedRange, err error) {
	t := th.begin(callManagedRange)
	defer func() { th.end(callManagedRange, t, err) }()
	h := th.rt.hostMem
	h.mu.Lock()
	defer h.mu.Unlock()
	pages := h.managed.pagesOf(p, n)
	if pages == nil {
		return r, th.notManaged(p, n, callManagedRange)
	}
	first := pages[0]
	r = ManagedRange{ReadMostly: first.readMostly, Preferred: first.preferred, Prefetched: first.prefetched, AccessedBy: append([]int(nil), first.accessedBy...)}
	for _, x := range pages[1:] {
		r.Mixed.ReadMostly = r.Mixed.ReadMostly || x.readMostly != first.readMostly
		r.Mixed.Preferred = r.Mixed.Preferred || x.preferred != first.preferred
		r.Mixed.Prefetched = r.Mixed.Prefetched || x.prefetched != first.prefetched
		r.Mixed.AccessedBy = r.Mixed.AccessedBy || fmt.Sprint(x.accessedBy) != fmt.Sprint(first.accessedBy)
	}
	return r, nil
}
