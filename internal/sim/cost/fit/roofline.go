package fit

import (
	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// Roofline is the time by the data sheet alone, in nanoseconds: operations over the peak or bytes over the memory
// bandwidth, whichever is longer. There is no start and no loss in it.
func (s Sample) Roofline() int64 {
	w, c := &s.Work, s.Chip
	seconds := float64(w.ReadBytes+w.WriteBytes) / float64(max(c.BandwidthBytes(), 1))
	if s.Core != cost.AIV && w.MacType != tensor.Undefined {
		ops := 2 * float64(w.M) * float64(w.N) * float64(w.K) * float64(w.Batch)
		seconds = max(seconds, ops/(c.CubeTFLOPS(w.MacType)*1e12))
	}
	if v := c.VectorTFLOPS(); v > 0 {
		seconds = max(seconds, float64(w.VectorOps)/(v*1e12/2))
	}
	return max(int64(seconds*1e9), 1)
}
