// Package identify says what kind of file something is, from its contents, never from its name.
package identify

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"npu/internal/problem"
)

// File says what kind of file path is, from its first bytes: "onnx", "om", "npt", or "" for another kind.
func File(path string) (string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return "", problem.Mark(problem.Damaged, err)
	}
	if st.IsDir() {
		return "", problem.Damagedf("%s is a directory", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", problem.Mark(problem.Damaged, err)
	}
	defer f.Close()
	head := make([]byte, 8)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", problem.Mark(problem.Damaged, fmt.Errorf("%s: %w", path, err))
	}
	head = head[:n]
	switch {
	case bytes.HasPrefix(head, []byte("IMOD")):
		return "om", nil
	case bytes.HasPrefix(head, []byte("\x89NPT\r\n\x1a\n")):
		return "npt", nil
	case n >= 2 && (head[0] == 0x08 && head[1] > 0 && head[1] < 0x80 || head[0] == 0x12 || head[0] == 0x3a || head[0] == 0x42):
		return "onnx", nil // a protobuf message whose first field is one of ModelProto's
	}
	return "", nil
}
