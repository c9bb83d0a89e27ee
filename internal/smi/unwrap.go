package smi

import (
	"bufio"
	"io"
	"regexp"
	"strconv"
	"strings"

	"npu/internal/plaintext"
)

// unwrap is the lines of text without blanks around them. A table that a narrow terminal has wrapped, or a mail, is put
// together again: its first rule goes on in the next line, which says how wide the table and the terminal are.
func unwrap(text string) []string {
	var lines []string
	for l := range strings.Lines(plain(text)) {
		lines = append(lines, strings.TrimRight(l, " \t\r\n"))
	}
	width, full, parts := wrapping(lines)
	out := make([]string, 0, len(lines))
	for i := 0; i < len(lines); i++ {
		l := strings.TrimSpace(lines[i])
		switch {
		case parts < 2 || l == "":
		case l[0] == '+':
			for k := 1; k < parts && i+1 < len(lines) && isRule(lines[i+1], "+-="); k++ {
				i++
			}
		case l[0] == '|':
			l = lines[i]
			for k := 1; k < parts && i+1 < len(lines) && !(k >= (full-2)/width && strings.HasSuffix(l, "|") && len([]rune(l)) >= full-2); k++ {
				i++ // copies lose the blanks at the ends of the parts
				l += strings.Repeat(" ", max(0, k*width-len([]rune(l)))) + lines[i]
			}
			l = strings.TrimSpace(l)
		}
		out = append(out, l)
	}
	return out
}

var escape = regexp.MustCompile("\x1b(\\[[0-9;?]*[ -/]*[@-~]|[()][A-Z0-9]|[=>78cDEM])")

// plain is text without what was put in on its way: the encoding and the mark of an editor, the colours of a recorded
// terminal, and the prefix that a quote, a collector of logs or a numbering has put in front of each line.
func plain(text string) string {
	text = strings.TrimPrefix(narrow(text), "\ufeff")
	if strings.Contains(text, "\x1b") {
		text = escape.ReplaceAllString(text, "")
	}
	return unshifted(drawn.Replace(unnumbered(unquoted(text))))
}

// drawn turns what editors and translated pages draw tables with into the characters of npu-smi.
var drawn = strings.NewReplacer("\u00a0", " ", "｜", "|", "│", "|", "┃", "|", "─", "-", "━", "-", "═", "=", "┌", "+", "┬", "+", "┐", "+", "├", "+", "┼", "+", "┤", "+",
	"└", "+", "┴", "+", "┘", "+", "╞", "+", "╪", "+", "╡", "+")

// narrow turns UTF-16 into UTF-8, and lines that end in CR into lines.
func narrow(text string) string {
	r := bufio.NewReader(strings.NewReader(text))
	if decoded := plaintext.Decoded([]byte(text[:min(len(text), 512)]), r); decoded != nil {
		b, _ := io.ReadAll(decoded) // of a string: nothing can fail
		return string(b)
	}
	return text
}

// unquoted cuts the prefix that all lines have, as "> " and "npu-1  | ". It ends with a mark that no output of npu-smi
// begins with.
func unquoted(text string) string {
	prefix, n := "", 0
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, " \t\r\n")
		if strings.TrimSpace(l) == "" {
			continue
		}
		if n++; n == 1 {
			prefix = l
			continue
		}
		k := 0
		for k < len(prefix) && k < len(l) && prefix[k] == l[k] {
			k++
		}
		if prefix = prefix[:k]; k == 0 {
			return text
		}
	}
	i := strings.LastIndexAny(prefix, ">|)]:#*/")
	if strings.TrimRight(prefix, " \t") == "+" && patched.MatchString(text) {
		i = 0
	} else if i < 0 || n < 2 || strings.ContainsRune("|+", rune(strings.TrimLeft(prefix, " \t")[0])) {
		return text
	}
	prefix = prefix[:i+1]
	var b strings.Builder
	for l := range strings.Lines(text) {
		b.WriteString(strings.TrimPrefix(l, prefix))
	}
	return b.String()
}

// patched is a row of a table that a patch adds.
var patched = regexp.MustCompile(`\n\+[ \t]*\|`)

// unnumbered cuts the numbers of lines that are all numbered, as cat -n does.
func unnumbered(text string) string {
	first, n := 0, 0
	for l := range strings.Lines(text) {
		m := lineNumber.FindStringSubmatch(l)
		if m == nil {
			return text
		}
		k, err := strconv.Atoi(m[1])
		if n == 0 {
			first = k
		}
		if err != nil || k != first+n {
			return text
		}
		n++
	}
	if n < 3 {
		return text
	}
	var b strings.Builder
	for l := range strings.Lines(text) {
		b.WriteString(l[len(lineNumber.FindString(l)):])
	}
	return b.String()
}

var lineNumber = regexp.MustCompile(`^[ \t]*(\d{1,7})(?:[:.] ?|\t|  ?|$)`)

// unshifted cuts what stands before a table in each of its lines and differs, as times. Where a table begins is seen at
// its rules.
func unshifted(text string) string {
	if !shifted.MatchString(text) {
		return text
	}
	var b strings.Builder
	at := 0 // where the table begins in its lines, in bytes
	for l := range strings.Lines(text) {
		body := strings.TrimLeft(l, " \t")
		if body != "" && body[0] != '|' && body[0] != '+' {
			if i := strings.Index(l, "+-"); i > 0 && strings.Trim(l[:i], "+-= \t") != "" && isRule(strings.TrimSpace(l[i:]), "+") {
				at, l = i, l[i:]
			} else if i := strings.Index(l, "+="); i > 0 && strings.Trim(l[:i], "+-= \t") != "" && isRule(strings.TrimSpace(l[i:]), "+") {
				at, l = i, l[i:]
			} else if at > 0 {
				for _, k := range []int{at, at - 1, at + 1, at - 2, at + 2} {
					if k > 0 && k < len(l) && l[k] == '|' {
						l = l[k:]
						break
					}
				}
			}
		}
		b.WriteString(l)
	}
	return b.String()
}

// shifted is a rule of a table behind something else in its line.
var shifted = regexp.MustCompile(`(?m)^[^\n]*[^-+=\s][^\n]*\+[-=]{8}`)

// isRule says whether l is part of a rule, beginning with one of the characters of first.
func isRule(l, first string) bool {
	return l != "" && strings.ContainsRune(first, rune(l[0])) && strings.Trim(l, "+-=") == ""
}

// wrapping says how wide the terminal was, how wide the table is, and how many lines that makes a line: 1 for a table that
// is not wrapped.
func wrapping(lines []string) (width, full, parts int) {
	for i, l := range lines {
		if !isRule(l, "+") {
			continue
		}
		width, full, parts = len(l), len(l), 1
		for i++; i < len(lines) && len(lines[i]) <= width && full < 4*width; i++ {
			if next := lines[i]; !isRule(next, "-=") && (strings.HasSuffix(lines[i-1], "+") || !isRule(next, "+")) {
				break
			}
			full, parts = full+len(lines[i]), parts+1
		}
		return width, full, parts
	}
	return 0, 0, 0
}
