package diagnose

import (
	"context"
	"fmt"
	"io"

	"npu/internal/blackbox/plog"
)

// Options of a run.
type Options struct {
	Level  plog.Level // lowest level of lines that are looked at
	Since  int64      // earliest time, plog.NoTime for all
	Symbol Symbolizer // for --kernel; may be nil
}

// Run reads all logs below the paths ("-" is stdin) and reports. An error about one file comes with a report of what
// was read before it.
func Run(ctx context.Context, paths []string, stdin io.Reader, o Options) (*Report, error) {
	a := NewAnalyzer()
	rep := &Report{}
	err := plog.Walk(paths, stdin, func(name string, r io.Reader) error {
		n := a.File(name)
		st, err := plog.Scan(r, n, plog.Options{Level: o.Level, Since: o.Since}, func(rec *plog.Record) error {
			a.Add(rec)
			if rec.Line&0xfff == 0 {
				return ctx.Err()
			}
			return nil
		})
		rep.add(name, st)
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("read %s after line %d: %w", name, st.Lines, err)
		}
		return err
	})
	rep.Findings = a.Findings(o.Symbol)
	if a.dropped > 0 {
		rep.Notes = append(rep.Notes, fmt.Sprintf("%d further events were left out: the logs hold more than this tool keeps", a.dropped))
	}
	return rep, err
}

func (rep *Report) add(name string, st plog.Stats) {
	rep.Bytes += st.Bytes
	rep.Lines += st.Lines
	rep.Files = append(rep.Files, FileInfo{Name: name, Lines: st.Lines, Records: st.Records, First: plog.Clock(st.First), Last: plog.Clock(st.Last)})
	if st.Cut > 0 {
		rep.Notes = append(rep.Notes, fmt.Sprintf("%s: %d lines longer than 256 KiB were cut", name, st.Cut))
	}
	if st.Lines > 20 && st.Headed == 0 {
		rep.Notes = append(rep.Notes, name+": no line has a log head; read as an excerpt")
	}
}
