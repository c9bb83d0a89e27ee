package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"npu/internal/tensor"
)

// movedTypes have elements of each size that is moved as a whole.
func movedTypes() []tensor.DType {
	return []tensor.DType{tensor.Uint8, tensor.Float16, tensor.Float32, tensor.Int64}
}

func anyType(r *rand.Rand) tensor.DType { return movedTypes()[r.IntN(4)] }

func TestTranspose_againstNaive(t *testing.T) {
	rounds(t, 150, func(r *rand.Rand) {
		rank := r.IntN(5)
		shape := randomShape(r, rank, 40/max(1, rank*rank)+4)
		perm := r.Perm(rank)
		p := make([]int64, rank)
		out := make([]int, rank)
		for i, a := range perm {
			p[i], out[i] = int64(a), shape[a]
		}
		in := randomTensor(t, r, anyType(r), shape...)
		x, want := fromTensor(t, in), newArray(out...)
		want.each(func(i int, at []int) {
			from := make([]int, rank)
			for k, a := range perm {
				from[a] = at[k]
			}
			want.v[i] = x.get(from)
		})
		equal(t, fmt.Sprint("Transpose ", perm), compute(t, "Transpose", 13, 1, Attrs{"perm": p}, in)[0], want, 0)
	})
}

func TestSlice_againstNaive(t *testing.T) {
	rounds(t, 150, func(r *rand.Rand) {
		rank := 1 + r.IntN(4)
		shape := randomShape(r, rank, 9)
		n := 1 + r.IntN(rank)
		axes := r.Perm(rank)[:n]
		starts, ends, steps := make([]int, n), make([]int, n), make([]int, n)
		places := make([][]int, rank)
		for i, d := range shape {
			for k := range d {
				places[i] = append(places[i], k)
			}
		}
		for i, a := range axes {
			d := shape[a]
			starts[i], ends[i], steps[i] = r.IntN(3*d)-d-d/2, r.IntN(3*d)-d-d/2, 1+r.IntN(3)
			if r.IntN(2) == 0 {
				steps[i] = -steps[i]
			}
			places[a] = pythonSlice(d, starts[i], ends[i], steps[i])
		}
		out := make([]int, rank)
		for i := range out {
			out[i] = len(places[i])
		}
		in := randomTensor(t, r, anyType(r), shape...)
		x, want := fromTensor(t, in), newArray(out...)
		want.each(func(i int, at []int) {
			from := make([]int, rank)
			for k := range from {
				from[k] = places[k][at[k]]
			}
			want.v[i] = x.get(from)
		})
		what := fmt.Sprint("Slice of ", shape, starts, ends, axes, steps)
		equal(t, what, compute(t, "Slice", 13, 1, nil, in, intList(t, starts...), intList(t, ends...), intList(t, axes...), intList(t, steps...))[0], want, 0)
	})
}

// pythonSlice walks start, start+step, ... before end, by the rules for sequences.
func pythonSlice(d, start, end, step int) (p []int) {
	if start < 0 {
		start += d
	}
	if end < 0 {
		end += d
	}
	if step > 0 {
		for i := max(start, 0); i < min(end, d); i += step {
			p = append(p, i)
		}
		return p
	}
	for i := min(start, d-1); i > max(end, -1); i += step {
		p = append(p, i)
	}
	return p
}

func TestSlice_oldForm(t *testing.T) {
	in := toTensor(t, tensor.Float32, array{[]int{2, 3}, []float64{0, 1, 2, 3, 4, 5}})
	got := compute(t, "Slice", 9, 1, Attrs{"starts": []int64{1}, "ends": []int64{1 << 62}, "axes": []int64{-1}}, in)[0]
	equal(t, "Slice 9", got, array{[]int{2, 2}, []float64{1, 2, 4, 5}}, 0)
}

