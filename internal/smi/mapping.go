package smi

import "strings"

// Mapped is one row of "npu-smi info -m".
type Mapped struct {
	NPU, Chip, Logic, Phy Value
	Name                  string
}

// mapTitles are the columns that some version prints, in their order.
var mapTitles = []string{"NPU ID", "Slot ID", "Chip ID", "Chip Logic ID", "Chip Phy-ID", "Chip Name"}

// ParseMap reads "npu-smi info -m": one row a chip. Controllers (Mcu) are left out.
func ParseMap(text string) []Mapped {
	var out []Mapped
	var cols []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "NPU ID") {
			cols = titles(line)
			continue
		}
		words := strings.Fields(line)
		if len(cols) < 2 || len(words) < len(cols) {
			continue
		}
		k := len(cols) - 1 // the name is the last column and may have blanks
		m := Mapped{Name: strings.Join(words[k:], " "), Logic: unknown("npu-smi info -m has no logic id"), Phy: unknown("npu-smi info -m has no physical id")}
		for i, c := range cols[:k] {
			switch v := number(words[i]); c {
			case "NPU ID":
				m.NPU = v
			case "Chip ID":
				m.Chip = v
			case "Chip Logic ID":
				m.Logic = v
			case "Chip Phy-ID":
				m.Phy = v
			}
		}
		if !strings.EqualFold(m.Name, "mcu") && m.NPU.Known && m.NPU.N >= 0 {
			out = append(out, m)
		}
	}
	return out
}

// titles lists the known titles of a header line in their order.
func titles(line string) []string {
	var out []string
	for _, t := range mapTitles {
		if i := strings.Index(line, t); i >= 0 {
			out = append(out, t)
		}
	}
	return out
}
