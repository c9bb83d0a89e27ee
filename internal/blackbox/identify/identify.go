// Package identify says what kind of file something is, from its contents, never from its name.
package identify

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"npu/internal/blackbox/adump"
	"npu/internal/blackbox/atrace"
	"npu/internal/blackbox/bbox"
	"npu/internal/blackbox/coredump"
	"npu/internal/blackbox/errring"
	"npu/internal/blackbox/kobject"
	"npu/internal/blackbox/kprint"
	"npu/internal/blackbox/plog"
	"npu/internal/blackbox/stack"
	"npu/internal/problem"
)

// Kinds of what real devices leave behind. Models and captures have the kinds "onnx", "om" and "npt"; "" is unknown.
const (
	Core         = "core"          // AI-core core file
	KernelObject = "kernel-object" // .o of a kernel
	KernelJSON   = "kernel-json"   // description beside it
	TensorDump   = "tensor-dump"   // data dump, exception dump, custom dump, tiny-chip dump
	Overflow     = "overflow"      // bare overflow record
	DumpStats    = "dump-stats"    // statistics instead of tensors
	KernelPrint  = "kernel-print"  // printf and DumpTensor of kernels
	ATrace       = "atrace"        // trace ring, binary
	StackImage   = "stack-image"   // stackcore, binary
	StackText    = "stack-text"    // stackcore, coretrace, gdb: text
	BlackBox     = "black-box"     // head, HDR, CDR
	ErrorRing    = "error-ring"    // what the scheduler of a device wrote of its errors
	KernelRing   = "kernel-log"    // printk ring of the device
	History      = "history"       // history.log
	DeviceInfo   = "device-info"   // device_info.txt
	Log          = "log"           // host or device log
	MsprobeJSON  = "msprobe-json"  // dump.json of the framework-level tool
	Stream       = "stream"        // stream program that says its name
	NPY          = "npy"
	NPZ          = "npz"  // zip archive of NumPy arrays
	Text         = "text" // text without a known form
	Empty        = "empty"
)

// Description is a kind in words.
func Description(kind string) string {
	if s, ok := map[string]string{Core: "AI-core core file", KernelObject: "kernel object", KernelJSON: "kernel description", TensorDump: "tensor dump",
		Overflow: "overflow record", DumpStats: "dump statistics", KernelPrint: "kernel print data", ATrace: "trace ring (atrace)", StackImage: "process stack image",
		StackText: "process stack text", BlackBox: "black box of a device", ErrorRing: "black box of a device", KernelRing: "kernel log ring of a device", History: "exception history of a device",
		DeviceInfo: "device table of a black-box export", Log: "log", MsprobeJSON: "msprobe dump description", Stream: "stream program", NPY: "NumPy array", NPZ: "NumPy archive", Text: "text", Empty: "empty file",
		"onnx": "ONNX model", "om": "offline model", "npt": "capture"}[kind]; ok {
		return s
	}
	return "unknown"
}

// headSize is how much of a file is looked at: the section table of a stack image lies within it.
const headSize = 64 << 10

// File says what kind of file path is.
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
	head := make([]byte, min(headSize, max(st.Size(), 64)))
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", problem.Mark(problem.Damaged, fmt.Errorf("%s: %w", path, err))
	}
	size := st.Size()
	if !st.Mode().IsRegular() {
		size = int64(n)
	}
	return Bytes(head[:n], size), nil
}

// Bytes says what a file of the given size is whose first bytes (up to 64 KiB) are head.
func Bytes(head []byte, size int64) string {
	switch {
	case size == 0:
		return Empty
	case bytes.HasPrefix(head, []byte("IMOD")):
		return "om"
	case bytes.HasPrefix(head, []byte("\x89NPT\r\n\x1a\n")):
		return "npt"
	case bytes.HasPrefix(head, []byte("\x93NUMPY")):
		return NPY
	case isNPZ(head):
		return NPZ
	case coredump.Sniff(head):
		return Core
	case isObject(head):
		return KernelObject
	case atrace.Sniff(head):
		return ATrace
	case bbox.Sniff(head) != "":
		return BlackBox
	case errring.Sniff(head):
		return ErrorRing
	case kprint.Sniff(head):
		return KernelPrint
	case adump.Sniff(head, size):
		return TensorDump
	case adump.IsOverflow(head):
		return Overflow
	case adump.SniffStatsBin(head, size):
		return DumpStats
	case stack.SniffImage(head) != "":
		return StackImage
	case isText(head):
		return text(head)
	case bbox.SniffPrintk(head):
		return KernelRing
	case isONNX(head):
		return "onnx"
	}
	return ""
}

