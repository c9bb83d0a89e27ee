package mempool

// Policy is which pages a block is made of, numbered as aclrtMemMallocPolicy.
type Policy uint8

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

// Known says whether p is one of the policies.
func (p Policy) Known() bool { return p < policies }

// Page is the size of the pages that p asks for in whole, 0 for those that share pages.
func (p Policy) Page() uint64 {
	switch p {
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
