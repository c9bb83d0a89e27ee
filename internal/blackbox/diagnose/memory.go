package diagnose

import (
	"fmt"
	"regexp"
	"strconv"

	"npu/internal/blackbox/plog"
)

// allocator is what a framework's allocator said of the memory when an allocation failed.
type allocator struct {
	total, allocated, free, reserved int64 // bytes
}

const sizePattern = `([\d.]+) ([KMGT]?i?B|bytes)`

var (
	triedPattern  = regexp.MustCompile(`Tried to allocate ` + sizePattern)
	holdsPattern  = regexp.MustCompile(`\(NPU (\d+); ` + sizePattern + ` total capacity; ` + sizePattern + ` already allocated;`)
	freePattern   = regexp.MustCompile(sizePattern + ` free;`)
	reservedLabel = regexp.MustCompile(sizePattern + ` reserved in total`)
)

// frameworkMemory reads "NPU out of memory. Tried to allocate 22.00 MiB (NPU 0; 60.97 GiB total capacity; ...)".
func (a *Analyzer) frameworkMemory(p *process, r *plog.Record) {
	in := a.incidentFor(p, r, kindMemory)
	a.cite(in, r)
	if in.heap != nil {
		return
	}
	in.heap = &allocator{}
	t := string(r.Text)
	if m := triedPattern.FindStringSubmatch(t); m != nil {
		in.size = bytesOf(m[1], m[2])
	}
	if m := holdsPattern.FindStringSubmatch(t); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			in.device = &n
		}
		in.heap.total, in.heap.allocated = bytesOf(m[2], m[3]), bytesOf(m[4], m[5])
	}
	if m := freePattern.FindStringSubmatch(t); m != nil {
		in.heap.free = bytesOf(m[1], m[2])
	}
	if m := reservedLabel.FindStringSubmatch(t); m != nil {
		in.heap.reserved = bytesOf(m[1], m[2])
	}
}

func bytesOf(figure, unit string) int64 {
	f, err := strconv.ParseFloat(figure, 64)
	if err != nil || f < 0 {
		return 0
	}
	scale := map[byte]float64{'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30, 'T': 1 << 40}[unit[0]]
	return int64(f * max(scale, 1))
}

// judge says who holds the memory.
func (h *allocator) judge(f *Finding, size int64) {
	if h.total == 0 {
		return
	}
	f.Why = append(f.Why, fmt.Sprintf("of %s of the device the process has reserved %s and uses %s of it; %s are free",
		sizeText(h.total), sizeText(h.reserved), sizeText(h.allocated), sizeText(h.free)))
	if others := h.total - h.reserved - h.free; others > h.total/10 && h.reserved > 0 {
		f.Why = append(f.Why, fmt.Sprintf("%s are held by others: another process on the device, or libraries outside the framework's allocator", sizeText(others)))
	}
	if unused := h.reserved - h.allocated; unused > size && size > 0 {
		f.Why = append(f.Why, fmt.Sprintf("%s of what is reserved are not in use, in pieces that are too small (fragmentation)", sizeText(unused)))
	}
}

// isFrameworkMemory says whether t is the message of a framework's allocator.
func isFrameworkMemory(t []byte) bool {
	return has(t, "out of memory") && has(t, "Tried to allocate")
}