func TestConcatSplit_againstNaive(t *testing.T) {
	rounds(t, 100, func(r *rand.Rand) {
		rank := 1 + r.IntN(4)
		at := r.IntN(rank)
		dt := anyType(r)
		shape := randomShape(r, rank, 6)
		parts, sizes := make([]*tensor.Tensor, 1+r.IntN(4)), []int{}
		shape[at] = 0
		for i := range parts {
			s := append([]int{}, shape...)
			s[at] = r.IntN(5)
			sizes = append(sizes, s[at])
			parts[i] = randomTensor(t, r, dt, s...)
		}
		for _, n := range sizes {
			shape[at] += n
		}
		want := newArray(shape...)
		want.each(func(i int, c []int) {
			from := append([]int{}, c...)
			for k, n := range sizes {
				if from[at] < n {
					want.v[i] = fromTensor(t, parts[k]).get(from)
					return
				}
				from[at] -= n
			}
		})
		joined := compute(t, "Concat", 13, 1, Attrs{"axis": int64(at - rank)}, parts...)[0]
		equal(t, "Concat", joined, want, 0)
		for i, p := range compute(t, "Split", 13, len(parts), Attrs{"axis": int64(at)}, joined, intList(t, sizes...)) {
			equal(t, "Split", p, fromTensor(t, parts[i]), 0)
		}
	})
}

func TestSplit_forms(t *testing.T) {
	in := toTensor(t, tensor.Int64, array{[]int{7}, []float64{0, 1, 2, 3, 4, 5, 6}})
	even := toTensor(t, tensor.Int64, array{[]int{6}, []float64{0, 1, 2, 3, 4, 5}})
	lengths := func(opset, outs int, attrs Attrs, in *tensor.Tensor) (n []int) {
		for _, p := range compute(t, "Split", opset, outs, attrs, in) {
			n = append(n, p.Shape[0])
		}
		return n
	}
	for want, got := range map[string][]int{
		"[3 3 1]": lengths(18, 3, Attrs{"num_outputs": int64(3)}, in),
		"[2 2 2]": lengths(11, 3, nil, even),
		"[5 2]":   lengths(2, 2, Attrs{"split": []int64{5, 2}}, in),
	} {
		if fmt.Sprint(got) != want {
			t.Errorf("parts %v, want %s", got, want)
		}
	}
	if err := Infer(&Spec{Op: "Split", Opset: 13, In: []Desc{{DType: tensor.Int64, Shape: tensor.Shape{7}}}, Out: make([]Desc, 3)}); err == nil {
		t.Error("7 elements in 3 equal parts is accepted before opset 18")
	}
}

func TestExpandTile_againstNaive(t *testing.T) {
	rounds(t, 100, func(r *rand.Rand) {
		a, b, out := broadcastPair(r)
		in := randomTensor(t, r, anyType(r), a...)
		x, want := fromTensor(t, in), newArray(out...)
		want.each(func(i int, at []int) { want.v[i] = x.get(at) })
		equal(t, "Expand", compute(t, "Expand", 13, 1, nil, in, intList(t, b...))[0], want, 0)

		times := make([]int, len(a))
		grown := make([]int, len(a))
		for i := range times {
			times[i] = r.IntN(4)
			grown[i] = times[i] * a[i]
		}
		want = newArray(grown...)
		want.each(func(i int, at []int) {
			from := make([]int, len(at))
			for k := range at {
				from[k] = at[k] % a[k]
			}
			want.v[i] = x.get(from)
		})
		equal(t, "Tile", compute(t, "Tile", 13, 1, nil, in, intList(t, times...))[0], want, 0)
	})
}

func TestPad_againstNaive(t *testing.T) {
	// from is where a place outside of [0, n) comes from; -1: nowhere. It walks one step at a time.
	from := map[string]func(i, n int) int{
		"constant": func(i, n int) int { return -1 },
		"edge":     func(i, n int) int { return min(max(i, 0), n-1) },
		"wrap": func(i, n int) int {
			for i < 0 {
				i += n
			}
			return i % n
		},
		"reflect": func(i, n int) int {
			for n > 1 && (i < 0 || i >= n) {
				if i < 0 {
					i = -i
				} else {
					i = 2*(n-1) - i
				}
			}
			return min(max(i, 0), n-1)
		},
	}
	for mode, f := range from {
		rounds(t, 80, func(r *rand.Rand) {
			rank := 1 + r.IntN(4)
			shape := randomShape(r, rank, 6)
			pads, out := make([]int, 2*rank), make([]int, rank)
			for i, d := range shape {
				pads[i], pads[i+rank] = r.IntN(9)-2, r.IntN(9)-2
				if d+min(0, pads[i])+min(0, pads[i+rank]) < 1 {
					pads[i], pads[i+rank] = 0, 1
				}
				out[i] = d + pads[i] + pads[i+rank]
			}
			dt := anyType(r)
			in, value := randomTensor(t, r, dt, shape...), randomTensor(t, r, dt)
			x, want := fromTensor(t, in), newArray(out...)
			want.each(func(i int, at []int) {
				c := make([]int, rank)
				for k, d := range shape {
					lo, hi := max(0, -pads[k]), d-max(0, -pads[k+rank])
					c[k] = at[k] - pads[k]
					if c[k] < lo || c[k] >= hi {
						if c[k] = f(c[k]-lo, hi-lo); c[k] < 0 {
							want.v[i] = fromTensor(t, value).v[0]
							return
						}
						c[k] += lo
					}
				}
				want.v[i] = x.get(c)
			})
			equal(t, fmt.Sprint("Pad ", mode, shape, pads), compute(t, "Pad", 18, 1, Attrs{"mode": mode}, in, intList(t, pads...), value)[0], want, 0)
		})
	}
}

