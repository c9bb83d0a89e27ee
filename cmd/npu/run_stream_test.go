package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"npu/internal/program"
)

// command runs a command line as in a pipe: standard output, then standard error and the exit code if there are any.
func command(t *testing.T, args ...string) (text string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(context.Background(), &streams{in: strings.NewReader(""), out: &out, err: &err}, args)
	text = out.String() + err.String()
	if code != 0 {
		text += fmt.Sprintf("exit code %d\n", code)
	}
	return text, code
}

// Every program of testdata/streams prints what its .golden says. Those that put another one right end well.
func TestStreamExamples(t *testing.T) {
	t.Chdir("../..")
	files, err := filepath.Glob("testdata/streams/*.stream")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	for _, f := range files {
		text, code := command(t, "run", f)
		golden(t, strings.TrimSuffix(f, ".stream")+".golden", text)
		if fixed := strings.HasSuffix(f, ".fixed.stream"); fixed && code != 0 {
			t.Errorf("%s: exit code %d", f, code)
		} else if pair := strings.TrimSuffix(f, ".stream") + ".fixed.stream"; !fixed {
			if _, err := os.Stat(pair); err != nil {
				t.Errorf("%s has no fixed form beside it: %v", f, err)
			}
		}
	}
}

// docs/stream-programs.md lists the statements as the parser knows them, and the outputs in it are real.
func TestStreamDocs(t *testing.T) {
	const path = "../../docs/stream-programs.md"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	doc := replaceBetween(t, string(b), "<!-- statements: made by the test -->\n", "<!-- end of the statements -->\n", statementTables())
	full, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	golden(t, full, realOutputs(t, doc))
}

func replaceBetween(t *testing.T, s, from, to, text string) string {
	t.Helper()
	head, rest, ok1 := strings.Cut(s, from)
	_, tail, ok2 := strings.Cut(rest, to)
	if !ok1 || !ok2 {
		t.Fatalf("no lines %q and %q", from, to)
	}
	return head + from + text + to + tail
}

// statementTables are the statements by group.
func statementTables() string {
	var b strings.Builder
	group := ""
	for _, f := range program.Forms() {
		if f.Group != group {
			group = f.Group
			fmt.Fprintf(&b, "\n### %s\n\n| statement | call | what it does |\n| --- | --- | --- |\n", group)
		}
		var forms, calls []string
		for _, u := range strings.Split(f.Usage, "\n") {
			forms = append(forms, "`"+strings.ReplaceAll(u, "|", "\\|")+"`")
		}
		for _, c := range strings.Split(f.Call, ", ") {
			if c != "" {
				calls = append(calls, "`"+c+"`")
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.Join(forms, "<br>"), strings.Join(calls, ", "), f.Summary)
	}
	return b.String() + "\n"
}

// realOutputs runs each program of the document; the text block that follows it becomes its output.
func realOutputs(t *testing.T, doc string) string {
	t.Helper()
	var b strings.Builder
	programs := 0
	for {
		before, rest, ok := strings.Cut(doc, "```stream\n")
		b.WriteString(before)
		if !ok {
			break
		}
		programs++
		code, tail, _ := strings.Cut(rest, "```\n")
		b.WriteString("```stream\n" + code + "```\n")
		if err := os.WriteFile("demo.stream", []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		text, exit := command(t, "run", "demo.stream")
		doc = tail
		if between, rest, ok := strings.Cut(tail, "```text\n"); ok && !strings.Contains(between, "```") && strings.TrimSpace(between) == "" {
			_, doc, _ = strings.Cut(rest, "```\n")
			b.WriteString(between + "```text\n" + text + "```\n")
		} else if exit != 0 {
			t.Errorf("a program of the document fails:\n%s\n%s", code, text)
		}
	}
	if programs < 8 {
		t.Errorf("%d programs in the document", programs)
	}
	return b.String()
}
