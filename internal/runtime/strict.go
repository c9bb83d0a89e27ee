package runtime

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"npu/internal/runtime/mempool"
	"npu/internal/sim"
	"npu/internal/trace"
)

// SetStrictFree makes Free on the current device give blocks back at once, as the real runtime does, and reports each
// free of a block that a task under way names among its arguments. Threads that are to be watched are started after it.
func (th *Thread) SetStrictFree(on bool) error {
	ctx, err := th.context(callFree)
	if err != nil {
		return err
	}
	err = th.port.Call(func() {
		th.dropCaches()
		ctx.dev.memory.strict.on.Store(on)
	})
	th.setContext(ctx)
	return th.blocked(callFree.name, nil, err)
}

// Misuse is a use after free: a block that was given back while a task used it.
type Misuse struct {
	Addr    Ptr
	Bytes   int64
	Stream  uint32
	Task    uint32 // flip count << 16 | task id, as in the trace
	FreedAt string // stack of the free
	UsedAt  string // stack of the submission
}

func (m Misuse) String() string {
	return fmt.Sprintf("use after free: block 0x%x of %d bytes was freed while task %d of stream %d uses it\nfreed at\n%ssubmitted at\n%s",
		uint64(m.Addr), m.Bytes, m.Task&0xffff, m.Stream, m.FreedAt, m.UsedAt)
}

// Misuses are the uses after free on the current device so far, in the order of the frees.
func (th *Thread) Misuses() ([]Misuse, error) {
	ctx, err := th.context(callFree)
	if err != nil {
		return nil, err
	}
	l := &ctx.dev.memory.strict
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Misuse(nil), l.found...), nil
}

// strictLog remembers what the tasks under way use, in strict mode only.
type strictLog struct {
	on    atomic.Bool
	mu    sync.Mutex
	notes []useNote
	found []Misuse
}

// useNote is a task with its operands.
type useNote struct {
	s     *Stream
	pos   uint64
	words []uint64
	stack []uintptr
}

// notesKept is how many tasks are remembered.
const notesKept = 1 << 14

// note remembers a submission.
func (l *strictLog) note(s *Stream, pos uint64, t *sim.Task, args []uint64) {
	n := useNote{s: s, pos: pos, words: append([]uint64(nil), args...), stack: callers()}
	switch {
	case t.Kind.Kernel() && len(args) == 0 && t.Args != 0:
		b := s.dev.hw.Bytes(t.Args, 8*int(t.Words))
		for ; len(b) >= 8; b = b[8:] {
			n.words = append(n.words, binary.LittleEndian.Uint64(b))
		}
	case t.Kind == trace.Memcpy:
		n.words = append(n.words, t.A, t.B)
	case !t.Kind.Kernel():
		n.words = append(n.words, t.A)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.notes) == notesKept {
		l.notes = append(l.notes[:0], l.notes[notesKept/2:]...)
	}
	l.notes = append(l.notes, n)
}

// check reports the tasks under way that use block b. Under Port.Call.
func (l *strictLog) check(b mempool.Block, d *Device) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.notes {
		if n.s.destroyed.Load() || n.pos < n.s.q.Retired() {
			continue
		}
		for _, w := range n.words {
			if w-b.Addr < b.Room {
				l.found = append(l.found, Misuse{Addr: Ptr(b.Addr), Bytes: int64(b.Bytes), Stream: n.s.id, Task: taskID(n.pos), FreedAt: stackText(callers()), UsedAt: stackText(n.stack)})
				break
			}
		}
	}
}

// callers is the stack above the runtime.
func callers() []uintptr {
	pc := make([]uintptr, 32)
	return pc[:runtime.Callers(2, pc)]
}

// stackText lists the calls of a stack outside this package and the simulator, a line each.
func stackText(pc []uintptr) string {
	var b strings.Builder
	frames := runtime.CallersFrames(pc)
	for {
		f, more := frames.Next()
		inside := strings.HasPrefix(f.Function, "npu/internal/sim.") || strings.HasPrefix(f.Function, "npu/internal/runtime.(*")
		if f.Function != "" && (!inside || strings.HasSuffix(f.File, "_test.go")) {
			fmt.Fprintf(&b, "  %s\n    %s:%d\n", f.Function, f.File, f.Line)
		}
		if !more {
			return b.String()
		}
	}
}
