package msprof

import (
	"context"
	"maps"
	"math"
	"slices"

	"npu/internal/trace"
)

// readTables reads the kinds of records that become tables as they are.
func (d *deviceData) readTables(ctx context.Context, host *hostData) error {
	p := &place{device: int(d.number), unix: d.unix, dict: &dictionary{}, pick: func(lo, hi uint64, likely cellType) func(uint64) int64 { return d.pick(host, lo, hi, likely) }}
	for _, l := range deviceLayouts(d.v6()) {
		if !d.has(l.kind) {
			continue
		}
		s, n, bad, left, err := d.table(ctx, &l, p)
		if err != nil {
			return err
		}
		d.bad += bad
		d.count(l.kind, n, left)
		if c := s.Column("time_ns"); s.Rows > 0 && c != nil && c.Value(0) == nil && c.Value(s.Rows-1) == nil {
			d.missing("the clock of %s: the times of its %d records lie outside of the collection by all clocks that are known", l.kind, s.Rows)
		}
		s.Trim()
		d.out.AddSheet(s)
	}
	u := usage{f: &d.folder, place: p, count: func(kind string, n int64) { d.count(kind, n, 0) }, add: d.out.AddSheet}
	err := u.read(ctx, slices.Sorted(maps.Keys(d.kinds)))
	d.bad += u.bad
	return err
}

// readTables reads the kinds of records of the host that become tables as they are, and what it says of its use. offset leads from
// its monotonic clock to Unix time.
func (h *hostData) readTables(ctx context.Context, offset int64, out *trace.Source) error {
	p := &place{device: -1, dict: &h.dict, unix: func(count uint64) int64 { return h.clock.at(count) + offset }, pick: func(_, hi uint64, _ cellType) func(uint64) int64 {
		if hi > math.MaxInt64/2 {
			return nil
		}
		return func(v uint64) int64 { return int64(v) + offset } // monotonic nanoseconds
	}}
	u := usage{f: &h.folder, place: p, count: func(kind string, n int64) { h.records[kind] = n }, add: out.AddSheet}
	if err := u.read(ctx, slices.Sorted(maps.Keys(h.kinds))); err != nil {
		return err
	}
	h.bad += u.bad
	for _, l := range hostLayouts() {
		if !h.has(l.kind) {
			continue
		}
		s, n, bad, left, err := h.table(ctx, &l, p)
		if err != nil {
			return err
		}
		if h.bad += bad; left > 0 {
			h.bad++
		}
		h.records[l.kind] = n
		s.Trim()
		out.AddSheet(s)
	}
	return nil
}
