package timeline

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"npu/internal/trace"
	"npu/internal/trace/gen"
	"npu/internal/tui/theme"
)

// docs is the folder of the documentation.
const docs = "../../../docs"

// generated compares a file of the documentation with what the code says, or writes it.
func generated(t *testing.T, path, got string) {
	t.Helper()
	path = filepath.Join(docs, path)
	if update() {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("%s is stale (%v): make it anew with go test ./internal/tui/timeline -run TestDocs -args -update", path, err)
	}
}

// The pictures in docs/timeline.md are those of "npu trace view --snapshot" of a trace that "npu trace gen" makes.
func TestDocs_pictures(t *testing.T) {
	other := Together([]*trace.Trace{gen.Trace(gen.Options{Tasks: 400, Streams: 2, Seed: 1}), gen.Trace(gen.Options{Tasks: 400, Streams: 2, Seed: 5})}, []string{"before", "after"}, "before against after")
	other.link()
	small := gen.Trace(gen.Options{Tasks: 3000, Streams: 3, Seed: 1})
	for name, p := range map[string]struct {
		t     *trace.Trace
		keys  string
		w, h  int
		light bool
		by    Colour
	}{
		"wide":    {small, "wwwwww.....i", 132, 40, false, ByKind},
		"small":   {small, "wwwwww...", 80, 24, false, ByType},
		"waits":   {small, "wwwwww.....i", 110, 30, false, ByCause},
		"light":   {small, "wwwwww....]", 110, 30, true, ByKind},
		"search":  {small, "wwwww/softmax<enter>", 110, 26, false, ByType},
		"flame":   {small, "wwww{<tab><tab>", 132, 36, false, ByType},
		"aligned": {nil, "wwwww..B", 132, 40, false, ByType},
	} {
		var b bytes.Buffer
		d := other
		if p.t != nil {
			d = Finished(p.t, "small.npt")
		}
		err := Picture(&b, d, Screen{Keys: p.keys, W: p.w, H: p.h, Colour: p.by, Theme: theme.New(theme.True, p.light, theme.Braille)})
		if err != nil {
			t.Fatal(err)
		}
		generated(t, "timeline/"+name+".svg", b.String())
	}
}

// The table of keys in docs/timeline.md is that of the bindings.
func TestDocs_keys(t *testing.T) {
	b := newBindings()
	var table strings.Builder
	table.WriteString("| keys | |\n| --- | --- |\n")
	for _, l := range helpLines(b.all()) {
		if l.key == "" {
			fmt.Fprintf(&table, "| **%s** | |\n", l.does)
			continue
		}
		fmt.Fprintf(&table, "| `%s` | %s |\n", l.key, l.does)
	}
	page, err := os.ReadFile(filepath.Join(docs, "timeline.md"))
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- keys -->\n", "<!-- /keys -->\n"
	before, rest, ok := strings.Cut(string(page), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("docs/timeline.md has no %q and %q", begin, end)
	}
	generated(t, "timeline.md", before+begin+table.String()+end+after)
}
