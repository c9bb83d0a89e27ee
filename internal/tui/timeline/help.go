package timeline

import "npu/internal/tui/keys"

// helpLine is a heading (no key) or an action.
type helpLine struct{ key, does string }

func helpLines(all []keys.Binding) []helpLine {
	var out []helpLine
	group := ""
	for _, b := range all {
		if b.Group != group {
			group = b.Group
			out = append(out, helpLine{does: group})
		}
		l := helpLine{b.Help().Key, b.Help().Desc}
		if out[len(out)-1] != l { // a pair, as up and down, is one line
			out = append(out, l)
		}
	}
	return out
}
