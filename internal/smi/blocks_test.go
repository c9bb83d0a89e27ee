package smi

import (
	"strings"
	"testing"
)

func TestParseBlocks_real(t *testing.T) {
	for _, c := range []struct{ file, chip, key, want string }{
		{"t-usages-910a-23.0.5.txt", "0", "HBM Capacity", "31129"},
		{"t-usages-910b3-25.5.1.txt", "0", "Ctrlcpu Usage Rate", "7"},
		{"t-usages-910_93-cut.txt", "0", "Aivector Usage Rate", "31"},
		{"t-usages-910_93-cut.txt", "1", "Aicore Usage Rate", "12"},
		{"t-usages-910_93-cut.txt", "1", "NPU Utilization", "58"},
		{"t-usages-310p3duo.txt", "1", "DDR Capacity", "43693"},
		{"t-usages-950-doc.txt", "", "HBM Bandwidth Usage Rate", "3"},
		{"t-common-310p3duo.txt", "0", "Temperature", "60"},
		{"t-common-310p3duo.txt", "mcu", "NPU Real-time Power", "45.2"},
		{"t-common-910b3-25.5.1.txt", "0", "Aicore curFreq", "800"},
		{"t-common-910b3-25.5.1.txt", "0", "Temperature", "33"},
		{"t-common-910b3-25.5.1.txt", "mcu", "Temperature", "31"},
		{"t-common-950-doc.txt", "", "NPU Real-time Power", "298.6"},
		{"t-memory-910b3-25.5.1.txt", "0", "HBM Clock Speed", "1600"},
		{"t-health-310p3duo.txt", "1", "Health", "OK"},
		{"t-health-950-doc.txt", "", "Error Code", "NA"},
		{"t-health-910a-23.0.5-chip.txt", "", "health status", "OK"},
		{"t-ecc-910a-23.0.5-doc.txt", "0", "HBM Double Bit Isolated Pages Count", "0"},
		{"t-temp-910b3-25.5.1.txt", "mcu", "LM75B_TE", "33"},
		{"t-board-910b3-25.5.1.txt", "", "PCIe Bus Info", "0000:C1:00.0"},
		{"t-board-950pr-25.7.rc1.6-annotated.txt", "", "Software Version", "25.7.rc1.6"},
	} {
		t.Run(c.file+" "+c.key, func(t *testing.T) {
			for _, b := range ParseBlocks(readSample(t, c.file)) {
				if f, ok := b.Find(c.key); ok && b.Chip == c.chip {
					if f.Value != c.want {
						t.Errorf("%q", f.Value)
					}
					return
				}
			}
			t.Errorf("no %s in a block of chip %q: %+v", c.key, c.chip, ParseBlocks(readSample(t, c.file)))
		})
	}
}

func TestParseMap_real(t *testing.T) {
	for _, c := range []struct {
		file  string
		n     int
		last  int // NPU id of the last row
		logic Value
		name  string
	}{
		{"m-910a-23.0.5.txt", 8, 7, known(7), "Ascend 910A"},
		{"m-910b3-25.5.1.txt", 8, 7, known(7), "Ascend 910B3"},
		{"m-910_93-cut.txt", 3, 1, known(2), "Ascend910"},
		{"m-310p3duo-npuid-gap.txt", 8, 5, known(7), "Ascend xxx"},
		{"m-950-doc.txt", 1, 0, unknown("npu-smi info -m has no logic id"), "xxx"},
	} {
		m := ParseMap(readSample(t, c.file))
		if len(m) != c.n {
			t.Errorf("%s: %d rows, expected %d: %+v", c.file, len(m), c.n, m)
			continue
		}
		if l := m[len(m)-1]; l.NPU.N != float64(c.last) || l.Logic != c.logic || l.Name != c.name {
			t.Errorf("%s: %+v", c.file, l)
		}
	}
}

func TestParseTopo_real(t *testing.T) {
	peers, rows := ParseTopo(readSample(t, "topo-910b3-24.1.rc1.txt"))
	if len(peers) != 8 || len(rows) != 8 || rows[7].To[6] != "HCCS" || rows[7].To[7] != "X" || rows[7].CPUs != "48-71" {
		t.Errorf("%v %+v", peers, rows)
	}
	_, rows = ParseTopo(readSample(t, "topo-950-doc-ub.txt"))
	if len(rows) != 8 || rows[6].To[7] != "UB" || rows[0].CPUs != "0-63,128-191" {
		t.Errorf("%+v", rows)
	}
}

func FuzzParseBlocks(f *testing.F) {
	f.Add("\tNPU ID : 0\n\tChip Count : 1\n\n\tHBM Usage Rate(%)  : 90\n\tChip ID : 0\n\nChip Name : mcu\nTemperature(C) : 31\n")
	f.Add("Chip ID : 0\nChip ID : 1\n : \nx :\n(C) : 1")
	f.Fuzz(func(t *testing.T, s string) {
		n := 0
		for _, b := range ParseBlocks(s) {
			n += len(b.Fields)
		}
		if n > strings.Count(s, ":") {
			t.Errorf("%d fields of %d colons", n, strings.Count(s, ":"))
		}
	})
}

func FuzzParseTopo(f *testing.F) {
	f.Add("\t   NPU0       NPU1   CPU Affinity\nNPU0  X  HCCS  0-1\nNPU1  HCCS  X 2-3\n\nLegend:\n")
	f.Add("NPU ID  Chip ID  Chip Logic ID  Chip Name\n0 0 0 Ascend 910\n0 1 - Mcu\n")
	f.Fuzz(func(t *testing.T, s string) {
		peers, rows := ParseTopo(s)
		for _, r := range rows {
			if len(r.To) != len(peers) {
				t.Errorf("%d links of %d peers", len(r.To), len(peers))
			}
		}
		ParseMap(s)
	})
}
