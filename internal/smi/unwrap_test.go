package smi

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"unicode/utf16"
)

// What people, editors and collectors put around a table changes no figure.
func TestParseTable_wrapped(t *testing.T) {
	lines := func(f func(i int, l string) string) func(string) string {
		return func(s string) string {
			var b strings.Builder
			i := 0
			for l := range strings.Lines(s) {
				b.WriteString(f(i, strings.TrimRight(l, "\n")) + "\n")
				i++
			}
			return b.String()
		}
	}
	before := func(p string) func(string) string {
		return lines(func(_ int, l string) string { return p + l })
	}
	forms := map[string]func(string) string{
		"quote": before("> "), "bare quote": before(">"), "indented quote": before("\t> "), "compose": before("npu-1  | "), "engine": before("(main pid=7) "),
		"pod": before("[pod/a/b] "), "comment": before("# "), "C comment": before("// "), "star": before(" * "), "patch": before("+"), "grep": before("out.txt:"),
		"cat -n":    lines(func(i int, l string) string { return fmt.Sprintf("%6d\t%s", i+1, l) }),
		"numbered":  lines(func(i int, l string) string { return fmt.Sprintf("%d %s", i+8, l) }),
		"grep -n":   lines(func(i int, l string) string { return fmt.Sprintf("%d:%s", i+95, l) }),
		"container": lines(func(i int, l string) string { return fmt.Sprintf("2025-07-23T03:47:%02d.07Z stdout F %s", i%60, l) }),
		"logger":    lines(func(i int, l string) string { return fmt.Sprintf("[2025-01-01 00:00:%02d] INFO: %s", i%60, l) }),
		"string":    func(s string) string { return "out := `" + s + "`\n" },
		"blanks":    func(s string) string { return strings.ReplaceAll(s, " ", "\u00a0") },
		"wide bars": func(s string) string { return strings.ReplaceAll(s, "|", "｜") },
		"drawn":     func(s string) string { return strings.NewReplacer("|", "│", "-", "─", "=", "═").Replace(s) },
		"UTF-16":    func(s string) string { return utf16Text(s, true) },
		"UTF-16 BE": func(s string) string { return utf16Text(s, false) },
	}
	for name, s := range tables(t) {
		want := facts(ParseTable(s))
		for form, change := range forms {
			if form == "drawn" && strings.Contains(s, "| - ") {
				continue // its rules and a missing figure use one character
			}
			r := ReadReport(change(s))
			if r.Kind != InfoReport || len(r.Tables) != 1 {
				t.Errorf("%s as %s: %q, %d tables", name, form, r.Kind, len(r.Tables))
				continue
			}
			if got := facts(r.Tables[0]); !maps.Equal(got, want) {
				t.Errorf("%s as %s:\n got %v\nwant %v", name, form, got, want)
			}
		}
	}
}

func utf16Text(s string, little bool) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune("\ufeff" + s)) {
		hi, lo := byte(u>>8), byte(u)
		if little {
			hi, lo = lo, hi
		}
		b.WriteByte(hi)
		b.WriteByte(lo)
	}
	return b.String()
}

// Rows that all begin with a number, and prefixes that are part of the output, stay.
func TestPlain_keeps(t *testing.T) {
	for _, s := range []string{"1 a\n2 b\n", "0 0 x\n1 0 y\n3 0 z\n", "| a |\n| b |\n", "+---+\n+===+\n", "HBM Capacity : 1\nHBM Usage : 2\n", "one line > of text", "", "\n\n"} {
		if got := plain(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

// A file with the outputs of several commands, as scripts collect them, gives them all.
func TestReadReports(t *testing.T) {
	text := "/usr/local/bin/npu-smi info -m\n\tNPU ID                         Chip ID                        Chip Logic ID                  Chip Name\n" +
		"\t2                              0                              5                              Ascend 910A\n\n" +
		"/usr/local/bin/npu-smi info\n" + a3 + "\n/usr/local/bin/npu-smi info -i 0 -t usages\n\tNPU ID                         : 2\n\tChip Count                     : 1\n\n" +
		"\tHBM Capacity(MB)               : 31129\n\tHBM Usage Rate(%)              : 3\n\tChip ID                        : 0\n"
	all := ReadReports(text)
	if len(all) != 3 || all[0].Kind != InfoReport || all[1].Kind != MapReport || all[2].Kind != FieldReport {
		t.Fatalf("%+v", all)
	}
	if len(all[0].Tables[0].Devices) != 2 || len(all[1].Map) != 1 || all[1].Map[0].Logic.N != 5 || len(all[2].Blocks) != 2 {
		t.Errorf("%+v", all)
	}
	if r := ReadReport(text); r.Kind != InfoReport {
		t.Errorf("first is %q", r.Kind)
	}
	if all := ReadReports("nothing of it\n"); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

// A text that only uses the words of an error is none of npu-smi; a table without rows is, and says so.
func TestReadReports_none(t *testing.T) {
	for _, s := range []string{"We must initialize the model first\n", "x: error while loading shared libraries: libfoo.so\n", "the ret is -5 here\n"} {
		if all := ReadReports(s); len(all) != 0 {
			t.Errorf("%q: %+v", s, all)
		}
	}
	head, _, _ := strings.Cut(a3, "| 3 ")
	if all := ReadReports(head); len(all) != 1 || all[0].Kind != ErrorReport || all[0].Fault.Says != "the table holds no device" {
		t.Errorf("%+v", all)
	}
}
