package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"npu/internal/tensor"
)

func TestReduce_againstNaive(t *testing.T) {
	sum := func(f func(float64) float64) func([]float64) float64 {
		return func(v []float64) (s float64) {
			for _, x := range v {
				s += f(x)
			}
			return s
		}
	}
	plain, abs := sum(func(x float64) float64 { return x }), sum(math.Abs)
	square := sum(func(x float64) float64 { return x * x })
	cases := map[string]func(v []float64) float64{
		"ReduceSum":       plain,
		"ReduceMean":      func(v []float64) float64 { return plain(v) / float64(len(v)) },
		"ReduceMax":       slices.Max[[]float64],
		"ReduceMin":       slices.Min[[]float64],
		"ReduceL1":        abs,
		"ReduceL2":        func(v []float64) float64 { return math.Sqrt(square(v)) },
		"ReduceSumSquare": square,
		"ReduceLogSum":    func(v []float64) float64 { return math.Log(plain(v)) },
		"ReduceLogSumExp": func(v []float64) float64 { return math.Log(sum(math.Exp)(v)) },
		"ReduceProd": func(v []float64) float64 {
			p := 1.0
			for _, x := range v {
				p *= x
			}
			return p
		},
	}
	for op, f := range cases {
		for _, dt := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.Float16, tensor.Int32, tensor.Int64, tensor.Uint8, tensor.Uint64} {
			if dt.Int() && op == "ReduceLogSum" {
				continue
			}
			rounds(t, 25, func(r *rand.Rand) {
				rank := r.IntN(5)
				shape := randomShape(r, rank, 5)
				if rank > 0 && r.IntN(4) == 0 {
					shape[r.IntN(rank)] = 600 // more than a block
				}
				if op == "ReduceProd" && dt.Int() {
					shape = randomShape(r, rank, 2)
				}
				in := randomTensor(t, r, dt, shape...)
				axes := r.Perm(rank)[:r.IntN(rank+1)]
				keep := r.IntN(2)
				x := fromTensor(t, in)
				groups := map[string][]float64{}
				key := func(at []int) string {
					c := append([]int{}, at...)
					for _, a := range axes {
						c[a] = 0
					}
					if len(axes) == 0 {
						clear(c)
					}
					return fmt.Sprint(c)
				}
				x.each(func(i int, at []int) { groups[key(at)] = append(groups[key(at)], x.v[i]) })
				full := append([]int{}, shape...)
				out := []int{}
				for i := range full {
					if len(axes) == 0 || slices.Contains(axes, i) {
						full[i] = 1
						if keep == 0 {
							continue
						}
					}
					out = append(out, full[i])
				}
				want := newArray(full...)
				want.each(func(i int, at []int) { want.v[i] = wrap(dt, math.Trunc(f(groups[key(at)])*1e12)/1e12) })
				want.shape = out
				if dt.Int() {
					for i := range want.v {
						want.v[i] = math.Trunc(want.v[i])
					}
				}
				what := fmt.Sprint(op, " ", dt, shape, axes)
				got := compute(t, op, 18, 1, Attrs{"keepdims": int64(keep)}, in, intList(t, axes...))[0]
				tol := 1e-5
				if dt == tensor.Float16 {
					tol = 1e-3
				}
				equal(t, what, got, want, tol)
			})
		}
	}
}

func TestArg_againstNaive(t *testing.T) {
	rounds(t, 200, func(r *rand.Rand) {
		dt := []tensor.DType{tensor.Float32, tensor.Float16, tensor.Int8, tensor.Uint64, tensor.Float64}[r.IntN(5)]
		rank := 1 + r.IntN(3)
		shape := randomShape(r, rank, 7)
		at, last, least := r.IntN(rank), r.IntN(2), r.IntN(2)
		in := randomTensor(t, r, dt, shape...)
		x := fromTensor(t, in)
		out := append([]int{}, shape...)
		out[at] = 1
		want := newArray(out...)
		want.each(func(i int, c []int) {
			c = append([]int{}, c...)
			best := math.NaN()
			for k := range shape[at] {
				c[at] = k
				v := x.get(c)
				if least == 1 {
					v = -v
				}
				if best != best || v > best || v == best && last == 1 {
					best, want.v[i] = v, float64(k)
				}
			}
		})
		op := []string{"ArgMax", "ArgMin"}[least]
		equal(t, op, compute(t, op, 13, 1, Attrs{"axis": int64(at), "select_last_index": int64(last)}, in)[0], want, 0)
	})
}

