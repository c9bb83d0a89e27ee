package top

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"npu/internal/problem"
)

// Format is how frames are printed when there is no screen.
type Format uint8

// Formats.
const (
	Table Format = iota
	JSON
	Rows // CSV of one panel
)

// Plain is a run without a screen.
type Plain struct {
	Format Format
	Panel  int  // of Rows
	Sick   bool // a device whose health is not OK is an error
	Count  int  // frames; 0 until ctx ends or the recording does
	Select Select
	Record *Recorder
}

// Run prints frames of src to out. The error says in words why there was nothing to show, after what could be shown.
func (p Plain) Run(ctx context.Context, src Source, out io.Writer) error {
	rows := NewCSV(out, p.Panel)
	var f *Frame
	for n, seq := 0, 0; p.Count == 0 || n < p.Count; n++ {
		player, recorded := src.(Player)
		if recorded && p.Count == 1 {
			_, all := player.Position()
			player.Step(all)
		}
		f = src.Next(ctx, seq)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		seq = f.Seq
		now := time.Now()
		if recorded {
			now = f.Time
		}
		if err := p.print(out, rows, p.Select.Apply(f), now, n); err != nil {
			return err
		}
		if err := p.Record.Add(f); err != nil {
			return err
		}
		if recorded {
			if at, all := player.Position(); at+1 == all {
				break
			}
		}
	}
	if err := Absence(f); err != nil || !p.Sick {
		return err
	}
	return unhealthy(p.Select.Apply(f))
}

// unhealthy is the error of devices whose health is not OK.
func unhealthy(f *Frame) error {
	names := namesOf(f.Devices)
	var out []string
	for i := range f.Devices {
		if d := &f.Devices[i]; d.Severity() > 0 {
			out = append(out, fmt.Sprintf("NPU %s: %s", names.device(d), d.Health))
		}
	}
	if len(out) == 0 {
		return nil
	}
	return problem.Failedf("not healthy: %s; npu-smi info -t health -i N says more", strings.Join(out, ", "))
}

func (p Plain) print(out io.Writer, rows *CSV, f *Frame, now time.Time, n int) error {
	switch p.Format {
	case JSON:
		b := MarshalFrame(f, now)
		if p.Count == 1 {
			var nice bytes.Buffer
			if err := json.Indent(&nice, b, "", "  "); err == nil {
				b = nice.Bytes()
			}
		}
		_, err := out.Write(append(b, '\n'))
		return err
	case Table:
		if len(f.Devices) == 0 && Absence(f) != nil {
			return nil // the error says it
		}
		if n > 0 {
			if _, err := io.WriteString(out, "\n"); err != nil {
				return err
			}
		}
		return PrintTable(out, f, now)
	}
	return rows.Write(f)
}

// Absence is the error of a frame that shows no device, or old ones: what is wrong and what to do first.
func Absence(f *Frame) error {
	if f == nil {
		return nil
	}
	for _, s := range f.Sources {
		if s.State != Failed && s.State != Stale {
			continue
		}
		if s.State == Failed && len(f.Devices) > 0 {
			continue // another source has devices
		}
		msg := s.Says
		if s.Text != "" {
			msg += " (" + s.Text + ")"
		}
		if len(s.Found) > 0 {
			msg += "; found: " + s.Found[0]
		}
		if len(s.Try) > 0 {
			msg += "; try: " + strings.TrimSpace(s.Try[0])
		}
		return problem.Failedf("no fresh figures from %s: %s", s.Name, msg)
	}
	return nil
}
