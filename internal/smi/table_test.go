package smi

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// samples is the folder of real outputs beside the checkout.
func samples(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	dir = filepath.Join(dir, "..", "shared", "data", "npu-smi")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no real npu-smi outputs beside the checkout: ", err)
	}
	return dir
}

func readSample(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(samples(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Every table of a real machine yields what an independent parser and a pair of eyes found in it.
func TestParseTable_real(t *testing.T) {
	var want map[string]map[string]any
	if err := json.Unmarshal([]byte(readSample(t, "expected.json")), &want); err != nil {
		t.Fatal(err)
	}
	for name, w := range want {
		t.Run(name, func(t *testing.T) {
			got := asExpected(ParseTable(readSample(t, name)), w)
			if d := cmp.Diff(w, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// asExpected brings a table into the form of expected.json, with the keys that w has.
func asExpected(tb *Table, w map[string]any) map[string]any {
	val := func(v Value) any {
		if !v.Known {
			return nil
		}
		return v.N
	}
	text := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	pair := func(u Usage) any {
		if !u.Total.Known {
			return nil
		}
		return []any{val(u.Used), u.Total.N}
	}
	pick := func(all map[string]any, like any) map[string]any {
		out := map[string]any{}
		for k := range like.(map[string]any) {
			out[k] = all[k]
		}
		return out
	}
	devices, procs, idle := []any{}, []any{}, []any{}
	for i, d := range tb.Devices {
		devices = append(devices, pick(map[string]any{"npu": float64(d.NPU), "name": d.Name, "health": d.Health, "power_w": val(d.Power),
			"temp_c": val(d.Temp), "hugepages": pair(d.Hugepages), "chip": val(d.Chip), "device": val(d.Logic), "phy": val(d.Phy), "bus": text(d.Bus),
			"util": val(d.Util), "mem_mb": pair(d.Memory), "hbm_mb": pair(d.HBM)}, at(w["devices"], i)))
	}
	for i, p := range tb.Processes {
		procs = append(procs, pick(map[string]any{"npu": float64(p.NPU), "chip": val(p.Chip), "pid": float64(p.PID), "name": p.Name,
			"mem_mb": val(p.Memory), "container_pid": val(p.ContainerPID), "pid_in_container": val(p.ContainerPID)}, at(w["processes"], i)))
	}
	for _, n := range tb.Idle {
		idle = append(idle, float64(n))
	}
	return map[string]any{"tool": text(tb.Tool), "driver": text(tb.Driver), "process_table": tb.ProcessTable, "idle_npus": idle,
		"devices": devices, "processes": procs}
}

func at(list any, i int) any {
	if l := list.([]any); i < len(l) {
		return l[i]
	}
	return map[string]any{"one too many": true}
}

const small = `+------+
| npu-smi 25.5.1                   Version: 25.5.2                                               |
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===+
| 4     910B3               | OK            | 99.4        34                0    / 0             |
| 0                         | 0000:C1:00.0  | 7           0    / 0          59189/ 65536         |
+===+
| 5     910B3               | Warning       | 91.1        32                0    / 0             |
| 0                         | 0000:C2:00.0  | 0           0    / 0          1234567/ 7654321     |
+===+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===+
| 4       0                 | 71            | my job 中文               | 50128                   |
+===+
| No running processes found in NPU 5                                                            |
+===+
`

// A table without a part keeps the devices and says why a value is missing.
func TestParseTable_odd(t *testing.T) {
	whole := ParseTable(small)
	if len(whole.Devices) != 2 || whole.Cut || whole.Driver != "25.5.2" || whole.Processes[0].Name != "my job 中文" || whole.Devices[1].HBM.Total.N != 7654321 {
		t.Fatalf("%+v", whole)
	}
	for name, c := range map[string]struct {
		text  string
		check func(*Table) bool
	}{
		"crlf and blank lines": {strings.ReplaceAll(small, "\n", " \r\n\r\n"), func(tb *Table) bool { return cmp.Diff(tb, whole) == "" }},
		"lost device": {strings.Replace(small, "| 5     910B3               | Warning       | 91.1        32                0    / 0             |\n", "", 1),
			func(tb *Table) bool {
				return len(tb.Devices) == 2 && tb.Devices[1].Health == "Lost" && tb.Devices[1].NPU == 5 && !tb.Devices[1].Power.Known && tb.Devices[1].Util.Known
			}},
		"no second line": {small[:strings.Index(small, "| 0                         | 0000:C2")],
			func(tb *Table) bool {
				return len(tb.Devices) == 2 && tb.Devices[1].Power.N == 91.1 && !tb.Devices[1].HBM.Used.Known && tb.Cut
			}},
		"cut number": {small[:strings.Index(small, "65536")+3],
			func(tb *Table) bool { return len(tb.Devices) == 1 && !tb.Devices[0].HBM.Total.Known && tb.Cut }},
		"no answer": {strings.Replace(small, "99.4        34", "0.0         0 ", 1),
			func(tb *Table) bool {
				d := tb.Devices[0]
				return !d.Power.Known && !d.Temp.Known && !d.Util.Known && d.Temp.Why != ""
			}},
		"above 100": {strings.Replace(small, "| 7  ", "| 700", 1), func(tb *Table) bool { return !tb.Devices[0].Util.Known }},
		"no number": {strings.Replace(small, "99.4", "x9.4", 1), func(tb *Table) bool { return !tb.Devices[0].Power.Known && len(tb.Devices) == 2 }},
	} {
		if tb := ParseTable(c.text); !c.check(tb) {
			t.Errorf("%s: %+v", name, tb)
		}
	}
}

// Cut anywhere, a table never yields a figure that the whole one does not have.
func TestParseTable_cutAnywhere(t *testing.T) {
	whole := ParseTable(small)
	figure := map[float64]bool{}
	for _, d := range whole.Devices {
		for _, v := range []Value{d.Power, d.Temp, d.Util, d.HBM.Used, d.HBM.Total, d.Memory.Used, d.Memory.Total} {
			figure[v.N] = true
		}
	}
	for i := range small {
		for _, d := range ParseTable(small[:i]).Devices {
			for _, v := range []Value{d.Power, d.Temp, d.Util, d.HBM.Used, d.HBM.Total, d.Memory.Used, d.Memory.Total} {
				if v.Known && !figure[v.N] {
					t.Errorf("cut at %d: %v is in no table", i, v.N)
				}
			}
		}
	}
}

func FuzzParseTable(f *testing.F) {
	f.Add(small)
	f.Add(strings.ReplaceAll(small, "\n", "\r\n"))
	f.Add("| NPU ID | Name | Health | Power(W) |\n|  |  | Bus-Id | NPU Util(%) HBM |\n| 0 | A | OK | 1 2 0 / 0 |\n| | | NA | 3 0/0 1/2 |\n| NPU ID | Process id | a | b |\n| 0 | 1 | 中 | 4 |")
	f.Add("| npu-smi |\n|||||\n| | 0:0 | |")
	f.Fuzz(func(t *testing.T, s string) {
		tb := ParseTable(s)
		if n := len(tb.Devices) + len(tb.Processes); n > strings.Count(s, "\n")+1 {
			t.Errorf("%d rows of %d lines", n, strings.Count(s, "\n")+1)
		}
		for _, d := range tb.Devices {
			for _, v := range []Value{d.Power, d.Temp, d.Util, d.Chip, d.Phy, d.Logic, d.HBM.Used, d.HBM.Total, d.Memory.Used, d.Hugepages.Used} {
				if v.Known == (v.Why != "") {
					t.Fatalf("%+v: a value is known or has a reason", d)
				}
			}
		}
	})
}
