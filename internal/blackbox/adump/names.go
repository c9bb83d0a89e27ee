package adump

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Name is what a file name tells.
type Name struct {
	Scheme  string // data, overflow, L0, L1, custom, core; empty if the name says nothing
	OpType  string
	OpName  string
	Stream  int // -1 unknown
	Task    int
	Context int // FFTS+ sub task
	Thread  int
	Device  int
	Time    string // as calendar time; L0, L1 and core stamps are local time of the writer
	Order   uint64 // microseconds of the stamp, to bring files of one run into the order of execution
}

// ParseName takes a base name apart. L1 dumps and old data dumps have the same number of fields: the stamp decides,
// 17 digits starting with 20 are a calendar time, 16 digits microseconds.
func ParseName(base string) Name {
	n := Name{Stream: -1, Task: -1, Context: -1, Thread: -1, Device: -1}
	core := strings.HasSuffix(base, ".core")
	f := strings.Split(strings.TrimSuffix(base, ".core"), ".")
	stamp := -1
	for i := len(f) - 1; i >= 0; i-- {
		if len(f[i]) >= 16 && len(f[i]) <= 17 && digitsOnly(f[i]) {
			stamp = i
			break
		}
	}
	if stamp < 1 {
		return n
	}
	calendar := len(f[stamp]) == 17 && strings.HasPrefix(f[stamp], "20")
	n.Time, n.Order = stampTime(f[stamp], calendar)
	num := func(i int) int {
		if i < 0 || i >= len(f) || !digitsOnly(f[i]) {
			return -1
		}
		v, err := strconv.ParseUint(f[i], 10, 32)
		if err != nil {
			return -1
		}
		return int(v)
	}
	switch {
	case core:
		n.Scheme = "core"
		n.Stream, n.Task = num(stamp-2), num(stamp-1)
		n.OpName = strings.Join(f[:max(stamp-2, 0)], ".")
	case calendar && f[0] == "exception_info":
		n.Scheme, n.Stream, n.Task = "L0", num(stamp-2), num(stamp-1)
	case calendar && f[stamp-1] == "custom":
		n.Scheme, n.OpName = "custom", strings.Join(f[:stamp-1], ".")
	case calendar:
		n.Scheme, n.OpType = "L1", f[0]
		n.Task = num(stamp - 1)
		n.OpName = strings.Join(f[1:max(stamp-1, 1)], ".")
	default:
		n.Scheme, n.OpType = "data", f[0]
		if f[0] == "Opdebug" {
			n.Scheme = "overflow"
		}
		if stamp >= 4 { // type.name.task.stream.time
			n.Task, n.Stream = num(stamp-2), num(stamp-1)
			n.OpName = strings.Join(f[1:stamp-2], ".")
		} else {
			n.Task = num(stamp - 1)
			n.OpName = strings.Join(f[1:max(stamp-1, 1)], ".")
		}
		if len(f) >= stamp+5 { // task type, context, thread, device
			n.Context, n.Thread, n.Device = num(stamp+2), num(stamp+3), num(stamp+4)
		}
	}
	return n
}

func digitsOnly(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func stampTime(s string, calendar bool) (string, uint64) {
	if !calendar {
		us, err := strconv.ParseUint(s, 10, 63)
		if err != nil {
			return "", 0
		}
		return time.UnixMicro(int64(us)).UTC().Format("2006-01-02 15:04:05.000000 UTC"), us
	}
	t, err := time.Parse("20060102150405.000", s[:14]+"."+s[14:17])
	if err != nil {
		return "", 0
	}
	return t.Format("2006-01-02 15:04:05.000") + " local", uint64(t.UnixMicro())
}

// Mapped gives the original name of a file whose name was too long and is a hash now: mapping.csv in the same folder
// holds "hash,original" lines. Without an entry it is the name itself.
func Mapped(path string) string {
	base := filepath.Base(path)
	f, err := os.Open(filepath.Join(filepath.Dir(path), "mapping.csv"))
	if err != nil {
		return base
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for n := 0; s.Scan() && n < 1<<20; n++ {
		if hash, original, ok := strings.Cut(s.Text(), ","); ok && hash == base {
			return strings.TrimSpace(original)
		}
	}
	return base
}
