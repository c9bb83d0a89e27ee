package main

import (
	"math"
	"math/rand/v2"
)

const (
	classes = 10
	side    = 28 // pixels along each side of an image
	area    = side * side
)

// set is a family of images that shares none with another.
type set uint64

const (
	training set = iota + 1
	heldOut
)

// seed is the first half of every generator's state.
const seed = 910

// drawing is an image with its answer; pixels are k/255, 0 for paper and 1 for ink.
type drawing struct {
	pixels [area]float32
	digit  int
}

type segment struct{ from, to point }

// draw makes image number index of a set; each has a generator of its own, so that any one can be drawn alone.
func draw(s set, index int) drawing {
	g := pen{rand.New(rand.NewPCG(seed, uint64(s)<<32|uint64(index)))}
	im := drawing{digit: g.IntN(classes)}
	ways := font()[im.digit]
	place := g.placement()
	var segs []segment
	for _, s := range ways[g.IntN(len(ways))] {
		for i, p := range s.points {
			s.points[i] = place.apply(point{p.x + g.spread(0.1), p.y + g.spread(0.1)})
		}
		segs = s.flatten(segs)
	}
	ink(&im.pixels, segs, g.between(0.6, 1.8), g.between(0.45, 1))
	for range g.IntN(5) {
		from := point{g.between(0, side), g.between(0, side)}
		to := point{from.x + g.spread(7), from.y + g.spread(7)}
		ink(&im.pixels, []segment{{from, to}}, g.between(0.3, 0.6), g.between(0.3, 0.8))
	}
	g.paper(&im.pixels)
	return im
}

// pen draws the random decisions of one image.
type pen struct{ *rand.Rand }

func (g pen) between(lo, hi float32) float32 { return lo + mul(hi-lo, g.Float32()) }

// spread is around 0 with a triangular density, within ±r.
func (g pen) spread(r float32) float32 { return mul(r, float32(g.Float32())+float32(g.Float32())-1) }

// affine maps a glyph's box to pixels.
type affine struct{ xx, xy, yx, yy, dx, dy float32 }

// placement is a random size, aspect, slant, angle and position.
func (g pen) placement() affine {
	height := g.between(14, 21)
	width := mul(height, g.between(0.5, 0.8))
	slant := g.spread(0.45)
	// The angle is given by the tangent of its half: sine and cosine are then rational.
	t := g.spread(0.2)
	tt := mul(t, t)
	cos, sin := (1-tt)/(1+tt), mul(2, t)/(1+tt)
	// Width, height and slant first, then the rotation, about the middle of the box.
	m := affine{
		xx: mul(cos, width), xy: mul(height, -mul(cos, slant)-sin),
		yx: mul(sin, width), yy: mul(height, cos-mul(sin, slant)),
	}
	m.dx = side/2 + g.spread(4) - mul(0.5, m.xx+m.xy)
	m.dy = side/2 + g.spread(4) - mul(0.5, m.yx+m.yy)
	return m
}

func (m affine) apply(p point) point {
	return point{mul(m.xx, p.x) + mul(m.xy, p.y) + m.dx, mul(m.yx, p.x) + mul(m.yy, p.y) + m.dy}
}

// ink draws segments with a round pen; a pixel takes the darkest of them, with an edge one pixel wide.
func ink(pixels *[area]float32, segs []segment, radius, strength float32) {
	for i := range pixels {
		p := point{float32(i%side) + 0.5, float32(i/side) + 0.5}
		nearest := float32(math.MaxFloat32)
		for _, s := range segs {
			nearest = min(nearest, s.distance2(p))
		}
		cover := radius + 0.5 - float32(math.Sqrt(float64(nearest)))
		pixels[i] = max(pixels[i], mul(strength, min(1, max(0, cover))))
	}
}

// distance2 is the squared distance of p from the segment.
func (s segment) distance2(p point) float32 {
	vx, vy := s.to.x-s.from.x, s.to.y-s.from.y
	wx, wy := p.x-s.from.x, p.y-s.from.y
	if l := mul(vx, vx) + mul(vy, vy); l > 0 {
		t := min(1, max(0, (mul(vx, wx)+mul(vy, wy))/l))
		wx, wy = wx-mul(t, vx), wy-mul(t, vy)
	}
	return mul(wx, wx) + mul(wy, wy)
}

// paper adds a grey that grows across the sheet, grain and some specks, and rounds to 256 levels as a camera does.
func (g pen) paper(pixels *[area]float32) {
	grey, slope := g.between(0, 0.15), g.spread(0.006)
	grain := g.between(0.05, 0.5)
	for i := range pixels {
		v := pixels[i] + grey + mul(slope, float32(i%side-side/2)) + g.spread(grain)
		if g.IntN(150) == 0 {
			v = g.Float32()
		}
		level := int(mul(255, min(1, max(0, v))) + 0.5)
		pixels[i] = float32(level) / 255
	}
}
