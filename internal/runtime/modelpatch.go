package runtime

import (
	"encoding/binary"
	"fmt"

	"npu/internal/sim"
	"npu/internal/trace"
)

// Patch is a new value of an argument word of a launch in a built model, or of an address of a copy: word 0 is its
// destination, word 1 its source. Task is the number that Launch or Copy has returned.
type Patch struct {
	Task, Word int
	Value      uint64
}

// PatchModel changes arguments of a built model. It is one task of the stream and happens in its order, so that
// executions submitted before see the old values and those behind it the new ones: how a model follows buffers of its
// caller that move, without a copy of their contents.
func (th *Thread) PatchModel(m *Model, list []Patch, s *Stream) error {
	s, err := th.use(s, callUpdateEnd)
	if err != nil {
		return err
	}
	if m == nil || m.destroyed.Load() || m.inst == nil {
		return th.fail(InvalidHandle, callUpdateEnd.name, "the model is not loaded", "")
	}
	for _, p := range list {
		words := 0
		if p.Task >= 0 && p.Task < len(m.launches) {
			if words = 2; m.launches[p.Task].replace {
				words = len(m.launches[p.Task].args)
			}
		}
		if p.Word < 0 || p.Word >= words {
			return th.fail(InvalidParam, callUpdateEnd.name, fmt.Sprintf("word %d of task %d", p.Word, p.Task), "take numbers that Launch and Copy return")
		}
	}
	own := append([]Patch(nil), list...)
	task := sim.Task{Kind: trace.Nop}
	err = th.port.Call(func() {
		task.Name = th.rt.strings.Intern("argument update")
		task.A = th.rt.machine.NewUpdate(func() {
			for _, p := range own {
				n := m.launches[p.Task]
				if !n.replace {
					queue, pos := n.lane.place(n.index)
					m.inst.Readdress(queue, pos, p.Word, p.Value)
					continue
				}
				if b := m.dev.hw.Bytes(uint64(m.args)+uint64(n.argOff+8*p.Word), 8); b != nil {
					binary.LittleEndian.PutUint64(b, p.Value)
				}
			}
		})
	})
	if err != nil {
		return th.blocked(callUpdateEnd.name, nil, err)
	}
	return th.submit(s, &task, nil, callUpdateEnd)
}
