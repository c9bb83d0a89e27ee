package kernels

import (
	"fmt"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// nmsOps is NonMaxSuppression. Its result has one row a selected box; the number is known where boxes, scores and
// limits are.
func nmsOps() map[string]*Op {
	return map[string]*Op{"NonMaxSuppression": define(inferNMS, buildNMS)}
}

func inferNMS(s *Spec) error {
	if err := s.operands(2, 5); err != nil {
		return err
	}
	boxes, scores := s.In[0], s.In[1]
	if boxes.DType != tensor.Float32 || scores.DType != tensor.Float32 {
		return errWant("boxes and scores", "float32", boxes.DType)
	}
	if len(boxes.Shape) != 3 || len(scores.Shape) != 3 || boxes.Shape[2] >= 0 && boxes.Shape[2] != 4 {
		return fmt.Errorf("boxes %v and scores %v, must be batch,boxes,4 and batch,classes,boxes", boxes.Shape, scores.Shape)
	}
	for i, j := range map[int]int{0: 0, 1: 2} {
		if a, b := boxes.Shape[i], scores.Shape[j]; a >= 0 && b >= 0 && a != b {
			return fmt.Errorf("boxes %v and scores %v disagree", boxes.Shape, scores.Shape)
		}
	}
	for i, t := range []tensor.DType{tensor.Int64, tensor.Float32, tensor.Float32} {
		d := s.Input(i + 2)
		if d.Absent() {
			continue
		}
		if n, err := d.length(); d.DType != t || err != nil || n >= 0 && n != 1 {
			return fmt.Errorf("input %d is %v %v, must be one %v", i+2, d.DType, d.Shape, t)
		}
	}
	n := -1
	if p, x := newSuppressor(s), constants(s); x != nil && p != nil {
		n = p.run(x.In, make([]byte, p.space), nil)
	}
	return s.results(Desc{DType: tensor.Int64, Shape: tensor.Shape{n, 3}})
}

// constants is an execution on the operands' constant values; nil where one is not known.
func constants(s *Spec) *Exec {
	x := &Exec{In: make([][]byte, len(s.In))}
	for i, d := range s.In {
		if d.Absent() {
			continue
		}
		if d.Const == nil || !d.Shape.Static() || checkSize(d) != nil || len(d.Const.Data) != d.bytes() {
			return nil
		}
		x.In[i] = d.Const.Data
	}
	return x
}

func buildNMS(s *Spec) (*Kernel, error) {
	p, want := newSuppressor(s), s.Out[0].Shape[0]
	k := s.kernel("NonMaxSuppressionV6", cost.AICPU, 1, all(len(s.In)), func(x *Exec) error {
		if len(x.Workspace) < p.space {
			return fmt.Errorf("workspace has %d bytes, needs %d", len(x.Workspace), p.space)
		}
		if n := p.run(x.In, x.Workspace, tensor.View[int64](x.Out[0])[:want*3]); n != want {
			return otherCount(n, want)
		}
		return nil
	})
	k.Workspace = p.space
	k.Work.ScalarOps = int64(p.batch*p.classes*p.boxes) * 16
	return k, nil
}

// suppressor selects boxes in order of score and drops those that overlap one selected before.
type suppressor struct {
	batch, classes, boxes int
	center                bool
	space                 int
	has                   [3]bool
}

// newSuppressor is nil for shapes that are not static.
func newSuppressor(s *Spec) *suppressor {
	b, c := s.In[0].Shape, s.In[1].Shape
	if !b.Static() || !c.Static() || checkSize(s.In[0]) != nil || checkSize(s.In[1]) != nil {
		return nil
	}
	p := &suppressor{batch: c[0], classes: c[1], boxes: c[2], center: s.Attrs.Int("center_point_box", 0) != 0, space: 16 * c[2]}
	if p.boxes == 0 {
		p.batch = 0
	}
	for i := range p.has {
		p.has[i] = !s.Input(i + 2).Absent()
	}
	return p
}

// run writes rows of batch, class and box to out as far as they fit, and returns their number.
func (p *suppressor) run(in [][]byte, workspace []byte, out []int64) int {
	most, overlap, least, hasLeast := int64(0), float32(0), float32(0), p.has[2]
	if p.has[0] {
		most = tensor.View[int64](in[2])[0]
	}
	if p.has[1] {
		overlap = tensor.View[float32](in[3])[0]
	}
	if p.has[2] {
		least = tensor.View[float32](in[4])[0]
	}
	work := tensor.View[uint64](workspace)
	h := topHeap{keys: work[:p.boxes]}
	n := 0
	for u := range p.batch * p.classes {
		scores := in[1][u*p.boxes*4:]
		boxes := tensor.View[float32](in[0])[u/p.classes*p.boxes*4:]
		for i := range p.boxes {
			h.keys[i] = orderKey(tensor.Float32, scores, i, false)
		}
		h.kept = work[p.boxes : 2*p.boxes]
		ranked := h.best()
		chosen := 0 // the first of ranked are reused for the chosen ones
		for _, b := range ranked {
			if int64(chosen) >= most {
				break
			}
			if hasLeast && !(tensor.View[float32](scores)[b] > least) {
				break
			}
			free := true
			for _, c := range ranked[:chosen] {
				if p.overlap(boxes[b*4:], boxes[c*4:]) > overlap {
					free = false
					break
				}
			}
			if !free {
				continue
			}
			ranked[chosen] = b
			chosen++
			if (n+1)*3 <= len(out) {
				out[n*3], out[n*3+1], out[n*3+2] = int64(u/p.classes), int64(u%p.classes), int64(b)
			}
			n++
		}
	}
	return n
}

// overlap is the intersection of two boxes over their union.
func (p *suppressor) overlap(a, b []float32) float32 {
	y1, x1, y2, x2 := p.corners(a)
	v1, u1, v2, u2 := p.corners(b)
	w, h := min(x2, u2)-max(x1, u1), min(y2, v2)-max(y1, v1)
	if !(w > 0 && h > 0) {
		return 0
	}
	both := w * h
	return both / ((x2-x1)*(y2-y1) + (u2-u1)*(v2-v1) - both)
}

// corners are the lower and upper corner of a box given by two corners in any order, or by centre and size.
func (p *suppressor) corners(b []float32) (y1, x1, y2, x2 float32) {
	if p.center {
		return b[1] - b[3]/2, b[0] - b[2]/2, b[1] + b[3]/2, b[0] + b[2]/2
	}
	return min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]), max(b[1], b[3])
}
