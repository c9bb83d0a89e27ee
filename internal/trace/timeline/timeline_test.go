package timeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/chrome"
	"npu/internal/trace/gen"
)

func readText(text string) (*trace.Trace, error) {
	return Read(context.Background(), func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }, Options{})
}

func names(t *trace.Trace) (out []string) {
	for _, s := range t.Spans.All() {
		out = append(out, fmt.Sprintf("%s %d-%d", t.String(s.Name), s.Start, s.End))
	}
	return out
}

func TestRead_forgives(t *testing.T) {
	const a, b = `{"ph":"X","name":"a","pid":1,"tid":2,"ts":1.5,"dur":2}`, `{"ph":"X","name":"b","pid":"x","tid":"y","ts":"5.001","dur":0.5}`
	const both = "[a 1500-3500 b 5001-5501]"
	for name, tt := range map[string]struct{ text, want string }{
		"array":              {"[" + a + "," + b + "]", both},
		"trailing comma":     {"[" + a + ",\n" + b + ",\n]", both},
		"no end":             {"[" + a + "," + b, both},
		"no end, comma":      {"[" + a + "," + b + ",", both},
		"object":             {`{"x":{"traceEvents":[1]},"traceEvents":[` + a + "," + b + `],"more":[{}]}`, both},
		"object, no end":     {`{"displayTimeUnit":"ns","traceEvents":[` + a + "," + b, both},
		"an event a line":    {a + "\n" + b + "\n", both},
		"byte order mark":    {"\ufeff[" + a + "," + b + "]", both},
		"junk between":       {"[null, 3, " + a + `, "text", [1,[2]], ` + b + "]", both},
		"duplicate keys":     {`[{"ph":"B","ph":"X","name":"a","pid":1,"tid":2,"ts":1.5,"dur":2}]`, "[a 1500-3500]"},
		"escapes":            {`[{"ph":"X","name":"\u0041\"\\\/\ud83d\ude00\n\u12","pid":1,"tid":2,"ts":0,"dur":1}]`, "[A\"\\/😀\n\\u12 0-1000]"},
		"control characters": {"[{\"ph\":\"X\",\"name\":\"a\tb\nc\",\"pid\":1,\"tid\":2,\"ts\":0,\"dur\":1}]", "[a\tb\nc 0-1000]"},
		"braces in strings":  {`[{"ph":"X","name":"}]{[\\","pid":1,"tid":2,"ts":0,"dur":1,"args":{"x":"\"}"}}]`, "[}]{[\\ 0-1000]"},
		"begin and end":      {`[{"ph":"B","name":"a","pid":1,"tid":1,"ts":1},{"ph":"B","name":"b","pid":1,"tid":1,"ts":2},{"ph":"E","pid":1,"tid":1,"ts":3},{"ph":"E","pid":1,"tid":1,"ts":4}]`, "[a 1000-4000 b 2000-3000]"},
		"asynchronous":       {`[{"ph":"b","cat":"c","id":1,"name":"a","pid":1,"tid":1,"ts":1},{"ph":"e","cat":"c","id":1,"name":"a","pid":1,"tid":9,"ts":7}]`, "[a 1000-7000]"},
		"nested asynchronous": {`[{"ph":"b","cat":"c","id":"0x1","name":"a","pid":1,"tid":1,"ts":1},{"ph":"b","cat":"c","id":"0x1","name":"b","pid":1,"tid":1,"ts":2},{"ph":"e","cat":"c","id":"0x1","name":"b","pid":1,"tid":1,"ts":3},
			{"ph":"e","cat":"c","id":"0x1","name":"a","pid":1,"tid":1,"ts":4}]`, "[a 1000-4000 b 2000-3000]"},
		"an inner begin without end": {`[{"ph":"B","name":"a","pid":1,"tid":1,"ts":1},{"ph":"B","name":"b","pid":1,"tid":1,"ts":2},{"ph":"E","name":"a","pid":1,"tid":1,"ts":4}]`, "[a 1000-4000]"},
		"an end of another name":     {`[{"ph":"B","name":"a","pid":1,"tid":1,"ts":1},{"ph":"E","name":"z","pid":1,"tid":1,"ts":4}]`, "[a 1000-4000]"},
		"older asynchronous":         {`[{"ph":"S","cat":"c","id":1,"name":"a","pid":1,"tid":1,"ts":1},{"ph":"S","cat":"c","id":1,"name":"b","pid":1,"tid":1,"ts":2},{"ph":"T","cat":"c","id":1,"name":"a","pid":1,"tid":1,"ts":2},{"ph":"F","cat":"c","id":1,"name":"a","pid":1,"tid":1,"ts":3},{"ph":"F","cat":"c","id":1,"name":"b","pid":1,"tid":1,"ts":4}]`, "[a 1000-3000 b 2000-4000]"},
		"global ids": {`[{"ph":"b","cat":"c","id2":{"global":"0x5"},"name":"a","pid":1,"tid":1,"ts":1},{"ph":"b","cat":"c","id2":{"local":"0x5"},"name":"b","pid":1,"tid":1,"ts":1},{"ph":"b","cat":"c","id2":{"local":"0x5"},"name":"c","pid":2,"tid":1,"ts":1},
			{"ph":"e","cat":"c","id2":{"local":"0x5"},"pid":2,"tid":1,"ts":2},{"ph":"e","cat":"c","id2":{"local":"0x5"},"pid":1,"tid":1,"ts":3},{"ph":"e","cat":"c","id2":{"global":"0x5"},"pid":2,"tid":1,"ts":4}]`, "[a 1000-4000 b 1000-3000 c 1000-2000]"},
		"Unix time":          {`[{"ph":"X","name":"a","pid":1,"tid":2,"ts":"1784177144514943.513","dur":13.520265625}]`, "[a 1784177144514943513-1784177144514957033]"},
		"instants, counters": {`[{"ph":"i","name":"a","pid":1,"tid":2,"ts":1},{"ph":"C","name":"c","pid":1,"ts":1,"args":{"v":1.5,"w":"2"}}]`, "[]"},
	} {
		got, err := readText(tt.text)
		if err != nil || fmt.Sprint(names(got)) != tt.want {
			t.Errorf("%s: %v, %v, want %s", name, err, got, tt.want)
		}
	}
}

