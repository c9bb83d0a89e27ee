package runtime

import (
	"fmt"

	"npu/internal/runtime/mempool"
	"npu/internal/sim"
)

var (
	callPoolCreate  = call{"aclrtMemPoolCreate", 10000}
	callPoolDestroy = call{"aclrtMemPoolDestroy", 10000}
	callPoolMalloc  = call{"aclrtMemPoolMallocAsync", 2000}
	callPoolFree    = call{"aclrtMemPoolFreeAsync", 1500}
	callPoolTrim    = call{"aclrtMemPoolTrimTo", 5000}
	callPoolAttr    = call{"aclrtMemPoolSetAttr", 1000}
)

// PoolAttr is an attribute of a stream-ordered pool, numbered as aclrtMemPoolAttr.
type PoolAttr int

// Attributes. The three switches say who may take a freed block besides the stream that freed it.
const (
	ReuseFollowEvents     PoolAttr = 1 // streams that have waited for an event behind the free
	ReuseOpportunistic    PoolAttr = 2 // anyone, once the free is passed
	ReuseInternalWaits    PoolAttr = 3 // anyone; the pool makes the stream wait on the device
	PoolReleaseThreshold  PoolAttr = 4 // bytes that stay reserved at a synchronisation
	PoolReservedCurrent   PoolAttr = 5
	PoolReservedHighWater PoolAttr = 6
	PoolUsedCurrent       PoolAttr = 7
	PoolUsedHighWater     PoolAttr = 8
)

// StreamPool hands out memory in stream order (aclrtMemPool): what was freed on a stream can be used by later tasks of
// that stream at once. Blocks are multiples of 2 MiB. It takes memory from the device when nothing that is idle fits, and
// gives idle memory above the threshold back when a stream or the device is synchronised.
type StreamPool struct {
	d         *Device
	size      uint64
	destroyed bool

	// Under Port.Call.
	blocks    []*poolBlock // by address
	spare     []*poolBlock // records for the next blocks
	switches  [4]bool
	threshold uint64
	reserved  uint64
	used      uint64
	reservedH uint64
	usedH     uint64
}

// poolBlock is memory of a pool: busy, or idle since a point of a stream.
type poolBlock struct {
	addr, bytes uint64
	busy        bool
	freed       *Stream // nil: never used
	at          uint64  // position in freed behind which it is free
	by          *Thread // that freed it, and so may submit to the stream
}

// passed says whether the block's free is over.
func (b *poolBlock) passed() bool {
	return b.freed == nil || b.freed.destroyed.Load() || b.freed.q.Retired() >= b.at
}

// CreatePool makes a pool of the current device of at most limit bytes; 0 is all of its memory (aclrtMemPoolCreate).
func (th *Thread) CreatePool(limit int64) (p *StreamPool, err error) {
	t := th.begin(callPoolCreate)
	defer func() { th.end(callPoolCreate, t, err) }()
	if err = th.forbidden(callPoolCreate); err != nil {
		return nil, err
	}
	ctx, err := th.context(callPoolCreate)
	if err != nil {
		return nil, err
	}
	tooMuch := false
	err = th.port.Call(func() {
		m := ctx.dev.memory
		total := m.pool.Stats().Total
		if tooMuch = limit < 0 || uint64(limit) > total; tooMuch {
			return
		}
		size := uint64(limit) &^ (sim.Page - 1)
		if limit == 0 {
			size = total
		}
		p = m.newPool(ctx.dev, size)
	})
	if err == nil && tooMuch {
		return nil, th.failAs(InvalidParam, "EE1011", callPoolCreate.name, fmt.Sprintf("size %d is more than the device has", limit), "give 0 for all of it")
	}
	return p, th.blocked(callPoolCreate.name, nil, err)
}

// DefaultPool is the device's own pool, as large as its memory. It lives as long as the device.
func (th *Thread) DefaultPool() (p *StreamPool, err error) {
	ctx, err := th.context(callPoolCreate)
	if err != nil {
		return nil, err
	}
	err = th.port.Call(func() {
		m := ctx.dev.memory
		if m.standard == nil {
			m.standard = m.newPool(ctx.dev, m.pool.Stats().Total)
		}
		p = m.standard
	})
	return p, th.blocked(callPoolCreate.name, nil, err)
}

// newPool makes a pool of size bytes at most. Under Port.Call.
func (m *memory) newPool(d *Device, size uint64) *StreamPool {
	p := &StreamPool{d: d, size: size, switches: [4]bool{true, true, true, true}}
	m.pools = append(m.pools, p)
	d.rt.hostMem.order.on.Store(true)
	return p
}

