package kernels

import (
	"math"

	"npu/internal/tensor"
)

// binLoops are the inner loops of a binary operator: both operands vectors, the second or the first a scalar.
// The result vector may be one of the operands.
type binLoops[T, R any] struct {
	vv func(d []R, a, b []T)
	vs func(d []R, a []T, b T)
	sv func(d []R, a T, b []T)
}

// apply makes the loops of a function of two elements.
func apply[T, R any](f func(a, b T) R) binLoops[T, R] {
	return binLoops[T, R]{
		vv: func(d []R, a, b []T) {
			a, b = a[:len(d)], b[:len(d)]
			for i := range d {
				d[i] = f(a[i], b[i])
			}
		},
		vs: func(d []R, a []T, b T) {
			a = a[:len(d)]
			for i := range d {
				d[i] = f(a[i], b)
			}
		},
		sv: func(d []R, a T, b []T) {
			b = b[:len(d)]
			for i := range d {
				d[i] = f(a, b[i])
			}
		},
	}
}

// commuting completes the loops of an operator for which a∘b is b∘a.
func commuting[T tensor.Number](vv func(d, a, b []T), vs func(d, a []T, b T)) binLoops[T, T] {
	return binLoops[T, T]{vv, vs, func(d []T, a T, b []T) { vs(d, b, a) }}
}

func addLoops[T tensor.Number]() binLoops[T, T] {
	if l, ok := any(addFloats()).(binLoops[T, T]); ok {
		return l
	}
	return commuting(func(d, a, b []T) {
		a, b = a[:len(d)], b[:len(d)]
		for i := range d {
			d[i] = a[i] + b[i]
		}
	}, func(d, a []T, b T) {
		a = a[:len(d)]
		for i := range d {
			d[i] = a[i] + b
		}
	})
}

func mulLoops[T tensor.Number]() binLoops[T, T] {
	if l, ok := any(mulFloats()).(binLoops[T, T]); ok {
		return l
	}
	return commuting(func(d, a, b []T) {
		a, b = a[:len(d)], b[:len(d)]
		for i := range d {
			d[i] = a[i] * b[i]
		}
	}, func(d, a []T, b T) {
		a = a[:len(d)]
		for i := range d {
			d[i] = a[i] * b
		}
	})
}

func maxLoops[T tensor.Number]() binLoops[T, T] {
	if l, ok := any(maxFloats()).(binLoops[T, T]); ok {
		return l
	}
	return commuting(func(d, a, b []T) {
		a, b = a[:len(d)], b[:len(d)]
		for i := range d {
			d[i] = max(a[i], b[i])
		}
	}, func(d, a []T, b T) {
		a = a[:len(d)]
		for i := range d {
			d[i] = max(a[i], b)
		}
	})
}

func minLoops[T tensor.Number]() binLoops[T, T] {
	if l, ok := any(minFloats()).(binLoops[T, T]); ok {
		return l
	}
	return commuting(func(d, a, b []T) {
		a, b = a[:len(d)], b[:len(d)]
		for i := range d {
			d[i] = min(a[i], b[i])
		}
	}, func(d, a []T, b T) {
		a = a[:len(d)]
		for i := range d {
			d[i] = min(a[i], b)
		}
	})
}

func subLoops[T tensor.Number]() binLoops[T, T] {
	if l, ok := any(subFloats()).(binLoops[T, T]); ok {
		return l
	}
	return binLoops[T, T]{func(d, a, b []T) {
		a, b = a[:len(d)], b[:len(d)]
		for i := range d {
			d[i] = a[i] - b[i]
		}
	}, func(d, a []T, b T) {
		a = a[:len(d)]
		for i := range d {
			d[i] = a[i] - b
		}
	}, func(d []T, a T, b []T) {
		b = b[:len(d)]
		for i := range d {
			d[i] = a - b[i]
		}
	}}
}

func divLoops[T float32 | float64]() binLoops[T, T] {
	if l, ok := any(divFloats()).(binLoops[T, T]); ok {
		return l
	}
	return binLoops[T, T]{func(d, a, b []T) {
		a, b = a[:len(d)], b[:len(d)]
		for i := range d {
			d[i] = a[i] / b[i]
		}
	}, func(d, a []T, b T) {
		a = a[:len(d)]
		for i := range d {
			d[i] = a[i] / b
		}
	}, func(d []T, a T, b []T) {
		b = b[:len(d)]
		for i := range d {
			d[i] = a / b[i]
		}
	}}
}

// integer is the set of integer element types.
type integer interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// intDivLoops truncates towards zero; division by zero gives 0, as in NumPy.
func intDivLoops[T integer]() binLoops[T, T] {
	return apply(func(a, b T) T {
		if b == 0 {
			return 0
		}
		return a / b
	})
}

// intModLoops takes the sign of the divisor (mod) or of the dividend (fmod).
func intModLoops[T integer](fmod bool) binLoops[T, T] {
	return apply(func(a, b T) T {
		if b == 0 {
			return 0
		}
		r := a % b
		if !fmod && r != 0 && (r < 0) != (b < 0) {
			r += b
		}
		return r
	})
}

func floatModLoops[T float32 | float64](fmod bool) binLoops[T, T] {
	return apply(func(a, b T) T {
		r := math.Mod(float64(a), float64(b))
		if !fmod && r != 0 && (r < 0) != (b < 0) {
			r += float64(b)
		}
		return T(r)
	})
}

// compareLoops make bool.
func compareLoops[T tensor.Number](op string) binLoops[T, byte] {
	switch op {
	case "Less":
		return apply(func(a, b T) byte { return bit(a < b) })
	case "LessOrEqual":
		return apply(func(a, b T) byte { return bit(a <= b) })
	case "Greater":
		return apply(func(a, b T) byte { return bit(a > b) })
	case "GreaterOrEqual":
		return apply(func(a, b T) byte { return bit(a >= b) })
	}
	return apply(func(a, b T) byte { return bit(a == b) })
}

// bitLoops combine bits.
func bitLoops[T integer](op string) binLoops[T, T] {
	switch op {
	case "BitwiseAnd":
		return apply(func(a, b T) T { return a & b })
	case "BitwiseOr":
		return apply(func(a, b T) T { return a | b })
	case "LeftShift":
		return apply(func(a, b T) T { return a << b })
	case "RightShift":
		return apply(func(a, b T) T { return a >> b })
	}
	return apply(func(a, b T) T { return a ^ b })
}

// logicLoops combine truth values; any byte but 0 is true.
func logicLoops(op string) binLoops[byte, byte] {
	switch op {
	case "And":
		return apply(func(a, b byte) byte { return bit(a != 0 && b != 0) })
	case "Or":
		return apply(func(a, b byte) byte { return bit(a != 0 || b != 0) })
	case "Equal":
		return apply(func(a, b byte) byte { return bit((a != 0) == (b != 0)) })
	}
	return apply(func(a, b byte) byte { return bit((a != 0) != (b != 0)) })
}

// intPow is a to the power of b by squaring, with wrap-around; negative powers of integers truncate.
func intPow[T integer](a, b T) T {
	if b < 0 {
		switch {
		case a == 1 || a+1 == 0 && b%2 == 0:
			return 1
		case a+1 == 0:
			return a
		}
		return 0
	}
	r := T(1)
	for ; b > 0; b /= 2 {
		if b%2 == 1 {
			r *= a
		}
		a *= a
	}
	return r
}
