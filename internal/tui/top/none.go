package top

import (
	"context"
	"time"
)

// None is a source without a tool to ask: it says why, and what to do.
type None struct{ frame *Frame }

// NewNone says what is missing.
func NewNone(name, says string, try []string) None {
	return None{&Frame{Seq: 1, Time: time.Now(), Sources: []Status{{Name: name, State: Failed, Says: says, Try: try}},
		Processes: List[Process]{Why: says}, Streams: List[Stream]{Why: says}, Memory: List[Memory]{Why: says}, Operators: List[Operator]{Why: says}}}
}

// Latest is always the same frame.
func (n None) Latest() *Frame { return n.frame }

// Next gives the frame once, then waits for ctx.
func (n None) Next(ctx context.Context, seq int) *Frame {
	if seq >= n.frame.Seq {
		<-ctx.Done()
	}
	return n.frame
}

// Interval has no effect.
func (None) Interval(time.Duration) {}

// Watch has no effect.
func (None) Watch(*Key) {}

// Close has nothing to end.
func (None) Close() {}
