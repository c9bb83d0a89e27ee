package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// finding is what npu log says of a cause.
type finding struct {
	Cause  string   `json:"cause"`
	Kind   string   `json:"kind"`
	Kernel string   `json:"kernel"`
	Advice []string `json:"advice"`
	Bits   []int    `json:"bits"`
	Bus    string   `json:"bus"`
}

// bare drops what names this case: kernel, device, core, address, time.
func (f *finding) bare() string {
	s := f.Cause
	if f.Kernel != "" {
		s = strings.ReplaceAll(s, f.Kernel, "KERNEL")
	}
	s = regexp.MustCompile(`AI[CV] \d+`).ReplaceAllString(s, "CORE")
	s = regexp.MustCompile(`0x12[0-9a-f]{10}|0x13[0-9a-f]{10}`).ReplaceAllString(s, "ADDRESS")
	s = regexp.MustCompile(`in \S+\+0x[0-9a-f]+ \(\S+\)`).ReplaceAllString(s, "at ADDRESS")
	return regexp.MustCompile(`on device \d+(, [0-9.]+ m?s before)?`).ReplaceAllString(s, "on device N")
}

// sharedData is real data beside the repository; without it the test skips.
func sharedData(t *testing.T, elem ...string) string {
	t.Helper()
	p, err := filepath.Abs(filepath.Join(append([]string{"..", "..", "..", "shared", "data"}, elem...)...))
	if err == nil {
		_, err = os.Stat(p)
	}
	if err != nil {
		t.Skipf("real data is not here: %v", err)
	}
	return p
}

// npu log says the same of a fault of ours as of a real one: cause, bits, what to do first.
func TestFaults_logAsReal(t *testing.T) {
	for _, c := range []struct {
		spec, soc, real string
		same            bool // the first advice as well
	}{
		{"bus-error@op=Conv_8", "Ascend910B3", "01-blocktable-oob.log", true},
		{"ub-oob@op=MaxPool_3", "Ascend910B3", "13-ub-wrap.log", true},
		{"illegal-instr@op=Conv_8", "Ascend910B3", "12-rank5-aicore.log", true},
		{"illegal-instr@op=Conv_8", "Ascend310P3", "06-310p-illegal-instruction.log", true},
		{"hang@op=MaxPool_3", "Ascend910B3", "08-vector-timeout-sync.log", false}, // one core of the real one stands apart
		{"ecc@op=Conv_8", "Ascend910B3", "14-ecc-first.log", true},
	} {
		path := sharedData(t, "plog", c.real)
		dir := t.TempDir()
		if text, code := command(t, "run", "--inject", c.spec, "--soc", c.soc, "--dump-dir", dir); code != 1 {
			t.Fatalf("%s: exit %d\n%s", c.spec, code, text)
		}
		ours, real := firstFinding(t, dir), firstFinding(t, path)
		advice := c.same && ours.Advice[0] != real.Advice[0]
		if ours.bare() != real.bare() || !slices.Equal(ours.Bits, real.Bits) || ours.Bus != real.Bus || ours.Kind != real.Kind && ours.Kind != "hardware" || advice {
			t.Errorf("%s on %s:\n%s\n%+v\nreal:\n%s\n%+v", c.spec, c.soc, ours.bare(), ours, real.bare(), real)
		}
		if ours.Kernel != strings.SplitAfter(c.spec, "=")[1] {
			t.Errorf("%s: kernel %q", c.spec, ours.Kernel)
		}
	}
}

func firstFinding(t *testing.T, path string) finding {
	t.Helper()
	text, _ := command(t, "log", "--json", path)
	var list []finding
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list) == 0 {
		t.Fatalf("%s: %v\n%s", path, err, text)
	}
	return list[0]
}

// npu dump decode says the same of a core of ours as of a real one.
func TestFaults_coreAsReal(t *testing.T) {
	type report struct {
		Chip  string   `json:"chip"`
		Cause []string `json:"cause"`
		Cores []struct {
			Bits []int    `json:"bits"`
			Why  []string `json:"why"`
		} `json:"cores"`
	}
	read := func(path string) (r report) {
		text, _ := command(t, "dump", "decode", "--json", path)
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatalf("%s: %v\n%s", path, err, text)
		}
		return r
	}
	for _, c := range []struct {
		spec, soc, real string
		bit             int
	}{
		{"ub-oob@op=MaxPool_3", "Ascend910B3", "DemoScatter_5f0c1d2e3a4b5968778695a4b3c2d1e0_0.3.42.20261130044855761.core", 62},
		{"aicore-oob@op=MaxPool_3", "Ascend950PR_9579", "core950_DemoScatter.core", 95},
	} {
		real := read(sharedData(t, "dump", "writer", "core", c.real))
		dir := t.TempDir()
		command(t, "run", "--inject", c.spec, "--soc", c.soc, "--dump-dir", dir)
		cores, err := filepath.Glob(filepath.Join(dir, "extra-info", "data-dump", "0", "*.core"))
		if err != nil || len(cores) != 1 {
			t.Fatalf("%s: core files %v", c.spec, cores)
		}
		ours := read(cores[0])
		pick := func(r report) (cause, why string) {
			for _, core := range r.Cores {
				if slices.Equal(core.Bits, []int{c.bit}) && len(core.Why) > 0 {
					why = core.Why[0]
				}
			}
			_, meaning, _ := strings.Cut(why, "): ")
			for _, x := range r.Cause {
				if f := (&finding{Cause: x}); strings.Contains(x, meaning) && cause == "" {
					cause = f.bare()
				}
			}
			return cause, why
		}
		cause, why := pick(ours)
		wantCause, wantWhy := pick(real)
		if ours.Chip != real.Chip || cause != wantCause || why != wantWhy || cause == "" {
			t.Errorf("%s on %s, a %s: %q because of %q\nreal, a %s: %q because of %q", c.spec, c.soc, ours.Chip, cause, why, real.Chip, wantCause, wantWhy)
		}
	}
}
