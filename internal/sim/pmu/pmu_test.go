package pmu_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"npu/internal/sim/cost"
	"npu/internal/sim/pmu"
	"npu/internal/sim/soc"
	"npu/internal/tensor"
	"npu/internal/trace/ascend"
)

func chip(t testing.TB, name string) *soc.Chip {
	t.Helper()
	c, err := soc.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func unit(t testing.TB, c *soc.Chip, group string) *pmu.Unit {
	t.Helper()
	u, err := pmu.New(c, group)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// metrics are those of a kernel by the vendor's formulas.
func metrics(t testing.TB, u *pmu.Unit, c *soc.Chip, core cost.Core, a cost.Account, w cost.Work) map[string]float64 {
	t.Helper()
	n, ok := u.Count(core, a, w)
	if !ok {
		t.Fatal("the kernel runs on no core with a PMU")
	}
	at := ascend.Core{Cycles: n.Cycles, Hz: u.Hertz(core), NominalHz: u.Hertz(core), Blocks: int64(n.Blocks), Cores: int64(cost.Units(c, core))}
	out := map[string]float64{}
	for _, f := range ascend.Formulas(u.Events(core), pmu.Platform(c)) {
		out[f.Name] = f.Value(n.Values[:], &at)
	}
	return out
}

// A matrix product on the cube: the group's figures are those of its work, by hand.
func TestCount_matrixProduct(t *testing.T) {
	c := chip(t, "Ascend910B3")
	w := cost.Work{M: 1024, N: 512, K: 256, Batch: 1, MacType: tensor.Float16, VectorType: tensor.Float16, ReadBytes: 2 * (1024*256 + 256*512), WriteBytes: 2 * 1024 * 512}
	a := cost.Estimate(c, cost.AIC, 0, w)
	for _, x := range []struct {
		group, name string
		want        float64
	}{
		{"ArithmeticUtilization", "cube_fops", 2 * 1024 * 512 * 256},
		{"MemoryAccess", "read_main_memory_datas_kb", float64(w.ReadBytes) / 1024},
		{"MemoryAccess", "write_main_memory_datas_kb", float64(w.WriteBytes) / 1024},
		{"MemoryAccess", "l0c_to_gm_datas_kb", float64(w.WriteBytes) / 1024},
		{"MemoryAccess", "gm_to_ub_datas_kb", 0},
		{"PipeUtilization", "mac_ratio", float64(a.Cycles.Cube) / float64(a.Cycles.Total)},
		{"PipeUtilization", "mte2_ratio", float64(a.Cycles.MTE2) / float64(a.Cycles.Total)},
		{"PipeUtilization", "fixpipe_ratio", float64(a.Cycles.Fixpipe) / float64(a.Cycles.Total)},
	} {
		if got := metrics(t, unit(t, c, x.group), c, cost.AIC, a, w)[x.name]; got != x.want {
			t.Errorf("%s %s is %v, want %v", x.group, x.name, got, x.want)
		}
	}
}

// On every chip, for any work: pipes fit into the kernel, hits and misses are those of the account, and bytes are those of
// the operands up to one piece.
func TestCount_sumsClose(t *testing.T) {
	var chips []*soc.Chip
	for _, name := range []string{"Ascend910B3", "Ascend310P3", "Ascend910A", "Ascend310", "Ascend950DT_9571"} {
		chips = append(chips, chip(t, name))
	}
	types := []tensor.DType{tensor.Float32, tensor.Float16, tensor.Int8, tensor.Int32, tensor.BFloat16}
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(chips).Draw(t, "chip")
		size := rapid.Int64Range(0, 1<<24)
		w := cost.Work{VectorOps: size.Draw(t, "vector"), VectorType: rapid.SampledFrom(types).Draw(t, "type"), ReadBytes: size.Draw(t, "read"), WriteBytes: size.Draw(t, "write")}
		core := rapid.SampledFrom([]cost.Core{cost.AIC, cost.AIV, cost.Mix}).Draw(t, "core")
		if core != cost.AIV && rapid.Bool().Draw(t, "product") {
			d := rapid.Int64Range(1, 2000)
			w.M, w.N, w.K, w.Batch, w.MacType = d.Draw(t, "m"), d.Draw(t, "n"), d.Draw(t, "k"), 1, rapid.SampledFrom(types).Draw(t, "mac")
		}
		a := cost.Estimate(c, core, 0, w)
		for _, group := range pmu.Groups(c) {
			u, err := pmu.New(c, group)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(u.Events(core)); n == 0 || n > pmu.Limit(c) {
				t.Fatalf("%s: %d events", group, n)
			}
			n, _ := u.Count(core, a, w)
			value := map[uint16]int64{}
			for i, e := range u.Events(core) {
				if value[e] = n.Values[i]; n.Values[i] < 0 {
					t.Fatalf("%s: event 0x%x is %d", group, e, n.Values[i])
				}
			}
			switch group {
			case "PipeUtilization":
				for e, v := range value {
					if e != 0x54 && e != 0x55 && e != 0x34 && e != 0x35 && v > n.Cycles {
						t.Fatalf("pipe 0x%x is busy for %d of %d cycles", e, v, n.Cycles)
					}
				}
			case "ResourceConflictRatio": // what the vector unit waits for is a part of its cycles
				if sum := value[0x64] + value[0x65] + value[0x66]; sum > a.Cycles.Vector || value[0x556] > a.Cycles.Vector || value[0x556] != 0 && value[0x556] != value[0x540]+value[0x528] {
					t.Fatalf("conflicts %v, the vector unit is busy for %d cycles", value, a.Cycles.Vector)
				}
			case "L2Cache":
				sum := int64(0)
				for _, v := range value {
					sum += v
				}
				if want := a.Cycles.L2Hits + a.Cycles.L2Misses; sum != want {
					t.Fatalf("%d hits and misses, the account has %d", sum, want)
				}
			case "Memory":
				for e, want := range map[uint16]int64{0x12: w.ReadBytes, 0x13: w.WriteBytes, 0x400: w.ReadBytes, 0x401: w.WriteBytes} {
					if v, ok := value[e]; ok && (v*8 < want || v*8 >= want+8) {
						t.Fatalf("event 0x%x counts %d bytes of %d", e, v*8, want)
					}
				}
			}
		}
	})
}

