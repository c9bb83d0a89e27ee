package cost

import "npu/internal/sim/soc"

// cpu charges a kernel on the AI CPUs: scalar operations and bytes, one after the other. Matrix products and vector
// operations count as scalar ones. Cycles are those of the AI CPU. A kernel that asks for no block dim gets one CPU.
func cpu(chip *soc.Chip, k *constants, start int64, blocks int, w Work) Account {
	ops := w.ScalarOps + w.VectorOps
	ops = min(ops+mul(2, mul(mul(w.M, w.N), mul(w.K, w.Batch))), ceiling)
	bytes := w.ReadBytes + w.WriteBytes
	n := min(int64(max(blocks, 1)), int64(Units(chip, AICPU)))
	used := max(parts(ops, k.aicpuGrain, n), parts(bytes, k.aicpuGrain, n))
	busy := share(ops, k.aicpuGrain, n) + mulDiv(share(bytes, k.aicpuGrain, n), k.aicpuMHz, k.aicpuMBs)
	total := mul(busy, used)
	return Account{
		Blocks:  int(used),
		BlockNs: start + mulDiv(busy, 1000, k.aicpuMHz),
		Cycles: Cycles{Total: total, Scalar: min(ops, total), ReadBytes: w.ReadBytes, WriteBytes: w.WriteBytes,
			L2Misses: ceilDiv(bytes, k.line)},
	}
}
