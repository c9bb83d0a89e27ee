package tensor

import (
	"fmt"
	"math"
)

// Tolerance says when two numbers count as equal: |got-want| <= ATol + RTol·|want|.
type Tolerance struct{ RTol, ATol float64 }

// Difference is how two tensors differ. Complex elements count as two numbers.
type Difference struct {
	Elements   int
	Mismatches int     // beyond the tolerance, or one of them NaN, or different infinities
	MaxAbs     float64 // largest |got-want|; +Inf where finite meets infinite
	MeanAbs    float64 // over pairs of finite numbers
	MaxRel     float64 // largest |got-want|/|want| over pairs of finite numbers with want not 0
	Cosine     float64 // over pairs of finite numbers; two zero vectors have 1, one of them 0
	NaNs       [2]int  // in got and want
	Infs       [2]int
	Worst      int     // number of the element with the largest excess over the tolerance, -1 if there are none
	WorstAt    []int   // its index in the shape
	Got, Want  float64 // its values
}

// Equal says whether every element is within the tolerance.
func (d *Difference) Equal() bool { return d.Mismatches == 0 }

// Compare walks both tensors once. NaN equals NaN and infinities of the same sign are equal. The shapes must be equal;
// the types may differ. Tensors in different formats are compared by their logical elements.
func Compare(got, want *Tensor, tol Tolerance) (*Difference, error) {
	var err error
	if got, err = Convert(got, ND); err != nil {
		return nil, err
	}
	if want, err = Convert(want, ND); err != nil {
		return nil, err
	}
	if !got.Shape.Equal(want.Shape) {
		return nil, fmt.Errorf("shapes %v and %v differ", got.Shape, want.Shape)
	}
	if k := perElement(got.DType); k != perElement(want.DType) {
		return nil, fmt.Errorf("types %v and %v cannot be compared", got.DType, want.DType)
	}
	if _, err := want.numbers(); err != nil {
		return nil, err
	}
	c := comparison{tol: tol, d: &Difference{Worst: -1}, exact: got.DType == want.DType && got.DType.Bits() == 64 && got.DType.Int()}
	var buf [chunk]float64
	err = got.EachFloats(func(at int, v []float64) error {
		w := buf[:len(v)]
		if err := DecodeFloats(w, want.DType, want.Data, at); err != nil {
			return err
		}
		for i := range v {
			if c.exact {
				c.integers(got, want, at+i, v[i], w[i])
			} else {
				c.pair(at+i, v[i], w[i], math.Abs(v[i]-w[i]))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c.result(want), nil
}

type comparison struct {
	tol               Tolerance
	d                 *Difference
	exact             bool // 64-bit integers: float64 cannot hold their difference
	excess            float64
	sum               float64
	finite            int
	dot, gotSq, wanSq float64
	scale             float64 // power of two that keeps the squares finite; 0 is 1
}

func (c *comparison) integers(got, want *Tensor, i int, g, w float64) {
	a, b := View[uint64](got.Data)[i], View[uint64](want.Data)[i]
	less := a < b
	if got.DType == Int64 {
		less = int64(a) < int64(b)
	}
	if less {
		a, b = b, a
	}
	c.pair(i, g, w, float64(a-b)) // wraps to the true distance for both signs
}

func (c *comparison) pair(i int, g, w, diff float64) {
	d := c.d
	d.Elements++
	note := func(v float64, k int) {
		if v != v {
			d.NaNs[k]++
		} else if math.IsInf(v, 0) {
			d.Infs[k]++
		}
	}
	excess := diff - (c.tol.ATol + c.tol.RTol*math.Abs(w))
	if c.tol.RTol == 0 { // 0·Inf
		excess = diff - c.tol.ATol
	}
	bad := excess > 0
	if math.IsInf(g, 0) || math.IsInf(w, 0) || g != g || w != w {
		note(g, 0)
		note(w, 1)
		bad = g != w && !(g != g && w != w)
		excess, diff = math.Inf(-1), 0
		if bad {
			excess = math.Inf(1)
			if g == g && w == w {
				d.MaxAbs = math.Inf(1)
			}
		}
	} else {
		c.finite++
		c.sum += diff
		d.MaxAbs = max(d.MaxAbs, diff)
		if w != 0 {
			d.MaxRel = max(d.MaxRel, diff/math.Abs(w))
		}
		c.cosine(g, w)
	}
	if bad {
		d.Mismatches++
	}
	if d.Worst < 0 || excess > c.excess {
		c.excess = excess
		d.Worst, d.Got, d.Want = i, g, w
	}
}

// cosine sums squares of scaled numbers; the scale shrinks when numbers beyond 2^200 come.
func (c *comparison) cosine(g, w float64) {
	if c.scale == 0 {
		c.scale = 1
	}
	for max(math.Abs(g), math.Abs(w))*c.scale > 0x1p200 {
		const step = 0x1p-150
		c.scale *= step
		c.dot, c.gotSq, c.wanSq = c.dot*step*step, c.gotSq*step*step, c.wanSq*step*step
	}
	g, w = g*c.scale, w*c.scale
	c.dot += g * w
	c.gotSq += g * g
	c.wanSq += w * w
}

func (c *comparison) result(want *Tensor) *Difference {
	d := c.d
	if c.finite > 0 {
		d.MeanAbs = c.sum / float64(c.finite)
	}
	switch {
	case c.gotSq == 0 && c.wanSq == 0:
		d.Cosine = 1
	case c.gotSq > 0 && c.wanSq > 0:
		length := math.Sqrt(c.gotSq * c.wanSq) // exact for equal tensors
		if length < 0x1p-500 {
			length = math.Sqrt(c.gotSq) * math.Sqrt(c.wanSq)
		}
		d.Cosine = min(max(c.dot/length, -1), 1)
	}
	if d.Worst >= 0 {
		rest := d.Worst / perElement(want.DType)
		d.WorstAt = make([]int, len(want.Shape))
		for i := len(want.Shape) - 1; i >= 0; i-- {
			d.WorstAt[i] = rest % want.Shape[i]
			rest /= want.Shape[i]
		}
	}
	return d
}