// Two sources whose tiles lie a multiple of all groups apart meet in every group; one source meets nothing but its result.
func TestCount_conflicts(t *testing.T) {
	c := chip(t, "Ascend910B3") // 192 KB of UB in 16 groups of banks of 4 KB, instructions of 256 bytes
	add := func(elements, blocks int64) (cost.Work, cost.Account) {
		w := cost.Work{Type: "Add", VectorOps: elements, Elements: elements, VectorType: tensor.Float32, ReadBytes: 8 * elements, WriteBytes: 4 * elements}
		return w, cost.Account{Blocks: int(blocks), Cycles: cost.Cycles{Total: 1 << 30, Vector: 1 << 20}}
	}
	count := func(w cost.Work, a cost.Account) (group, bank, transfer int64) {
		n, _ := unit(t, c, "ResourceConflictRatio").Count(cost.AIV, a, w)
		return n.Values[0], n.Values[1], n.Values[2]
	}
	// Large: three tiles of 32 KB, at 0, 32 and 64 KB. A layer of banks is 64 KB, so the result shares none with the first source,
	// and the second ends where it ends: no bank in common.
	w, a := add(40*1<<20, 40)
	if g, b, x := count(w, a); g != 40*1<<20*4/256 || b != 0 || x != 0 {
		t.Errorf("large sum: %d, %d, %d", g, b, x)
	}
	// 1024 elements a core: tiles of 4 KB in one layer, all in the same groups.
	w, a = add(40*1024, 40)
	if g, b, _ := count(w, a); g != 640 || b != 640 {
		t.Errorf("small sum: %d, %d", g, b)
	}
	// 64 + 1024 elements: the tiles are half of the groups apart, so that the sources take the two halves; the result lies where
	// the first source does.
	w, a = add(40*1088, 40)
	if g, b, _ := count(w, a); g != 0 || b != 680 {
		t.Errorf("padded sum: %d, %d", g, b)
	}
	// One source of 48 KB tiles: for the first 16 KB the result is in the layer of its source.
	w, a = add(40*1<<20, 40)
	w.ReadBytes = w.WriteBytes
	if g, b, _ := count(w, a); g != 0 || b != 40*1<<20*4/256/3 {
		t.Errorf("one source: %d, %d of %d", g, b, 40*1<<20*4/256)
	}
	// Pipes that cannot but overlap meet at UB: 16 bytes a cycle take one of 16 groups.
	a.Cycles = cost.Cycles{Total: 1000, Vector: 800, MTE2: 900, MTE3: 100}
	w.VectorOps, w.Elements, w.ReadBytes, w.WriteBytes = 1, 8, 32, 32
	if _, _, x := count(w, a); x != 800*int64((max(c.Rates.VecDDR, c.Rates.VecUBToDDR)+31)/32)/16 {
		t.Errorf("transfers: %d", x)
	}
	if n, _ := unit(t, c, "ResourceConflictRatio").Count(cost.AIC, a, w); n.Values != [10]int64{} {
		t.Errorf("a core without a vector unit counts %v", n.Values)
	}
}

func TestNew_refuses(t *testing.T) {
	c := chip(t, "Ascend910B3")
	for _, x := range []struct{ chip, group, want string }{
		{"Ascend910B3", "Pipes", "expected one of PipeUtilization"},
		{"Ascend310P3", "MemoryAccess", "does not have it"},
		{"Ascend910B3", "Custom:0x8,nine", "expected a hexadecimal number"},
		{"Ascend910B3", "Custom:1,2,3,4,5,6,7,8,9", "counts 8 at a time"},
	} {
		if _, err := pmu.New(chip(t, x.chip), x.group); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.group, err, x.want)
		}
	}
	if got := unit(t, c, "Custom:0x64,0x6b,0x57").Silent(); len(got) != 2 || got[0] != 0x6b || got[1] != 0x57 {
		t.Errorf("queues and flags are not modelled, silent are %v", got)
	}
	if n := unit(t, c, "PipeUtilization").Note(); n != "" {
		t.Errorf("all pipes are modelled: %s", n)
	}
	if _, ok := unit(t, c, "Memory").Count(cost.AICPU, cost.Account{}, cost.Work{}); ok {
		t.Error("an AI CPU has no PMU")
	}
}

// Loading a kernel counts it without garbage.
func TestCount_allocates(t *testing.T) {
	c := chip(t, "Ascend910B3")
	u := unit(t, c, "Memory")
	w := cost.Work{VectorOps: 1 << 20, VectorType: tensor.Float32, ReadBytes: 4 << 20, WriteBytes: 4 << 20}
	a := cost.Estimate(c, cost.AIV, 0, w)
	if n := testing.AllocsPerRun(100, func() { u.Count(cost.AIV, a, w) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
