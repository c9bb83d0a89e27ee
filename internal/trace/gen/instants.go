package gen

import (
	"fmt"
	"math/rand/v2"

	"npu/internal/trace"
)

// Instants makes a small trace in which records, waits and the tasks after them fall on the same instants: what writers
// of timelines get wrong.
func Instants(seed uint64) *trace.Trace {
	rng := rand.New(rand.NewPCG(seed, 9))
	r := trace.NewRecorder()
	clock := make([]int64, 4)
	for i := range uint32(300) {
		from, to := rng.IntN(len(clock)), rng.IntN(len(clock))
		run := func(stream int, start, end int64, k trace.Task) {
			k.Submit, k.Ready, k.Start, k.End = start, start, start, end
			k.Stream, k.Task, k.Name = uint32(stream), 1000*uint32(stream)+i, r.Intern(fmt.Sprint(k.Kind, i))
			clock[stream] = end
			r.Tasks([]trace.Task{k})
		}
		if from != to {
			at := clock[from]
			run(from, at, at, trace.Task{Kind: trace.EventRecord, Event: 1 + i, Gen: 1})
			run(to, clock[to], max(clock[to], at), trace.Task{Kind: trace.EventWait, Event: 1 + i, Gen: 1})
		}
		run(to, clock[to], clock[to]+rng.Int64N(3), trace.Task{Kind: trace.KernelAICore, Engine: trace.EngineCube})
	}
	return r.Finish()
}
