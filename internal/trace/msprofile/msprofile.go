// Package msprofile writes traces as the vendor's msprof exports them: as the JSON timeline msprof_*.json and as the
// database msprof_*.db, so that MindStudio Insight and scripts for real profiles open them. What those formats have no place
// for is lost: why tasks waited, events, and most of the cycle accounts.
package msprofile

import (
	"npu/internal/trace"
)

// word is the vendor's name of a task type.
func word(t *trace.Trace, k *trace.Task) string {
	switch k.Kind {
	case trace.ValueWrite:
		return "MEM_WRITE_VALUE"
	case trace.ValueWait:
		return "MEM_WAIT_VALUE"
	case trace.HostFunc:
		return "HOSTFUNC_CALLBACK"
	case trace.Flip:
		return "FLIP_TASK"
	case trace.Reduce:
		return "REDUCE_ASYNC_V2"
	case trace.LabelSwitch:
		return "LABEL_SWITCH"
	case trace.Other:
		if s := t.String(k.Op); s != "" {
			return s
		}
	}
	return k.Kind.String()
}

// core is the vendor's name of the core that a kernel ran on.
func core(k trace.Kind) string {
	switch k {
	case trace.KernelAICore:
		return "AI_CORE"
	case trace.KernelAIVector:
		return "AI_VECTOR_CORE"
	case trace.KernelMix:
		return "MIX_AIC"
	case trace.KernelMixAIV:
		return "MIX_AIV"
	case trace.KernelAICPU:
		return "AI_CPU"
	}
	return "N/A"
}

// none is what the vendor writes for an id that there is none of.
const none = 4294967295

// model is the model id of a task.
func model(k *trace.Task) int64 {
	if k.Model == 0 {
		return none
	}
	return int64(k.Model)
}

// contextOf is the context id: that of a part is 0 here.
func contextOf(k *trace.Task) int64 {
	if k.Flags&trace.FlagPart != 0 {
		return 0
	}
	return none
}

// alone is the connection of a part whose task is not on its stream: a collective operation as a whole, say.
const alone = -1

// connections numbers the calls from 1 and gives each task the number of its call, 0 for none. Parts of a task have its
// number.
func connections(t *trace.Trace) []int32 {
	out := make([]int32, t.Tasks.Len())
	for span, row := range t.Submissions() {
		if row >= 0 && out[row] == 0 {
			out[row] = int32(span) + 1
		}
	}
	type key struct {
		streamKey
		task uint32
	}
	last := map[key]int32{} // tasks that may have parts
	for i := range out {
		k := key{streamKey{t.Tasks.Device.At(i), t.Tasks.Stream.At(i)}, t.Tasks.Task.At(i)}
		if t.Tasks.Flags.At(i)&trace.FlagPart == 0 {
			last[k] = out[i]
		} else if connection, ok := last[k]; ok {
			out[i] = connection
		} else {
			out[i] = alone
		}
	}
	return out
}

type streamKey struct {
	device uint16
	stream uint32
}
