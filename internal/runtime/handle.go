package runtime

import (
	"fmt"
	"sync"
)

// Handle is an untyped reference to a stream, event, notify or context, as a C program holds it. It carries a
// generation: once its object is destroyed it is invalid for ever, also when the slot is used again. The zero Handle
// is the null pointer.
type Handle uint64

// handleKind is what a handle refers to.
type handleKind uint8

const (
	noHandle handleKind = iota
	streamHandle
	eventHandle
	notifyHandle
	contextHandle
)

func (k handleKind) String() string {
	return [...]string{"nothing", "a stream", "an event", "a notify", "a context"}[k]
}

// handles is the table behind Handle: generation 32 | kind 8 | slot 24.
type handles struct {
	mu    sync.Mutex
	slots []handleSlot
	free  []uint32
}

type handleSlot struct {
	gen  uint32
	kind handleKind
	ptr  any
}

func (t *handles) add(kind handleKind, ptr any) Handle {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := uint32(len(t.slots))
	if n := len(t.free); n > 0 {
		i = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		t.slots = append(t.slots, handleSlot{})
	}
	s := &t.slots[i]
	s.gen++
	s.kind, s.ptr = kind, ptr
	return Handle(uint64(s.gen)<<32 | uint64(kind)<<24 | uint64(i))
}

func (t *handles) remove(h Handle) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.slot(h); s != nil {
		s.kind, s.ptr = noHandle, nil
		t.free = append(t.free, uint32(h&0xffffff))
	}
}

func (t *handles) slot(h Handle) *handleSlot {
	if i := int(h & 0xffffff); i < len(t.slots) && t.slots[i].gen == uint32(h>>32) && t.slots[i].kind != noHandle {
		return &t.slots[i]
	}
	return nil
}

// resolve finds the object of a handle, or the error of a call that was given a wrong one.
func resolve[T any](th *Thread, h Handle, kind handleKind, call string) (*T, error) {
	t := &th.rt.handles
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.slot(h)
	switch {
	case s == nil:
		return nil, th.fail(InvalidHandle, call, fmt.Sprintf("handle 0x%x is destroyed or never was %v", uint64(h), kind), "")
	case s.kind != kind:
		return nil, th.fail(InvalidHandle, call, fmt.Sprintf("handle 0x%x is %v, not %v", uint64(h), s.kind, kind), "")
	}
	return s.ptr.(*T), nil
}

// Handle is the stream's untyped reference; StreamOf goes back.
func (s *Stream) Handle() Handle { return s.handle }

// StreamOf is the stream of a handle. A null handle is the default stream, nil.
func (th *Thread) StreamOf(h Handle) (*Stream, error) {
	if h == 0 {
		return nil, nil
	}
	return resolve[Stream](th, h, streamHandle, "stream lookup")
}

// Handle is the event's untyped reference; EventOf goes back.
func (e *Event) Handle() Handle { return e.handle }

// EventOf is the event of a handle.
func (th *Thread) EventOf(h Handle) (*Event, error) {
	return resolve[Event](th, h, eventHandle, "event lookup")
}

// Handle is the notify's untyped reference; NotifyOf goes back.
func (n *Notify) Handle() Handle { return n.handle }

// NotifyOf is the notify of a handle.
func (th *Thread) NotifyOf(h Handle) (*Notify, error) {
	return resolve[Notify](th, h, notifyHandle, "notify lookup")
}

// Handle is the context's untyped reference; ContextOf goes back.
func (c *Context) Handle() Handle { return c.handle }

// ContextOf is the context of a handle.
func (th *Thread) ContextOf(h Handle) (*Context, error) {
	return resolve[Context](th, h, contextHandle, "context lookup")
}
