package ipc

import (
	"fmt"
	"os"
	"path/filepath"
)

// Path is where the run directory lies: $NPU_RUN_DIR, else $XDG_RUNTIME_DIR/npu, else npu-UID in the folder for
// temporary files. NPU_RUN_DIR=off is the empty path: nothing is shared.
func Path(getenv func(string) string) string {
	switch p := getenv("NPU_RUN_DIR"); {
	case p == "off":
		return ""
	case p != "":
		return p
	}
	if p := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(p) {
		return filepath.Join(p, "npu")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("npu-%d", os.Getuid()))
}
