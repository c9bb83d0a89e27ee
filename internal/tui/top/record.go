package top

import (
	"fmt"
	"os"
	"time"
)

// Recorder appends frames to a file, one whole line at a time: a recording that is killed ends with a whole frame.
type Recorder struct {
	f   *os.File
	seq int
}

// NewRecorder makes the file anew.
func NewRecorder(path string) (*Recorder, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	return &Recorder{f: f}, nil
}

// Add writes a frame unless it is the one before, or holds nothing yet.
func (r *Recorder) Add(f *Frame) error {
	if r == nil || f.Seq == r.seq || f.Waiting() && len(f.Devices) == 0 {
		return nil
	}
	r.seq = f.Seq
	if _, err := r.f.Write(append(MarshalFrame(f, time.Now()), '\n')); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// Close closes the file.
func (r *Recorder) Close() error {
	if r == nil {
		return nil
	}
	return r.f.Close()
}
