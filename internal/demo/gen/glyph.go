package main

// point is a place in a glyph's box (0,0 top left to 1,1 bottom right) or, once placed, in pixels.
type point struct{ x, y float32 }

// stroke is one line of the pen through its points: straight, or a curve; a closed curve returns to its start.
type stroke struct {
	form   form
	points []point
}

type form uint8

const (
	straight form = iota
	curve
	loop
)

// font has the ways to write each digit.
func font() [classes][][]stroke {
	return [classes][][]stroke{
		0: {{{loop, []point{{.5, 0}, {.86, .14}, {1, .5}, {.86, .86}, {.5, 1}, {.14, .86}, {0, .5}, {.14, .14}}}}},
		1: {
			{{straight, []point{{.5, 0}, {.5, 1}}}},
			{{straight, []point{{.2, .25}, {.55, 0}, {.55, 1}}}},
			{{straight, []point{{.2, .25}, {.55, 0}, {.55, 1}}}, {straight, []point{{.15, 1}, {.95, 1}}}},
		},
		2: {
			{{curve, []point{{.05, .26}, {.2, .05}, {.55, 0}, {.9, .15}, {.88, .42}, {.5, .7}, {0, 1}}}, {straight, []point{{0, 1}, {1, 1}}}},
			{{curve, []point{{.1, .2}, {.5, 0}, {.92, .2}, {.75, .52}, {.3, .9}, {.05, .92}, {.2, .8}, {.6, .95}, {1, .95}}}},
		},
		3: {
			{
				{curve, []point{{.05, .12}, {.45, 0}, {.9, .15}, {.85, .38}, {.4, .48}}},
				{curve, []point{{.4, .48}, {.88, .58}, {1, .78}, {.55, 1}, {0, .88}}},
			},
			{
				{straight, []point{{.05, 0}, {.95, 0}, {.45, .4}}},
				{curve, []point{{.45, .4}, {.92, .54}, {.92, .86}, {.45, 1}, {0, .88}}},
			},
		},
		4: {
			{{straight, []point{{.75, 1}, {.75, 0}, {0, .68}, {1, .68}}}},
			{{straight, []point{{.15, 0}, {.08, .55}, {.98, .55}}}, {straight, []point{{.75, .15}, {.72, 1}}}},
		},
		5: {{
			{straight, []point{{.92, 0}, {.15, 0}, {.1, .45}}},
			{curve, []point{{.1, .45}, {.5, .37}, {.92, .5}, {.95, .8}, {.5, 1}, {.02, .88}}},
		}},
		6: {
			{{curve, []point{{.85, .04}, {.4, .17}, {.05, .55}, {.12, .87}, {.5, 1}, {.9, .85}, {.9, .6}, {.5, .48}, {.1, .64}}}},
			{{curve, []point{{.55, 0}, {.2, .35}, {.05, .7}}}, {loop, []point{{.5, .5}, {.95, .74}, {.5, 1}, {.05, .74}}}},
		},
		7: {
			{{straight, []point{{0, 0}, {1, 0}, {.4, 1}}}},
			{{straight, []point{{0, 0}, {1, 0}, {.4, 1}}}, {straight, []point{{.3, .5}, {.95, .5}}}},
			{{straight, []point{{.02, .16}, {.02, 0}, {1, 0}}}, {curve, []point{{1, 0}, {.6, .45}, {.4, 1}}}},
		},
		8: {
			{{loop, []point{{.5, 0}, {.12, .22}, {.5, .46}, {.97, .74}, {.5, 1}, {.03, .74}, {.5, .46}, {.88, .22}}}},
			{{loop, []point{{.5, 0}, {.88, .23}, {.5, .46}, {.12, .23}}}, {loop, []point{{.5, .46}, {1, .73}, {.5, 1}, {0, .73}}}},
		},
		9: {
			{{curve, []point{{.9, .36}, {.5, .52}, {.1, .4}, {.1, .15}, {.5, 0}, {.88, .13}, {.95, .45}, {.6, .83}, {.15, .96}}}},
			{{loop, []point{{.5, 0}, {.92, .26}, {.5, .52}, {.05, .26}}}, {straight, []point{{.92, .2}, {.85, 1}}}},
		},
	}
}

// spanParts is how many straight pieces stand for a curve between two points.
const spanParts = 5

// flatten appends the stroke as straight segments. Curves are Catmull-Rom splines: polynomials, so that no sine or
// cosine is needed, and they pass through the points however those are moved.
func (s stroke) flatten(segs []segment) []segment {
	p := s.points
	if s.form == straight {
		for i := 1; i < len(p); i++ {
			segs = append(segs, segment{p[i-1], p[i]})
		}
		return segs
	}
	spans := len(p) - 1
	if s.form == loop {
		spans = len(p)
	}
	at := func(i int) point {
		if s.form == loop {
			return p[(i+len(p))%len(p)]
		}
		return p[min(max(i, 0), len(p)-1)]
	}
	last := at(0)
	for i := range spans {
		a, b, c, d := at(i-1), at(i), at(i+1), at(i+2)
		for k := 1; k <= spanParts; k++ {
			t := float32(k) / spanParts
			next := point{spline(a.x, b.x, c.x, d.x, t), spline(a.y, b.y, c.y, d.y, t)}
			segs = append(segs, segment{last, next})
			last = next
		}
	}
	return segs
}

// spline is the Catmull-Rom polynomial from b (t=0) to c (t=1).
func spline(a, b, c, d, t float32) float32 {
	c1 := c - a
	c2 := mul(2, a) - mul(5, b) + mul(4, c) - d
	c3 := mul(3, b-c) + d - a
	return b + mul(0.5, mul(t, c1+mul(t, c2+mul(t, c3))))
}
