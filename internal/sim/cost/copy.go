package cost

import "npu/internal/sim/soc"

// Dir is the direction of a copy, numbered as aclrtMemcpyKind and trace.Dir.
type Dir uint8

// Copy directions.
const (
	HostToHost Dir = iota
	HostToDevice
	DeviceToHost
	DeviceToDevice
)

// CopyNs is how long one DMA engine takes to copy bytes, alone on its path, from the start of the task on: set-up,
// latency of the path, and the bytes at its bandwidth. A copy inside the device reads and writes the memory.
func CopyNs(chip *soc.Chip, dir Dir, bytes int64) int64 {
	k := constantsOf(chip.Short)
	bytes = count(bytes)
	switch dir {
	case HostToHost:
		return k.copyHost + mulDiv(bytes, 1000, k.copyHostMBs)
	case DeviceToDevice:
		return k.copyDevice + mulDiv(2*bytes, 1e9, max(chip.BandwidthBytes()/100*k.copyDevicePct, 1))
	}
	return k.copyPCIe + LinkNs(chip, chip.PCIe, bytes)
}

// LinkNs is the time of a transfer over a link between devices; 0 when the link is unknown.
func LinkNs(chip *soc.Chip, l soc.Link, bytes int64) int64 {
	if l.BytesPerSecond <= 0 {
		return 0
	}
	return l.LatencyNs + mulDiv(count(bytes), 1e9, max(l.BytesPerSecond/100*int64(chip.LinkEfficiency), 1))
}
