package theme

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestSGR(t *testing.T) {
	none := New(None, false, Braille)
	for r := range roles {
		if none.SGR(r) != "" || none.SGR(r|Selected) != "" {
			t.Fatalf("role %d has an escape without colour", r)
		}
	}
	for _, p := range []Profile{Ansi, Indexed, True} {
		for _, light := range []bool{false, true} {
			th := New(p, light, Braille)
			for r := range roles {
				s := th.SGR(r)
				if r != Text && !(strings.HasPrefix(s, "\x1b[0;") && strings.HasSuffix(s, "m")) {
					t.Errorf("profile %d role %d: %q", p, r, s)
				}
				if p == Ansi && (strings.Contains(s, "38;") || strings.Contains(s, "48;")) {
					t.Errorf("more than 16 colours: %q", s)
				}
				if th.SGR(r|Selected) == s {
					t.Errorf("profile %d role %d: a selected cell looks like any other", p, r)
				}
			}
		}
	}
}

// luminance is that of WCAG 2, for contrast.
func luminance(rgb uint32) float64 {
	lin := func(v uint32) float64 {
		c := float64(v) / 255
		if c <= 0.03928 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*lin(rgb>>16) + 0.7152*lin(rgb>>8&255) + 0.0722*lin(rgb&255)
}

func contrast(a, b uint32) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// Everything that has to be read can be read, on the usual grounds and on a selected row.
func TestContrast(t *testing.T) {
	for name, v := range map[string]struct {
		looks  *[roles]look
		ground []uint32
	}{"dark": {&dark, []uint32{0x15171c, 0x263a55}}, "light": {&bright, []uint32{0xfbfbfa, 0xd6e4f7}}} {
		for _, r := range []Role{Dim, Title, Active, Head, Sorted, Bar, BarKey, Good, Warn, Bad} {
			for i, g := range v.ground {
				if c := contrast(v.looks[r].fg.rgb, g); c < []float64{4.5, 3}[i] {
					t.Errorf("%s: role %d on #%06x: contrast %.2f", name, r, g, c)
				}
			}
		}
	}
}

// A name on a slab can be read.
func TestSlabs(t *testing.T) {
	for name, l := range map[string]*[roles]look{"dark": &dark, "light": &bright} {
		for r := Slab0; r < Slab0+Tints; r++ {
			if c := contrast(l[r].fg.rgb, l[r].bg.rgb); c < 4 {
				t.Errorf("%s: slab %d: contrast %.2f", name, r-Slab0, c)
			}
			if l[r].fg.ansi == l[r].bg.ansi || l[r].bg.rgb != l[r-Slab0+Tint0].fg.rgb {
				t.Errorf("%s: slab %d does not fit its tint", name, r-Slab0)
			}
		}
	}
}

// The ramps tell more from less to those who do not tell red from green: seen with deuteranopia, each step is lighter (on
// dark) or darker (on light) than two steps before, or bluer-to-yellower by a clear amount.
func TestRamps(t *testing.T) {
	for name, l := range map[string]*[roles]look{"dark": &dark, "light": &bright} {
		for _, first := range []Role{Util0, Mem0} {
			for i := first + 2; i < first+Steps; i++ {
				a, b := l[i-2].fg.rgb, l[i].fg.rgb
				blue := func(c uint32) int { // what stays of hue: blue against the mean of red and green
					return int(c&255) - int(c>>16&255+c>>8&255)/2
				}
				bright := luminance(b) - luminance(a)
				if max(bright, -bright) < 0.02 && blue(a)-blue(b) < 25 {
					t.Errorf("%s: steps %d and %d look alike: #%06x #%06x", name, i-first-2, i-first, a, b)
				}
			}
		}
	}
}

func TestNearest(t *testing.T) {
	for rgb, want := range map[uint32]int{0: 16, 0xffffff: 231, 0xff0000: 196, 0x808080: 244, 0x5f87af: 67} {
		if got := nearest(rgb); got != want {
			t.Errorf("#%06x: %d, expected %d", rgb, got, want)
		}
	}
}

func TestRampBounds(t *testing.T) {
	for _, s := range []float64{-1, 0, 0.5, 1, 2} {
		if r := UtilRamp(s); r < Util0 || r > Util7 {
			t.Error(s, r)
		}
		if r := MemRamp(s); r < Mem0 || r > Mem7 {
			t.Error(s, r)
		}
	}
}

func TestDetect(t *testing.T) {
	env := func(kv ...string) Env {
		return func(k string) (string, bool) {
			for _, s := range kv {
				if v, ok := strings.CutPrefix(s, k+"="); ok {
					return v, true
				}
			}
			return "", false
		}
	}
	for i, c := range []struct {
		env     Env
		profile Profile
		glyphs  Glyphs
		light   bool
	}{
		{env("TERM=xterm-256color", "LANG=de_DE.UTF-8"), Indexed, Braille, false},
		{env("TERM=xterm", "COLORTERM=truecolor", "LC_ALL=C", "LANG=de_DE.UTF-8"), True, ASCII, false},
		{env("TERM=linux", "LC_CTYPE=zh_CN.utf8"), Ansi, Blocks, false},
		{env("TERM=dumb"), None, ASCII, false},
		{env("TERM=xterm", "COLORFGBG=0;15"), Ansi, ASCII, true},
	} {
		if p, g, l := DetectProfile(c.env), DetectGlyphs(c.env), DetectLight(c.env); p != c.profile || g != c.glyphs || l != c.light {
			t.Error(i, fmt.Sprint(p, g, l))
		}
	}
}