func isObject(h []byte) bool {
	return len(h) >= 20 && string(h[:4]) == "\x7fELF" && (h[16] == 1 || h[16] == 2) && h[17] == 0 && int(h[18])|int(h[19])<<8 == kobject.Machine
}

// isONNX: a protobuf message whose first field is one of ModelProto's.
func isONNX(h []byte) bool {
	return len(h) >= 2 && (h[0] == 0x08 && h[1] > 0 && h[1] < 0x80 || h[0] == 0x12 || h[0] == 0x3a || h[0] == 0x42)
}

// isText: no NUL and few control characters in the first 4 KiB.
func isText(h []byte) bool {
	h = h[:min(len(h), 4096)]
	odd := 0
	for _, c := range h {
		if c == 0 {
			return false
		}
		if c < 32 && c != '\n' && c != '\r' && c != '\t' && c != 0x1b {
			odd++
		}
	}
	return odd*50 <= len(h)
}

func text(h []byte) string {
	s := strings.TrimLeft(string(h), " \t\r\n\ufeff")
	switch {
	case adump.SniffStatsCSV([]byte(s)):
		return DumpStats
	case stack.SniffText([]byte(s)) != "":
		return StackText
	case strings.HasPrefix(s, "{"):
		switch {
		case strings.Contains(s, `"binFileName"`) || strings.Contains(s, `"kernelName"`):
			return KernelJSON
		case strings.Contains(s, `"task"`) && strings.Contains(s, `"level"`) && (strings.Contains(s, `"dump_data_dir"`) || strings.Contains(s, `"data"`)):
			return MsprobeJSON
		}
		return Text
	case isProgram(s):
		return Stream
	case bbox.SniffHistory([]byte(s)) && !strings.HasPrefix(s, "[ERROR"):
		return History
	case bbox.SniffDeviceInfo([]byte(s)):
		return DeviceInfo
	case isLog(s):
		return Log
	}
	return Text
}

// isProgram: the first line that is no comment is "program NAME".
func isProgram(s string) bool {
	for line := range strings.Lines(s) {
		f := strings.Fields(line)
		if len(f) > 0 && !strings.HasPrefix(f[0], "#") {
			return f[0] == "program" && len(f) > 1 && (len(f) == 2 || f[1][0] == '"' || f[2][0] == '#')
		}
	}
	return false
}

// isLog: one of the first lines has the head of a log, is a message of the error manager, or a trace line with a time.
func isLog(s string) bool {
	found := false
	n := 0
	_, _ = plog.Scan(strings.NewReader(s[:min(len(s), 16<<10)]), 0, plog.Options{Level: plog.Debug, Since: plog.NoTime, Live: true}, func(r *plog.Record) error {
		n++
		if !r.Cont || r.Code != "" || bytes.HasPrefix(r.Text, []byte("<exception_print>")) {
			found = true
		}
		if us, k := plog.ParseTime(r.Text); k > 0 && us != plog.NoTime {
			found = true
		}
		if found || n > 60 {
			return io.EOF
		}
		return nil
	})
	return found
}

// isNPZ says whether head is that of a zip archive whose first entry is a NumPy array.
func isNPZ(head []byte) bool {
	if len(head) < 30 || !bytes.HasPrefix(head, []byte("PK\x03\x04")) {
		return false
	}
	name := head[30:min(len(head), 30+int(binary.LittleEndian.Uint16(head[26:])))]
	return bytes.HasSuffix(name, []byte(".npy"))
}