func TestDepthSpace_inverse(t *testing.T) {
	rounds(t, 30, func(r *rand.Rand) {
		b := 1 + r.IntN(3)
		in := randomTensor(t, r, anyType(r), 1+r.IntN(2), b*b*(1+r.IntN(3)), 1+r.IntN(5), 1+r.IntN(5))
		x := fromTensor(t, in)
		n, c, h, w := in.Shape[0], in.Shape[1]/(b*b), in.Shape[2], in.Shape[3]
		for _, mode := range []string{"DCR", "CRD"} {
			want := newArray(n, c, h*b, w*b)
			want.each(func(i int, at []int) {
				k := at[2]%b*b + at[3]%b
				channel := k*c + at[1]
				if mode == "CRD" {
					channel = at[1]*b*b + k
				}
				want.v[i] = x.get([]int{at[0], channel, at[2] / b, at[3] / b})
			})
			out := compute(t, "DepthToSpace", 13, 1, Attrs{"blocksize": int64(b), "mode": mode}, in)[0]
			equal(t, "DepthToSpace "+mode, out, want, 0)
			if mode == "DCR" {
				equal(t, "SpaceToDepth", compute(t, "SpaceToDepth", 13, 1, Attrs{"blocksize": int64(b)}, out)[0], x, 0)
			}
		}
	})
}

// indexTensor makes indices into a dimension of d, some of them negative, as int32 or int64.
func indexTensor(t *testing.T, r *rand.Rand, d int, shape ...int) (*tensor.Tensor, array) {
	a := newArray(shape...)
	for i := range a.v {
		a.v[i] = float64(r.IntN(2*d) - d)
	}
	return toTensor(t, []tensor.DType{tensor.Int32, tensor.Int64}[r.IntN(2)], a), a
}

func TestGather_againstNaive(t *testing.T) {
	rounds(t, 100, func(r *rand.Rand) {
		rank := 1 + r.IntN(3)
		shape := randomShape(r, rank, 5)
		at := r.IntN(rank)
		in := randomTensor(t, r, anyType(r), shape...)
		x := fromTensor(t, in)
		ishape := randomShape(r, r.IntN(3), 4)
		idx, places := indexTensor(t, r, shape[at], ishape...)
		wrapAt := func(v float64) int { return (int(v) + shape[at]) % shape[at] }
		out := append(append(append([]int{}, shape[:at]...), ishape...), shape[at+1:]...)
		want := newArray(out...)
		want.each(func(i int, c []int) {
			from := append(append([]int{}, c[:at]...), wrapAt(places.get(c[at:at+len(ishape)])))
			want.v[i] = x.get(append(from, c[at+len(ishape):]...))
		})
		equal(t, "Gather", compute(t, "Gather", 13, 1, Attrs{"axis": int64(at)}, in, idx)[0], want, 0)

		eshape := append([]int{}, shape...)
		for i := range eshape {
			eshape[i] = 1 + r.IntN(shape[i])
		}
		eshape[at] = 1 + r.IntN(6)
		idx, places = indexTensor(t, r, shape[at], eshape...)
		want = newArray(eshape...)
		want.each(func(i int, c []int) {
			from := append([]int{}, c...)
			from[at] = wrapAt(places.v[i])
			want.v[i] = x.get(from)
		})
		equal(t, "GatherElements", compute(t, "GatherElements", 13, 1, Attrs{"axis": int64(at)}, in, idx)[0], want, 0)

		for _, reduction := range []string{"none", "add", "mul", "max", "min"} {
			dt := in.DType
			upd := randomTensor(t, r, dt, eshape...)
			u := fromTensor(t, upd)
			sum := fromTensor(t, in)
			places.each(func(i int, c []int) {
				k := 0
				for j, d := range shape {
					v := c[j]
					if j == at {
						v = wrapAt(places.v[i])
					}
					k = k*d + v
				}
				sum.v[k] = fold1(reduction, sum.v[k], u.v[i])
				sum.v[k] = fromTensor(t, toTensor(t, dt, array{[]int{1}, []float64{wrap(dt, sum.v[k])}})).v[0]
			})
			got := compute(t, "ScatterElements", 18, 1, Attrs{"axis": int64(at), "reduction": reduction}, in, idx, upd)[0]
			equal(t, "ScatterElements "+reduction, got, sum, 0)
		}
	})
}

