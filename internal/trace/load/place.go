package load

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"npu/internal/trace/msprof"
	"npu/internal/trace/profcomm"
	"npu/internal/trace/profdb"
	"npu/internal/trace/torchraw"
)

// inner says whether name is that of a folder within a collection, which nobody reads alone.
func inner(name string) bool {
	switch name {
	case "host", "data", "sqlite", "mindstudio_profiler_log", "FRAMEWORK", "logs":
		return true
	}
	return strings.HasPrefix(name, "device_")
}

// control says whether name is that of a file that belongs to a collection and is nothing alone.
func control(name string) bool {
	for _, start := range []string{"info.json", "start_info", "end_info", "host_start.log", "dev_start.log", "sample.json", "profiler_info", "profiler_metadata.json", "torch."} {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	return strings.HasSuffix(name, ".done") || strings.HasSuffix(name, ".complete") || msprof.IsSlice(name)
}

// collection is the directory that path is a part of, where path alone says nothing: a raw slice, a control file, the folder of a
// device. Empty when path stands for itself.
func collection(path string, dir bool) string {
	full, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	up := full
	switch {
	case dir && inner(filepath.Base(full)):
	case !dir && (control(filepath.Base(full)) || inner(filepath.Base(filepath.Dir(full)))):
		up = filepath.Dir(full)
		if whole(up) && !inner(filepath.Base(up)) {
			return up
		}
	default:
		return ""
	}
	for range 4 {
		up = filepath.Dir(up)
		if whole(up) && !inner(filepath.Base(up)) {
			return up
		}
	}
	return ""
}

// whole says whether dir is a collection.
func whole(dir string) bool {
	if msprof.Is(dir) || torchraw.Is(dir) {
		return true
	}
	name := filepath.Base(dir)
	return strings.HasPrefix(name, "PROF_") || strings.HasSuffix(name, "_ascend_pt") || strings.HasSuffix(name, "_ascend_ms")
}

// around is the collection that the file at path lies in, whatever it is; empty when it lies in none.
func around(path string) string {
	up, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	for range 4 {
		if up = filepath.Dir(up); whole(up) && !inner(filepath.Base(up)) {
			return up
		}
	}
	return ""
}

// Part says whether path is a directory, or a file that is a part of a collection and nothing alone: those are read whole.
func Part(path string) bool {
	st, err := os.Stat(path)
	return err == nil && (st.IsDir() || collection(path, false) != "")
}

// Likely says whether the file at path looks like an export of profiling data, by its name or its first bytes.
func Likely(path string) bool {
	if class(filepath.Base(path)) != "" {
		return true
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var buf [4096]byte
	n, _ := io.ReadFull(f, buf[:])
	head := string(buf[:n])
	if strings.HasPrefix(head, gzipMagic) {
		if head, err = unpackHead(path); err != nil {
			return false
		}
	}
	if strings.HasPrefix(head, profdb.Magic) {
		return true
	}
	return look(head) == isJSON && (strings.Contains(head, `"ph"`) || strings.Contains(head, `"traceEvents"`) || profcomm.Sniff(head))
}
