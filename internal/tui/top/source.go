package top

import (
	"context"
	"time"
)

// Source is where figures come from.
type Source interface {
	// Latest is the newest frame. It never blocks and never returns nil; before the first answer the frame has a
	// status of state Waiting. Frames with the same Seq hold the same figures.
	Latest() *Frame
	// Next waits for a frame that is newer than seq, or for the end of ctx. A failure is a frame as well.
	Next(ctx context.Context, seq int) *Frame
	// Interval sets the time between two frames.
	Interval(d time.Duration)
	// Watch asks for more facts about one device from now on; nil for none.
	Watch(k *Key)
	// Close ends what the source runs in the background.
	Close()
}

// Player is a source that has a beginning and an end.
type Player interface {
	Source
	Pause(on bool)
	Step(n int)               // frames forward, or back
	Position() (frame, n int) // from 0
	Before(n int) []*Frame    // the n frames up to the present one, the oldest first
}
