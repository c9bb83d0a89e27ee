package smi

import (
	"path/filepath"
	"strings"
	"testing"
)

// Every saved output of npu-smi is known for what it is.
func TestReadReport_real(t *testing.T) {
	kinds := map[string]string{"info": InfoReport, "m": MapReport, "l": ListReport, "t": FieldReport, "topo": TopoReport, "watch": WatchReport, "err": ErrorReport}
	files, _ := filepath.Glob(filepath.Join(samples(t), "*.txt"))
	if len(files) < 60 {
		t.Fatalf("%d files", len(files))
	}
	for _, f := range files {
		name := filepath.Base(f)
		prefix, _, _ := strings.Cut(name, "-")
		r := ReadReport(readSample(t, name))
		if r.Kind != kinds[prefix] {
			t.Errorf("%s is %q", name, r.Kind)
		}
	}
	procs := ReadReport(readSample(t, "t-proc-mem-310p3duo-24.1.0.1.txt")).Processes
	if len(procs) != 5 || procs[2].Chip.N != 0 || procs[3].Chip.N != 1 || procs[4].Memory.N != 248 || procs[0].NPU != 32768 || procs[0].Name != "gunicorn" {
		t.Errorf("%+v", procs)
	}
	procs = ReadReport(readSample(t, "t-proc-mem-910_93-empty-name-cut.txt")).Processes
	if len(procs) != 1 || procs[0].PID != 3229095 || procs[0].Name != "" || procs[0].Memory.N != 48208 || procs[0].Chip.N != 1 {
		t.Errorf("%+v", procs)
	}
	w := ReadReport(readSample(t, "watch-310b1.txt")).Watch
	if len(w.Rows) != 9 || len(w.Rounds()) != 9 || w.Rows[1][w.Column("AI Core")].N != 25 || w.Rows[8][w.Column("AI Core")].N != 24 {
		t.Errorf("%+v", w)
	}
	w = ReadReport(readSample(t, "watch-950-doc.txt")).Watch
	if len(w.Rows) != 8 || len(w.Rounds()) != 1 || w.Column("ChipId") >= 0 || w.Rows[3][w.Column("Pwr")].N != 292.1 || w.Titles[9] != (Title{"AI Cube", "%"}) {
		t.Errorf("%+v", w)
	}
}

func TestReadReport(t *testing.T) {
	for text, kind := range map[string]string{
		small: InfoReport, small + "noise\n" + small: InfoReport, "": "", "hello\n": "", "a : b\nc : d\n": "", "Temperature : high\n": "",
		"NPU ID : 0\nChip Count : 1\n":                                 FieldReport,
		"There is no NPU card on this server.\n":                       ErrorReport,
		"NpuID(Idx) Pwr(W)\n0 1\n":                                     WatchReport,
		"NpuID(Idx) Pwr(W)\n":                                          "",
		"NPU ID Chip ID Chip Logic ID Chip Name\n0 0 0 Ascend 910B3\n": MapReport,
	} {
		if r := ReadReport(text); r.Kind != kind {
			t.Errorf("%.40q is %q, expected %q", text, r.Kind, kind)
		}
	}
	if tables := Tables(small + "noise\n" + strings.ReplaceAll(small, "| 7  ", "| 8  ")); len(tables) != 2 || len(tables[0].Devices) != 2 || tables[1].Devices[0].Util.N != 8 {
		t.Errorf("%d tables", len(tables))
	}
}

// A watch that was cut, or lacks a figure, has no wrong one.
func TestParseWatch(t *testing.T) {
	const whole = "NpuID(Idx)  ChipId(Idx) Pwr(W)      Temp(C)     AI Core(%)  Memory BW(%)\n" +
		"2           0           90.1        34          77          55          \n" +
		"2           1           NA          35          -           56          \n"
	for i := range whole {
		w := ParseWatch(whole[:i])
		if w == nil {
			continue
		}
		for k, r := range w.Rows {
			for c, v := range r {
				want := ParseWatch(whole).Rows[k][c]
				if len(w.Titles) == 6 && v.Known && v != want {
					t.Errorf("cut at %d: %s is %v, expected %v", i, w.Titles[c].Name, v, want)
				}
			}
		}
	}
	w := ParseWatch(strings.Replace(whole, "90.1        34          ", "", 1))
	if w.Rows[0][4].Known || w.Rows[0][2].Known {
		t.Errorf("%+v", w.Rows[0])
	}
	if w = ParseWatch(whole); w.Rows[1][2].Known || w.Rows[1][4].Known || len(w.Rounds()) != 1 {
		t.Errorf("%+v", w)
	}
}

// What was cut from "info -t proc-mem" may be its processes alone.
func TestReadReport_processesAlone(t *testing.T) {
	r := ReadReport("Process id:71 Process name:x Process memory(MB):5\n")
	if r.Kind != FieldReport || len(r.Blocks) != 0 || len(r.Processes) != 1 || r.Processes[0].PID != 71 || r.Processes[0].Chip.Known {
		t.Errorf("%+v", r)
	}
}

func FuzzReadReport(f *testing.F) {
	f.Add(small + small)
	f.Add("NpuID(Idx) ChipId(Idx)\n0 0\n0 1\n0 0 0\n")
	f.Add("NPU ID : 0\n\nProcess id:71 Process name:x Process memory(MB):5\nChip ID : 0\n")
	f.Add("Process id:71 Process name:x Process memory(MB):5\n")
	f.Fuzz(func(t *testing.T, s string) {
		r := ReadReport(s)
		n := len(r.Blocks) + len(r.Processes) + len(r.Map) + len(r.Links)
		for _, tb := range r.Tables {
			n += len(tb.Devices)
		}
		if r.Watch != nil {
			for _, rows := range r.Watch.Rounds() {
				n += len(rows)
			}
		}
		if n > strings.Count(s, "\n")+1 {
			t.Errorf("%d rows of %d lines", n, strings.Count(s, "\n")+1)
		}
	})
}
