package diagnose

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the outputs in docs/diagnose.md")

// The outputs in docs/diagnose.md are what the program prints: each block starts with "$ npu log PATH".
func TestDocument(t *testing.T) {
	const root = "../../.."
	doc := filepath.Join(root, "docs", "diagnose.md")
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(text), "```console\n")
	for i, p := range parts[1:] {
		block, rest, ok := strings.Cut(p, "```")
		cmd, _, ok2 := strings.Cut(block, "\n")
		path, ok3 := strings.CutPrefix(cmd, "$ npu log ")
		if !ok || !ok2 || !ok3 {
			t.Fatalf("block %d is not '$ npu log PATH'", i+1)
		}
		rep, err := Run(context.Background(), []string{filepath.Join(root, path)}, nil, all)
		if err != nil {
			t.Fatal(err)
		}
		for k := range rep.Findings { // as seen from the repository's root
			for e := range rep.Findings[k].Evidence {
				ev := &rep.Findings[k].Evidence[e]
				ev.File = strings.TrimPrefix(ev.File, root+"/")
			}
		}
		var b bytes.Buffer
		if err := Write(&b, rep, Style{Width: 100}); err != nil {
			t.Fatal(err)
		}
		parts[i+1] = cmd + "\n" + b.String() + "```" + rest
	}
	if len(parts) != 6 {
		t.Errorf("%d blocks, expected five", len(parts)-1)
	}
	want := strings.Join(parts, "```console\n")
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatalf("docs/diagnose.md differs from what the program prints: run 'go test ./internal/blackbox/diagnose -run Document -update'")
	}
	if err := os.WriteFile(doc, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
