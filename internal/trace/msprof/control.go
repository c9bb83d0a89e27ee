package msprof

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"npu/internal/trace/ascend"
)

// controlLimit bounds what is read of a control file; real ones hold a few kilobytes.
const controlLimit = 4 << 20

// info is info.json: the machine. Its numbers are text on some versions.
type info struct {
	Platform word     `json:"platform_version"`
	Version  word     `json:"version"`
	Driver   word     `json:"drvVersion"`
	Pid      word     `json:"pid"`
	Rank     word     `json:"rank_id"`
	Host     string   `json:"hostname"`
	Program  string   `json:"pid_name"`
	CPU      []cpu    `json:"CPU"`
	Devices  []device `json:"DeviceInfo"`
}

type cpu struct {
	Frequency word `json:"Frequency"`
}

type device struct {
	ID        word `json:"id"`
	Cube      word `json:"ai_core_num"`
	Vector    word `json:"aiv_num"`
	AICPUs    word `json:"ai_cpu_core_num"`
	CubeMHz   word `json:"aic_frequency"`
	VectorMHz word `json:"aiv_frequency"`
	Counter   word `json:"hwts_frequency"`
}

// sample is sample.json: what was switched on.
type sample struct {
	Level        string `json:"prof_level"`
	TaskTime     string `json:"taskTime"`
	CubeMetrics  string `json:"ai_core_metrics"`
	CubeEvents   string `json:"ai_core_profiling_events"`
	VectorEvents string `json:"aiv_profiling_events"`
	Profiling    string `json:"ai_core_profiling"`
	Mode         string `json:"ai_core_profiling_mode"`
	Stars        string `json:"stars_acsq_task"`
	L2Events     string `json:"l2CacheTaskProfilingEvents"`
	QoS          string `json:"qosEvents"`
	L2Cache      string `json:"l2CacheTaskProfiling"`
	Frequency    string `json:"ai_core_lpm"`
	HBM          string `json:"hbmProfiling"`
	NIC          string `json:"nicProfiling"`
	RoCE         string `json:"roceProfiling"`
	PCIe         string `json:"pcieProfiling"`
	HCCS         string `json:"hccsProfiling"`
}

// stamps is start_info or end_info.
type stamps struct {
	Begin     word `json:"collectionTimeBegin"` // microseconds, Unix
	End       word `json:"collectionTimeEnd"`
	Monotonic word `json:"clockMonotonicRaw"` // nanoseconds
}

// word is a JSON value that is a number in some versions and text in others.
type word string

// UnmarshalJSON takes any scalar.
func (w *word) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*w = word(strings.TrimSpace(s))
		return nil
	}
	*w = word(b)
	return nil
}

// int is the number before a decimal point; ok is false for what is none.
func (w word) int() (int64, bool) {
	s, _, _ := strings.Cut(string(w), ".")
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil
}

// number is the number, 0 when there is none.
func (w word) number() int {
	v, _ := w.int()
	if int64(int32(v)) != v {
		return 0
	}
	return int(v)
}

// readJSON reads the first control file of names that exists.
func readJSON(dir string, v any, names ...string) error {
	var first error
	for _, name := range names {
		b, err := readControl(filepath.Join(dir, name))
		if err == nil {
			if err = json.Unmarshal([]byte(strings.TrimPrefix(b, "\ufeff")), v); err == nil {
				return nil
			}
			err = fmt.Errorf("%s: %w", name, err)
		}
		if first == nil || !os.IsNotExist(err) {
			first = err
		}
	}
	return first
}

// errCut says that a file is shorter than it was.
var errCut = errors.New("it was cut")

// readPairs reads "key: number" lines, as of host_start.log. A file without numbers is an error.
func readPairs(dir string, names ...string) (map[string]int64, error) {
	var first error
	for _, name := range names {
		b, err := readControl(filepath.Join(dir, name))
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		if want, ok := wrote(filepath.Join(dir, name)); ok && int64(len(b)) < want {
			first = errCut
			continue
		}
		pairs := map[string]int64{}
		for line := range strings.Lines(b) {
			key, value, _ := strings.Cut(line, ":")
			if v, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64); err == nil {
				pairs[strings.TrimSpace(key)] = v
			}
		}
		if len(pairs) == 0 {
			if first == nil || os.IsNotExist(first) {
				first = fmt.Errorf("%s holds no times", name)
			}
			continue
		}
		return pairs, nil
	}
	return nil, first
}

func readControl(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, controlLimit))
	return string(b), err
}

// numbered is the names that a control file of device n may have.
func numbered(name string, n int) []string {
	return []string{fmt.Sprintf("%s.%d", name, n), name}
}

// hertz is a frequency in Hz; 0 when it is unknown.
func (w word) hertz() int64 { return ascend.Frequency(string(w)) }
