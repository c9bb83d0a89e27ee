package theme

import "strings"

// Glyphs is the set of characters that graphs, bars and boxes are made of.
type Glyphs uint8

// Glyph sets.
const (
	Braille Glyphs = iota // two samples a cell, four steps
	Blocks                // one sample a cell, eight steps
	ASCII
)

// ASCIIOf is what stands for a drawing character where there is only ASCII; others, as those of a user's names, stay.
func ASCIIOf(r rune) rune {
	if r < 0x7f {
		return r
	}
	switch r {
	case '─', '–', '┅':
		return '-'
	case '━':
		return '='
	case '╸':
		return '-'
	case '│':
		return '|'
	case '┃':
		return '#'
	case '╭', '╮', '╰', '╯':
		return '+'
	case '▸', '→':
		return '>'
	case '←':
		return '<'
	case '▲', '↑':
		return '^'
	case '▼', '↓':
		return 'v'
	case '…':
		return '~'
	case '·':
		return '.'
	case '×':
		return 'x'
	case 'µ':
		return 'u'
	case '°':
		return ' '
	case '▏':
		return '|'
	case '┊':
		return ':'
	case '◆':
		return '*'
	case '░':
		return '.'
	case '▒':
		return ':'
	case '▓':
		return '%'
	case '█':
		return '#'
	case 'Δ':
		return 'd'
	}
	return r
}

// Env looks up an environment variable.
type Env func(string) (string, bool)

// DetectGlyphs chooses by locale and terminal: no UTF-8, no graphics.
func DetectGlyphs(env Env) Glyphs {
	loc := ""
	for _, k := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v, _ := env(k); v != "" {
			loc = strings.ToLower(v)
			break
		}
	}
	term, _ := env("TERM")
	switch {
	case !strings.Contains(loc, "utf-8") && !strings.Contains(loc, "utf8"):
		return ASCII
	case term == "linux":
		return Blocks
	}
	return Braille
}

// DetectProfile says how many colours a terminal has; whether to use colour at all is decided before.
func DetectProfile(env Env) Profile {
	term, _ := env("TERM")
	deep, _ := env("COLORTERM")
	switch {
	case term == "dumb":
		return None
	case deep == "truecolor" || deep == "24bit":
		return True
	case strings.Contains(term, "256color") || strings.Contains(term, "direct") || strings.HasPrefix(term, "tmux"):
		return Indexed
	}
	return Ansi
}

// DetectLight reports whether the terminal says that its background is light (COLORFGBG ends in 7 or 15).
func DetectLight(env Env) bool {
	v, _ := env("COLORFGBG")
	bg := v[strings.LastIndexByte(v, ';')+1:]
	return bg == "7" || bg == "15"
}
