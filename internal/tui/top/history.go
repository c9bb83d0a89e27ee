package top

import "math"

// maxSamples is how much of the past is kept for a device: 17 minutes at one frame a second.
const maxSamples = 1024

// series is the past of one figure; NaN where it was unknown.
type series struct {
	v        []float64
	min, max float64 // since the last reset; NaN before the first sample
	sum      float64
	n        int
}

func (s *series) add(v Value) {
	x := math.NaN()
	if v.Known {
		x = v.N
		s.sum, s.n = s.sum+x, s.n+1
		if s.n == 1 {
			s.min, s.max = x, x
		}
		s.min, s.max = math.Min(s.min, x), math.Max(s.max, x)
	}
	if len(s.v) == maxSamples {
		copy(s.v, s.v[1:])
		s.v = s.v[:maxSamples-1]
	}
	s.v = append(s.v, x)
}

func (s *series) reset() { s.min, s.max, s.sum, s.n = math.NaN(), math.NaN(), 0, 0 }

// past is what is remembered of one device.
type past struct {
	util, mem, power, temp, moved series
}

func (p *past) all() [5]*series { return [5]*series{&p.util, &p.mem, &p.power, &p.temp, &p.moved} }

// history is the past of all devices.
type history struct {
	of      map[Key]*past
	samples int
}

func newHistory() *history { return &history{of: map[Key]*past{}} }

// add takes the figures of a frame. A frame that only repeats old figures leaves a gap.
func (h *history) add(f *Frame) {
	h.samples++
	stale := map[string]bool{}
	for _, s := range f.Sources {
		stale[s.Name] = s.State == Stale
	}
	for i := range f.Devices {
		d := &f.Devices[i]
		p := h.get(d.Key())
		values := [5]Value{d.Util, d.Mem().Share(), d.Power, d.Temp, d.Bandwidth}
		for j, s := range p.all() {
			if stale[d.Source] {
				values[j] = Unknown("no answer")
			}
			s.add(values[j])
		}
	}
}

// get is the past of a device, empty when there is none.
func (h *history) get(k Key) *past {
	p, ok := h.of[k]
	if !ok {
		p = &past{}
		for _, s := range p.all() {
			s.reset()
		}
		if len(h.of) < 4096 { // a source whose ids never repeat must not fill the memory
			h.of[k] = p
		}
	}
	return p
}

func (h *history) reset() {
	for _, p := range h.of {
		for _, s := range p.all() {
			s.reset()
		}
	}
}

// scaled is the samples divided by a full value.
func scaled(v []float64, full float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = x / full
	}
	return out
}
