package cost_test

import (
	"testing"

	"pgregory.net/rapid"

	"npu/internal/sim/cost"
	"npu/internal/sim/soc"
	"npu/internal/tensor"
	"npu/internal/trace"
)

func chip(t testing.TB, name string) *soc.Chip {
	t.Helper()
	c, err := soc.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func drawWork(t *rapid.T) cost.Work {
	dim := func(name string) int64 {
		return int64(rapid.Uint32Range(0, 1<<rapid.IntRange(0, 14).Draw(t, "bits")).Draw(t, name))
	}
	big := func(name string) int64 {
		return int64(rapid.Uint64Range(0, 1<<rapid.IntRange(0, 34).Draw(t, "bits")).Draw(t, name))
	}
	types := []tensor.DType{tensor.Undefined, tensor.Float16, tensor.Float32, tensor.Int8, tensor.Int64, tensor.Float8E4M3}
	return cost.Work{
		M: dim("m"), N: dim("n"), K: dim("k"), Batch: dim("batch"), MacType: rapid.SampledFrom(types).Draw(t, "mac"),
		VectorOps: big("vec"), VectorType: rapid.SampledFrom(types).Draw(t, "vectype"), ScalarOps: big("scalar") / 64,
		ReadBytes: big("read"), WriteBytes: big("write"), WeightBytes: big("weights"),
		Elements: big("elements"), Runs: big("runs") / 64, Cold: rapid.Bool().Draw(t, "cold"), HF32: rapid.Bool().Draw(t, "hf32"),
		TransA: rapid.Bool().Draw(t, "transA"), TransB: rapid.Bool().Draw(t, "transB"),
		Type: rapid.SampledFrom([]string{"", "MatMulV2", "Add", "ReduceSumD", "Slice", "Unheard", "Cos"}).Draw(t, "type"),
	}
}

var cores = []cost.Core{cost.AIC, cost.AIV, cost.Mix, cost.AICPU}

func TestEstimate_accountCloses(t *testing.T) {
	chips := soc.All()
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(chips).Draw(t, "chip")
		core := rapid.SampledFrom(cores).Draw(t, "core")
		blocks := rapid.IntRange(-1, 300).Draw(t, "blocks")
		w := drawWork(t)
		a := cost.Estimate(c, core, blocks, w)
		units := cost.Units(c, core)
		if a.Blocks < 1 || a.BlockNs < 1 || blocks > 0 && a.Blocks > max(blocks, 1) || blocks <= 0 && a.Blocks > units {
			t.Fatalf("%s %v, %d asked: %+v", c.Name, core, blocks, a)
		}
		if a.Blocks > units && a.Blocks%units != 0 {
			t.Fatalf("%s %v: %d blocks leave a wave of %d cores half empty", c.Name, core, a.Blocks, units)
		}
		y := trace.Account(a.Cycles)
		for i, p := range []int64{y.Cube, y.Vector, y.Scalar, y.MTE1, y.MTE2, y.MTE3, y.Fixpipe, y.ICache} {
			if p < 0 || p > y.Total {
				t.Fatalf("%s %v %+v: pipe %d is busy %d of %d cycles", c.Name, core, w, i, p, y.Total)
			}
		}
		if y.ReadBytes != w.ReadBytes || y.WriteBytes != w.WriteBytes || y.L2Hits < 0 || y.L2Misses < 0 {
			t.Fatalf("%+v: %+v", w, y)
		}
		// The device time of the cores is the total cycles: blocks of one wave hold the core for what the account says.
		clock := int64(c.CubeMHz)
		if core == cost.AIV && c.VectorCores > 0 {
			clock = int64(c.VectorMHz())
		}
		if core != cost.AICPU {
			wall := a.Ns(units) * min(int64(a.Blocks), int64(units)) * clock / 1000
			if y.Total > wall+int64(units)*clock {
				t.Fatalf("%s %v: %d cycles do not fit into %d", c.Name, core, y.Total, wall)
			}
		}
	})
}

func TestEstimate_moreWorkIsNeverFaster(t *testing.T) {
	chips := soc.All()
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(chips).Draw(t, "chip")
		core := rapid.SampledFrom(cores).Draw(t, "core")
		blocks := rapid.SampledFrom([]int{0, 1, 3, 16, 1000}).Draw(t, "blocks")
		less := drawWork(t)
		less.WeightBytes = min(less.WeightBytes, less.ReadBytes)
		more := less
		fields := []*int64{&more.M, &more.N, &more.K, &more.Batch, &more.VectorOps, &more.ScalarOps, &more.ReadBytes, &more.WriteBytes, &more.WeightBytes, &more.Runs}
		p := rapid.SampledFrom(fields).Draw(t, "field")
		*p += int64(rapid.Uint64Range(1, 1<<rapid.IntRange(0, 20).Draw(t, "bits")).Draw(t, "more"))
		if more.WeightBytes > more.ReadBytes {
			more.ReadBytes = more.WeightBytes
		}
		a, b := cost.Estimate(c, core, blocks, less), cost.Estimate(c, core, blocks, more)
		units := cost.Units(c, core)
		waves := max(a.Blocks, b.Blocks)/units + 1 // each wave may round up by a nanosecond
		if b.Ns(units)+int64(waves) < a.Ns(units) {
			t.Fatalf("%s %v %d blocks: %+v takes %d ns, %+v only %d", c.Name, core, blocks, less, a.Ns(units), more, b.Ns(units))
		}
	})
}