func TestTopK_againstSort(t *testing.T) {
	rounds(t, 200, func(r *rand.Rand) {
		dt := []tensor.DType{tensor.Float32, tensor.Float16, tensor.Int32, tensor.Uint8}[r.IntN(4)]
		rank := 1 + r.IntN(3)
		shape := randomShape(r, rank, 30)
		at := r.IntN(rank)
		largest := r.IntN(2)
		k := r.IntN(shape[at] + 1)
		in := randomTensor(t, r, dt, shape...)
		x := fromTensor(t, in)
		out := append([]int{}, shape...)
		out[at] = k
		values, places := newArray(out...), newArray(out...)
		values.each(func(i int, c []int) {
			from := append([]int{}, c...)
			row := make([]float64, shape[at])
			order := make([]int, shape[at])
			for j := range row {
				from[at] = j
				row[j], order[j] = x.get(from), j
			}
			sort.SliceStable(order, func(a, b int) bool {
				if largest == 1 {
					return row[order[a]] > row[order[b]]
				}
				return row[order[a]] < row[order[b]]
			})
			values.v[i], places.v[i] = row[order[c[at]]], float64(order[c[at]])
		})
		got := compute(t, "TopK", 11, 2, Attrs{"axis": int64(at), "largest": int64(largest)}, in, intList(t, k))
		equal(t, "TopK values", got[0], values, 0)
		equal(t, "TopK places", got[1], places, 0)
	})
}

func TestCumSum_againstNaive(t *testing.T) {
	rounds(t, 100, func(r *rand.Rand) {
		dt := []tensor.DType{tensor.Float32, tensor.Float64, tensor.Int32, tensor.Int64}[r.IntN(4)]
		rank := 1 + r.IntN(3)
		shape := randomShape(r, rank, 6)
		at, exclusive, reverse := r.IntN(rank), r.IntN(2), r.IntN(2)
		in := randomTensor(t, r, dt, shape...)
		x, want := fromTensor(t, in), newArray(shape...)
		want.each(func(i int, c []int) {
			from := append([]int{}, c...)
			for k := range shape[at] {
				before := k < c[at]
				if reverse == 1 {
					before = k > c[at]
				}
				if from[at] = k; before || k == c[at] && exclusive == 0 {
					want.v[i] += x.get(from)
				}
			}
		})
		got := compute(t, "CumSum", 14, 1, Attrs{"exclusive": int64(exclusive), "reverse": int64(reverse)}, in, intList(t, at-rank))[0]
		equal(t, "CumSum", got, want, 1e-6)
	})
}

func TestEinsum_againstNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	a, b := randomTensor(t, r, tensor.Float32, 2, 3, 4), randomTensor(t, r, tensor.Float32, 2, 4, 5)
	x, y := fromTensor(t, a), fromTensor(t, b)
	want := newArray(2, 3, 5)
	want.each(func(i int, c []int) {
		for k := range 4 {
			want.v[i] += x.get([]int{c[0], c[1], k}) * y.get([]int{c[0], k, c[2]})
		}
	})
	for _, eq := range []string{"bij,bjk->bik", "...ij, ...jk -> ...ik", "...ij,...jk"} {
		equal(t, eq, compute(t, "Einsum", 12, 1, Attrs{"equation": eq}, a, b)[0], want, 1e-6)
	}
}
