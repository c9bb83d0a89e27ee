package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// varying is what differs from run to run: times, and names of files with times.
var varying = regexp.MustCompile(`20\d{15}|20\d\d-\d\d-\d\d[- ]\d\d:\d\d:\d\d\.\d{3}\.?(\d{3})?`)

// steady puts a time and a process number of the page's own in the place of real ones.
func steady(s string) string {
	s = varying.ReplaceAllStringFunc(s, func(m string) string {
		n := 0
		return strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				r = rune("20260101120000000000"[n])
				n++
			}
			return r
		}, m)
	})
	pid := strconv.Itoa(os.Getpid())
	s = regexp.MustCompile(`(\(|plog-|\]|process +|: )`+pid+`(\D)`).ReplaceAllString(s, "${1}4711$2")
	return regexp.MustCompile(`(?m)^exit code \d\n`).ReplaceAllString(s, "")
}

// shell runs "npu ARGS | FILTER…" with the filters head, tail and grep -v.
func shell(t *testing.T, line string) string {
	t.Helper()
	parts := strings.Split(line, " | ")
	var args []string
	for i, quoted := range strings.Split(parts[0], `"`) {
		if i%2 == 1 {
			args = append(args, quoted)
			continue
		}
		args = append(args, strings.Fields(quoted)...)
	}
	text, _ := command(t, args...)
	out, rest := text, ""
	if i := strings.LastIndex("\n"+text, "\nnpu: "); i >= 0 { // what stands on standard error is not piped
		out, rest = text[:i], text[i:]
	}
	lines := strings.SplitAfter(strings.TrimSuffix(out, "\n"), "\n")
	for _, f := range parts[1:] {
		name, arg, _ := strings.Cut(f, " ")
		n, _ := strconv.Atoi(strings.TrimPrefix(arg, "-n "))
		switch name {
		case "head":
			lines = lines[:min(n, len(lines))]
		case "tail":
			lines = lines[max(0, len(lines)-n):]
		case "grep":
			drop := regexp.MustCompile(strings.Trim(strings.TrimPrefix(arg, "-v "), `"`))
			var kept []string
			for _, l := range lines {
				if !drop.MatchString(strings.TrimSuffix(l, "\n")) {
					kept = append(kept, l)
				}
			}
			lines = kept
		default:
			t.Fatalf("filter %q", f)
		}
	}
	out = strings.Join(lines, "")
	if out != "" && !strings.HasSuffix(out, "\n") {
		out += "\n"
	}
	return out + rest
}

// The outputs of docs/faults.md are real.
func TestFaultDocs(t *testing.T) {
	checkDoc(t, "../../docs/faults.md", 5)
}

// checkDoc runs each command of a page's blocks and compares what it prints with the page. The files that commands make are those of
// the commands after them.
func checkDoc(t *testing.T, page string, least int) {
	t.Helper()
	doc, err := filepath.Abs(page)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv("NPU_RUN_DIR", "")
	checkBlocks(t, doc, string(b), least)
}

func checkBlocks(t *testing.T, doc, text string, least int) {
	t.Helper()
	const fence = "```text\n$ npu "
	parts := strings.Split(text, fence)
	var out strings.Builder
	out.WriteString(parts[0])
	for _, p := range parts[1:] {
		line, rest, _ := strings.Cut(p, "\n")
		_, rest, ok := strings.Cut("\n"+rest, "\n```\n")
		if !ok {
			t.Fatalf("the block of %q has no end", line)
		}
		fmt.Fprintf(&out, "%s%s\n%s```\n%s", fence, line, steady(shell(t, line)), rest)
	}
	golden(t, doc, out.String())
	if len(parts) <= least {
		t.Errorf("%d blocks", len(parts)-1)
	}
}