func TestRead_damage(t *testing.T) {
	const a = `{"ph":"X","name":"a","pid":1,"tid":2,"ts":1,"dur":2}`
	for name, tt := range map[string]struct {
		text, want string
		events     int // -1 for no trace at all
	}{
		"empty":          {"", "is empty", -1},
		"no JSON":        {"hello", "no JSON array", -1},
		"no events":      {`{"a":1,"b":{}}`, `no traceEvents in the outermost object: its keys are "a", "b"; a trace is`, -1},
		"empty object":   {`{}`, "outermost object; a trace is", -1},
		"many keys":      {`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1}`, `"h", ...;`, -1},
		"CPU profile":    {`{"nodes":[],"startTime":1,"endTime":2,"samples":[]}`, "a CPU profile of V8", -1},
		"speedscope":     {`{"$schema":"x","shared":{},"profiles":[]}`, "a profile for speedscope", -1},
		"no phases":      {`[{"name":"a","value":1},{"name":"b"},3]`, "none among the 3 values of the array: events are objects with a phase", -1},
		"cut in event":   {"[" + a + `,{"ph":"X","na`, "ends within the events; the 1 events before it are good", 1},
		"cut in string":  {"[" + a + `,{"ph":"`, "ends within", 1},
		"cut before":     {`{"stackFrames":{"a":"`, "ends within", -1},
		"other text":     {"[Host]\nclock: 5\n", "none among the 1 values", -1},
		"other JSON":     {`[[1,2],[3],null]`, "none among the 3 values", -1},
		"no value":       {`{"a"}`, "no value", -1},
		"wrong brackets": {`[` + a + `,{"ph":"X"`, "ends within", 1},
	} {
		got, err := readText(tt.text)
		if problem.ClassOf(err) != problem.Damaged || err == nil || !strings.Contains(err.Error(), tt.want) || (got != nil) != (tt.events >= 0) || got != nil && got.Spans.Len() != tt.events {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	bad := `[{"ph":"X","name":"a","pid":1,"tid":2,"ts":"x","dur":2},{"ph":"X","pid":1,"tid":1,"ts":1,"dur":-5},{"name":"no phase"},{"ph":"E","pid":1,"tid":1,"ts":1},{}]`
	got, err := readText(bad)
	if err != nil || got.Source.BadRecords != 5 || got.Spans.Len() != 0 {
		t.Errorf("%v, %+v", err, got.Source)
	}
}

func TestRead_msprof(t *testing.T) {
	text := `[
{"ph":"X","name":"conv","pid":5,"tid":3,"ts":"10.000","dur":4,"args":{"Task Type":"AI_CORE","Task Id":9,"Batch Id":1,"Model Id":4294967295,"connection_id":7}},
{"ph":"X","name":"AscendCL@aclrtLaunchKernel","pid":2,"tid":88,"ts":"2.000","dur":3,"args":{"connection_id":7}},
{"ph":"X","name":"hcom_allReduce_","pid":6,"tid":0,"ts":"11","dur":2,"args":{"count":1}},
{"ph":"X","name":"Computing","pid":7,"tid":0,"ts":"10","dur":4},
{"ph":"X","name":"Free","pid":7,"tid":1,"ts":"14","dur":1},
{"ph":"X","name":"Iteration 3","cat":"Iteration Time","pid":5,"tid":70,"ts":"10","dur":40,"args":{}},
{"ph":"C","name":"AI Core Freq","pid":8,"tid":0,"ts":"1","args":{"MHz":1650}},
{"ph":"M","name":"process_name","pid":5,"tid":0,"args":{"name":"Ascend Hardware"}},{"ph":"M","name":"process_labels","pid":5,"args":{"labels":"NPU 4"}},
{"ph":"M","name":"thread_name","pid":5,"tid":3,"args":{"name":"Stream 3"}},
{"ph":"M","name":"process_name","pid":2,"args":{"name":"CANN"}},{"ph":"M","name":"process_labels","pid":2,"args":{"labels":"CPU"}},{"ph":"M","name":"thread_name","pid":2,"tid":88,"args":{"name":"Thread 88"}},
{"ph":"M","name":"process_name","pid":6,"args":{"name":"Communication"}},{"ph":"M","name":"process_labels","pid":6,"args":{"labels":"NPU 4"}},{"ph":"M","name":"thread_name","pid":6,"tid":0,"args":{"name":"Group x Communication"}},
{"ph":"M","name":"process_name","pid":7,"args":{"name":"Overlap Analysis"}},{"ph":"M","name":"process_labels","pid":7,"args":{"labels":"NPU 4"}},
{"ph":"M","name":"process_name","pid":8,"args":{"name":"AI Core Freq"}},{"ph":"M","name":"process_labels","pid":8,"args":{"labels":"NPU 4"}}
]`
	tr, err := readText(text)
	if err != nil || tr.Tasks.Len() != 2 || tr.Spans.Len() != 1 || tr.Counters.Len() != 1 {
		t.Fatalf("%v, %+v", err, tr)
	}
	k := tr.Tasks.At(0)
	if k.Kind != trace.KernelAICore || tr.String(k.Name) != "conv" || k.Device != 4 || k.Stream != 3 || k.Task != 1<<16|9 || k.Submit != 5000 || k.Thread != 1 || k.Flags != 0 {
		t.Errorf("%+v", k)
	}
	if c := tr.Tasks.At(1); c.Kind != trace.Communication || c.Flags&trace.FlagPart == 0 || c.Stream < 1<<30 {
		t.Errorf("%+v", c)
	}
	if s := tr.Spans.At(0); s.Stream != 3 || s.Task != k.Task {
		t.Errorf("%+v", s)
	}
	want := []trace.Step{{Name: "Iteration 3", Type: "iteration", Total: 40000}, {Name: "overlap analysis", Type: "device", Index: "4", Computing: 4000, Free: 1000}}
	if !slices.Equal(tr.Source.Steps, want) || tr.Source.Format != "msprof JSON" || tr.Threads[0].Name != "CANN tid 88" {
		t.Errorf("%+v, %v", tr.Source, tr.Threads)
	}
}

// Timelines show the contexts of the task that carried out a collective operation, and not the task: it is made from the operation.
func TestRead_piecesOfCollectives(t *testing.T) {
	const names = `{"ph":"M","name":"process_name","pid":5,"args":{"name":"Ascend Hardware"}},{"ph":"M","name":"thread_name","pid":5,"tid":4,"args":{"name":"Stream 4"}},
{"ph":"M","name":"process_name","pid":2,"args":{"name":"CANN"}},{"ph":"M","name":"process_name","pid":6,"args":{"name":"HCCL"}},{"ph":"M","name":"thread_name","pid":6,"tid":0,"args":{"name":"Group 0 Communication"}},
{"ph":"M","name":"thread_name","pid":6,"tid":1,"args":{"name":"Plane 0"}},
{"ph":"X","name":"launch","pid":2,"tid":1,"ts":1,"dur":2,"args":{"connection_id":7}},`
	pieces := []string{
		`{"ph":"X","name":"Notify Wait","pid":5,"tid":4,"ts":10,"dur":80,"args":{"Task Type":"Notify Wait","Task Id":3,"Subtask Id":0,"connection_id":7}}`,
		`{"ph":"X","name":"SDMA","pid":5,"tid":4,"ts":92,"dur":6,"args":{"Task Type":"SDMA","Task Id":3,"Subtask Id":1,"connection_id":7}}`,
		`{"ph":"X","name":"hcom_allReduce__1_0_1","pid":6,"tid":0,"ts":10,"dur":89,"args":{"connection_id":7,"count":5}}`,
		`{"ph":"X","name":"Memcpy","pid":6,"tid":1,"ts":92,"dur":6,"args":{"task type":"Memcpy","stream id":4,"task id":3,"context id":1}}`,
	}
	const whole = `{"ph":"X","name":"k","pid":5,"tid":4,"ts":110,"dur":5,"args":{"Task Type":"AI_CORE","Task Id":4,"Subtask Id":4294967295,"connection_id":8}},
{"ph":"X","name":"mix","pid":5,"tid":4,"ts":120,"dur":5,"args":{"Task Type":"MIX_AIV","Task Id":5,"Subtask Id":0,"connection_id":9}}`
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}} {
		text := "[" + names
		for _, i := range order {
			text += pieces[i] + ","
		}
		tr, err := readText(text + whole + "]")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, k := range tr.Tasks.All() {
			if k.Flags&^(trace.FlagPart|trace.FlagNoSubmit) != 0 || k.Event != 0 || k.Gen != 0 {
				t.Errorf("%+v", k)
			}
			if k.Flags&trace.FlagPart == 0 {
				got += fmt.Sprint(k.Stream, " ", k.Task, " ", k.Kind, " ", tr.String(k.Name), " ", k.Start, "-", k.End, " ", k.Submit, "; ")
			}
		}
		if want := "4 3 COMMUNICATION hcom_allReduce__1_0_1 10000-99000 3000; 4 4 KERNEL_AICORE k 110000-115000 110000; 4 5 KERNEL_MIX_AIV mix 120000-125000 120000; "; got != want || tr.Tasks.Len() != 7 {
			t.Errorf("%d tasks, %s; want %s", tr.Tasks.Len(), got, want)
		}
		if s := tr.Spans.At(0); s.Stream != 4 || s.Task != 3 {
			t.Errorf("%+v", s)
		}
	}
	// Without an operation of their call contexts are all that there is to see.
	tr, err := readText("[" + names + pieces[0] + "]")
	if err != nil || tr.Tasks.At(0).Flags != 0 {
		t.Errorf("%v, %+v", err, tr.Tasks.At(0))
	}
}

