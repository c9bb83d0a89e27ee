package sim

import (
	"npu/internal/sim/cost"
	"npu/internal/sim/soc"
	"npu/internal/trace"
)

// Device is one simulated NPU: its cores and DMA channels, its memory, its hardware events.
type Device struct {
	m       *Machine
	id      int
	chip    *soc.Chip
	hbm     *window
	engines [engines]engine
	dirty   bool
	peers   []*Space // of each device by number: the address space of it that this one may reach, or nil

	eventCount, notifyCount int
	// EventIDs is signalled whenever a descriptor that names an event is through: an id may have become free.
	EventIDs Cond
	call     Call
	poison   []uint64 // memory that fails, ascending
	// lastFault is the latest error of a task, until somebody has dealt with it.
	lastFault *Fault

	opDefault, cpuDefault int64 // how long kernels may run, in ns
	usage                 usage
}

func newDevice(m *Machine, id int, chip *soc.Chip) (*Device, error) {
	d := &Device{m: m, id: id, chip: chip, opDefault: opDefault(chip, false), cpuDefault: opDefault(chip, true)}
	d.engines[trace.EngineCube].units = uint32(max(1, chip.CubeUnits()))
	d.engines[trace.EngineVector].units = uint32(max(0, chip.VectorCores))
	d.engines[trace.EngineDMA].units = uint32(max(1, chip.DMAEngines))
	d.engines[trace.EngineAICPU].units = uint32(max(1, chip.AICPUs))
	for i := range d.engines {
		d.engines[i].free = d.engines[i].units
	}
	size := m.cfg.MemoryBytes
	if size == 0 {
		size = chip.MemoryBytes
	}
	var err error
	d.hbm, err = newWindow(deviceBase+uint64(id)*deviceStride, (size+Page-1)/Page*Page)
	return d, err
}

// ID is the device's number.
func (d *Device) ID() int { return d.id }

// Chip is what the device is.
func (d *Device) Chip() *soc.Chip { return d.chip }

// Units is how many cores or channels of an engine the device has.
func (d *Device) Units(e trace.Engine) int { return int(d.engines[e].units) }

// Memory is the range of the device's addresses.
func (d *Device) Memory() (base uint64, bytes int64) { return d.hbm.base, int64(len(d.hbm.mem)) }

// Bytes is device memory as the host's side of the bus sees it, for loading programs and weights; nil outside it.
func (d *Device) Bytes(addr uint64, n int) []byte {
	off := addr - d.hbm.base
	if off >= uint64(len(d.hbm.mem)) || n < 0 || uint64(n) > uint64(len(d.hbm.mem))-off {
		return nil
	}
	return d.hbm.mem[off : off+uint64(n) : off+uint64(n)]
}

// HugePages prefers 2 MiB pages for a range that is about to be filled.
func (d *Device) HugePages(addr uint64, n int64) { d.hbm.huge(int64(addr-d.hbm.base), n) }

// SetPeer lets this device reach what is mapped in an address space of another one; nil takes that away. Call it from
// Port.Call.
func (d *Device) SetPeer(o *Device, s *Space) {
	for len(d.peers) < len(d.m.devices) {
		d.peers = append(d.peers, nil)
	}
	d.peers[o.id] = s
}

// copyTime is the time of the copy in descriptor c. Between devices it takes the link between them.
func (d *Device) copyTime(c *Desc) int64 {
	bytes := int64(c[7])
	if c.dir() == trace.DeviceToDevice && len(d.m.devices) > 1 && (d.Bytes(c[5], 0) == nil || d.Bytes(c[6], 0) == nil) {
		link := d.chip.HCCS
		if link.BytesPerSecond == 0 {
			link = d.chip.PCIe
		}
		return cost.CopyNs(d.chip, cost.DeviceToDevice, 0) + cost.LinkNs(d.chip, link, bytes)
	}
	return cost.CopyNs(d.chip, cost.Dir(c.dir()), bytes)
}
