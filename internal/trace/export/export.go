// Package export writes a trace in any format that this program writes. It knows the formats by name and by suffix,
// and nothing of what is in them.
package export

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/chrome"
	"npu/internal/trace/csv"
	"npu/internal/trace/msprofile"
	"npu/internal/trace/npt"
	"npu/internal/trace/parquet"
	"npu/internal/trace/perfetto"
	"npu/internal/trace/pprofile"
)

// Format is a format that traces are written in.
type Format struct {
	Name   string // as in "npu trace export -f"
	Suffix string
	Write  func(io.Writer, *trace.Trace) error
}

// Formats lists all formats; of a name the first is the default.
func Formats() []Format {
	return []Format{
		{"npt", ".npt", npt.Write},
		{"chrome", ".json", chrome.Write},
		{"chrome", ".json.gz", gzipped(chrome.Write)},
		{"perfetto", ".pftrace", perfetto.Write},
		{"pprof", ".pb.gz", pprofile.Write},
		{"csv", ".csv", csv.Write},
		{"parquet", ".parquet", parquet.Write},
		{"msprof", ".json", msprofile.WriteJSON}, // by name only: the suffix alone is Chrome's
		{"msprof", ".db", msprofile.WriteDB},
	}
}

// Names lists the names of the formats, each once.
func Names() []string {
	var names []string
	for _, f := range Formats() {
		if len(names) == 0 || names[len(names)-1] != f.Name {
			names = append(names, f.Name)
		}
	}
	return names
}

// ByName finds the format of a name. Of several forms it takes the one whose suffix path has. The error is a
// problem.Usage.
func ByName(name, path string) (Format, error) {
	var found []Format
	for _, f := range Formats() {
		if f.Name == name {
			found = append(found, f)
		}
	}
	for _, f := range found {
		if strings.HasSuffix(path, f.Suffix) {
			return f, nil
		}
	}
	if len(found) == 0 {
		return Format{}, problem.Usagef("no trace format %q: expected %s", name, list(Names()))
	}
	return found[0], nil
}

// BySuffix finds the format that path asks for with its suffix. The error is a problem.Usage.
func BySuffix(path string) (Format, error) {
	for _, f := range Formats() {
		if strings.HasSuffix(path, f.Suffix) {
			return f, nil
		}
	}
	return Format{}, problem.Usagef("%s: the suffix names no trace format: expected %s", path, list(Suffixes()))
}

// Write writes t to path in the format of its suffix, see File.
func Write(path string, t *trace.Trace) error {
	f, err := BySuffix(path)
	if err != nil {
		return err
	}
	return File(path, t, f)
}

// File writes t to path. The file appears when it is complete: until then it has another name, beside it. What is no
// regular file, as /dev/stdout, is written in place.
func File(path string, t *trace.Trace, f Format) (err error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return inPlace(path, t, f)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	defer func() {
		if err != nil {
			tmp.Close()
			os.Remove(tmp.Name())
		}
	}()
	if err := f.Write(tmp, t); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	// A temporary file is its owner's alone; a trace is for others to read.
	if err := tmp.Chmod(0o644); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	if err := tmp.Close(); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}

func inPlace(path string, t *trace.Trace, f Format) error {
	out, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	if err := f.Write(out, t); err != nil {
		out.Close()
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}

func list(words []string) string {
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// gzipped compresses what write writes; the header of the stream holds no time and no name.
func gzipped(write func(io.Writer, *trace.Trace) error) func(io.Writer, *trace.Trace) error {
	return func(w io.Writer, t *trace.Trace) error {
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			return err
		}
		if err := write(z, t); err != nil {
			return err
		}
		return z.Close()
	}
}

// Suffixes lists the file suffixes that formats are known by.
func Suffixes() []string {
	var out []string
	for _, f := range Formats() {
		if !slices.Contains(out, f.Suffix) {
			out = append(out, f.Suffix)
		}
	}
	return out
}
