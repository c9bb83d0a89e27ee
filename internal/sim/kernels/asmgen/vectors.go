package main

import (
	"math"
	"strings"
)

// vectors are the element-wise functions. They read vectors at SI (and at BX), compute in register 0, and store at DI;
// CX elements are left. The form for AVX-512 masks the last vector, the other takes whole vectors only.
func vectors(w *writer) {
	unary := func(name, args string, body func()) {
		w.function(name, "dst src n "+strings.ToUpper(args), "DI", "SI", "CX")
		w.elements([]string{"SI"}, body)
		w.wrap(name, "dst, src []float32", args)
	}
	binary := func(name, op string) {
		w.function(name, "dst a b n", "DI", "SI", "BX", "CX")
		w.elements([]string{"SI", "BX"}, func() { w.op("%s %s, %s, %s", op, w.v(1), w.v(0), w.v(0)) })
		w.wrap(name, "dst, a, b []float32", "")
	}
	reductions(w)
	binary("addVec", "VADDPS")
	binary("subVec", "VSUBPS")
	binary("mulVec", "VMULPS")
	binary("divVec", "VDIVPS")
	for _, m := range []string{"maxVec VMAXPS", "minVec VMINPS"} {
		name, op, _ := strings.Cut(m, " ")
		w.function(name, "dst a b n", "DI", "SI", "BX", "CX")
		w.elements([]string{"SI", "BX"}, func() { // b where either is NaN, then a where that is
			w.op("%s %s, %s, %s", op, w.v(1), w.v(0), w.v(2))
			w.selectBy(3, 0, 0, 0, 2)
		})
		w.wrap(name, "dst, a, b []float32", "")
	}
	unary("biasClamp", "bias lo hi", func() {
		w.op("VADDPS %s, %s, %s", w.v(15), w.v(0), w.v(0))
		w.clamp(w.v(14), w.v(13))
	})
	unary("scaleShift", "scale shift", func() {
		w.op("VMULPS %s, %s, %s", w.v(15), w.v(0), w.v(0))
		w.op("VADDPS %s, %s, %s", w.v(14), w.v(0), w.v(0))
	})
	w.function("normVec", "dst src scale bias n MEAN FACTOR", "DI", "SI", "BX", "R8", "CX")
	w.elements([]string{"SI", "BX", "R8"}, func() {
		w.op("VSUBPS %s, %s, %s", w.v(15), w.v(0), w.v(0))
		w.op("VMULPS %s, %s, %s", w.v(14), w.v(0), w.v(0))
		w.op("VMULPS %s, %s, %s", w.v(1), w.v(0), w.v(0))
		w.op("VADDPS %s, %s, %s", w.v(2), w.v(0), w.v(0))
	})
	w.wrap("normVec", "dst, src, scale, bias []float32", "mean factor")
	unary("hardSigmoid", "scale shift", func() { // hard sigmoid
		w.hardSigmoid()
	})
	unary("hardSwish", "scale shift", func() {
		w.op("VMOVAPS %s, %s", w.v(0), w.v(1))
		w.hardSigmoid()
		w.op("VMULPS %s, %s, %s", w.v(1), w.v(0), w.v(0))
	})
	unary("leakyRelu", "alpha", func() { // x where it is not below zero, else alpha·x
		w.zero(2)
		w.op("VMULPS %s, %s, %s", w.v(15), w.v(0), w.v(1))
		w.selectLess(0, 2, 1, 0)
	})
	unary("sigmoidVec", "", w.sigmoid)
	unary("swish", "scale", func() {
		w.op("VMOVAPS %s, %s", w.v(0), w.v(5))
		w.op("VMULPS %s, %s, %s", w.v(15), w.v(0), w.v(0))
		w.sigmoid()
		w.op("VMULPS %s, %s, %s", w.v(5), w.v(0), w.v(0))
	})
	unary("expShifted", "shift", func() { // exp(x-shift)
		w.op("VSUBPS %s, %s, %s", w.v(15), w.v(0), w.v(0))
		w.exp()
	})
	unary("tanhVec", "", w.tanh)
	unary("erfVec", "", w.erf)
	unary("logVec", "", w.log)
	unary("sqrtVec", "", func() { w.op("VSQRTPS %s, %s", w.v(0), w.v(0)) })
	unary("geluVec", "", func() {
		w.op("VMOVAPS %s, %s", w.v(0), w.v(9))
		w.op("VMULPS %s, %s, %s", w.constant(0.70710678118654752440), w.v(0), w.v(0))
		w.erf()
		w.op("VADDPS %s, %s, %s", w.constant(1), w.v(0), w.v(0))
		w.op("VMULPS %s, %s, %s", w.constant(0.5), w.v(9), w.v(9))
		w.op("VMULPS %s, %s, %s", w.v(9), w.v(0), w.v(0))
	})
}

