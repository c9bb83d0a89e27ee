package top

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"npu/internal/blackbox/plog"
	"npu/internal/problem"
	"npu/internal/smi"
)

// maxLine bounds one frame of a recording; 128 devices with 32 processes each need a fifth of it.
const maxLine = 16 << 20

// ReadRecording reads all frames of a recording: lines of JSON as "npu top --json --count N" and --record write them.
// A line that cannot be read ends it: the frames before it are returned with an error that says where it lies.
func ReadRecording(r io.Reader) ([]*Frame, error) {
	var out []*Frame
	b := bufio.NewReaderSize(r, 1<<16)
	offset := int64(0)
	for n := 1; ; n++ {
		line, err := readLine(b)
		if len(bytes.TrimSpace(line)) > 0 {
			f, bad := UnmarshalFrame(line)
			if bad != nil {
				return out, fmt.Errorf("line %d at offset %d: %w (%d frames before it are good)", n, offset, bad, len(out))
			}
			f.Seq = len(out) + 1
			out = append(out, f)
		}
		offset += int64(len(line))
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, fmt.Errorf("line %d at offset %d: %w (%d frames before it are good)", n, offset, err, len(out))
		}
	}
}

func readLine(b *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := b.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > maxLine {
			return line, fmt.Errorf("a line of more than %d bytes", maxLine)
		}
	}
}

// OpenRecording opens a recording to be played. A file that is damaged from some line on plays up to there; warn says
// where. Without any frame the error is of class Damaged.
func OpenRecording(path string) (p *Replay, warn, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, problem.Mark(problem.Damaged, err)
	}
	defer f.Close()
	if frames := openSaved(f); len(frames) > 0 {
		return NewReplay(frames), nil, nil
	}
	frames, warn := ReadRecording(f)
	if warn != nil {
		warn = fmt.Errorf("recording %s: %w", path, warn)
	}
	head := headOf(f)
	switch {
	case len(frames) == 0 && plog.Packing([]byte(head)) != "":
		return nil, nil, problem.Damagedf("recording %s: packed with %s: unpack it first", path, plog.Packing([]byte(head)))
	case len(frames) == 0 && warn != nil && smi.ReadReport(head).Kind != "":
		return nil, nil, problem.Damagedf("%s is an output of npu-smi, but no table of devices: npu inspect shows it", path)
	case len(frames) == 0 && warn != nil:
		return nil, nil, problem.Mark(problem.Damaged, warn)
	case len(frames) == 0:
		return nil, nil, problem.Damagedf("recording %s: no frame in it (make one with npu top --record FILE, or save npu-smi info)", path)
	}
	return NewReplay(frames), warn, nil
}

// headOf is the begin of a file.
func headOf(f *os.File) string {
	b := make([]byte, 64<<10)
	n, _ := f.ReadAt(b, 0) // what there is
	return string(b[:n])
}

// maxSaved bounds what is read of a file that may be a saved output of npu-smi.
const maxSaved = 256 << 20

// openSaved reads f if it is a saved output of npu-smi, else f is at its begin again.
func openSaved(f *os.File) []*Frame {
	head := make([]byte, 64)
	n, _ := io.ReadFull(f, head)
	st, err := f.Stat()
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil || st.Size() > maxSaved || bytes.HasPrefix(bytes.TrimLeft(head[:n], " \t\r\n"), []byte("{")) {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSaved))
	if err == nil {
		if frames := Saved(string(text), st.ModTime()); len(frames) > 0 {
			return frames
		}
	}
	_, _ = f.Seek(0, io.SeekStart) // what cannot be read again is an error of the next read
	return nil
}

// Replay is a source that plays a recording with the pauses it was made with.
type Replay struct {
	frames []*Frame

	mu     sync.Mutex // guards below
	at     int        // the present frame
	shown  time.Time  // wall time when it became so
	paused bool
}

// NewReplay plays frames, of which there is at least one, from the first.
func NewReplay(frames []*Frame) *Replay { return &Replay{frames: frames, shown: time.Now()} }

// Latest moves on as far as the time that passed allows.
func (r *Replay) Latest() *Frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for !r.paused && r.at+1 < len(r.frames) {
		gap := min(max(r.frames[r.at+1].Time.Sub(r.frames[r.at].Time), 10*time.Millisecond), 10*time.Second)
		if now.Sub(r.shown) < gap {
			break
		}
		r.at, r.shown = r.at+1, r.shown.Add(gap)
	}
	return r.frames[r.at]
}

// Next steps to the next frame at once; at the end it waits for ctx.
func (r *Replay) Next(ctx context.Context, seq int) *Frame {
	r.mu.Lock()
	for r.at+1 < len(r.frames) && r.frames[r.at].Seq <= seq {
		r.at, r.shown = r.at+1, time.Now()
	}
	f := r.frames[r.at]
	r.mu.Unlock()
	if f.Seq <= seq {
		<-ctx.Done()
	}
	return f
}

// Pause stops and resumes.
func (r *Replay) Pause(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paused, r.shown = on, time.Now()
}

// Step moves by n frames.
func (r *Replay) Step(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at, r.shown = min(max(r.at+n, 0), len(r.frames)-1), time.Now()
}

// Position is the present frame, from 0, and how many there are.
func (r *Replay) Position() (frame, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at, len(r.frames)
}

// Before is the n frames up to the present one.
func (r *Replay) Before(n int) []*Frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.frames[max(0, r.at+1-n) : r.at+1]
}

// Interval has no effect: a recording has its own pace.
func (r *Replay) Interval(time.Duration) {}

// Watch has no effect: a recording holds what it holds.
func (r *Replay) Watch(*Key) {}

// Close has nothing to end.
func (r *Replay) Close() {}
