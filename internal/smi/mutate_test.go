package smi

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// a3 and duo are made-up tables of two more families: two dies a card with physical ids; two chips a card without HBM.
const (
	a3 = `+------------------------------------------------------------------------------------------------+
| npu-smi 25.2.0                   Version: 25.2.0                                               |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 3     Ascend910           | OK            | 162.8       41                12   / 970           |
| 0     6                   | 0000:0A:00.0  | 17          0    / 0          3133 / 65536         |
+------------------------------------------------------------------------------------------------+
| 3     Ascend910           | Alarm         | -           42                12   / 970           |
| 1     7                   | 0000:0B:00.0  | 23          0    / 0          2876 / 65536         |
+===========================+===============+====================================================+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===========================+===============+====================================================+
| 3       1                 | 990711        | python                   | 7746                    |
+===========================+===============+====================================================+
`
	duo = `+--------------------------------------------------------------------------------------------------------+
| npu-smi 24.1.0.1                                 Version: 24.1.0.1                                     |
+-------------------------------+-----------------+------------------------------------------------------+
| NPU     Name                  | Health          | Power(W)     Temp(C)           Hugepages-Usage(page) |
| Chip    Device                | Bus-Id          | AICore(%)    Memory-Usage(MB)                        |
+===============================+=================+======================================================+
| 1       310P3                 | OK              | NA           59                7210  / 7210          |
| 0       0                     | 0000:01:00.0    | 5            16302/ 44280                            |
+-------------------------------+-----------------+------------------------------------------------------+
| 1       310P3                 | OK              | NA           60                7211  / 7212          |
| 1       1                     | 0000:01:00.0    | 6            15543/ 43693                            |
+===============================+=================+======================================================+
| NPU     Chip                  | Process id      | Process name             | Process memory(MB)        |
+===============================+=================+======================================================+
| 1       0                     | 4711            | 我的 job                 | 8123                      |
+===============================+=================+======================================================+
`
)

// tables are small ones, and those of real machines where they are.
func tables(t *testing.T) map[string]string {
	ruled := strings.NewReplacer("+------+", "+"+strings.Repeat("-", 96)+"+", "+===+", "+"+strings.Repeat("=", 96)+"+").Replace(small)
	all := map[string]string{"910B3": ruled, "A3": a3, "310P": duo}
	t.Run("real", func(t *testing.T) {
		files, _ := filepath.Glob(filepath.Join(samples(t), "info-*.txt"))
		for _, f := range files {
			if s := readSample(t, filepath.Base(f)); !strings.Contains(f, "cut") && !strings.Contains(f, "misaligned") {
				all[filepath.Base(f)] = s
			}
		}
	})
	return all
}

// facts are the known figures of a table by name; lines of the processes too.
func facts(tb *Table) map[string]string {
	out := map[string]string{}
	put := func(k string, v Value) {
		if v.Known {
			out[k] = fmt.Sprint(v.N)
		}
	}
	for i, d := range tb.Devices {
		k := fmt.Sprintf("device %d ", i)
		out[k+"npu"] = fmt.Sprint(d.NPU)
		out[k+"name"] = d.Name
		if d.Health != "UNKNOWN" {
			out[k+"health"] = d.Health
		}
		if d.Bus != "" {
			out[k+"bus"] = d.Bus
		}
		put(k+"chip", d.Chip)
		put(k+"phy", d.Phy)
		put(k+"logic", d.Logic)
		put(k+"power", d.Power)
		put(k+"temp", d.Temp)
		put(k+"util", d.Util)
		for name, u := range map[string]Usage{"memory": d.Memory, "hbm": d.HBM, "huge": d.Hugepages} {
			put(k+name+" used", u.Used)
			put(k+name+" total", u.Total)
		}
	}
	for i, p := range tb.Processes {
		k := fmt.Sprintf("process %d ", i)
		out[k+"row"] = fmt.Sprint(p.NPU, p.PID, p.Name)
		put(k+"memory", p.Memory)
		put(k+"chip", p.Chip)
	}
	return out
}

// heads are the lines that name the figures; rows are those with figures.
var (
	heads = regexp.MustCompile(`\(W\)|\(%\)`)
	rows  = regexp.MustCompile(`^\|.*\|\s*$`)
)

