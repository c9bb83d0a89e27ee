// Package soc holds what is known of each Ascend chip: cores, clocks, memories, rates, runtime limits and links. It is
// a table and a few formulas on it; time is package cost's business.
package soc

import "npu/internal/tensor"

// MKN is the block that one cube instruction multiplies a cycle: M×K by K×N elements. The zero value is unknown.
type MKN struct{ M, K, N int }

// Link is a path between devices or to the host; zero BytesPerSecond: unknown. BytesPerSecond is nominal and for one
// direction, see Chip.LinkEfficiency.
type Link struct {
	BytesPerSecond int64
	LatencyNs      int64
}

// Rates are bytes per cycle of the core's clock for one core while all cores are active. 0: the path does not exist or
// is unknown.
type Rates struct {
	DDRRead, DDRWrite     int // main memory
	L2Read, L2Write       int
	L1ToL0A, L1ToL0B      int // MTE1
	L1ToUB, UBToL1        int // parts whose AI core has a vector unit
	L0CToUB               int // read-out of accumulators; FIXPIPE on split parts
	UBToL2, UBToDDR       int // MTE3
	VecDDR, VecL2         int // the same for a vector core of its own
	VecUBToL2, VecUBToDDR int
	VecAssumed            bool // no such section in the part's file: half of the AI core's
}

// Chip is one part. It is shared and must not be changed. Where a figure is not known it is 0.
type Chip struct {
	Name       string // "Ascend910B3"
	Short      string // Short_SoC_version: the family, "Ascend910B"
	Like       string // the part that lends the figures that are not transcribed for this one; or empty
	AICVersion string // "AIC-C-220"
	NpuArch    int    // 2201

	AICores     int  // ceiling of the block dim of one wave of cube and MIX kernels
	CubeCores   int  // 0 where the file does not tell them from AICores
	VectorCores int  // cores with only a vector unit; 0: vector kernels run on the AI cores
	MixCores    int  // 310P: AI cores and vector cores together
	AICPUs      int  // servers of the AI CPU engine
	Split       bool // cube and vector are separate cores, two vector cores to a cube core
	BF16        bool // bfloat16 on the cube

	CubeMHz, VecMHz int // VecMHz 0: the vector unit runs at CubeMHz
	VecLanes        int // float16 lanes of a vector instruction
	VecPipes        int // vector instructions a cycle: 2 on the 950 family

	MemoryBytes   int64
	MemoryAssumed bool // the part's file leaves the size to the driver; this is a common one
	L2Bytes       int64
	NominalMBs    int64 // memory bandwidth of the data sheet, 10^6 bytes a second

	L0A, L0B, L0C, L1, UB                        int // bytes
	VecUB                                        int // UB of a vector core of its own
	UBBlock, UBBank, UBBanks, UBBankGroups       int // bytes, bytes, count, count
	BiasTable, FixpipeBuffer                     int // bytes (bt_size, fb0_size)
	PaddingSize                                  int // bytes that an allocation gets behind its end
	Rates                                        Rates
	VirtualSizes                                 []int // core counts that a virtual NPU may have
	CompilerStreams, CompilerDepth               int   // normal_stream_num, normal_stream_depth
	mknDefault, mknInt8, mknInt4, mknF32, mknFP8 MKN

	Limits
}

// Limits are facts of the family in the runtime's own device table and in its documentation.
type Limits struct {
	Runtime           string // the runtime's name of the family ("910_B_93")
	StreamsPhysical   int    // hardware rings
	StreamMax         int    // streams that can be allocated; captured ones need no ring until they run
	StreamsDocumented int
	RingDepth         int // descriptors in a ring
	RingUsable        int // tasks it takes before a submitter waits (310: kept by software, beyond RingDepth)
	RingHeld          int // descriptors held back
	TaskObjects       int // task objects of a stream; 0: a list of its own
	PersistentTasks   int // tasks of a persistent stream
	DeviceTasks       int
	TaskIDs           int // distinct task ids of a stream before they wrap (950: ring positions)
	EventClockHz      int64
	EventPool         int // event ids taken from the driver at a time; 0: one by one
	EventMax          int
	NotifyMax         int
	CountingNotify    bool
	AICPUStreamBase   int // first stream id of AI CPU streams
	Prefetch          int // tasks that the scheduler reads ahead
	DMAEngines        int // assumed: one for each direction over PCIe, one inside the device

	PCIe           Link
	HCCS           Link  // to a device of the same mesh
	HCCSFarNs      int64 // latency across the second level of switches
	SIO            Link  // to the other die of the card
	RoCE           Link
	LinkEfficiency int    // percent of the nominal bandwidth that a link gives
	Assumed        string // which of these are assumptions
}