// reductions fold n elements, a multiple of 16, into 16 lanes at DI: element i into lane i%16.
func reductions(w *writer) {
	regs := 64 / w.width // that hold the lanes
	reduce := func(name, args string, fold func(acc, from int)) {
		w.function(name, "acc src n "+strings.ToUpper(args), "DI", "SI", "CX")
		loop, done := w.fresh("loop"), w.fresh("done")
		for r := range regs {
			w.op("VMOVUPS %d(DI), %s", r*w.width, w.v(r))
		}
		w.label(loop)
		w.op("SUBQ $16, CX")
		w.op("JLT %s", done)
		for r := range regs {
			w.op("VMOVUPS %d(SI), %s", r*w.width, w.v(4+r))
			fold(r, 4+r)
		}
		w.op("ADDQ $64, SI")
		w.op("JMP %s", loop)
		w.label(done)
		for r := range regs {
			w.op("VMOVUPS %s, %d(DI)", w.v(r), r*w.width)
		}
		w.ret()
		w.wrap(name, "acc *[16]float32, src []float32", args)
	}
	reduce("sumLanes", "", func(acc, x int) { w.op("VADDPS %s, %s, %s", w.v(x), w.v(acc), w.v(acc)) })
	reduce("maxLanes", "", func(acc, x int) { w.op("VMAXPS %s, %s, %s", w.v(acc), w.v(x), w.v(acc)) })
	reduce("squareLanes", "shift", func(acc, x int) {
		w.op("VSUBPS %s, %s, %s", w.v(15), w.v(x), w.v(x))
		w.op("VMULPS %s, %s, %s", w.v(x), w.v(x), w.v(x))
		w.op("VADDPS %s, %s, %s", w.v(x), w.v(acc), w.v(acc))
	})
}

// elements is the loop over elements; from are the address registers of registers 0, 1, ….
func (w *writer) elements(from []string, body func()) {
	loop, rest, done := w.fresh("loop"), w.fresh("rest"), w.fresh("done")
	n := w.width / 4
	w.op("SUBQ $%d, CX", n)
	w.op("JLT %s", rest)
	w.label(loop)
	for i, r := range from {
		w.op("VMOVUPS (%s), %s", r, w.v(i))
	}
	body()
	w.op("VMOVUPS %s, (DI)", w.v(0))
	for _, r := range append(from, "DI") {
		w.op("ADDQ $%d, %s", w.width, r)
	}
	w.op("SUBQ $%d, CX", n)
	w.op("JGE %s", loop)
	w.label(rest)
	if w.reg == "Z" {
		w.op("ADDQ $%d, CX", n)
		w.op("JEQ %s", done)
		w.op("MOVL $1, AX")
		w.op("SHLL CX, AX")
		w.op("DECL AX")
		w.op("KMOVW AX, K1")
		for i, r := range from {
			w.op("VMOVUPS.Z (%s), K1, %s", r, w.v(i))
		}
		body()
		w.op("VMOVUPS %s, K1, (DI)", w.v(0))
		w.label(done)
	}
	w.ret()
}

// clamp gives lo where register 0 is below it and hi where it is above; NaN stays.
func (w *writer) clamp(lo, hi string) {
	w.op("VMAXPS %s, %s, %s", w.v(0), lo, w.v(0))
	w.op("VMINPS %s, %s, %s", w.v(0), hi, w.v(0))
}

// limit is clamp with constants.
func (w *writer) limit(lo, hi float32, tmp int) {
	w.op("VMOVUPS %s, %s", w.constant(lo), w.v(tmp))
	w.op("VMAXPS %s, %s, %s", w.v(0), w.v(tmp), w.v(0))
	w.op("VMOVUPS %s, %s", w.constant(hi), w.v(tmp))
	w.op("VMINPS %s, %s, %s", w.v(0), w.v(tmp), w.v(0))
}

