package load

import (
	"cmp"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"npu/internal/trace"
	"npu/internal/trace/msprof"
	"npu/internal/trace/profcsv"
)

// part is a piece of a trace that is read on its own.
type part struct {
	path  string
	group string // parts of one group are of the same devices
	bytes int64  // of input
	read  func(ctx context.Context) (*trace.Trace, error)
}

// deepest is how far below the given directory data is looked for.
const deepest = 6

// find lists what there is to read in and below dir, and notes what it leaves out. Where the same tasks lie there in several
// forms, the one that says most is taken: analysis by torch_npu, else raw data, else a database, else JSON, else CSV.
func find(dir string, depth int, note func(string)) ([]part, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if out := filepath.Join(dir, "ASCEND_PROFILER_OUTPUT"); isDir(out) {
		if parts := torch(dir, out); len(parts) > 0 {
			return parts, nil
		}
	}
	if msprof.Is(dir) {
		return []part{{dir, dir, msprof.Size(dir), func(ctx context.Context) (*trace.Trace, error) { return msprof.Read(ctx, dir) }}}, nil
	}
	if parts := exported(dir, entries); len(parts) > 0 {
		return parts, nil
	}
	var all []part
	rank := rankOf(dir)
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || e.Name() == "sqlite" || e.Name() == "mindstudio_profiler_log" {
			continue
		}
		if depth == 0 {
			note("directories below " + dir + ", which lie too deep")
			break
		}
		below, err := find(filepath.Join(dir, e.Name()), depth-1, note)
		if rank >= 0 {
			below = rankedParts(below, rank)
		}
		if err != nil {
			note(filepath.Join(dir, e.Name()) + ": " + err.Error())
		}
		all = append(all, below...)
	}
	return all, nil
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// exported takes the files of dir and of its folders of exports.
func exported(dir string, entries []fs.DirEntry) []part {
	files := map[string][]string{}
	add := func(dir string, entries []fs.DirEntry) {
		for _, e := range entries {
			if c := class(e.Name()); c != "" && e.Type().IsRegular() {
				files[c] = append(files[c], filepath.Join(dir, e.Name()))
			}
		}
	}
	add(dir, entries)
	for _, e := range entries {
		if name := e.Name(); e.IsDir() && (name == "mindstudio_profiler_output" || name == "timeline" || name == "summary") {
			if below, err := os.ReadDir(filepath.Join(dir, name)); err == nil {
				add(filepath.Join(dir, name), below)
			}
		}
	}
	var steps []part
	for _, path := range files["steps"] {
		steps = append(steps, plain(path, dir, nil, deviceOf(dir)))
	}
	for _, c := range []string{"capture", "database", "json", "kernels", "tasks"} {
		if len(files[c]) == 0 {
			continue
		}
		var parts []part
		for _, path := range files[c] {
			group := dir
			if c == "capture" {
				group = path
			}
			parts = append(parts, plain(path, group, nil, deviceOf(dir)))
		}
		return append(parts, steps...)
	}
	return steps
}

// class is what a file name promises; empty for names that are not looked into.
func class(name string) string {
	switch {
	case strings.HasSuffix(name, ".npt"):
		return "capture"
	case strings.HasSuffix(name, ".db") && (strings.HasPrefix(name, "msprof") || strings.HasPrefix(name, "ascend_pytorch_profiler")):
		return "database"
	case name == "trace_view.json" || strings.HasPrefix(name, "msprof") && (strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".json.gz")) ||
		strings.HasSuffix(name, ".trace.json") || strings.HasSuffix(name, ".trace.json.gz"):
		return "json"
	case name == "kernel_details.csv" || strings.HasPrefix(name, "op_summary") && strings.HasSuffix(name, ".csv"):
		return "kernels"
	case strings.HasPrefix(name, "task_time") && strings.HasSuffix(name, ".csv"):
		return "tasks"
	case name == "step_trace_time.csv" || name == "cluster_step_trace_time.csv" || name == "analysis.db":
		return "steps"
	}
	return ""
}

// deviceOf is the device of a folder device_N; 0 for others.
func deviceOf(dir string) uint16 {
	rest, ok := strings.CutPrefix(filepath.Base(dir), "device_")
	n, err := strconv.ParseUint(rest, 10, 16)
	if !ok || err != nil {
		return 0
	}
	return uint16(n)
}

func plain(path, group string, more details, device uint16) part {
	p := part{path: path, group: group, read: func(ctx context.Context) (*trace.Trace, error) { return file(ctx, path, more, device) }}
	if st, err := os.Stat(path); err == nil {
		p.bytes = st.Size()
	}
	return p
}

var profilerInfo = regexp.MustCompile(`^profiler_info(?:_(\d{1,8}))?\.json$`)

// torch takes the analysed output of one rank. The table of kernels adds types and counters to the timeline.
func torch(dir, out string) []part {
	entries, err := os.ReadDir(out)
	if err != nil {
		return nil
	}
	parts := exported(out, entries)
	rank := rankOf(dir)
	for i := range parts {
		p := &parts[i]
		p.group = dir
		read := p.read
		kernels := filepath.Join(out, "kernel_details.csv")
		if filepath.Base(p.path) == "trace_view.json" {
			read = func(ctx context.Context) (*trace.Trace, error) { return withDetails(ctx, p.path, kernels) }
		}
		p.read = read
	}
	if rank >= 0 {
		return rankedParts(parts, rank)
	}
	return parts
}

// rankedParts says of what is read of parts that it is of rank.
func rankedParts(parts []part, rank int) []part {
	for i := range parts {
		read := parts[i].read
		parts[i].read = func(ctx context.Context) (*trace.Trace, error) {
			t, err := read(ctx)
			if t != nil {
				t = ranked(t, rank)
			}
			return t, err
		}
	}
	return parts
}

func withDetails(ctx context.Context, path, kernels string) (*trace.Trace, error) {
	in, err := os.Open(kernels)
	if err != nil {
		return file(ctx, path, nil, 0)
	}
	defer in.Close()
	more, _ := profcsv.Details(ctx, in)
	return file(ctx, path, more, 0)
}

// rankOf is the rank that profiler_info names; -1 when nothing does.
func rankOf(dir string) int {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		m := profilerInfo.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		if n, err := strconv.Atoi(m[1]); err == nil {
			return n
		}
		var info struct {
			Rank *int `json:"rank_id"`
		}
		if b, err := os.ReadFile(filepath.Join(dir, e.Name())); err == nil && json.Unmarshal(b, &info) == nil && info.Rank != nil && *info.Rank < 1<<24 {
			return *info.Rank
		}
	}
	return -1
}

// ranked says that the devices of t are those of rank.
func ranked(t *trace.Trace, rank int) *trace.Trace {
	out := *t
	if len(out.Source.Devices) > 0 {
		return &out
	}
	seen := map[uint16]bool{}
	for i := range t.Tasks.Len() {
		seen[t.Tasks.Device.At(i)] = true
	}
	for d := range seen {
		out.Source.Devices = append(out.Source.Devices, trace.SourceDevice{ID: d, Rank: rank, Device: int(d)})
	}
	slices.SortFunc(out.Source.Devices, func(a, b trace.SourceDevice) int { return cmp.Compare(a.ID, b.ID) })
	out.Source.Ranks = 1
	for i := range out.Source.Steps {
		if s := &out.Source.Steps[i]; s.Type == "rank" && s.Index == "" {
			s.Index = strconv.Itoa(rank)
		}
	}
	return &out
}
