// Package profcomm reads what the vendor's tools say of communication: communication.json and communication_matrix.json of a
// rank, cluster_communication.json and cluster_communication_matrix.json of a job, and communication_group.json. They hold
// no tasks: what they say becomes tables of the trace's source.
package profcomm

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/ascend"
)

// deepest is how many objects stand in each other in real files, and some more.
const deepest = 16

// Sniff says whether head, the first bytes of a JSON file, is of communication data.
func Sniff(head string) bool {
	s := strings.TrimLeft(head, " \t\r\n\ufeff")
	if !strings.HasPrefix(s, "{") || strings.Contains(s, `"traceEvents"`) {
		return false
	}
	for _, word := range []string{`"Communication Time Info"`, `"Communication Bandwidth Info"`, `"Transport Type"`, `"Transit Size(MB)"`, `"collective"`, `"p2p"`} {
		if strings.Contains(s, word) {
			return true
		}
	}
	return false
}

// Read reads the file in in. What was read before damage is given with a problem.Damaged error; the trace is nil when it is none
// of these files.
func Read(ctx context.Context, in io.Reader) (*trace.Trace, error) {
	r := newReader(ctx, in)
	err := r.start()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for _, s := range []*trace.Sheet{r.ops, r.bandwidth, r.sizes, r.links, r.groups} {
		s.Trim()
		r.source.AddSheet(s)
	}
	if err == nil && len(r.source.Sheets) == 0 && !r.empty {
		return nil, problem.Damagedf("read communication data: it holds neither operations nor links")
	}
	r.source.Ranks = len(r.ranks)
	rec := trace.NewRecorder()
	rec.SetSource(r.source)
	t := rec.Finish()
	if err != nil {
		if len(r.source.Sheets) == 0 {
			t = nil
		}
		return t, problem.Damagedf("read communication data: at offset %#x: %w", r.dec.InputOffset(), err)
	}
	return t, nil
}

type reader struct {
	dec    *json.Decoder
	source trace.Source
	path   []string
	ranks  map[string]bool
	empty  bool // the frame of a file without operations was seen

	ops, bandwidth, sizes, links, groups *trace.Sheet
}