// hardSigmoid is register 0 times 15 plus 14, limited to 0…1.
func (w *writer) hardSigmoid() {
	w.op("VMULPS %s, %s, %s", w.v(15), w.v(0), w.v(0))
	w.op("VADDPS %s, %s, %s", w.v(14), w.v(0), w.v(0))
	w.op("VMOVUPS %s, %s", w.constant(1), w.v(2))
	w.op("VMINPS %s, %s, %s", w.v(0), w.v(2), w.v(0))
	w.zero(2)
	w.op("VMAXPS %s, %s, %s", w.v(0), w.v(2), w.v(0))
}

// selectLess sets register 0 to yes where a < b, else to no.
func (w *writer) selectLess(a, b, yes, no int) { w.selectBy(1, a, b, yes, no) }

// selectBy sets register 0 to yes where the comparison of a and b holds, else to no. It uses register 3.
func (w *writer) selectBy(compare, a, b, yes, no int) {
	if w.reg == "Z" {
		w.op("VCMPPS $%d, Z%d, Z%d, K2", compare, b, a)
		w.op("VBLENDMPS Z%d, Z%d, K2, Z0", yes, no)
		return
	}
	w.op("VCMPPS $%d, Y%d, Y%d, Y3", compare, b, a)
	w.op("VBLENDVPS Y3, Y%d, Y%d, Y0", yes, no)
}

// polynomial sets register to to the polynomial in x, highest coefficient first, each step rounded twice.
func (w *writer) polynomial(to, x int, c ...float32) {
	w.op("VMULPS %s, %s, %s", w.constant(c[0]), w.v(x), w.v(to))
	w.op("VADDPS %s, %s, %s", w.constant(c[1]), w.v(to), w.v(to))
	for _, k := range c[2:] {
		w.op("VMULPS %s, %s, %s", w.v(x), w.v(to), w.v(to))
		w.op("VADDPS %s, %s, %s", w.constant(k), w.v(to), w.v(to))
	}
}

// fused is polynomial with fused steps.
func (w *writer) fused(to, x int, c ...float32) {
	w.op("VMOVUPS %s, %s", w.constant(c[0]), w.v(to))
	for _, k := range c[1:] {
		w.op("VFMADD213PS %s, %s, %s", w.constant(k), w.v(x), w.v(to))
	}
}

// sigmoid uses registers 0 to 3.
func (w *writer) sigmoid() {
	w.limit(-18, 18, 1)
	w.op("VMULPS %s, %s, %s", w.v(0), w.v(0), w.v(1))
	w.fused(2, 1, 4.37031012579801e-11, 1.15627324459942e-07, 6.08574864600143e-05, 8.51377133304701e-03, 2.48287947061529e-01)
	w.fused(3, 1, 6.10247389755681e-13, 5.76102136993427e-09, 6.29106785017040e-06, 1.70198817374094e-03, 1.16817656904453e-01,
		9.93151921023180e-01)
	w.op("VMULPS %s, %s, %s", w.v(2), w.v(0), w.v(0))
	w.op("VDIVPS %s, %s, %s", w.v(3), w.v(0), w.v(0))
	w.op("VADDPS %s, %s, %s", w.constant(0.5), w.v(0), w.v(0))
	w.zero(1)
	w.op("VMAXPS %s, %s, %s", w.v(0), w.v(1), w.v(0))
}

