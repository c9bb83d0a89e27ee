package stats

import "npu/internal/trace"

// occupies says whether k held an engine of the device.
func occupies(k *trace.Task) bool {
	return k.Engine != trace.EngineNone && k.Engine != trace.EngineHost && !k.Kind.Envelope()
}

// deviceSums sums up each device.
type deviceSums struct{ all map[uint16]*deviceSum }

func newDeviceSums() deviceSums { return deviceSums{map[uint16]*deviceSum{}} }

func (s *deviceSums) add(v *view) {
	var k trace.Task
	var d *deviceSum
	for i := range v.n {
		k.Start, k.End, k.Kind, k.Engine = v.start[i], v.end[i], v.kind[i], v.engine[i]
		if id := v.device[i]; d == nil || d.Device.Device != id {
			if d = s.all[id]; d == nil {
				d = &deviceSum{Device: Device{Device: id}, from: k.Start, to: k.Start}
				s.all[id] = d
			}
		}
		d.cover(&k)
		if v.flags[i]&trace.FlagPart == 0 {
			d.add(&k)
		}
	}
}

// deviceSum sums up one device, whose tasks come by start.
type deviceSum struct {
	Device
	from, to int64
	some     bool

	engines             cover
	compute, comm, both cover
	shared              int64 // time of both kernels and collective operations

	kernels, copies cover // without parts
	copied          int64 // time of both
	covered         int64 // time of either
}

// add counts a task.
func (d *deviceSum) add(k *trace.Task) {
	d.Tasks++
	if !d.some {
		d.from, d.some = k.Start, true
	}
	d.to = max(d.to, k.End)
	switch {
	case IsCopy(k):
		d.copied += d.kernels.shared(d.copies.add(k.Start, k.End))
	case IsKernel(k):
		d.copied += d.copies.shared(d.kernels.add(k.Start, k.End))
	}
	if occupies(k) {
		d.BusyNs += k.End - k.Start
		d.UnionNs += d.engines.add(k.Start, k.End).length()
	}
}

// cover notes which times kernels and collective operations fill. It takes parts as well: they fill no other time.
func (d *deviceSum) cover(k *trace.Task) {
	switch {
	case k.Kind.Kernel():
		fresh := d.compute.add(k.Start, k.End)
		d.ComputeNs += fresh.length()
		d.shared += d.comm.shared(fresh)
	case k.Kind == trace.Communication:
		fresh := d.comm.add(k.Start, k.End)
		d.CommNs += fresh.length()
		d.shared += d.compute.shared(fresh)
	default:
		return
	}
	d.covered += d.both.add(k.Start, k.End).length()
}

func (d *deviceSum) finish() Device {
	d.SpanNs = max(d.to-d.from, 0)
	d.ExposedNs = d.CommNs - d.shared
	d.FreeNs = max(d.SpanNs-d.covered, 0)
	return d.Device
}

func (s span) length() int64 { return s.to - s.from }
