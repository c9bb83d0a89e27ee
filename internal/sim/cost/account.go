package cost

// Account is what one execution of a kernel costs. The kernel runs Blocks blocks of BlockNs each, in waves over the
// cores of its kind (Units): it takes ceil(Blocks/Units)·BlockNs when it has the device to itself.
type Account struct {
	Blocks  int   // block dim after tiling, at least 1
	BlockNs int64 // device nanoseconds of one block, start cost included
	Cycles  Cycles
}

// Cycles is the cycle account: how many cycles of the core's clock each pipe is busy, summed over the cores, so each is
// at most Total. It has the fields of trace.Account in the same order and converts to it.
type Cycles struct {
	Total, Cube, Vector, Scalar, MTE1, MTE2, MTE3, Fixpipe, ICache int64
	ReadBytes, WriteBytes, L2Hits, L2Misses                        int64
}

// Ns is the time of the whole kernel alone on a device with that many cores of its kind.
func (a Account) Ns(units int) int64 {
	return ceilDiv(int64(a.Blocks), int64(max(units, 1))) * a.BlockNs
}