// A call that lasts for minutes submits its task when it ends, as others do.
func TestRead_longCalls(t *testing.T) {
	for _, length := range []int64{3, 4_294_967, 4_294_968, 300_000_000} { // microseconds
		text := fmt.Sprintf(`[{"ph":"M","name":"process_name","pid":5,"args":{"name":"Ascend Hardware"}},{"ph":"X","name":"launch","pid":1,"tid":1,"ts":1,"dur":%d,"args":{"connection_id":7}},
			{"ph":"X","name":"k","pid":5,"tid":3,"ts":%d,"dur":4,"args":{"Task Type":"AI_CORE","Task Id":9,"connection_id":7}}]`, length, length+10)
		tr, err := readText(text)
		if err != nil || tr.Tasks.Len() != 1 || tr.Tasks.At(0).Submit != (length+1)*1000 {
			t.Errorf("%d: %v, %+v", length, err, tr.Tasks.At(0))
		}
	}
}

// What this program writes as Chrome JSON it reads again: all rows, and what the format has a place for.
func TestRead_ownTraces(t *testing.T) {
	shift := func(t *trace.Trace, by int64) *trace.Trace {
		r := trace.NewRecorder()
		r.SetMeta(t.Meta)
		for _, k := range t.Tasks.All() {
			k.Submit, k.Ready, k.Start, k.End = k.Submit+by, k.Ready+by, k.Start+by, k.End+by
			k.Name, k.Op = r.Intern(t.String(k.Name)), r.Intern(t.String(k.Op))
			k.Acct = r.AddAccount(trace.Account{Total: t.Account(k.Acct).Total})
			r.Tasks([]trace.Task{k})
		}
		for _, s := range t.Spans.All() {
			c := *s
			c.Start, c.End, c.Name = c.Start+by, c.End+by, r.Intern(t.String(c.Name))
			r.Spans([]trace.Span{c})
		}
		for _, c := range t.Counters.All() {
			v := *c
			v.Time, v.Name = v.Time+by, r.Intern(t.String(v.Name))
			r.Counters([]trace.Counter{v})
		}
		for _, s := range t.Streams {
			r.NameStream(s.Device, s.ID, s.Name, 0)
		}
		for _, th := range t.Threads {
			r.NameThread(th.ID, th.Name)
		}
		return r.Finish()
	}
	for _, by := range []int64{0, 1_700_000_000_000_000_000} {
		want := shift(gen.Trace(gen.Options{Tasks: 2000, Devices: 2, Streams: 3}), by)
		var b bytes.Buffer
		if err := chrome.Write(&b, want); err != nil {
			t.Fatal(err)
		}
		got, err := readText(b.String())
		if err != nil || got.Source.Format != "npu Chrome trace" || got.Meta != want.Meta {
			t.Fatalf("%v, %+v, %+v", err, got.Source, got.Meta)
		}
		if got.Tasks.Len() != want.Tasks.Len() || got.Spans.Len() != want.Spans.Len() || got.Counters.Len() != want.Counters.Len() {
			t.Fatalf("%d tasks, %d calls, %d values", got.Tasks.Len(), got.Spans.Len(), got.Counters.Len())
		}
		text := func(t *trace.Trace, k trace.Task) string {
			a := t.Account(k.Acct)
			label, op := t.Label(&k), t.String(k.Op)
			k.Name, k.Op, k.Acct = 0, 0, 0
			return fmt.Sprint(k, label, op, a)
		}
		for i, k := range got.Tasks.All() {
			if x, y := text(got, k), text(want, want.Tasks.At(i)); x != y {
				t.Fatalf("task %d is %s, want %s", i, x, y)
			}
		}
		for i, s := range got.Spans.All() {
			w := *want.Spans.At(i)
			x, y := *s, w
			x.Name, y.Name = 0, 0
			// A call that submitted nothing does not say its device.
			if y.Task == trace.NoTask {
				x.Device, y.Device = 0, 0
			}
			if x != y || got.String(s.Name) != want.String(w.Name) {
				t.Fatalf("call %d is %+v %s, want %+v %s", i, x, got.String(s.Name), y, want.String(w.Name))
			}
		}
		for i, c := range got.Counters.All() {
			if w := want.Counters.At(i); c.Time != w.Time || c.Value != w.Value || got.String(c.Name) != want.String(w.Name) || c.Device != w.Device {
				t.Fatalf("value %d is %+v, want %+v", i, c, w)
			}
		}
		if !slices.Equal(got.Streams, want.Streams) || !slices.Equal(got.Threads, want.Threads) {
			t.Errorf("%v, %v; want %v, %v", got.Streams, got.Threads, want.Streams, want.Threads)
		}
	}
}

