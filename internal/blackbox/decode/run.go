package decode

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"npu/internal/problem"
)

// Printer prints the reports of a run in one of the formats text, json, csv, npy, bin (the last two print what was
// written).
type Printer struct {
	w      io.Writer
	format string
	style  Style
	n      int
	list   bool // several reports: JSON becomes a list
}

// NewPrinter prints to w.
func NewPrinter(w io.Writer, format string, s Style) *Printer {
	return &Printer{w: w, format: format, style: s}
}

// Show prints one report.
func (p *Printer) Show(r *Report) error {
	p.n++
	switch p.format {
	case "json":
		if p.list {
			sep := ",\n"
			if p.n == 1 {
				sep = "[\n"
			}
			if _, err := io.WriteString(p.w, sep); err != nil {
				return err
			}
		}
		return writeJSON(p.w, r)
	case "csv":
		return WriteCSV(p.w, r, p.n == 1)
	case "npy", "bin":
		for _, x := range r.Tensors {
			for _, f := range []string{x.File, x.Natural} {
				if f != "" {
					if _, err := fmt.Fprintln(p.w, f); err != nil {
						return err
					}
				}
			}
		}
		for _, f := range r.Written {
			if _, err := fmt.Fprintln(p.w, f); err != nil {
				return err
			}
		}
		return nil
	}
	if p.n > 1 {
		if _, err := io.WriteString(p.w, "\n"); err != nil {
			return err
		}
	}
	return Write(p.w, r, p.style)
}

func (p *Printer) finish() error {
	if p.format != "json" || !p.list {
		return nil
	}
	end := "]\n"
	if p.n == 0 {
		end = "[]\n"
	}
	_, err := io.WriteString(p.w, end)
	return err
}

func writeJSON(w io.Writer, r *Report) error {
	b := bufio.NewWriter(w)
	e := json.NewEncoder(b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return err
	}
	return b.Flush()
}

// Run decodes a file or a folder and prints. What could be read of damaged files is printed first; then the error
// says where the damage is.
func Run(ctx context.Context, path string, o Options, p *Printer) error {
	st, err := os.Stat(path)
	if err != nil {
		return problem.Mark(problem.Damaged, err)
	}
	if !st.IsDir() {
		rep, err := File(ctx, path, o)
		if rep == nil || err != nil {
			return err
		}
		if err := saveJSON(rep, o, safeName(st.Name())); err != nil {
			return err
		}
		if err := p.Show(rep); err != nil {
			return err
		}
		return Damage(rep)
	}
	p.list = true
	var first error
	bad, good := 0, 0
	skipped, err := Dir(ctx, path, o, func(rep *Report, base string, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			err = saveJSON(rep, o, base)
		}
		if rep != nil && err == nil {
			good++
			if err := p.Show(rep); err != nil {
				return err
			}
			err = Damage(rep)
		}
		if err != nil {
			bad++
			if first == nil {
				first = err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := p.finish(); err != nil {
		return err
	}
	switch {
	case first != nil && bad > 1:
		return fmt.Errorf("%d files are damaged, the first: %w", bad, first)
	case first != nil:
		return first
	case good == 0:
		return problem.Damagedf("%s: none of its %d files is a dump, core file, stack, black box or log", path, skipped)
	}
	return nil
}

// saveJSON puts the report beside the exports.
func saveJSON(r *Report, o Options, base string) error {
	if o.Out == "" || o.NoStats || o.Format == "npy" || o.Format == "bin" {
		return nil
	}
	j := job{o: o, rep: r}
	path, err := j.write(base+".report.json", func(w io.Writer) error { return writeJSON(w, r) })
	if err == nil {
		r.Written = append(r.Written, path)
	}
	return err
}
