package load

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"npu/internal/trace"
	"npu/internal/trace/merge"
	"npu/internal/trace/msprof"
	"npu/internal/trace/profcsv"
	"npu/internal/trace/torchraw"
)

// part is a piece of a trace that is read on its own.
type part struct {
	path  string
	group string // parts of one group are of the same devices
	bytes int64  // of input
	read  reading
}

// reading reads a part.
type reading func(ctx context.Context) (*trace.Trace, error)

// deepest is how far below the given directory data is looked for.
const deepest = 6

// finder looks for data below a directory.
type finder struct {
	note func(string)
	seen map[string]bool // folders, by their places: links may lead in circles
}

// find lists what there is to read in and below dir, and notes what it leaves out. Where the same tasks lie there in several
// forms, the one that says most is taken: analysis by torch_npu, else raw data, else a database, else JSON, else CSV.
func (f *finder) find(dir string, depth int) ([]part, error) {
	if place, err := filepath.EvalSymlinks(dir); err == nil {
		if f.seen[place] {
			return nil, nil
		}
		f.seen[place] = true
	}
	entries, err := list(dir)
	if err != nil {
		return nil, err
	}
	if out := filepath.Join(dir, "ASCEND_PROFILER_OUTPUT"); isDir(out) {
		if parts := torch(dir, out); len(parts) > 0 {
			return parts, nil
		}
	}
	if filepath.Base(dir) == "ASCEND_PROFILER_OUTPUT" {
		if parts := torch(filepath.Dir(dir), dir); len(parts) > 0 {
			return parts, nil
		}
	}
	if torchraw.Is(dir) {
		return f.neverAnalysed(dir, entries, depth)
	}
	if msprof.Is(dir) {
		read := func(ctx context.Context) (*trace.Trace, error) { return rawOrExported(ctx, dir, entries) }
		_, sides := sort(dir, entries)
		return []part{{dir, dir, msprof.Size(dir), withSides(read, sides)}}, nil
	}
	if parts := exported(dir, entries); len(parts) > 0 {
		return parts, nil
	}
	return f.below(dir, entries, depth)
}

// rawOrExported reads the raw data of dir. Where that holds no tasks, as in a copy without the device's folder, what the exporters
// made of it is read instead.
func rawOrExported(ctx context.Context, dir string, entries []entry) (*trace.Trace, error) {
	t, err := msprof.Read(ctx, dir)
	if ctx.Err() != nil || t != nil && t.Tasks.Len() > 0 {
		return t, err
	}
	for _, p := range exported(dir, entries) {
		if made, failed := p.read(ctx); made != nil && failed == nil && made.Tasks.Len() > 0 {
			out := *made
			out.Source.Notes = append(slices.Clip(out.Source.Notes), "the raw data beside it holds no tasks and was left out")
			return &out, nil
		}
	}
	return t, err
}

// below looks into the folders of dir.
func (f *finder) below(dir string, entries []entry, depth int) (all []part, err error) {
	rank := rankOf(dir)
	for _, e := range entries {
		if !e.dir || strings.HasPrefix(e.name, ".") || e.name == "sqlite" || e.name == "mindstudio_profiler_log" {
			continue
		}
		if depth == 0 {
			f.note("directories below " + dir + ", which lie too deep")
			break
		}
		below, err := f.find(filepath.Join(dir, e.name), depth-1)
		if rank >= 0 {
			below = rankedParts(below, rank)
		}
		if err != nil {
			f.note(filepath.Join(dir, e.name) + ": " + err.Error())
		}
		all = append(all, below...)
	}
	return all, nil
}

