package smi

import (
	"regexp"
	"strings"
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

// plain is text without the colours and the byte order mark that a recorded terminal, or an editor, has put in.
func plain(text string) string {
	text = strings.TrimPrefix(text, "\ufeff")
	if strings.Contains(text, "\x1b") {
		text = escape.ReplaceAllString(text, "")
	}
	return text
}

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
