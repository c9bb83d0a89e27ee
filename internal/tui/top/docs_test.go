package top

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"npu/internal/tui/svg"
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
		t.Errorf("%s is stale (%v): make it anew with go test ./internal/tui/top -run TestDocs -update", path, err)
	}
}

// The pictures in docs/top.md show made-up machines, drawn by the program itself.
func TestDocs_pictures(t *testing.T) {
	for name, p := range map[string]struct {
		machine, keys string
		w, h          int
		light         bool
	}{
		"wide":    {"8cards", "", 132, 40, false},
		"small":   {"16dies", "", 80, 24, false},
		"light":   {"16dies", "t", 80, 30, true},
		"details": {"simulator", "\r", 100, 26, false},
	} {
		m, _ := screen(t, theme.True, theme.Braille, p.w, p.h, 300, machines[p.machine])
		m.th = theme.New(theme.True, p.light, theme.Braille)
		press(m, p.keys)
		var b bytes.Buffer
		if err := svg.Write(&b, m.View(), svg.Options{Light: p.light, Title: "npu top, " + name}); err != nil {
			t.Fatal(err)
		}
		generated(t, "top/"+name+".svg", b.String())
	}
}

// The pictures in docs/processes.md show three made-up runs that share two devices.
func TestDocs_processes(t *testing.T) {
	for name, p := range map[string]struct {
		keys string
		w, h int
	}{
		"shared": {"", 132, 42},
		"waits":  {"3j", 84, 20},
	} {
		r := &Runs{host: newHostReader(t.TempDir())}
		m, _ := screen(t, theme.True, theme.Braille, p.w, p.h, 300, func(n int) *Frame { return sharing(r, n) })
		press(m, p.keys)
		var b bytes.Buffer
		if err := svg.Write(&b, m.View(), svg.Options{Title: "npu top, processes that share devices"}); err != nil {
			t.Fatal(err)
		}
		generated(t, "processes/"+name+".svg", b.String())
	}
}

// The table of keys in docs/top.md is that of the bindings.
func TestDocs_keys(t *testing.T) {
	b := newBindings()
	var table strings.Builder
	table.WriteString("| keys | |\n| --- | --- |\n")
	for _, l := range helpLines(b.all()) {
		if l.head != "" {
			fmt.Fprintf(&table, "| **%s** | |\n", l.head)
			continue
		}
		fmt.Fprintf(&table, "| `%s` | %s |\n", l.key, l.does)
	}
	page, err := os.ReadFile(filepath.Join(docs, "top.md"))
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- keys -->\n", "<!-- /keys -->\n"
	before, rest, ok := strings.Cut(string(page), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("docs/top.md has no %q and %q", begin, end)
	}
	generated(t, "top.md", before+begin+table.String()+end+after)
}
