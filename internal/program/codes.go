package program

import (
	"fmt"
	"strconv"
	"strings"

	"npu/internal/runtime"
)

// codeRanges are where the codes of the runtime lie.
var codeRanges = [][2]int{{100000, 100050}, {107000, 107050}, {148046, 148055}, {200000, 200010}, {207000, 207030}, {300000, 300000}, {500000, 500010}, {507000, 507099}, {507890, 507920}}

// codeOf reads an error code: its number, or its name with or without ACL_ERROR_ and RT_.
func codeOf(text string) (int, bool) {
	if n, err := strconv.Atoi(text); err == nil {
		for _, r := range codeRanges {
			if n >= r[0] && n <= r[1] {
				return n, true
			}
		}
		return 0, false
	}
	short := func(s string) string {
		return strings.TrimPrefix(strings.TrimPrefix(strings.ToUpper(s), "ACL_ERROR_"), "RT_")
	}
	want := short(text)
	for _, r := range codeRanges {
		for n := r[0]; n <= r[1]; n++ {
			if name := codeName(n); name != "" && short(name) == want {
				return n, true
			}
		}
	}
	return 0, false
}

// codeName is the name of a code, empty for one without.
func codeName(n int) string {
	if name, _, ok := strings.Cut(runtime.Code(n).String(), " ("); ok {
		return name
	}
	return ""
}

// codeText is a code with its name, for messages.
func codeText(n int) string {
	if name := codeName(n); name != "" {
		return fmt.Sprintf("%d %s", n, name)
	}
	return strconv.Itoa(n)
}

// want takes the code behind "expect".
func (s *parser) want() *Want {
	t := s.next()
	if t.kind == tokNumber || t.kind == tokName {
		if n, ok := codeOf(t.text); ok {
			return &Want{t.pos, n}
		}
	}
	s.failAt(t.pos, fmt.Sprintf("%v is no error code of the runtime", t), "a number as 507035, or its name; npu errcode explains them")
	return nil
}