func fold1(reduction string, a, b float64) float64 {
	switch reduction {
	case "add":
		return a + b
	case "mul":
		return a * b
	case "max":
		return max(a, b)
	case "min":
		return min(a, b)
	}
	return b
}

func TestGatherND_againstNaive(t *testing.T) {
	rounds(t, 100, func(r *rand.Rand) {
		rank := 1 + r.IntN(4)
		shape := randomShape(r, rank, 4)
		batch := r.IntN(rank)
		k := 1 + r.IntN(rank-batch)
		ishape := append(append([]int{}, shape[:batch]...), randomShape(r, r.IntN(3), 3)...)
		places := newArray(append(append([]int{}, ishape...), k)...)
		for i := range places.v {
			d := shape[batch+i%k]
			places.v[i] = float64(r.IntN(2*d) - d)
		}
		in := randomTensor(t, r, anyType(r), shape...)
		x := fromTensor(t, in)
		want := newArray(append(append([]int{}, ishape...), shape[batch+k:]...)...)
		want.each(func(i int, c []int) {
			from := append([]int{}, c[:batch]...)
			for j := range k {
				v := int(places.get(append(append([]int{}, c[:len(ishape)]...), j)))
				from = append(from, (v+shape[batch+j])%shape[batch+j])
			}
			want.v[i] = x.get(append(from, c[len(ishape):]...))
		})
		idx := toTensor(t, tensor.Int64, places)
		equal(t, "GatherND", compute(t, "GatherND", 13, 1, Attrs{"batch_dims": int64(batch)}, in, idx)[0], want, 0)

		if batch == 0 { // what was gathered, scattered again, changes nothing; doubled, it doubles what was named
			upd := toTensor(t, in.DType, want)
			equal(t, "ScatterND", compute(t, "ScatterND", 18, 1, nil, in, idx, upd)[0], x, 0)
		}
	})
}

// TestIndex_outside: an index outside of its dimension is an error of the run, not a panic.
func TestIndex_outside(t *testing.T) {
	data := randomTensor(t, rand.New(rand.NewPCG(1, 1)), tensor.Float32, 3, 2)
	for _, c := range []struct {
		op    string
		shape tensor.Shape
		upd   tensor.Shape
	}{
		{"Gather", tensor.Shape{1}, nil}, {"GatherElements", tensor.Shape{1, 1}, nil}, {"GatherND", tensor.Shape{1, 1}, nil},
		{"ScatterElements", tensor.Shape{1, 1}, tensor.Shape{1, 1}}, {"ScatterND", tensor.Shape{1, 1}, tensor.Shape{1, 2}},
	} {
		for _, v := range []int{3, -4, 1 << 62, -1 << 63} {
			s := &Spec{Op: c.op, Opset: 18, In: []Desc{{DType: tensor.Float32, Shape: data.Shape}, {DType: tensor.Int64, Shape: c.shape}}}
			x := &Exec{In: [][]byte{data.Data, intList(t, v).Data}, Out: [][]byte{make([]byte, 64)}}
			if c.upd != nil {
				s.In = append(s.In, Desc{DType: tensor.Float32, Shape: c.upd})
				x.In = append(x.In, make([]byte, 64))
			}
			k, err := Compile(s)
			if err != nil {
				t.Fatal(err)
			}
			if err := k.Run(x); err == nil {
				t.Errorf("%s of index %d is no error", c.op, v)
			}
		}
	}
}