// Metadata is looked for in pieces of the file, and an event of it may lie across two of them, whatever its size.
func TestRead_metadataAcrossPieces(t *testing.T) {
	filler := `{"ph":"i","name":"` + strings.Repeat("x", 1000) + `","pid":1,"tid":1,"ts":1},`
	for _, long := range []int{10, 5000, margin - 100, margin + 100, 3 * margin} {
		name := `{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"main","more":"` + strings.Repeat("y", long) + `"}},`
		for shift := 0; shift < 1000; shift += 97 {
			text := "[" + strings.Repeat(" ", shift) + strings.Repeat(filler, 2000) + name + strings.Repeat(filler, 300) + name + `{"ph":"X","name":"a","pid":1,"tid":2,"ts":1,"dur":1}]`
			tr, err := readText(text)
			if err != nil || len(tr.Threads) == 0 || tr.Threads[0].Name != "main" && long < margin {
				t.Fatalf("length %d, shift %d: %v, %v", long, shift, err, tr.Threads)
			}
		}
	}
}

func TestRead_interrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	open := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("[]")), nil }
	if _, err := Read(ctx, open, Options{}); err == nil {
		t.Error("no error")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`[{"ph":"X","name":"a","pid":1,"tid":2,"ts":1.5,"dur":2,"args":{"Task Type":"AI_CORE","connection_id":3}},{"ph":"M","name":"process_name","pid":1,"args":{"name":"Ascend Hardware"}}]`)
	f.Add(`{"otherData":{"writer":"npu","base_ns":5},"traceEvents":[{"ph":"X","cat":"task","name":"\u0041","pid":2,"tid":1,"ts":-1e3,"dur":1,"args":{"kind":"NOP"}}]}`)
	f.Add(`[{"ph":"B","pid":1,"tid":1,"ts":1},{"ph":"E","pid":1,"tid":1,"ts":3},{"ph":"C","name":"c","ts":1,"args":{"v":1e400}},{"ph":"b","id":1,"ts":1},`)
	f.Add(`[{}]`)
	f.Fuzz(func(t *testing.T, text string) {
		tr, err := readText(text)
		if tr != nil && (tr.Tasks.Len()+tr.Spans.Len())*10 > len(text) {
			t.Errorf("%d rows of %d bytes", tr.Tasks.Len()+tr.Spans.Len(), len(text))
		}
		// What encoding/json accepts as a list of events is never damaged, unless none of them has a phase.
		var events []map[string]any
		if json.Unmarshal([]byte(text), &events) == nil && text != "null" && err != nil && !strings.Contains(err.Error(), "none among") {
			t.Errorf("%q: %v", text, err)
		}
	})
}