// exp uses registers 0 to 4.
func (w *writer) exp() {
	const magic = 3 << 22
	w.limit(-105, 89, 1)
	w.op("VMULPS %s, %s, %s", w.constant(1.44269504088896340736), w.v(0), w.v(1))
	w.op("VADDPS %s, %s, %s", w.constant(magic), w.v(1), w.v(1)) // the rounded exponent is in its low bits
	w.op("VMOVUPS %s, %s", w.constant(magic), w.v(2))
	w.op("VSUBPS %s, %s, %s", w.v(2), w.v(1), w.v(3))
	w.op("VPSUBD %s, %s, %s", w.v(2), w.v(1), w.v(1))
	w.op("VMULPS %s, %s, %s", w.constant(0.693359375), w.v(3), w.v(2))
	w.op("VSUBPS %s, %s, %s", w.v(2), w.v(0), w.v(0))
	w.op("VMULPS %s, %s, %s", w.constant(-2.12194440e-4), w.v(3), w.v(2))
	w.op("VSUBPS %s, %s, %s", w.v(2), w.v(0), w.v(0))
	w.polynomial(2, 0, 1.3814598646784506e-3, 8.368716879735234e-3, 4.166838804531284e-2, 0.16666520631709414, 0.49999993447796487)
	w.op("VMULPS %s, %s, %s", w.v(0), w.v(2), w.v(2))
	w.op("VMULPS %s, %s, %s", w.v(0), w.v(2), w.v(2))
	w.op("VADDPS %s, %s, %s", w.v(0), w.v(2), w.v(2))
	w.op("VADDPS %s, %s, %s", w.constant(1), w.v(2), w.v(2))
	w.op("VPSRAD $1, %s, %s", w.v(1), w.v(3))
	w.op("VPSUBD %s, %s, %s", w.v(3), w.v(1), w.v(1))
	w.op("VPSLLD $23, %s, %s", w.v(3), w.v(3))
	w.op("VPADDD %s, %s, %s", w.constant(1), w.v(3), w.v(3)) // the bits of 1 are the bias of the exponent
	w.op("VPSLLD $23, %s, %s", w.v(1), w.v(1))
	w.op("VPADDD %s, %s, %s", w.constant(1), w.v(1), w.v(1))
	w.op("VMULPS %s, %s, %s", w.v(3), w.v(2), w.v(0))
	w.op("VMULPS %s, %s, %s", w.v(1), w.v(0), w.v(0))
}

// sign splits register 0 into its sign, in register 8, and its size.
func (w *writer) sign() {
	if w.reg == "Z" {
		w.op("VPANDD %s, Z0, Z8", w.constant(float32(math.Copysign(0, -1))))
		w.op("VPXORD Z8, Z0, Z0")
	} else {
		w.op("VANDPS %s, Y0, Y8", w.constant(float32(math.Copysign(0, -1))))
		w.op("VXORPS Y8, Y0, Y0")
	}
}

func (w *writer) signed() {
	if w.reg == "Z" {
		w.op("VPORD Z8, Z0, Z0")
	} else {
		w.op("VORPS Y8, Y0, Y0")
	}
}

// tanh uses registers 0 to 8.
func (w *writer) tanh() {
	w.sign()
	w.op("VMOVAPS %s, %s", w.v(0), w.v(6))
	w.op("VMULPS %s, %s, %s", w.v(0), w.v(0), w.v(4))
	w.polynomial(5, 4, -5.895158262305532e-3, 2.0795971811381916e-2, -5.3783830314922905e-2, 0.13331924126973033, -0.33333298002112094)
	w.op("VMULPS %s, %s, %s", w.v(4), w.v(6), w.v(7))
	w.op("VMULPS %s, %s, %s", w.v(5), w.v(7), w.v(7))
	w.op("VADDPS %s, %s, %s", w.v(6), w.v(7), w.v(7)) // near zero
	w.op("VADDPS %s, %s, %s", w.v(0), w.v(0), w.v(0))
	w.exp()
	w.op("VADDPS %s, %s, %s", w.constant(1), w.v(0), w.v(0))
	w.op("VMOVUPS %s, %s", w.constant(2), w.v(1))
	w.op("VDIVPS %s, %s, %s", w.v(0), w.v(1), w.v(0))
	w.op("VMOVUPS %s, %s", w.constant(1), w.v(1))
	w.op("VSUBPS %s, %s, %s", w.v(0), w.v(1), w.v(1))
	w.op("VMOVUPS %s, %s", w.constant(0.6), w.v(2))
	w.selectLess(6, 2, 7, 1)
	w.signed()
}

