// Package ascend knows the vendor's words: the task types, core types and chip names that profiling data of real devices
// uses, in the spellings of all generations of collectors and exporters, and how they write numbers. The readers of such
// data share it.
package ascend

import (
	"strings"

	"npu/internal/trace"
)

// meaning is what a word says of a task.
type meaning struct {
	kind   trace.Kind
	engine trace.Engine
}

// Kind gives the kind of task and the engine that a task type, core type or sqe type stands for. Words that this program
// has no kind for are Other.
func Kind(word string) (trace.Kind, trace.Engine) {
	m, ok := words()[Canonical(word)]
	if !ok {
		return trace.Other, trace.EngineNone
	}
	return m.kind, m.engine
}

// Canonical is the spelling that task types have in raw data: capitals and underscores.
func Canonical(word string) string {
	if !strings.ContainsFunc(word, func(r rune) bool { return r == ' ' || 'a' <= r && r <= 'z' }) {
		return word
	}
	return strings.ToUpper(strings.ReplaceAll(strings.TrimSpace(word), " ", "_"))
}

// Words maps task types to their kinds for a reader that looks many up.
type Words struct {
	known map[string]meaning
	seen  map[string]meaning
}

// NewWords makes an empty memory of words.
func NewWords() *Words { return &Words{words(), map[string]meaning{}} }

// Kind is as the function of this name.
func (w *Words) Kind(word string) (trace.Kind, trace.Engine) {
	m, ok := w.seen[word]
	if !ok {
		if m, ok = w.known[Canonical(word)]; !ok {
			m = meaning{trace.Other, trace.EngineNone}
		}
		w.seen[word] = m
	}
	return m.kind, m.engine
}

func words() map[string]meaning {
	all := map[string]meaning{}
	for _, g := range []struct {
		meaning
		words string
	}{
		{meaning{trace.KernelAICore, trace.EngineCube}, "KERNEL_AICORE AI_CORE AICORE AIC"},
		{meaning{trace.KernelAIVector, trace.EngineVector}, "KERNEL_AIVEC AI_VECTOR_CORE AIV_SQE AIV"},
		{meaning{trace.KernelMix, trace.EngineCube}, "KERNEL_MIX_AIC MIX_AIC"},
		{meaning{trace.KernelMixAIV, trace.EngineVector}, "KERNEL_MIX_AIV MIX_AIV"},
		{meaning{trace.KernelAICPU, trace.EngineAICPU}, "KERNEL_AICPU AI_CPU AICPU AICPU_D AICPU_H"},
		{meaning{trace.EventRecord, trace.EngineNone}, "EVENT_RECORD EVENT_RECORD_SQE DAVID_EVENT_RECORD CAPTURE_RECORD IPC_EVENT_RECORD"},
		{meaning{trace.EventWait, trace.EngineNone}, "EVENT_WAIT EVENT_WAIT_SQE DAVID_EVENT_WAIT CAPTURE_WAIT REMOTE_EVENT_WAIT IPC_EVENT_WAIT"},
		{meaning{trace.EventReset, trace.EngineNone}, "EVENT_RESET DAVID_EVENT_RESET"},
		{meaning{trace.NotifyRecord, trace.EngineNone}, "NOTIFY_RECORD NOTIFY_RECORD_SQE"},
		{meaning{trace.NotifyWait, trace.EngineNone}, "NOTIFY_WAIT NOTIFY_WAIT_SQE"},
		{meaning{trace.Memcpy, trace.EngineDMA}, "MEMCPY_ASYNC MEMCPY SDMA SDMA_SQE PCIE_DMA_SQE PCIE_DMA UBDMA ASYNCDMA RDMA_SEND RDMASEND"},
		{meaning{trace.Memset, trace.EngineDMA}, "MEMSET_ASYNC"},
		{meaning{trace.ModelExecute, trace.EngineNone}, "MODEL_EXECUTE"},
		{meaning{trace.ModelEnd, trace.EngineNone}, "MODEL_END_GRAPH"},
		{meaning{trace.StreamActive, trace.EngineNone}, "STREAM_ACTIVE"},
		{meaning{trace.StreamSwitch, trace.EngineNone}, "STREAM_SWITCH"},
		{meaning{trace.LabelSwitch, trace.EngineNone}, "LABEL_SWITCH LABEL_SWITCH_BY_INDEX"},
		{meaning{trace.LabelGoto, trace.EngineNone}, "LABEL_GOTO"},
		{meaning{trace.LabelSet, trace.EngineNone}, "LABEL_SET"},
		{meaning{trace.ValueWrite, trace.EngineNone}, "WRITE_VALUE WRITE_VALUE_SQE WRITEVALUETASK MEM_WRITE_VALUE VALUE_WRITE"},
		{meaning{trace.ValueWait, trace.EngineNone}, "MEM_WAIT_VALUE VALUE_WAIT"},
		{meaning{trace.HostFunc, trace.EngineHost}, "HOSTFUNC_CALLBACK HOST_FUNC HOST_CPU"},
		{meaning{trace.Flip, trace.EngineNone}, "FLIP_TASK FLIP"},
		{meaning{trace.Nop, trace.EngineNone}, "NOP"},
		{meaning{trace.Reduce, trace.EngineDMA}, "REDUCE_ASYNC REDUCE_ASYNC_V2 REDUCE_INLINE"},
		{meaning{trace.CacheOp, trace.EngineDMA}, "CMO"},
		{meaning{trace.Communication, trace.EngineNone}, "HCCL COMMUNICATION"},
	} {
		for w := range strings.FieldsSeq(g.words) {
			all[w] = g.meaning
		}
	}
	return all
}

// Kernel names the kind of core that the source says a kernel ran on, where the task type says only that it is a kernel.
func Kernel(kind trace.Kind, core string) (trace.Kind, trace.Engine, bool) {
	k, e := Kind(core)
	return k, e, k.Kernel() && kind == trace.KernelAICore
}

// Chip is the family that a platform_version stands for; empty for an unknown one. A profile does not say which bin of
// the family the chip is.
func Chip(platform int) string {
	return map[int]string{
		0: "Ascend310", 1: "Ascend910A", 4: "Ascend310P", 5: "Ascend910B", 7: "Ascend310B", 15: "Ascend950", 16: "Ascend950",
	}[platform]
}

// CommunicationStream is the first number of streams that readers make up for tracks of collective operations; devices
// have fewer streams of their own.
const CommunicationStream = 1 << 30
