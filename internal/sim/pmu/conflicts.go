package pmu

import (
	"npu/internal/sim/cost"
	"npu/internal/sim/soc"
)

// conflicts is what the vector unit waits for at UB. UB is made of banks of rows of 32 bytes (soc.Chip: UBBank, UBBanks),
// neighbouring rows lie in neighbouring groups of banks (UBBankGroups), and in one cycle a group gives or takes one row. So an
// instruction takes a cycle more where both of its sources meet in a group, and another one where what it writes meets in a bank
// with what it reads.
//
// Where operands lie in UB the account does not say. It is taken that a kernel lays the tiles of its operands out one after the
// other, in one half of UB while the other half is loaded, which is what the queues of Ascend C do without padding. So kernels
// whose tiles are a multiple of all groups meet in them, and small kernels and those with one source mostly do not. The time model
// knows no conflicts: these are a part of the vector unit's cycles and never more than those.
type conflicts struct {
	group    int64 // cycles for sources that meet in a group of banks
	bank     int64 // cycles for reads and writes that meet in a bank
	transfer int64 // cycles in which MTE2 and MTE3 hold the groups that the unit needs
}

func newConflicts(chip *soc.Chip, core cost.Core, a *cost.Account, w *cost.Work) conflicts {
	c := &a.Cycles
	groups, row := int64(chip.UBBankGroups), int64(chip.UBBlock)
	if c.Vector == 0 || groups == 0 || row == 0 || core == cost.AIC && chip.Split {
		return conflicts{}
	}
	step := int64(max(chip.VecLanes, 1)) * 2 // bytes of an operand that an instruction takes
	bytes := operand(w)
	sources := int64(1)
	if w.ReadBytes > bytes+bytes/2 { // of two operands of this size, or nearly
		sources = 2
	}
	room := int64(chip.UB)
	if core != cost.AIC {
		room = int64(chip.VecUB)
	}
	tile := min(ceil(bytes, int64(max(a.Blocks, 1))), room/2/(sources+1)/step*step)
	tile = ceil(tile, row) * row
	n := ceil(bytes, step) // instructions that read the operands, and that write the result
	var out conflicts
	if sources == 2 && meet(tile/row, step/row, groups) {
		out.group = n
	}
	layer := groups * int64(chip.UBBank) // the first bank of every group, then come the second ones
	for source := range sources {
		if to := sources * tile; tile > 0 && meet((to-source*tile)/row, step/row, groups) {
			out.bank = max(out.bank, n*(together(source*tile, to, tile, layer)/row)/(tile/row))
		}
	}
	// A transfer holds the groups that its bytes of a cycle go to, in the cycles in which it certainly runs beside the unit.
	r := &chip.Rates
	rate := int64(max(r.DDRRead, r.UBToDDR))
	if core == cost.AIV && chip.VectorCores > 0 {
		rate = int64(max(r.VecDDR, r.VecUBToDDR))
	}
	beside := min(max(c.Vector+c.MTE2+c.MTE3-c.Total, 0), c.Vector)
	out.transfer = beside * min(ceil(rate, row), groups) / groups

	out.group = min(out.group, c.Vector)
	out.bank = min(out.bank, c.Vector-out.group)
	out.transfer = min(out.transfer, c.Vector-out.group-out.bank)
	return out
}

// operand is the bytes of an operand that the vector unit walks in full.
func operand(w *cost.Work) int64 {
	if w.Elements > 0 {
		return w.Elements * int64(max(w.VectorType.Size(), 1))
	}
	return max(w.ReadBytes, w.WriteBytes)
}

// meet says whether two runs of so many rows, that far apart, have a group of banks in common.
func meet(distance, rows, groups int64) bool {
	d := distance % groups
	return d < rows || groups-d < rows
}

// together is for how many bytes two tiles lie in one layer while both are walked from their starts.
func together(a, b, tile, layer int64) (same int64) {
	for x := int64(0); x < tile; {
		from, to := a+x, b+x
		n := min(tile-x, layer-from%layer, layer-to%layer)
		if from/layer == to/layer {
			same += n
		}
		x += n
	}
	return same
}