// DestroyPool gives the pool's memory back when the tasks under way have passed (aclrtMemPoolDestroy).
func (th *Thread) DestroyPool(p *StreamPool) error {
	return th.onPool(p, callPoolDestroy, func(m *memory) (Code, string) {
		if p == m.standard {
			return InvalidParam, "this is the device's default pool"
		}
		p.destroyed = true
		for _, b := range p.blocks {
			m.freeLater(b.addr, p.d)
		}
		p.blocks = nil
		for i, x := range m.pools {
			if x == p {
				m.pools = append(m.pools[:i], m.pools[i+1:]...)
				break
			}
		}
		return 0, ""
	})
}

// onPool runs f under Port.Call; f says what is wrong.
func (th *Thread) onPool(p *StreamPool, c call, f func(m *memory) (Code, string)) (err error) {
	t := th.begin(c)
	defer func() { th.end(c, t, err) }()
	if err = th.forbidden(c); err != nil {
		return err
	}
	if p == nil {
		return th.fail(ACLInvalidParam, c.name, "pool is null", "")
	}
	var code Code
	var bad string
	err = th.port.Call(func() {
		if p.destroyed {
			code, bad = InvalidHandle, "the pool is destroyed"
			return
		}
		code, bad = f(p.d.memory)
	})
	if err == nil && code != 0 {
		return th.fail(code, c.name, bad, "")
	}
	return th.blocked(c.name, nil, err)
}

// TrimPool gives idle memory back until no more than keep bytes are reserved (aclrtMemPoolTrimTo).
func (th *Thread) TrimPool(p *StreamPool, keep int64) error {
	return th.onPool(p, callPoolTrim, func(m *memory) (Code, string) {
		if keep < 0 || uint64(keep) > p.size || uint64(keep) < p.used {
			return InvalidParam, fmt.Sprintf("keep %d bytes of a pool of %d with %d in use", keep, p.size, p.used)
		}
		p.trim(uint64(keep))
		return 0, ""
	})
}

// PoolAttribute reads an attribute; switches are 0 or 1 (aclrtMemPoolGetAttr).
func (th *Thread) PoolAttribute(p *StreamPool, a PoolAttr) (v uint64, err error) {
	err = th.onPool(p, callPoolAttr, func(*memory) (Code, string) {
		switch a {
		case ReuseFollowEvents, ReuseOpportunistic, ReuseInternalWaits:
			if p.switches[a] {
				v = 1
			}
		case PoolReleaseThreshold:
			v = p.threshold
		case PoolReservedCurrent:
			v = p.reserved
		case PoolReservedHighWater:
			v = p.reservedH
		case PoolUsedCurrent:
			v = p.used
		case PoolUsedHighWater:
			v = p.usedH
		default:
			return InvalidParam, fmt.Sprintf("attribute %d", a)
		}
		return 0, ""
	})
	return v, err
}

// SetPoolAttribute changes an attribute; high-water marks can only be reset to 0 (aclrtMemPoolSetAttr).
func (th *Thread) SetPoolAttribute(p *StreamPool, a PoolAttr, v uint64) error {
	return th.onPool(p, callPoolAttr, func(*memory) (Code, string) {
		switch {
		case a >= ReuseFollowEvents && a <= ReuseInternalWaits && v <= 1:
			p.switches[a] = v == 1
		case a == PoolReleaseThreshold && v <= p.size:
			p.threshold = v
		case a == PoolReservedHighWater && v == 0:
			p.reservedH = p.reserved
		case a == PoolUsedHighWater && v == 0:
			p.usedH = p.used
		default:
			return InvalidParam, fmt.Sprintf("attribute %d cannot be set to %d", a, v)
		}
		return 0, ""
	})
}

// takeSegments is memory of the device for the pool.
func (p *StreamPool) takeSegments(size uint64, s *Stream) (uint64, bool) {
	return p.d.memory.take(mempool.Request{Bytes: size, Whole: sim.Page, Table: s.ctx.pages.id}, nil)
}

// noteRecord and noteWait tell the pools what streams wait for.
func (th *Thread) noteRecord(e *Event, s *Stream) {
	c := th.poolCalls()
	c.event, c.stream, c.at = e, s, s.q.Submitted()
	_ = th.port.Call(c.recorded) // an interrupt is reported where the caller waits
}

func (th *Thread) noteWait(e *Event, s *Stream) {
	c := th.poolCalls()
	c.event, c.stream = e, s
	_ = th.port.Call(c.waited)
}

// settlePools lets the pools of a device give idle memory back after a synchronisation.
func (th *Thread) settlePools(d *Device) {
	if th.rt.hostMem.order.on.Load() {
		_ = th.port.Call(d.memory.settlePools)
	}
}
