// Package load opens a trace whatever its format is. It knows the formats by their first bytes, and nothing of what is
// in them.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/npt"
)

// File reads the trace at path. When the file is damaged, both the trace up to the damage and a problem.Damaged error
// are given; the trace is nil when nothing can be read. A cancelled ctx ends the reading.
func File(ctx context.Context, path string) (*trace.Trace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, problem.Mark(problem.Damaged, err)
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return nil, problem.Damagedf("%s is a directory: expected an .npt capture", path)
	}
	var head [512]byte
	n, err := io.ReadFull(f, head[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, problem.Damagedf("read %s: %w", path, err)
	}
	if !strings.HasPrefix(string(head[:n]), npt.Magic[:4]) {
		return nil, problem.Damagedf("%s is no .npt capture: it %s", path, looks(string(head[:n])))
	}
	t, err := npt.Read(&reader{ctx, io.MultiReader(strings.NewReader(string(head[:n])), f)})
	if err != nil {
		return t, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// looks says what a file that starts with head is, as far as a reader would want to know.
func looks(head string) string {
	for _, f := range []struct{ start, is string }{
		{"\x1f\x8b", "is gzip data"}, {"SQLite format 3\x00", "is an SQLite database"}, {"PAR1", "is a Parquet file"},
		{"PK\x03\x04", "is a zip archive"}, {"\x7fELF", "is an ELF file"}, {"IMOD", "is an offline model (.om)"},
	} {
		if strings.HasPrefix(head, f.start) {
			return f.is
		}
	}
	text := strings.TrimLeft(head, " \t\r\n\ufeff")
	switch {
	case head == "":
		return "is empty"
	case strings.HasPrefix(text, "{") || strings.HasPrefix(text, "["):
		return "looks like JSON"
	case strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == '\ufffd' }) < 0:
		return "looks like text"
	}
	return fmt.Sprintf("starts with the bytes % x", head[:min(len(head), 8)])
}

// reader stops reading when ctx is done.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