// erf uses registers 0 to 8.
func (w *writer) erf() {
	w.sign()
	w.op("VMOVAPS %s, %s", w.v(0), w.v(6))
	w.op("VMULPS %s, %s, %s", w.v(0), w.v(0), w.v(4))
	w.polynomial(7, 4, 7.853861087990986e-5, -8.010193533390573e-4, 5.188327673638822e-3, -2.685381192784346e-2,
		0.11283585148404807, -0.37612625824212953, 1.1283791657266713)
	w.op("VMULPS %s, %s, %s", w.v(0), w.v(7), w.v(7))
	w.op("VMOVUPS %s, %s", w.constant(4), w.v(1))
	w.op("VMINPS %s, %s, %s", w.v(0), w.v(1), w.v(4))
	w.polynomial(0, 4, 1.9150392675216534e-4, -2.9995386736285257e-3, 2.205198947369372e-2, -0.10356687574014703,
		-0.6376000570951103, -1.1274260754280574, -2.5644823698498876e-4)
	w.exp()
	w.op("VMOVUPS %s, %s", w.constant(1), w.v(1))
	w.op("VSUBPS %s, %s, %s", w.v(0), w.v(1), w.v(1))
	w.op("VMOVUPS %s, %s", w.constant(1), w.v(2))
	w.selectLess(6, 2, 7, 1)
	w.signed()
}

// log uses registers 0 to 7.
func (w *writer) log() {
	bits := func(n uint32) string { return w.constant(math.Float32frombits(n)) }
	w.op("VMOVAPS %s, %s", w.v(0), w.v(6))
	w.op("VMULPS %s, %s, %s", w.constant(1<<23), w.v(0), w.v(7))
	w.op("VMOVUPS %s, %s", bits(1<<23), w.v(1)) // the least normal number
	w.op("VMOVAPS %s, %s", w.v(0), w.v(2))
	w.selectLess(6, 1, 7, 2)
	w.op("VMOVAPS %s, %s", w.v(0), w.v(5))
	w.op("VMOVUPS %s, %s", w.constant(23), w.v(7))
	w.zero(2)
	w.selectLess(6, 1, 7, 2)
	w.op("VMOVAPS %s, %s", w.v(0), w.v(4)) // what the exponent is too great by
	w.op("VPSUBD %s, %s, %s", bits(rootHalf), w.v(5), w.v(0))
	w.op("VPSRAD $23, %s, %s", w.v(0), w.v(0))
	w.op("VPSLLD $23, %s, %s", w.v(0), w.v(1))
	w.op("VPSUBD %s, %s, %s", w.v(1), w.v(5), w.v(1))
	w.op("VCVTDQ2PS %s, %s", w.v(0), w.v(0))
	w.op("VSUBPS %s, %s, %s", w.v(4), w.v(0), w.v(4)) // exponent
	w.op("VMOVUPS %s, %s", w.constant(1), w.v(2))
	w.op("VSUBPS %s, %s, %s", w.v(2), w.v(1), w.v(1)) // fraction - 1
	w.polynomial(5, 1, logTerms...)
	w.op("VMULPS %s, %s, %s", w.v(1), w.v(1), w.v(2))
	w.op("VMULPS %s, %s, %s", w.v(1), w.v(5), w.v(5))
	w.op("VMULPS %s, %s, %s", w.v(2), w.v(5), w.v(5))
	w.op("VMULPS %s, %s, %s", w.constant(-2.12194440e-4), w.v(4), w.v(7))
	w.op("VADDPS %s, %s, %s", w.v(7), w.v(5), w.v(5))
	w.op("VMULPS %s, %s, %s", w.constant(0.5), w.v(2), w.v(2))
	w.op("VSUBPS %s, %s, %s", w.v(2), w.v(5), w.v(5))
	w.op("VADDPS %s, %s, %s", w.v(5), w.v(1), w.v(5))
	w.op("VMULPS %s, %s, %s", w.constant(0.693359375), w.v(4), w.v(7))
	w.op("VADDPS %s, %s, %s", w.v(7), w.v(5), w.v(5))
	w.op("VMOVUPS %s, %s", w.constant(float32(math.Inf(1))), w.v(1))
	w.selectLess(6, 1, 5, 1) // infinity stays
	w.op("VMOVAPS %s, %s", w.v(0), w.v(5))
	w.zero(1)
	w.op("VMOVUPS %s, %s", w.constant(float32(math.Inf(-1))), w.v(2))
	w.selectLess(1, 6, 5, 2)
	w.op("VMOVAPS %s, %s", w.v(0), w.v(5))
	w.op("VMOVUPS %s, %s", bits(0x7fc00000), w.v(2))
	w.selectBy(atLeast, 6, 1, 5, 2)
}

const (
	rootHalf = 0x3f3504f3 // the bits of the square root of a half
	atLeast  = 13         // a comparison that NaN fails
)

// logTerms are the polynomial of the logarithm near 1.
var logTerms = []float32{7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
	2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1}