// MKN is the cube's block for a data type.
func (c *Chip) MKN(t tensor.DType) MKN {
	m := c.mknDefault
	switch t {
	case tensor.Int8, tensor.Uint8:
		m = c.mknInt8
	case tensor.Int4, tensor.Uint4:
		m = c.mknInt4
	case tensor.Float32:
		m = c.mknF32
	case tensor.Float8E4M3, tensor.Float8E5M2:
		m = c.mknFP8
	}
	if m.M == 0 {
		return c.mknDefault
	}
	return m
}

// VectorMHz is the clock of a vector core.
func (c *Chip) VectorMHz() int {
	if c.VecMHz > 0 {
		return c.VecMHz
	}
	return c.CubeMHz
}

// CubeUnits is how many cubes there are.
func (c *Chip) CubeUnits() int { return max(c.CubeCores, c.AICores) }

// VectorUnits is how many cores take vector kernels: the vector cores, or the AI cores where there are none.
func (c *Chip) VectorUnits() int {
	if c.VectorCores > 0 {
		return c.VectorCores
	}
	return c.AICores
}

// CubeTFLOPS is the peak of the cubes for a type, 2·M·K·N·cores·clock in 10^12 operations a second. The vendor's
// nominal fp16 figure on the 910B family is 6 to 14 % above it, bf16 agrees.
func (c *Chip) CubeTFLOPS(t tensor.DType) float64 {
	m := c.MKN(t)
	return 2 * float64(m.M*m.K*m.N) * float64(c.CubeUnits()) * float64(c.CubeMHz) / 1e6
}

// VectorTFLOPS is the peak of the vector units in fp16 multiply-adds by the formula 2·lanes·cores·clock. It does not
// contain the second pipe of the 950 family (VecPipes).
func (c *Chip) VectorTFLOPS() float64 {
	cycles := float64(c.VectorCores * c.VectorMHz())
	if !c.Split {
		cycles += float64(c.AICores * c.CubeMHz)
	}
	return 2 * float64(c.VecLanes) * cycles / 1e6
}

// MemoryGBs is the main memory's read bandwidth by the formula rate·cores·clock, in 10^9 bytes a second. It can exceed
// the memory's own figure, see BandwidthBytes.
func (c *Chip) MemoryGBs() float64 {
	bytes := float64(c.Rates.DDRRead * c.AICores * c.CubeMHz)
	if !c.Split {
		bytes += float64(c.Rates.VecDDR * c.VectorCores * c.VectorMHz())
	}
	return bytes / 1e3
}

// L2GBs is the read bandwidth of the L2 cache by the same formula for the AI cores.
func (c *Chip) L2GBs() float64 {
	return float64(c.Rates.L2Read*c.AICores*c.CubeMHz) / 1e3
}

// BandwidthBytes is the main memory's bandwidth in bytes a second: the formula, but no more than nominal.
func (c *Chip) BandwidthBytes() int64 {
	b := int64(c.Rates.DDRRead) * int64(c.AICores) * int64(c.CubeMHz)
	if !c.Split {
		b += int64(c.Rates.VecDDR) * int64(c.VectorCores) * int64(c.VectorMHz())
	}
	if c.NominalMBs > 0 {
		b = min(b, c.NominalMBs)
	}
	return b * 1e6
}