func benchText(n int) []byte {
	var b bytes.Buffer
	b.WriteString("[")
	for i := range n {
		fmt.Fprintf(&b, `{"name": "PYPTO_mul_kernel_%d", "pid": 19291552, "tid": %d, "ts": "1784164915%06d.511", "dur": 221.7244375, "ph": "X", "args": {"Model Id": 4294967295, "Task Type": "KERNEL_AIVEC", "Physic Stream Id": 46, "Task Id": %d, "Batch Id": 0, "Subtask Id": 0, "connection_id": %d}},`+"\n", i%50, i%8, i, i%65536, i)
		fmt.Fprintf(&b, `{"name": "AscendCL@aclrtLaunchKernel", "pid": 19291391, "tid": 18839, "ts": "1784164915%06d.101", "dur": 1.22, "ph": "X", "args": {"Thread Id": 18839, "Mode": "ACL_RTS", "level": "acl", "id": "aclrtLaunchKernel", "item_id": "0", "connection_id": %d}},`+"\n", i, i)
	}
	b.WriteString(`{"name": "process_name", "pid": 19291552, "tid": 0, "ph": "M", "args": {"name": "Ascend Hardware"}}]`)
	return b.Bytes()
}

// The partner is encoding/json with its streaming decoder, which people use for such files.
func BenchmarkRead(b *testing.B) {
	text := benchText(100_000)
	b.Run("timeline", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Read(context.Background(), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }, Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			decodeAll(b, text)
		}
	})
	b.Run("both", func(b *testing.B) { // turn and turn about, so that a busy machine slows both
		ours, theirs := time.Duration(0), time.Duration(0)
		for b.Loop() {
			start := time.Now()
			if _, err := Read(context.Background(), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }, Options{}); err != nil {
				b.Fatal(err)
			}
			between := time.Now()
			decodeAll(b, text)
			ours, theirs = ours+between.Sub(start), theirs+time.Since(between)
		}
		b.ReportMetric(float64(theirs)/float64(ours), "times-encoding/json")
	})
}

// decodeAll reads events as a program with encoding/json does.
func decodeAll(b *testing.B, text []byte) {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		b.Fatal(err)
	}
	for d.More() {
		var e struct {
			Name, Ph string
			Ts       json.RawMessage
			Dur      float64
			Pid, Tid int64
			Args     map[string]any
		}
		if err := d.Decode(&e); err != nil {
			b.Fatal(err)
		}
	}
}
