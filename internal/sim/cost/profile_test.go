package cost_test

import (
	"strings"
	"testing"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

func TestCanonical(t *testing.T) {
	for typ, want := range map[string]string{
		"MatMulV3": "MatMul", "MatMul": "MatMul", "BatchMatMulV2": "BatchMatMul", "ReduceSumD": "ReduceSum", "LpNormReduceV2": "LpNormReduce",
		"Conv2D": "Conv2D", "SplitVD": "SplitVD", "GatherV2": "Gather", "ApplyAdamWV2": "ApplyAdamW", "MyOp": "MyOp", "MyOpV2": "MyOp", "": "", "D": "D", "V2": "V2",
	} {
		if got := cost.Canonical(typ); got != want {
			t.Errorf("%s is %s, want %s", typ, got, want)
		}
	}
	for typ, want := range map[string]cost.Class{
		"MatMulV3": cost.Matmul, "hcom_allReduce_": cost.Communication, "ReduceSumD": cost.Reduction, "StridedSliceD": cost.Cut, "Unheard": cost.Other,
	} {
		if got := cost.LookupOperator(typ).Class; got != want {
			t.Errorf("%s is of class %s, want %s", typ, got, want)
		}
	}
}

// A figure comes from the chip's type, else the type, else the class, else the kind of core, else the assumptions.
func TestProfile_inherits(t *testing.T) {
	b1, b2, b3 := chip(t, "910B1"), chip(t, "910B2"), chip(t, "910B3")
	p := &cost.Profile{}
	assumed := p.Constants(b1, cost.AIV, "Add")
	if assumed[cost.Start] <= 0 || assumed[cost.Instr] != 0 || assumed[cost.Stream] != 1000 {
		t.Fatalf("%v", assumed)
	}
	p.Set(cost.Scope{Chip: "*", Name: "vector"}, cost.Constants{cost.Start: 11, cost.Stream: 12, cost.L2Gain: 113, cost.Run: 14})
	p.Set(cost.Scope{Chip: "*", Name: "elementwise"}, cost.Constants{cost.Stream: 22, cost.L2Gain: 123, cost.Instr: 300})
	p.Set(cost.Scope{Chip: "*", Name: "Add"}, cost.Constants{cost.L2Gain: 133})
	p.Set(cost.Scope{Chip: b1.Name, Name: "Add"}, cost.Constants{cost.Instr: 777})
	for _, c := range []struct {
		name, typ string
		want      [5]int64 // start, stream, gain, instructions, run
	}{
		{"the chip's own", "AddV2", [5]int64{11, 22, 133, 777, 14}},
		{"another type: 300 % of the 8 instructions assumed", "Exp", [5]int64{11, 22, 123, 2400, 14}},
		{"another class", "Slice", [5]int64{11, 12, 113, 0, 14}},
	} {
		got := p.Constants(b1, cost.AIV, c.typ)
		if have := [5]int64{got[cost.Start], got[cost.Stream], got[cost.L2Gain], got[cost.Instr], got[cost.Run]}; have != c.want {
			t.Errorf("%s: %v, want %v", c.name, have, c.want)
		}
	}
	// A chip of the same family with as many cores is close enough, another is not.
	if p.MeasuredAs(b2) != b1.Name || p.MeasuredAs(b3) != "" {
		t.Errorf("%q %q", p.MeasuredAs(b2), p.MeasuredAs(b3))
	}
	if p.Constants(b2, cost.AIV, "Add")[cost.Instr] != 777 || p.Constants(b3, cost.AIV, "Add")[cost.Instr] != 300 {
		t.Error("constants of a chip reach the wrong chips")
	}
	// Work without a type takes the assumptions alone.
	if got := p.Constants(b1, cost.AIV, ""); got != assumed {
		t.Errorf("%v", got)
	}
}

func TestParseFitted(t *testing.T) {
	rows := []cost.Fitted{
		{Scope: cost.Scope{Chip: "*", Name: "vector"}, Constants: cost.Constants{cost.Start: 5}, Shapes: 3, Origin: "a.csv"},
		{Scope: cost.Scope{Chip: "Ascend910B1", Name: "Add"}, Constants: cost.Constants{cost.Stream: 900, cost.TransB: 70}, Shapes: 1, ErrorPercent: 12, Origin: "a.csv, b.csv"},
	}
	var b strings.Builder
	if err := cost.WriteFitted(&b, rows); err != nil {
		t.Fatal(err)
	}
	got, err := cost.ParseFitted(b.String())
	if err != nil || len(got) != 2 || got[0] != rows[0] || got[1] != rows[1] {
		t.Fatalf("%v\n%+v", err, got)
	}
	line := strings.Split(b.String(), "\n")[1]
	for _, bad := range []string{line + "\n" + line, line + "\tx", strings.Replace(line, "\t3\t", "\t-\t", 1), strings.Replace(line, "\t5\t", "\t-5\t", 1), "x", strings.Replace(line, "vector", "", 1)} {
		if _, err := cost.ParseFitted(bad); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

func FuzzParseFitted(f *testing.F) {
	f.Add("# c\n*\tvector\t1\t-\t-\t-\t-\t-\t-\t-\t3\t0\ta.csv\n")
	f.Fuzz(func(t *testing.T, table string) {
		rows, err := cost.ParseFitted(table)
		if err == nil {
			cost.NewProfile(rows)
		}
	})
}

// The embedded table says which operators of a chip were measured and how well they are met.
func TestTrust(t *testing.T) {
	for _, c := range []struct {
		chip, typ  string
		calibrated bool
		low, high  int
	}{
		{"910B1", "MatMulV2", true, 1, 10}, {"910B4", "MatMul", true, 1, 10}, {"910B3", "MatMulV2", false, 1, 25},
		{"910B1", "Maximum", false, 1, 40}, {"910B1", "Conv2D", false, 0, 0},
	} {
		e, ok := cost.Trust(chip(t, c.chip), c.typ)
		if ok != c.calibrated || e < c.low || e > c.high {
			t.Errorf("%s %s: %d %%, calibrated %v", c.chip, c.typ, e, ok)
		}
	}
	for _, r := range cost.Embedded() {
		if r.Origin == "" || r.Shapes < 1 {
			t.Errorf("%v has no origin", r.Scope)
		}
	}
}

// What a kernel's form costs, each against the same kernel without it.
func TestEstimate_form(t *testing.T) {
	c := chip(t, "910B1")
	p := cost.NewProfile([]cost.Fitted{{Scope: cost.Scope{Chip: "*", Name: "matmul"}, Constants: cost.Constants{cost.TransA: 80, cost.TransB: 90}}})
	mm := cost.Work{Type: "MatMulV2", M: 4096, N: 4096, K: 4096, Batch: 1, MacType: tensor.Float16, ReadBytes: 1 << 26, WriteBytes: 1 << 25}
	v := cost.Work{Type: "Add", VectorOps: 1 << 23, VectorType: tensor.Float32, Elements: 1 << 23, ReadBytes: 1 << 26, WriteBytes: 1 << 25}
	ns := func(core cost.Core, w cost.Work, change func(*cost.Work)) float64 {
		change(&w)
		a := p.Estimate(c, core, 0, w)
		return float64(a.Ns(cost.Units(c, core)))
	}
	same := func(*cost.Work) {}
	for _, x := range []struct {
		name      string
		core      cost.Core
		w         cost.Work
		change    func(*cost.Work)
		low, high float64
	}{
		{"first operand transposed", cost.AIC, mm, func(w *cost.Work) { w.TransA = true }, 1.2, 1.26},
		{"second operand transposed", cost.AIC, mm, func(w *cost.Work) { w.TransB = true }, 1.08, 1.12},
		{"one column more than whole tiles", cost.AIC, mm, func(w *cost.Work) { w.N++ }, 1.03, 1.06},
		{"odd rows are padded", cost.AIC, mm, func(w *cost.Work) { w.M, w.N = 4081, 4081 }, 0.99, 1.01},
		{"float32", cost.AIC, mm, func(w *cost.Work) { w.MacType = tensor.Float32 }, 3.3, 4.1},
		{"float32 rounded to hf32", cost.AIC, mm, func(w *cost.Work) { w.MacType, w.HF32 = tensor.Float32, true }, 1.9, 2.1},
		{"cold memory", cost.AIV, v, func(w *cost.Work) { w.Cold = true }, 1.15, 1.25},
		{"rows of 64 elements", cost.AIV, v, func(w *cost.Work) { w.Runs = 1 << 17 }, 1.2, 3},
		{"rows of 4096 elements", cost.AIV, v, func(w *cost.Work) { w.Runs = 1 << 11 }, 1, 1},
	} {
		if r := ns(x.core, x.w, x.change) / ns(x.core, x.w, same); r < x.low || r > x.high {
			t.Errorf("%s: %.3f times the time, want %.2f to %.2f", x.name, r, x.low, x.high)
		}
	}
}

func TestEstimate_profileDoesNotAllocate(t *testing.T) {
	c := chip(t, "910B1")
	w := cost.Work{Type: "ReduceSumD", VectorOps: 1 << 20, VectorType: tensor.BFloat16, ReadBytes: 1 << 22, WriteBytes: 64}
	var sink int64
	if n := testing.AllocsPerRun(100, func() {
		sink += cost.Estimate(c, cost.AIV, 0, w).BlockNs
		e, _ := cost.Trust(c, w.Type)
		sink += int64(e)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
