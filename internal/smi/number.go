package smi

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// number reads one figure; what the tool prints for "no value", or anything that is no number, becomes unknown.
func number(s string) Value {
	switch {
	case s == "":
		return unknown("npu-smi printed nothing here")
	case absent(s):
		return unknown("npu-smi prints " + s)
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return unknown(fmt.Sprintf("npu-smi printed %.20q, which is no number", s))
	}
	return known(n)
}

func noUsage(why string) Usage { return Usage{unknown(why), unknown(why)} }

// usages reads n figures of the form "a / b". The blank before the bar is eaten by five-digit numbers.
func usages(s string, n int) []Usage {
	out := make([]Usage, n)
	for i := range out {
		used, rest, ok := strings.Cut(s, "/")
		if !ok {
			out[i] = noUsage("npu-smi printed nothing here")
			continue
		}
		used = strings.TrimSpace(used)
		if k := strings.LastIndexByte(used, ' '); k >= 0 {
			used = used[k+1:]
		}
		total, more, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
		out[i] = Usage{number(used), number(total)}
		s = more
	}
	return out
}

func word(words []string, i int) string {
	if i < len(words) {
		return words[i]
	}
	return ""
}

func dropLastWord(s string) string {
	if i := strings.LastIndexAny(s, " /"); i >= 0 {
		return s[:i]
	}
	return ""
}