func TestEstimate_extremes(t *testing.T) {
	huge := int64(1) << 62
	for _, c := range soc.All() {
		for _, core := range cores {
			for _, w := range []cost.Work{
				{}, {M: huge, N: huge, K: huge, Batch: huge, VectorOps: huge, ScalarOps: huge, ReadBytes: huge, WriteBytes: huge, WeightBytes: huge},
				{M: -1, N: -5, VectorOps: -huge, ReadBytes: -1}, {ReadBytes: 1, WeightBytes: 1 << 40},
			} {
				a := cost.Estimate(c, core, 0, w)
				if a.Blocks < 1 || a.BlockNs <= 0 || a.Cycles.Total < 0 || a.Ns(cost.Units(c, core)) <= 0 {
					t.Errorf("%s %v %+v: %+v", c.Name, core, w, a)
				}
			}
		}
	}
}

// Simple kernels for which a few lines of arithmetic say the time.
func TestEstimate_byHand(t *testing.T) {
	b3 := chip(t, "910B3")
	within := func(what string, got int64, want float64) {
		t.Helper()
		if d := float64(got)/want - 1; d < -0.1 || d > 0.1 {
			t.Errorf("%s: %d ns, want about %.0f", what, got, want)
		}
	}
	// A large product is bound by the cube: 2·8192³ at 80 % of the peak.
	n := int64(8192)
	mm := cost.Work{M: n, N: n, K: n, Batch: 1, MacType: tensor.BFloat16, ReadBytes: 4 * n * n, WriteBytes: 2 * n * n}
	a := cost.Estimate(b3, cost.AIC, 0, mm)
	within("matmul", a.Ns(20), 2*float64(n*n*n)/(0.8*b3.CubeTFLOPS(tensor.BFloat16)*1e3)+5000)
	if a.Blocks != 20 {
		t.Errorf("%d blocks", a.Blocks)
	}
	mm.MacType = tensor.Float32
	within("fp32 matmul", cost.Estimate(b3, cost.AIC, 0, mm).Ns(20), 2*float64(n*n*n)/(0.8*0.28*b3.CubeTFLOPS(tensor.BFloat16)*1e3)+5000)
	// A copy of 1 GiB is bound by the memory.
	v := cost.Work{VectorOps: 1 << 28, VectorType: tensor.Float32, ReadBytes: 1 << 30, WriteBytes: 1 << 30}
	within("copy", cost.Estimate(b3, cost.AIV, 0, v).Ns(40), float64(2<<30)/1152+2000)
	// One block alone: its port to L2 (32 bytes a cycle out, of which 80 %) is slower than four shares of the memory.
	within("one block", cost.Estimate(b3, cost.AIV, 1, v).Ns(40), float64(1<<30)/(0.8*32*1.8)+2000)
	v.WriteBytes = 1 << 28
	within("one reading block", cost.Estimate(b3, cost.AIV, 1, v).Ns(40), float64(1<<30)/(0.8*55*1.8)+2000)
	// Nothing but the start.
	within("empty", cost.Estimate(b3, cost.AIV, 0, cost.Work{}).Ns(40), 1500)
	within("empty cube", cost.Estimate(b3, cost.AIC, 0, cost.Work{}).Ns(20), 5000)
	// Waves change the granularity, not the time.
	long := cost.Estimate(b3, cost.AIC, 100, mm)
	if long.Blocks != 100 {
		t.Errorf("%d blocks of 100", long.Blocks)
	}
	within("five waves", long.Ns(20), float64(cost.Estimate(b3, cost.AIC, 0, mm).Ns(20)))
}

func TestEstimate_doesNotAllocate(t *testing.T) {
	c := chip(t, "910B3")
	w := cost.Work{M: 512, N: 512, K: 512, Batch: 2, MacType: tensor.Float16, VectorOps: 1 << 20, ReadBytes: 1 << 20, WriteBytes: 1 << 20}
	var sink int64
	if n := testing.AllocsPerRun(100, func() {
		for _, core := range cores {
			sink += cost.Estimate(c, core, 24, w).BlockNs
		}
		sink += cost.CopyNs(c, cost.HostToDevice, 1<<20)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestCopyNs(t *testing.T) {
	c := chip(t, "910B3")
	for _, d := range []struct {
		dir  cost.Dir
		gbs  float64
		base int64
	}{
		{cost.HostToDevice, 0.7 * 64, 3000}, {cost.DeviceToHost, 0.7 * 64, 3000},
		{cost.DeviceToDevice, 1152.0 / 4, 1500}, {cost.HostToHost, 12, 300},
	} {
		if got := cost.CopyNs(c, d.dir, 0); got != d.base {
			t.Errorf("direction %d: %d ns for nothing, want %d", d.dir, got, d.base)
		}
		got := float64(cost.CopyNs(c, d.dir, 1<<30)-d.base) / float64(1<<30) * d.gbs
		if got < 0.99 || got > 1.01 {
			t.Errorf("direction %d: %.3f of the expected time", d.dir, got)
		}
	}
	if cost.LinkNs(c, c.SIO, 1) != 0 || cost.LinkNs(c, c.HCCS, 0) != 500 || cost.CopyNs(c, cost.HostToDevice, -1) != 3000 {
		t.Error("links")
	}
}

func BenchmarkEstimate(b *testing.B) {
	c := chip(b, "910B3")
	w := cost.Work{M: 512, N: 512, K: 512, Batch: 2, MacType: tensor.Float16, VectorOps: 1 << 20, ReadBytes: 1 << 20, WriteBytes: 1 << 20}
	b.ReportAllocs()
	for b.Loop() {
		cost.Estimate(c, cost.AIC, 24, w)
	}
}
