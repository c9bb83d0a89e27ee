// Package torchraw reads what torch_npu's profiler records of the framework, before any analysis: the files of the folder
// FRAMEWORK. They hold operators, the task queue, Python calls, memory and garbage collection; what ran on the device lies in
// the PROF_* directory beside it. It writes nothing.
package torchraw

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/msprof"
)

const folder = "FRAMEWORK"

// files is what the folder may hold.
var files = []string{"torch.op_range", "torch.op_mark", "torch.memory_usage", "torch.python_tracer_func", "torch.python_tracer_hash", "torch.param_tensor_info", "torch.gc_record"}

// Is says whether dir is one of torch_npu's whose framework was recorded.
func Is(dir string) bool {
	for _, name := range files {
		if st, err := os.Stat(filepath.Join(dir, folder, name)); err == nil && st.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// Size is the bytes of all files.
func Size(dir string) (n int64) {
	for _, name := range files {
		if st, err := os.Stat(filepath.Join(dir, folder, name)); err == nil {
			n += st.Size()
		}
	}
	return n
}

// Read reads the framework's records of dir. Records that cannot be read are counted, and files that end early are named as
// missing; the error is a problem.Damaged when there is nothing at all.
func Read(ctx context.Context, dir string) (*trace.Trace, error) {
	if !Is(dir) {
		return nil, problem.Damagedf("%s holds no records of a framework: expected a folder %s with torch.op_range", dir, folder)
	}
	r := &reader{
		ctx: ctx, dir: dir, rec: trace.NewRecorder(), threads: map[uint64]uint16{}, names: map[uint64]string{}, stacks: map[uint64][]call{}, queue: map[queueKey]int64{},
		source: trace.Source{Format: "torch_npu raw", Records: map[string]int64{}},
		memory: trace.NewSheet("memory_usage", trace.IntColumn("timestamp_ns"), trace.IntColumn("device"), trace.TextColumn("event"), trace.TextColumn("component"), trace.TextColumn("address"),
			trace.IntColumn("size_bytes"), trace.IntColumn("total_allocated_bytes"), trace.IntColumn("total_reserved_bytes"), trace.IntColumn("total_active_bytes"), trace.TextColumn("stream_ptr"),
			trace.IntColumn("thread_id"), trace.IntColumn("process_id")),
	}
	r.setClock()
	for _, f := range []struct {
		name string
		read func(io.Reader) (int64, error)
	}{
		{"torch.op_range", r.operators}, {"torch.op_mark", r.marks}, {"torch.python_tracer_hash", r.hashes}, {"torch.python_tracer_func", r.python},
		{"torch.gc_record", r.collections}, {"torch.memory_usage", r.usage}, {"torch.param_tensor_info", r.parameters},
	} {
		in, err := os.Open(filepath.Join(dir, folder, f.name))
		if errors.Is(err, os.ErrNotExist) {
			if f.name == "torch.op_range" {
				r.missing("%s: operators of the framework", f.name)
			}
			continue
		}
		if err != nil {
			r.missing("%v", err)
			continue
		}
		n, err := f.read(&reading{ctx, in})
		in.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			r.missing("%s: %v", f.name, err)
		}
		r.source.Records[f.name] = n
	}
	r.finish()
	return r.rec.Finish(), nil
}

type reading struct {
	ctx context.Context
	io.Reader
}

func (r *reading) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

type reader struct {
	ctx     context.Context
	dir     string
	rec     *trace.Recorder
	source  trace.Source
	device  uint16
	clock   func(count int64) int64 // Unix nanoseconds
	threads map[uint64]uint16
	names   map[uint64]string  // of Python functions, by hash
	stacks  map[uint64][]call  // of Python calls, by thread
	queue   map[queueKey]int64 // starts of task queue entries
	memory  *trace.Sheet
	lonely  int64 // ends without a start
}

func (r *reader) missing(format string, args ...any) {
	r.source.Missing = append(r.source.Missing, fmt.Sprintf(format, args...))
}

// info is profiler_info_<rank>.json.
type info struct {
	Start struct {
		Enabled   bool        `json:"syscnt_enable"`
		Frequency json.Number `json:"freq"`
		Count     json.Number `json:"start_cnt"`
		Monotonic json.Number `json:"start_monotonic"`
	} `json:"start_info"`
	End struct {
		Unix      json.Number `json:"collectionTimeEnd"`
		Monotonic json.Number `json:"MonotonicTimeEnd"`
	} `json:"end_info"`
}

// setClock finds how counts become times: the host's clock of the PROF directory beside the folder, else what profiler_info
// says.
func (r *reader) setClock() {
	r.clock = func(count int64) int64 { return count }
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return
	}
	var in info
	known := false
	var prof []string
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, "profiler_info") && strings.HasSuffix(name, ".json") && !known {
			b, err := os.ReadFile(filepath.Join(r.dir, name))
			known = err == nil && len(b) < 4<<20 && json.Unmarshal(b, &in) == nil
		}
		if strings.HasPrefix(name, "PROF_") {
			prof = append(prof, filepath.Join(r.dir, name))
		}
	}
	if !known {
		r.missing("profiler_info.json: whether the framework counted ticks or nanoseconds; taken as nanoseconds")
	}
	slices.Sort(prof)
	for _, dir := range prof {
		if n, ok := msprof.FirstDevice(dir); ok {
			r.device = n
		}
		if host, ok := msprof.HostClock(dir); ok {
			r.clock = func(count int64) int64 { return host.Unix(uint64(count), in.Start.Enabled) }
			return
		}
	}
	number := func(n json.Number) int64 {
		v, _ := n.Int64()
		return v
	}
	offset := number(in.End.Unix) - number(in.End.Monotonic)
	if offset == 0 {
		r.missing("the clock: times are not Unix times")
	}
	if !in.Start.Enabled {
		r.clock = func(count int64) int64 { return count + offset }
		return
	}
	host := msprof.NewClock(uint64(number(in.Start.Count)), string(in.Start.Frequency), number(in.Start.Monotonic), offset)
	r.clock = func(count int64) int64 { return host.Unix(uint64(count), true) }
}

// thread numbers threads by first sight.
func (r *reader) thread(id uint64) uint16 {
	n, ok := r.threads[id]
	if !ok {
		n = uint16(min(len(r.threads)+1, 1<<16-1))
		r.threads[id] = n
		r.rec.NameThread(n, "Python tid "+strconv.FormatUint(id, 10))
	}
	return n
}

// span records a call from count from to count to.
func (r *reader) span(name string, thread uint64, from, to int64) {
	s := trace.Span{Start: r.clock(from), End: r.clock(to), Name: r.rec.Intern(cmp.Or(name, "unknown")), Thread: r.thread(thread), Device: r.device, Task: trace.NoTask}
	if to < from || s.End < s.Start {
		r.source.BadRecords++
		return
	}
	r.rec.Spans([]trace.Span{s})
}

func (r *reader) finish() {
	open := len(r.queue)
	for _, s := range r.stacks {
		open += len(s)
	}
	if open > 0 {
		r.missing("the ends of %d calls, which were left out", open)
	}
	if r.lonely > 0 {
		r.missing("the starts of %d calls, which were left out", r.lonely)
	}
	r.memory.Trim()
	r.source.AddSheet(r.memory)
	r.source.Hints = append(r.source.Hints, "never analysed: torch_npu.profiler.profiler.analyse(DIR) makes trace_view.json and kernel_details.csv of it")
	r.rec.SetSource(r.source)
}