// edit changes each line of the device table: n counts them in pairs of header or block.
func edit(text string, change func(line string, head, second bool) string) string {
	var out []string
	second, procs := false, false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		procs = procs || strings.Contains(line, "Process id")
		if rows.MatchString(line) && !procs && !strings.Contains(line, "npu-smi") {
			line = change(line, heads.MatchString(line), second)
			second = !second
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n") + "\n"
}

// into puts text into cell k of a line, behind word w of it.
func into(line string, k, w int, text string) string {
	cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	k = min(k, len(cells)-1)
	words := regexp.MustCompile(`\S+\s*/\s*\S+|\S+`).FindAllString(cells[k], -1)
	if strings.Contains(cells[k], "(") {
		words = regexp.MustCompile(`[^()]*\([^()]*\)`).FindAllString(cells[k], -1)
	}
	w = min(w, len(words))
	words = append(words[:w:w], append([]string{text}, words[w:]...)...)
	cells[k] = " " + strings.Join(words, "   ") + " "
	return "|" + strings.Join(cells, "|") + "|"
}

// What a version prints more does not move the figures that are known; what it prints less, or in another order or unit,
// is never taken for another figure.
func TestParseTable_mutated(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for name, text := range tables(t) {
		want := facts(ParseTable(text))
		same := func(what, changed string, all bool) {
			t.Helper()
			got := facts(ParseTable(changed))
			for k, v := range got {
				if lost := k[:strings.LastIndexByte(k, ' ')]; got[lost+" health"] == "Lost" && !strings.Contains(k, "bus") {
					continue // whose id is a guess, and says so
				}
				if w, ok := want[k]; !ok || w != v {
					t.Errorf("%s, %s: %s is %q, expected %q\n%s", name, what, k, v, w, changed)
					return
				}
			}
			for k := range want {
				if _, ok := got[k]; !ok && (all || strings.HasSuffix(k, " npu")) {
					t.Errorf("%s, %s: no %s\n%s", name, what, k, changed)
					return
				}
			}
		}
		for w := range 4 {
			same(fmt.Sprintf("a new figure at %d", w), edit(text, func(l string, head, second bool) string {
				k := strings.Count(l, "|") - 2
				if head {
					return into(l, k, w, "Fan(rpm)")
				}
				return into(l, k, w, "4711")
			}), true)
		}
		for k := 1; k < 4; k++ {
			same(fmt.Sprintf("a new cell at %d", k), edit(text, func(l string, head, second bool) string {
				cells := strings.Split(strings.Trim(strings.TrimSpace(l), "|"), "|")
				if strings.Contains(text, "NPU ID") && k < 2 {
					return l
				}
				at := min(k, len(cells))
				value := " 99 "
				if head {
					value = " Slot "
				}
				cells = append(cells[:at:at], append([]string{value}, cells[at:]...)...)
				return "|" + strings.Join(cells, "|") + "|"
			}), true)
		}
		third := func(row string) string {
			return edit(text, func(l string, head, second bool) string {
				switch {
				case !second:
					return l
				case head:
					return l + "\n|            | Slot | Fan(%)   Clock(MHz) |"
				}
				return l + "\n" + row
			})
		}
		same("a third line", third("| 0 | NA | 35  1800 |"), true)
		same("a third line without ids", third("|   |  | 35  1800 |"), true)
		same("a third line with a word", third("|   | 7 | 35  1800 |"), true)
		same("colours and a mark", "\ufeff"+strings.ReplaceAll(text, "|", "\x1b[1;32m|\x1b[0m"), true)
		for range 20 {
			same("a value is missing", edit(text, func(l string, head, second bool) string {
				cells := strings.Split(l, "|")
				k := len(cells) - 2
				words := strings.Fields(cells[k])
				if head || len(words) < 2 {
					return l
				}
				at := r.IntN(len(words))
				cells[k] = " " + strings.Join(append(words[:at:at], words[at+1:]...), "   ") + " "
				return strings.Join(cells, "|")
			}), false)
			same("a line is missing", edit(text, func(l string, head, second bool) string {
				if !head && !second && r.IntN(8) == 0 {
					return strings.Repeat(" ", r.IntN(3))
				}
				return l
			}), false)
		}
		for width := 34; width < 130; width += 3 {
			var lines []string
			for l := range strings.Lines(text) {
				run := []rune(strings.TrimRight(l, "\r\n"))
				for len(run) > width {
					lines, run = append(lines, string(run[:width])), run[width:]
				}
				lines = append(lines, string(run))
			}
			same(fmt.Sprintf("wrapped at %d", width), strings.Join(lines, "\n"), false)
			for i := range lines {
				lines[i] = strings.TrimRight(lines[i], " ")
			}
			same(fmt.Sprintf("wrapped at %d and trimmed", width), strings.Join(lines, "\n"), false)
		}
	}
}

func TestParseTable_translated(t *testing.T) {
	zh := strings.NewReplacer("Name ", "名称 ", "Health", "健康状态", "Power(W)", "功率（W）", "Temp(C)", "温度（℃）", "Hugepages-Usage(page)", "大页使用(page)",
		"Bus-Id", "总线Id", "AICore(%)", "AI核（%）", "Memory-Usage(MB)", "内存使用(MB)", "HBM-Usage(MB)", "HBM使用(MB)", "Process id", "进程号", "Process name", "进程名", "Process memory(MB)", "进程内存（MB）")
	for name, text := range map[string]string{"910B3": small, "A3": a3, "310P": duo} {
		want, got := facts(ParseTable(text)), facts(ParseTable(zh.Replace(text)))
		if fmt.Sprint(want) != fmt.Sprint(got) {
			t.Errorf("%s:\n%v\n%v", name, want, got)
		}
	}
}

func TestParseTable_units(t *testing.T) {
	d := ParseTable(strings.NewReplacer("HBM-Usage(MB)", "HBM-Usage(GB)", "59189/ 65536", "57.5 / 64", "Power(W)", "Power(mW)", "99.4", "99400").Replace(small)).Devices[0]
	if d.HBM.Used.N != 57.5*1024 || d.HBM.Total.N != 65536 || d.Power.N != 99.4 {
		t.Errorf("%+v %+v", d.HBM, d.Power)
	}
	d = ParseTable(strings.NewReplacer("HBM-Usage(MB)", "HBM-Usage(bits)", "Temp(C)", "Temp(K)").Replace(small)).Devices[0]
	if d.HBM.Used.Known || d.Temp.Known || !strings.Contains(d.Temp.Why, "K") || !d.Power.Known {
		t.Errorf("%+v %+v", d.HBM, d.Temp)
	}
	d = ParseTable(strings.NewReplacer("59189/ 65536", "75189/ 65536", "99.4        34", "-1          32767").Replace(small)).Devices[0]
	if d.HBM.Used.Known || !d.HBM.Total.Known || d.Power.Known || d.Temp.Known {
		t.Errorf("implausible figures: %+v %+v %+v", d.HBM, d.Power, d.Temp)
	}
}
