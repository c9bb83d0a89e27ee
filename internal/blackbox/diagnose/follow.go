package diagnose

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"npu/internal/blackbox/plog"
	"npu/internal/problem"
)

// ParseSince reads --since: empty for all, a duration before now, a time of day (today), a date with or without time.
func ParseSince(s string, now time.Time) (int64, error) {
	if s == "" {
		return plog.NoTime, nil
	}
	if d, err := time.ParseDuration(s); err == nil {
		t := now.Add(-d)
		return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC).UnixMicro(), nil
	}
	for _, layout := range []string{"2006-01-02", "2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02-15:04:05", "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UnixMicro(), nil
		}
	}
	for _, layout := range []string{"15:04", "15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil {
			return time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC).UnixMicro(), nil
		}
	}
	return 0, fmt.Errorf("expected 2025-04-02 07:19:26, 07:19 or a duration such as 10m")
}

// poll is how often a followed file is looked at.
const poll = 300 * time.Millisecond

// Follow reads one log that still grows and calls show whenever the findings change. It returns when ctx ends, or at
// the end of standard input.
func Follow(ctx context.Context, paths []string, stdin io.Reader, o Options, show func(*Report) error) error {
	if len(paths) != 1 {
		return problem.Usagef("--follow takes one file or -, got %d", len(paths))
	}
	var src io.Reader = stdin
	name := "standard input"
	if paths[0] != "-" {
		f, err := os.Open(paths[0])
		if err != nil {
			return problem.Mark(problem.Damaged, fmt.Errorf("read log: %w", err))
		}
		defer f.Close()
		if st, err := f.Stat(); err == nil && st.IsDir() {
			return problem.Usagef("--follow %s: is a folder; name one log", paths[0])
		}
		src, name = &growing{ctx: ctx, f: f}, paths[0]
	}
	fl := &follower{a: NewAnalyzer(), o: o, show: show, name: name}
	n := fl.a.File(name)
	_, err := plog.Scan(&batches{r: src, idle: fl.report}, n, plog.Options{Level: o.Level, Since: o.Since, Live: true}, func(r *plog.Record) error {
		fl.a.Add(r)
		fl.records++
		return nil
	})
	if err == nil {
		err = fl.report()
	}
	return err
}

type follower struct {
	a       *Analyzer
	o       Options
	show    func(*Report) error
	name    string
	records int
	shown   int
	last    []byte
}

// report shows the findings if they differ from the last ones.
func (f *follower) report() error {
	if f.records == f.shown {
		return nil
	}
	f.shown = f.records
	rep := &Report{Findings: f.a.Findings(f.o.Symbol), Files: []FileInfo{{Name: f.name}}}
	var b bytes.Buffer
	if err := Write(&b, rep, Style{All: true}); err != nil {
		return err
	}
	if len(rep.Findings) == 0 || bytes.Equal(b.Bytes(), f.last) {
		return nil
	}
	f.last = b.Bytes()
	return f.show(rep)
}

// growing waits at the end of a file for more; a file that shrank is read again from its start.
type growing struct {
	ctx context.Context
	f   *os.File
	at  int64
	dry bool
}

// errIdle says that there is nothing to read now.
var errIdle = fmt.Errorf("nothing new")

func (g *growing) Read(p []byte) (int, error) {
	if err := g.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := g.f.Read(p)
	g.at += int64(n)
	if n > 0 || err != io.EOF {
		g.dry = false
		return n, err
	}
	if st, err := g.f.Stat(); err == nil && st.Size() < g.at {
		if _, err := g.f.Seek(0, io.SeekStart); err != nil {
			return 0, err
		}
		g.at = 0
	}
	if !g.dry { // report once, then wait
		g.dry = true
		return 0, errIdle
	}
	select {
	case <-g.ctx.Done():
		return 0, g.ctx.Err()
	case <-time.After(poll):
		return 0, nil
	}
}

// batches calls idle whenever its source has nothing more for now.
type batches struct {
	r    io.Reader
	idle func() error
}

func (b *batches) Read(p []byte) (int, error) {
	for {
		n, err := b.r.Read(p)
		if err == errIdle {
			if err := b.idle(); err != nil {
				return 0, err
			}
			continue
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}
