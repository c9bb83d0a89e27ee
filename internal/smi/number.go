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
