package svg

import "fmt"

// sgr applies one "select graphic rendition" sequence.
func sgr(s style, p []int) style {
	for i := 0; i < len(p); i++ {
		switch v := p[i]; {
		case v == 0:
			s = style{}
		case v == 1:
			s.bold = true
		case v == 2:
			s.dim = true
		case v == 4:
			s.underln = true
		case v == 7:
			s.rev = true
		case v == 22:
			s.bold, s.dim = false, false
		case v == 24:
			s.underln = false
		case v == 27:
			s.rev = false
		case v >= 30 && v <= 37:
			s.fg = indexed(v - 30)
		case v >= 90 && v <= 97:
			s.fg = indexed(v - 90 + 8)
		case v >= 40 && v <= 47:
			s.bg = indexed(v - 40)
		case v >= 100 && v <= 107:
			s.bg = indexed(v - 100 + 8)
		case v == 39:
			s.fg = ""
		case v == 49:
			s.bg = ""
		case v == 38 || v == 48:
			c, used := extended(p[i+1:])
			i += used
			if v == 38 {
				s.fg = c
			} else {
				s.bg = c
			}
		}
	}
	return s
}

// extended reads "5;n" or "2;r;g;b" and returns how many parameters it took.
func extended(p []int) (string, int) {
	switch {
	case len(p) >= 2 && p[0] == 5:
		return indexed(p[1]), 2
	case len(p) >= 4 && p[0] == 2:
		return fmt.Sprintf("#%02x%02x%02x", p[1]&255, p[2]&255, p[3]&255), 4
	}
	return "", len(p)
}

// indexed is the usual value of one of the 256 colours.
func indexed(n int) string {
	basic := [16]string{"#2e3440", "#d0524b", "#5f9e57", "#c9a03c", "#3f76d0", "#a56bc9", "#3c9fae", "#c8ccd4",
		"#6b7280", "#ff7a6b", "#86cf7c", "#f2cc60", "#6cb6ff", "#d99bf0", "#5fd7e7", "#ffffff"}
	levels := [6]int{0, 95, 135, 175, 215, 255}
	switch {
	case n < 0 || n > 255:
		return ""
	case n < 16:
		return basic[n]
	case n < 232:
		n -= 16
		return fmt.Sprintf("#%02x%02x%02x", levels[n/36], levels[n/6%6], levels[n%6])
	}
	v := 8 + 10*(n-232)
	return fmt.Sprintf("#%02x%02x%02x", v, v, v)
}