func newReader(ctx context.Context, in io.Reader) *reader {
	place := func() []trace.SheetColumn {
		return []trace.SheetColumn{trace.IntColumn("rank"), trace.TextColumn("step"), trace.TextColumn("type"), trace.TextColumn("op"), trace.TextColumn("group_name"), trace.TextColumn("ranks")}
	}
	b := bufio.NewReaderSize(&reading{ctx, in}, 1<<16)
	if mark, _ := b.Peek(3); string(mark) == "\ufeff" {
		b.Discard(3)
	}
	r := &reader{
		dec: json.NewDecoder(b), ranks: map[string]bool{}, source: trace.Source{Format: "communication data (JSON)", Records: map[string]int64{}},
		ops: trace.NewSheet("communication", append(place(), trace.IntColumn("start_ns"), trace.IntColumn("elapse_ns"), trace.IntColumn("transit_ns"), trace.IntColumn("wait_ns"),
			trace.IntColumn("synchronization_ns"), trace.IntColumn("idle_ns"), trace.FloatColumn("wait_ratio"), trace.FloatColumn("synchronization_ratio"))...),
		bandwidth: trace.NewSheet("communication_bandwidth", append(place(), trace.TextColumn("transport"), trace.IntColumn("size_bytes"), trace.IntColumn("transit_ns"),
			trace.FloatColumn("bandwidth_gb_s"), trace.FloatColumn("large_packet_ratio"))...),
		sizes: trace.NewSheet("communication_sizes", append(place(), trace.TextColumn("transport"), trace.IntColumn("packet_bytes"), trace.IntColumn("count"), trace.IntColumn("total_ns"))...),
		links: trace.NewSheet("communication_matrix", append(place(), trace.IntColumn("src"), trace.IntColumn("dst"), trace.TextColumn("transport"), trace.IntColumn("size_bytes"),
			trace.IntColumn("transit_ns"), trace.FloatColumn("bandwidth_gb_s"), trace.TextColumn("op_name"))...),
		groups: trace.NewSheet("communication_group", trace.TextColumn("type"), trace.TextColumn("ranks")),
	}
	r.dec.UseNumber()
	return r
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

func (r *reader) start() error {
	t, err := r.dec.Token()
	if err != nil {
		return end(err)
	}
	if t != json.Delim('{') {
		return fmt.Errorf("expected an object, found %v", t)
	}
	return r.object()
}

// end says that the file ends early where it does.
func end(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// object reads the members of the object that was entered, and takes it as a row when it is one.
func (r *reader) object() error {
	if len(r.path) > deepest {
		return fmt.Errorf("more than %d objects in each other", deepest)
	}
	values := map[string]string{}
	for r.dec.More() {
		t, err := r.dec.Token()
		if err != nil {
			return end(err)
		}
		key, _ := t.(string)
		if key == "p2p" || key == "collective" {
			r.empty = true
		}
		r.path = append(r.path, key)
		t, err = r.dec.Token()
		switch {
		case err != nil:
			return end(err)
		case t == json.Delim('{'):
			err = r.object()
		case t == json.Delim('['):
			err = r.array()
		default:
			values[key] = text(t)
		}
		if err != nil {
			return err
		}
		r.path = r.path[:len(r.path)-1]
	}
	if _, err := r.dec.Token(); err != nil {
		return end(err)
	}
	r.take(values)
	return nil
}

func text(t json.Token) string {
	switch t := t.(type) {
	case json.Number:
		return t.String()
	case string:
		return t
	}
	return ""
}

// array reads a list of numbers: the packets of one size, or the ranks of a group; lists of lists one by one.
func (r *reader) array() error {
	var list []string
	for r.dec.More() {
		t, err := r.dec.Token()
		switch {
		case err != nil:
			return end(err)
		case t == json.Delim('['), t == json.Delim('{'):
			if len(r.path) > deepest {
				return fmt.Errorf("more than %d lists in each other", deepest)
			}
			r.path = append(r.path, "")
			if t == json.Delim('[') {
				err = r.array()
			} else {
				err = r.object()
			}
			r.path = r.path[:len(r.path)-1]
			if err != nil {
				return err
			}
		default:
			list = append(list, text(t))
		}
	}
	if _, err := r.dec.Token(); err != nil {
		return end(err)
	}
	r.list(list)
	return nil
}

// list takes a list of scalars.
func (r *reader) list(list []string) {
	n := len(r.path)
	switch {
	case len(list) == 0:
	case n >= 3 && r.path[n-2] == "Size Distribution" && len(list) >= 2:
		size, ok1 := scaled(r.path[n-1], 1_000_000)
		count, ok2 := scaled(list[0], 1)
		total, ok3 := scaled(list[1], 1_000_000)
		if !ok1 || !ok2 || !ok3 {
			r.source.BadRecords++
			return
		}
		r.sizes.Add(append(r.place(n-4), r.path[n-3], size, count, total)...)
	case n == 2 && r.path[1] == "" && (r.path[0] == "p2p" || r.path[0] == "collective"):
		r.groups.Add(r.path[0], strings.Join(list, ","))
	}
}

// place says what the first n names of the path are.
func (r *reader) place(n int) []any {
	out := make([]any, 6)
	for _, s := range r.path[:max(n, 0)] {
		_, isRank := scaled(s, 1)
		switch {
		case s == "p2p" || s == "collective":
			out[2] = s
		case strings.HasPrefix(strings.ToLower(s), "step"):
			out[1] = s
		case isRank && !strings.ContainsAny(s, ".eE"):
			rank, _ := scaled(s, 1)
			out[0] = rank
			r.ranks[s] = true
		case strings.HasPrefix(s, "("):
			out[5] = s
		default:
			out[3] = s
			if at := strings.LastIndexByte(s, '@'); at >= 0 {
				out[3], out[4] = s[:at], s[at+1:]
			}
		}
	}
	return out
}

// take makes a row of an object's values when they are of a kind that is known.
func (r *reader) take(v map[string]string) {
	n := len(r.path)
	if n == 0 {
		return
	}
	number := func(name string, unit int64) any {
		s, ok := v[name]
		if !ok || s == "" {
			return nil
		}
		x, ok := scaled(s, unit)
		if !ok {
			r.source.BadRecords++
			return nil
		}
		return x
	}
	float := func(name string) any {
		x, err := json.Number(v[name]).Float64()
		if err != nil {
			return nil
		}
		return x
	}
	switch {
	case r.path[n-1] == "Communication Time Info":
		r.ops.Add(append(r.place(n-1), number("Start Timestamp(us)", 1000), number("Elapse Time(ms)", 1_000_000), number("Transit Time(ms)", 1_000_000), number("Wait Time(ms)", 1_000_000),
			number("Synchronization Time(ms)", 1_000_000), number("Idle Time(ms)", 1_000_000), float("Wait Time Ratio"), float("Synchronization Time Ratio"))...)
	case n >= 2 && r.path[n-2] == "Communication Bandwidth Info":
		size, transit := number("Transit Size(MB)", 1_000_000), number("Transit Time(ms)", 1_000_000)
		if size == nil && transit == nil || size == int64(0) && transit == int64(0) {
			return // a transport that was not used
		}
		r.bandwidth.Add(append(r.place(n-2), r.path[n-1], size, transit, float("Bandwidth(GB/s)"), float("Large Packet Ratio"))...)
	case has(v, "Transit Size(MB)") && (has(v, "Transport Type") || strings.Contains(r.path[n-1], "-")):
		from, to, _ := strings.Cut(r.path[n-1], "-")
		src, ok1 := scaled(from, 1)
		dst, ok2 := scaled(to, 1)
		if !ok1 || !ok2 {
			r.source.BadRecords++
			return
		}
		r.links.Add(append(r.place(n-1), src, dst, v["Transport Type"], number("Transit Size(MB)", 1_000_000), number("Transit Time(ms)", 1_000_000), float("Bandwidth(GB/s)"), v["Op Name"])...)
	}
}

func has(v map[string]string, key string) bool {
	_, ok := v[key]
	return ok
}

// scaled is a decimal number times unit, rounded to a whole one.
func scaled(s string, unit int64) (int64, bool) {
	v, ok := ascend.Nanos(s, unit*1000)
	if !ok {
		return ascend.Nanos(s, unit)
	}
	if v < 0 {
		return (v - 500) / 1000, true
	}
	return (v + 500) / 1000, true
}
