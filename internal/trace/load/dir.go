package load

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/merge"
)

// directory reads all parts below path and makes one trace of them. Parts that cannot be read are named as missing.
func directory(ctx context.Context, path string, o Options) (*trace.Trace, error) {
	var notes []string
	f := finder{func(s string) { notes = append(notes, s) }, map[string]bool{}}
	parts, err := f.find(path, deepest)
	if err != nil {
		return nil, problem.Mark(problem.Damaged, err)
	}
	if len(parts) == 0 {
		return nil, problem.Damagedf("%s holds no profiling data: expected PROF_* or *_ascend_pt directories, or exported msprof*.json, msprof*.db, op_summary*.csv, trace_view.json, kernel_details.csv, .npt", path)
	}
	traces, errs := readAll(ctx, parts, o)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var good []merge.Part
	for i, t := range traces {
		if t == nil {
			notes = append(notes, errs[i].Error())
			continue
		}
		m := merge.Part{Trace: t, Group: parts[i].group}
		if len(parts) > 1 {
			m.Label = label(path, parts[i].path)
		}
		good = append(good, m)
	}
	damage := errors.Join(errs...)
	if len(good) == 0 {
		return nil, damage
	}
	said := o.align(good)
	t := *merge.Traces(good)
	t.Source.Notes = append(slices.Clip(t.Source.Notes), said...)
	t.Source.Missing = append(slices.Clip(t.Source.Missing), notes...)
	if len(good) > 1 {
		t.Source.Records["parts"] = int64(len(good))
	}
	return &t, damage
}

// label names a part by its path below the directory that was asked for.
func label(dir, path string) string {
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == "." {
		return base(path)
	}
	first, rest, ok := strings.Cut(filepath.ToSlash(rel), "/")
	if ok && len(rest) > 40 {
		return first + "/.../" + base(path)
	}
	return filepath.ToSlash(rel)
}

// growth is how many bytes of memory a byte of input needs, as the worst of the formats.
const growth = 3

// readAll reads the parts, several at once as long as they fit into the memory together. A part that is larger than all of
// the memory is read alone.
func readAll(ctx context.Context, parts []part, o Options) ([]*trace.Trace, []error) {
	memory := o.Memory
	if memory <= 0 {
		memory = 4 << 30
	}
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	traces, errs := make([]*trace.Trace, len(parts)), make([]error, len(parts))
	b := budget{left: memory, workers: workers}
	b.free.L = &b.mu
	var done sync.WaitGroup
	for i := range parts {
		need := min(parts[i].bytes*growth, memory)
		b.take(need)
		done.Go(func() {
			defer b.give(need)
			traces[i], errs[i] = parts[i].read(ctx)
		})
	}
	done.Wait()
	return traces, errs
}

// budget is the memory and the goroutines that are left.
type budget struct {
	mu      sync.Mutex
	free    sync.Cond
	left    int64
	workers int
}

func (b *budget) take(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.left < n || b.workers == 0 {
		b.free.Wait()
	}
	b.left -= n
	b.workers--
}

func (b *budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += n
	b.workers++
	b.free.Broadcast()
}
