package cost_test

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// measuredFile finds a file of real kernel times beside the repository.
func measuredFile(t *testing.T, name string) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
	}
	path := filepath.Join(dir, "..", "shared", "data", "kernels", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("real kernel times are not here: %v", err)
	}
	return path
}

// The uncalibrated model against kernels of real chips: one figure a distinct shape, the median of its repeats.
func TestEstimate_measuredKernels(t *testing.T) {
	for _, f := range []struct {
		file, chip      string
		matmul, vectors float64 // median errors that must hold
	}{
		{"qwen3-0.6b-like-910B4-rank0.csv", "910B4", 0.12, 0.32},
		{"gpt-fp16-h12288-910B.csv", "910B2", 0.12, 0.25},
	} {
		t.Run(f.chip, func(t *testing.T) {
			c := chip(t, f.chip)
			errs := map[cost.Core][]float64{}
			for key, times := range readKernels(t, measuredFile(t, f.file)) {
				core, w, ok := workOf(key)
				if !ok {
					continue
				}
				slices.Sort(times)
				want := times[len(times)/2]
				got := float64(cost.Estimate(c, core, 0, w).Ns(cost.Units(c, core))) / 1e3
				errs[core] = append(errs[core], math.Abs(got/want-1))
				if testing.Verbose() {
					t.Logf("%6.1f %8.1f us, measured %8.1f %v", (got/want-1)*100, got, want, key)
				}
			}
			for core, limit := range map[cost.Core]float64{cost.AIC: f.matmul, cost.AIV: f.vectors} {
				e := errs[core]
				if len(e) < 4 {
					t.Fatalf("only %d shapes of %v", len(e), core)
				}
				slices.Sort(e)
				t.Logf("%v: %d shapes, median error %.1f %%", core, len(e), e[len(e)/2]*100)
				if e[len(e)/2] > limit {
					t.Errorf("%v: median error %.1f %%, limit %.0f %%", core, e[len(e)/2]*100, limit*100)
				}
			}
		})
	}
}

type kernelKey struct{ op, core, in, types, out, outTypes string }

func readKernels(t *testing.T, path string) map[kernelKey][]float64 {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	col := func(name string) int {
		i := slices.Index(rows[0], name)
		if i < 0 {
			t.Fatalf("%s has no column %s", path, name)
		}
		return i
	}
	all := map[kernelKey][]float64{}
	for _, r := range rows[1:] {
		us, err := strconv.ParseFloat(strings.TrimSpace(r[col("Duration(us)")]), 64)
		if err != nil {
			continue
		}
		k := kernelKey{r[col("Type")], r[col("Accelerator Core")], r[col("Input Shapes")], r[col("Input Data Types")], r[col("Output Shapes")], r[col("Output Data Types")]}
		all[k] = append(all[k], us)
	}
	return all
}

var vectorOps = map[string]int64{"Add": 1, "Mul": 1, "Sub": 1, "Cast": 1, "ZerosLike": 1, "TensorMove": 1, "RealDiv": 2, "Cos": 6, "Sin": 6,
	"SwiGlu": 8, "Gelu": 12, "AxpyV2": 2, "Muls": 1, "Adds": 1, "FastGelu": 8}

// workOf derives the work of the operators whose work is plain from their shapes.
func workOf(k kernelKey) (cost.Core, cost.Work, bool) {
	in, bytesIn, t := operands(k.in, k.types)
	out, bytesOut, _ := operands(k.out, k.outTypes)
	if len(in) == 0 || len(out) == 0 {
		return 0, cost.Work{}, false
	}
	w := cost.Work{ReadBytes: bytesIn, WriteBytes: bytesOut, MacType: t, VectorType: t}
	if strings.HasPrefix(k.op, "MatMul") && len(in) >= 2 && len(out[0]) == 2 && len(in[0]) == 2 {
		m, n := out[0][0], out[0][1]
		// M·K · K·N of M·N: K without knowing which operand is transposed.
		w.M, w.N, w.K, w.Batch = int64(m), int64(n), int64(in[0].Count()/m), 1
		return cost.AIC, w, in[0].Count()%m == 0 && in[1].Count() == n*int(w.K)
	}
	each, ok := vectorOps[k.op]
	w.VectorOps = each * int64(out[0].Count())
	return cost.AIV, w, ok && k.core == "AI_VECTOR_CORE"
}

func operands(shapes, types string) (s []tensor.Shape, bytes int64, first tensor.DType) {
	names := map[string]tensor.DType{"FLOAT": tensor.Float32, "FLOAT16": tensor.Float16, "DT_BF16": tensor.BFloat16, "INT64": tensor.Int64, "INT32": tensor.Int32, "BOOL": tensor.Bool}
	ts := strings.Split(types, ";")
	for i, one := range strings.Split(strings.Trim(shapes, `"`), ";") {
		shape, err := tensor.ParseShape(one)
		if err != nil || i >= len(ts) {
			return nil, 0, 0
		}
		dt := names[ts[i]]
		if one == "" || dt == tensor.Undefined {
			continue
		}
		if first == tensor.Undefined {
			first = dt
		}
		n, err := shape.Bytes(dt)
		if err != nil {
			return nil, 0, 0
		}
		s, bytes = append(s, shape), bytes+int64(n)
	}
	return s, bytes, first
}
