package top

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"npu/internal/problem"
	"npu/internal/tui/theme"
)

func screenTheme() *theme.Theme { return theme.New(theme.None, false, theme.Braille) }

func TestPrintTable(t *testing.T) {
	for name, make := range machines {
		var b bytes.Buffer
		if err := PrintTable(&b, make(3), moment); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsRune(b.String(), '\x1b') {
			t.Error("an escape in plain text")
		}
		golden(t, "plain-"+name+".txt", b.String())
	}
}

func run(t *testing.T, p Plain, frames int) string {
	t.Helper()
	var list []*Frame
	for n := range frames {
		list = append(list, machines["8cards"](n))
	}
	var b bytes.Buffer
	if err := p.Run(t.Context(), NewReplay(list), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPlain(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(run(t, Plain{Format: JSON}, 3)), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines of JSON", len(lines))
	}
	for _, l := range lines {
		if !json.Valid([]byte(l)) {
			t.Errorf("no JSON: %s", l)
		}
	}
	if one := run(t, Plain{Format: JSON, Count: 1}, 3); !strings.Contains(one, moment.Add(2e9).Format("15:04:05")) || !strings.Contains(one, "\n  \"devices\": [") {
		t.Errorf("one frame of a recording is its last, indented:\n%.300s", one)
	}
	rows := strings.Split(strings.TrimSpace(run(t, Plain{Format: Rows, Count: 2}, 3)), "\n")
	if len(rows) != 1+2*8 || !strings.HasPrefix(rows[0], "time,source,index,npu,") || !strings.Contains(rows[0], "hbm_mb_used,hbm_mb_total") {
		t.Errorf("%d rows, %s", len(rows), rows[0])
	}
	rows = strings.Split(strings.TrimSpace(run(t, Plain{Format: Rows, Panel: PanelProcesses, Count: 1}, 1)), "\n")
	if len(rows) != 1+7 || !strings.Contains(rows[0], ",pid,") {
		t.Errorf("%d rows, %s", len(rows), rows[0])
	}
	f, err := ParseFilter("health=alarm")
	if err != nil {
		t.Fatal(err)
	}
	if rows = strings.Split(strings.TrimSpace(run(t, Plain{Format: Rows, Count: 1, Select: Select{Filter: f}}, 1)), "\n"); len(rows) != 2 {
		t.Errorf("%d rows", len(rows))
	}
}

func TestRecorder(t *testing.T) {
	p := filepath.Join(t.TempDir(), "a.jsonl")
	rec, err := NewRecorder(p)
	if err != nil {
		t.Fatal(err)
	}
	f := machines["8cards"](0)
	for range 2 {
		if err := rec.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := rec.Add(machines["8cards"](1)); err != nil {
		t.Fatal(err)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	r, warn, err := OpenRecording(p)
	if err != nil || warn != nil {
		t.Fatal(warn, err)
	}
	if _, n := r.Position(); n != 2 {
		t.Errorf("%d frames: the same frame counts once", n)
	}
	var none *Recorder
	if none.Add(f) != nil || none.Close() != nil {
		t.Error("no recorder records nothing")
	}
}

func TestParseFilter(t *testing.T) {
	d := machines["8cards"](0).Devices[6] // Alarm
	for s, want := range map[string]bool{"": true, "alarm": true, "Alarm": true, "ALARM": false, "!alarm": false, "!warning": true, "^910": true,
		"health=^alarm": false, "health=alarm": true, "name=910": true, "user=root": false, "^6$": true, "npu=6$": true} {
		f, err := ParseFilter(s)
		if err != nil || keep(f, deviceFields, &d) != want {
			t.Errorf("%q keeps: %v, %v", s, !want, err)
		}
	}
	if _, err := ParseFilter("("); problem.ClassOf(err) != problem.Usage {
		t.Error(err)
	}
}

// Every column sorts, unknown values last in both directions.
func TestSort(t *testing.T) {
	f := machines["16dies"](5)
	for _, key := range SortKeys() {
		for _, dir := range []string{"", "-"} {
			s, err := ParseSort(dir + key)
			if err != nil {
				t.Fatal(err)
			}
			rows := pickDevices(f.Devices, Filter{}, s)
			if len(rows) != len(f.Devices) {
				t.Fatalf("%s: %d rows", key, len(rows))
			}
			if key == "power_w" {
				for i := range rows {
					if rows[i].Power.Known != (i < 8) {
						t.Errorf("%s%s: row %d is %+v", dir, key, i, rows[i].Power)
					}
					if i > 0 && i < 8 && (rows[i-1].Power.N < rows[i].Power.N) != (dir == "-") {
						t.Errorf("%s%s: %v before %v", dir, key, rows[i-1].Power.N, rows[i].Power.N)
					}
				}
			}
		}
	}
	if _, err := ParseSort("colour"); problem.ClassOf(err) != problem.Usage || !strings.Contains(err.Error(), "power_w") {
		t.Error(err)
	}
}

func TestParsePanel(t *testing.T) {
	for s, want := range map[string]int{"": 0, "devices": 0, "proc": 1, "Streams": 2, "m": 3, "op": 4} {
		if got, err := ParsePanel(s); err != nil || got != want {
			t.Errorf("%q: %d %v", s, got, err)
		}
	}
	if _, err := ParsePanel("x"); problem.ClassOf(err) != problem.Usage {
		t.Error(err)
	}
}

// A name cannot play with the terminal.
func TestHostileNames(t *testing.T) {
	f := machines["8cards"](0)
	f.Devices[0].Name = "a\x1b[2J\x07\u202eb"
	f.Processes.Rows[0].Command = Text{S: "\x1b]0;title\x07\nx\u0085"}
	m, _ := screen(t, theme.None, theme.Braille, 120, 40, 1, func(int) *Frame { return f })
	var b bytes.Buffer
	if err := PrintTable(&b, f, moment); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{m.View(), b.String()} {
		if strings.ContainsAny(text, "\x1b\x07\u0085") {
			t.Errorf("a control character comes through: %q", text)
		}
	}
}