// neverAnalysed takes what torch_npu left and nobody analysed: the framework's own records, and the device's beside them.
func (f *finder) neverAnalysed(dir string, entries []entry, depth int) ([]part, error) {
	parts, err := f.below(dir, entries, depth)
	rank := rankOf(dir)
	for i := range parts {
		parts[i].group = dir
	}
	read := func(ctx context.Context) (*trace.Trace, error) { return torchraw.Read(ctx, dir) }
	own := []part{{dir, dir, torchraw.Size(dir), read}}
	if rank >= 0 {
		own = rankedParts(own, rank)
	}
	return append(parts, own...), err
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// exports is the folders of a PROF directory that hold what the exporters wrote.
var exports = []string{"mindstudio_profiler_output", "timeline", "summary", "analyze"}

// sort takes the files of dir and of its folders of exports by what they are. Sides are those that hold no tasks.
func sort(dir string, entries []entry) (files map[string][]string, sides []string) {
	files = map[string][]string{}
	add := func(dir string, entries []entry, own bool) {
		for _, e := range entries {
			c := class(e.name)
			if c == "" && own && strings.HasSuffix(strings.TrimSuffix(e.name, ".gz"), ".csv") {
				c = "side"
			}
			if c != "" && e.file {
				files[c] = append(files[c], filepath.Join(dir, e.name))
			}
		}
	}
	base := filepath.Base(dir)
	add(dir, entries, base == "ASCEND_PROFILER_OUTPUT" || slices.Contains(exports, base) || slices.ContainsFunc(entries, operator))
	for _, e := range entries {
		if e.dir && slices.Contains(exports, e.name) {
			if below, err := list(filepath.Join(dir, e.name)); err == nil {
				add(filepath.Join(dir, e.name), below, true)
			}
		}
	}
	return files, append(files["steps"], files["side"]...)
}

// operator says whether e is what "msprof op" says first of the operator that it ran, beside tables of its blocks.
func operator(e entry) bool { return e.file && profcsv.TableName(e.name) == "op_basic_info" }

// exported takes the files of dir and of its folders of exports: of the forms that hold tasks the one that says most. Where its
// first file cannot be read at all, the next form is read, and in the end the tables without tasks.
func exported(dir string, entries []entry) (parts []part) {
	files, sides := sort(dir, entries)
	var next reading
	if len(sides) > 0 {
		next = withSides(nothing, sides)
	}
	for _, c := range []string{"tasks", "kernels", "json", "database", "capture"} { // from what says least
		if len(files[c]) == 0 {
			continue
		}
		parts = nil
		for _, path := range files[c] {
			group := dir
			if c == "capture" {
				group = path
			}
			parts = append(parts, plain(path, group, nil, deviceOf(dir)))
		}
		first, also := &parts[0], sides
		if c == "json" && len(files["kernels"]) > 0 {
			// The table of kernels adds types, counters and shapes to the timeline.
			if path, kernels := first.path, files["kernels"][0]; strings.HasPrefix(filepath.Base(kernels), "kernel_details") {
				first.read = func(ctx context.Context) (*trace.Trace, error) { return withDetails(ctx, path, kernels) }
			} else {
				also = slices.Concat(sides, files["kernels"])
			}
		}
		first.read = orElse(withSides(first.read, also), next)
		next = first.read
	}
	if parts != nil {
		return parts
	}
	databases := 0
	for _, path := range sides {
		if strings.HasSuffix(path, ".db") {
			databases++
		}
	}
	if databases > 0 && databases < len(sides) { // both forms say the same
		return []part{{path: dir, group: dir, read: next}}
	}
	for _, path := range sides {
		parts = append(parts, plain(path, dir, nil, deviceOf(dir)))
	}
	return parts
}

// class is what a file name promises; empty for names that are not looked into.
func class(name string) string {
	name = strings.TrimSuffix(name, ".gz")
	switch {
	case strings.HasSuffix(name, ".npt"):
		return "capture"
	case strings.HasSuffix(name, ".db") && (strings.HasPrefix(name, "msprof") || strings.HasPrefix(name, "ascend_pytorch_profiler") || strings.HasPrefix(name, "ascend_mindspore_profiler")):
		return "database"
	case name == "analysis.db" || name == "communication_analyzer.db" || name == "cluster_analysis.db":
		return "side"
	case strings.HasSuffix(name, ".json"):
		switch {
		case strings.HasPrefix(name, "communication") || strings.HasPrefix(name, "cluster_communication"):
			return "side"
		case name == "trace_view.json" || strings.HasPrefix(name, "msprof") && !strings.HasPrefix(name, "msprof_tx") || strings.HasSuffix(name, ".trace.json"):
			return "json"
		}
	case strings.HasSuffix(name, ".csv"):
		switch table := profcsv.TableName(name); {
		case table == "kernel_details" || table == "op_summary":
			return "kernels"
		case table == "task_time":
			return "tasks"
		case table == "step_trace_time" || table == "cluster_step_trace_time":
			return "steps"
		case profcsv.Module(table):
			return "side"
		}
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

// torch takes the analysed output of one rank.
func torch(dir, out string) []part {
	entries, err := list(out)
	if err != nil {
		return nil
	}
	parts := exported(out, entries)
	for i := range parts {
		parts[i].group = dir
	}
	if rank := rankOf(dir); rank >= 0 {
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

// withDetails reads a timeline with what the table of kernels says of its tasks.
func withDetails(ctx context.Context, path, kernels string) (*trace.Trace, error) {
	in, err := openAny(kernels)
	if err != nil {
		return file(ctx, path, nil, 0)
	}
	defer in.Close()
	more, table, damage := profcsv.Details(ctx, in)
	t, err := file(ctx, path, more, 0)
	if t == nil || table == nil {
		return t, err
	}
	if device, known := onlyDevice(t); known {
		for i := range table.Source.Sheets {
			if c := table.Source.Sheets[i].Column("device"); c != nil {
				c.Own()
				for k := range c.Int {
					c.Int[k] = int64(device)
				}
			}
		}
	}
	tables := trace.NewRecorder()
	tables.SetSource(trace.Source{Sheets: table.Source.Sheets, BadRecords: table.Source.BadRecords})
	out := *merge.Attach(t, tables.Finish())
	if damage != nil {
		out.Source.Missing = append(out.Source.Missing, named(kernels, damage).Error())
	}
	return &out, err
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
	if len(out.Source.Devices) == 0 {
		seen := map[uint16]bool{}
		for i := range t.Tasks.Len() {
			seen[t.Tasks.Device.At(i)] = true
		}
		for d := range seen {
			out.Source.Devices = append(out.Source.Devices, trace.SourceDevice{ID: d, Rank: rank, Device: int(d)})
		}
		slices.SortFunc(out.Source.Devices, func(a, b trace.SourceDevice) int { return cmp.Compare(a.ID, b.ID) })
		out.Source.Ranks = 1
		if len(seen) == 0 {
			out.Source.Sheets = slices.Clone(out.Source.Sheets)
			for i := range out.Source.Sheets {
				if s := &out.Source.Sheets[i]; s.Column("rank") == nil && s.Column("device") == nil {
					s.Fixed(trace.IntColumn("rank"), int64(rank))
				}
			}
		}
	}
	for i := range out.Source.Sheets {
		if c := out.Source.Sheets[i].Column("rank"); c != nil && c.Type == trace.ColumnInt {
			c.Own()
			for k, v := range c.Int {
				if v == trace.NoInt {
					c.Int[k] = int64(rank)
				}
			}
		}
	}
	out.Source.Steps = slices.Clone(out.Source.Steps)
	for i := range out.Source.Steps {
		k := &out.Source.Steps[i]
		switch len(out.Source.Devices) {
		case 0: // no tasks: a number, if any, is that of the device
			if k.Type == "rank" {
				k.Index = strconv.Itoa(rank)
			}
		case 1:
			k.Ranked(trace.SourceDevice{Rank: rank, Device: out.Source.Devices[0].Device})
		default:
			k.Ranked(trace.SourceDevice{Rank: rank, Device: -1})
		}
	}
	return &out
}
