package program

import (
	"slices"
	"strings"
	"testing"

	"npu/internal/trace"
)

// The marks of a program stand in its trace, nested as they were; what is excluded or outside does not.
func TestProfile_marks(t *testing.T) {
	res, err := run(t, `
stream s
kernel work = vector time 10us
mark "too early" expect 100043
profile stop expect 100043
profile start exclude io net
profile start expect PROF_ALREADY_RUN
range push "step"
range push "forward"
launch work on s
mark "between" on s
range pop
mark "loss" domain train
mark "disk" domain io
range start across "exchange" domain train
range start hidden "packet" domain net
thread other
  work 30us
  range stop across
  range stop hidden
  range stop across expect 100000
end
join
range pop
range pop expect 100000
profile stop
mark "too late" expect 100043
sync s`)
	if err != nil {
		t.Fatal(err)
	}
	spans := map[string]trace.Span{}
	for _, s := range res.Trace.Spans.All() {
		if name := res.Trace.String(s.Name); !strings.HasPrefix(name, "acl") {
			spans[name] = *s
		}
	}
	for _, n := range []string{"too early", "too late", "io: disk", "net: packet"} {
		if _, ok := spans[n]; ok {
			t.Errorf("%q is in the trace", n)
		}
	}
	for _, p := range [][2]string{{"step", "forward"}, {"forward", "between"}, {"step", "train: loss"}, {"step", "train: exchange"}} {
		out, in := spans[p[0]], spans[p[1]]
		if out.End == 0 || in.Start <= out.Start || in.End >= out.End || in.Thread != out.Thread {
			t.Errorf("%s %+v is not within %s %+v", p[1], in, p[0], out)
		}
	}
	rows := 0
	for _, k := range res.Trace.Tasks.All() {
		if res.Trace.String(k.Name) == "between" && k.Kind == trace.Nop && k.Task == spans["between"].Task {
			rows++
		}
	}
	if rows != 1 {
		t.Errorf("%d marks in the stream, want 1", rows)
	}
}

// A graph that is subscribed gives its operators; that and profiling exclude each other.
func TestProfile_model(t *testing.T) {
	res, err := run(t, `
stream s
kernel a = vector time 10us
kernel b = vector time 20us
capture s
launch a on s
launch b on s
graph g from s
profile model g
profile model g expect PROF_REPEAT_SUBSCRIBE
profile start expect PROF_API_CONFLICT
execute g on s
sync s
profile records g
profile records g
profile model g off
profile start
profile model g expect 148047`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range res.Output {
		f := strings.Fields(l.Text)
		if len(f) > 9 {
			got = append(got, f[1]+" "+f[8]+" "+f[len(f)-1])
		} else {
			got = append(got, l.Text)
		}
	}
	if want := []string{"g: 2 operators, 0 lost", "a 10.000 (main)", "b 20.000 (main)", "g: 0 operators, 0 lost"}; !slices.Equal(got, want) {
		t.Errorf("printed %q, want %q", got, want)
	}
}

func TestProfile_mistakes(t *testing.T) {
	for text, want := range map[string]string{
		"profile":                                  "expected start, stop, model or records",
		"profile start include":                    "the name of a domain",
		"profile start include a exclude b":        "exclude\" is too much",
		"profile model g":                          "not declared",
		"mark here":                                "in double quotes",
		"stream s\nmark \"x\" domain d on s":       "a mark of a domain in a stream",
		"range":                                    "expected push, pop, start or stop",
		"range start \"x\"":                        "the name of the range",
		"range stop x":                             "not declared",
		"stream s\nrange stop s":                   "s is a stream",
		"range push \"x\" domain d":                "too much",
		"stream r\nrange start r \"x\" domain d\n": "r is a stream already",
	} {
		if _, _, err := check(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
