package model

import (
	"npu/internal/model/plan"
	"npu/internal/problem"
	"npu/internal/runtime"
)

// patches is which argument words of a sunk model hold the address of an input or output: what has to change when the
// caller's buffers move.
type patches struct {
	inputs, outputs [][]place
	moved           []runtime.Patch // since the last execution
}

// place is an argument word: task and word as runtime.Patch has them.
type place struct{ task, word int }

// launch notes the words of a launch that are addresses of inputs and outputs.
func (p *patches) launch(s *Session, task int, x *plan.Step) {
	word := 0
	for _, list := range [][]plan.Operand{x.In, x.Out} {
		for _, o := range list {
			if o.Buffer >= 0 {
				p.add(s, task, word, o.Buffer)
				word++
			}
		}
	}
}

func (p *patches) add(s *Session, task, word, buffer int) {
	b := &s.buffers[buffer]
	switch b.Region {
	case plan.Input:
		p.inputs = note(p.inputs, b.Index, place{task, word})
	case plan.Output:
		p.outputs = note(p.outputs, b.Index, place{task, word})
	}
}

func note(list [][]place, i int, x place) [][]place {
	for len(list) <= i {
		list = append(list, nil)
	}
	list[i] = append(list[i], x)
	return list
}

// apply submits the changes before an execution, if there are any.
func (p *patches) apply(s *Session) error {
	if len(p.moved) == 0 {
		return nil
	}
	err := s.th.PatchModel(s.sunk, p.moved, s.stream)
	if err == nil {
		p.moved = p.moved[:0]
	}
	return err
}

// BindInput makes the sunk model read input i from the caller's device memory, from the next execution on. Nothing is
// copied; the argument words that hold the address are changed, and only if it differs from the one before.
func (s *Session) BindInput(i int, p runtime.Ptr) error {
	return s.bind(s.inputs, s.patches.inputs, i, p)
}

// BindOutput makes the sunk model write output i to the caller's device memory, as BindInput.
func (s *Session) BindOutput(i int, p runtime.Ptr) error {
	return s.bind(s.outputs, s.patches.outputs, i, p)
}

func (s *Session) bind(ports []runtime.Ptr, places [][]place, i int, p runtime.Ptr) error {
	switch {
	case s.mode != Sunk:
		return problem.Usagef("buffers of the caller need mode graph")
	case i < 0 || i >= len(ports):
		return problem.Usagef("port %d of %d", i, len(ports))
	case p == 0 || p%plan.AddressAlign != 0:
		return problem.Usagef("address 0x%x: expected a multiple of %d", uint64(p), plan.AddressAlign)
	case ports[i] == p:
		return nil
	}
	ports[i] = p
	if i < len(places) {
		for _, x := range places[i] {
			s.patches.moved = append(s.patches.moved, runtime.Patch{Task: x.task, Word: x.word, Value: uint64(p)})
		}
	}
	return nil
}
