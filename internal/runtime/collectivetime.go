package runtime

import (
	"npu/internal/sim/cost"
	"npu/internal/sim/soc"
)

// AllReduceNs is what an all-reduce of n devices in place takes by the formula of its way, in device ns: on a ring
// 2(n-1)/n of the bytes go over each link; on a mesh twice 1/n of them go over each, as many at once as a device has DMA
// engines, and between the two every rank combines what has come in its memory. Starts, notifies and uneven ends are not
// in it: large ones take up to 3 % more. 0 where the links of the chip are not known.
func AllReduceNs(chip *soc.Chip, alg Algorithm, n int, bytes int64) int64 {
	if n < 2 {
		return 0
	}
	piece := bytes / int64(n)
	hop := cost.LinkNs(chip, chip.HCCS, piece)
	if alg == Ring {
		return 2 * int64(n-1) * hop
	}
	engines := int64(max(1, chip.DMAEngines))
	rounds := (int64(n-1) + engines - 1) / engines
	local := cost.CopyNs(chip, cost.DeviceToDevice, piece)
	total := 2*rounds*hop + int64(n-1)*local
	if int64(n-1)%engines == 0 { // the rank's own part finds no engine free beside the last sends
		total += local
	}
	return total
}
