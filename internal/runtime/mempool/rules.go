package mempool

// Policy is which pages a block is made of, numbered as aclrtMemMallocPolicy.
type Policy uint32

// Policies. Those with Peer can be reached by other devices.
const (
	HugeFirst      Policy = iota // 2 MiB pages above 1 MiB, otherwise as it comes
	HugeOnly                     // whole 2 MiB pages
	NormalOnly                   // 4 KiB pages
	HugeFirstPeer                //
	HugeOnlyPeer                 //
	NormalOnlyPeer               //
	Huge1GOnly                   // whole 1 GiB pages
	Huge1GOnlyPeer               //
	policies
)

// Hints that can be added to a policy. They change nothing: a simulated device has one kind of memory, and the host sees
// none of it.
const (
	LowBandwidth     Policy = 0x100 // DDR
	HighBandwidth    Policy = 0x1000
	HostReadOnly     Policy = 0x100000
	hints                   = LowBandwidth | HighBandwidth | HostReadOnly
	contradictoryMem        = LowBandwidth | HighBandwidth
)

// Known says whether p is one of the policies, with hints that do not contradict each other.
func (p Policy) Known() bool {
	return p.Plain() < policies && p&contradictoryMem != contradictoryMem
}

// Plain is p without hints.
func (p Policy) Plain() Policy { return p &^ hints }

// Page is the size of the pages that p asks for in whole, 0 for those that share pages.
func (p Policy) Page() uint64 {
	switch p.Plain() {
	case HugeOnly, HugeOnlyPeer:
		return Segment
	case Huge1GOnly, Huge1GOnlyPeer:
		return 1 << 30
	}
	return 0
}

// Round is the unit of a block's size in bytes: vector loads and stores move whole 32-byte blocks.
const Round = 32

// Padded is what a request of n bytes takes: whole 32-byte blocks, and the chip's padding behind them, since a vector
// load may read past the end. aclrtMallocAlign32 and 1 GiB pages have no padding.
func Padded(n uint64, padding int) uint64 {
	return (n+Round-1)/Round*Round + uint64(padding)
}
