package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"npu/internal/sim/soc"
)

func socCLI(tty bool, args ...string) (code int, out, err string) {
	var o, e bytes.Buffer
	code = run(context.Background(), &streams{in: strings.NewReader(""), out: &o, err: &e, outTTY: tty}, append([]string{"soc"}, args...))
	return code, o.String(), e.String()
}

func TestSocList(t *testing.T) {
	code, out, e := socCLI(false, "list")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 0 || len(lines) != len(soc.All())+1 || !strings.HasPrefix(lines[0], "name\tfamily\t") {
		t.Fatalf("exit %d: %s %s", code, out, e)
	}
	if !strings.Contains(out, "Ascend910B3\tAscend910B\t20\t40\t6\t1800\t68719476736\t201326592\t294.9\t1152\n") {
		t.Errorf("%s", out)
	}
	if code, out, _ = socCLI(true, "list"); code != 0 || strings.Contains(out, "\t") || !strings.Contains(out, "64.0 GiB") {
		t.Errorf("on a terminal, exit %d: %s", code, out)
	}
	code, out, _ = socCLI(false, "list", "--json")
	var all []map[string]any
	if err := json.Unmarshal([]byte(out), &all); code != 0 || err != nil || len(all) != len(soc.All()) {
		t.Errorf("exit %d, %v", code, err)
	}
	for _, c := range all {
		for k, v := range c {
			if v == nil && c[k+"_reason"] == nil {
				t.Errorf("%v: %s is null without a reason", c["name"], k)
			}
		}
	}
}

func TestSocShow(t *testing.T) {
	code, out, e := socCLI(false, "show", "910b4", "--json")
	var c map[string]any
	if err := json.Unmarshal([]byte(out), &c); code != 0 || err != nil {
		t.Fatalf("exit %d, %v: %s", code, err, e)
	}
	if c["name"] != "Ascend910B4" || c["memory_bytes"] != 34359738368.0 || c["ring_usable"] != 2013.0 || c["sio_bytes_s"] != nil || c["sio_bytes_s_reason"] == nil {
		t.Errorf("%s", out)
	}
	code, out, _ = socCLI(false, "show", "Ascend910B4")
	if code != 0 || !strings.HasPrefix(out, "figure\tvalue\tnote\n") || !strings.Contains(out, "\nevent_clock_hz\t50000000\t\n") || !strings.Contains(out, "\nsio_bytes_s\tunknown\t") {
		t.Errorf("exit %d: %s", code, out)
	}
	for _, args := range [][]string{{"show", "910B7"}, {"show"}, {"show", "910B3", "910B4"}, {"list", "x"}, {"list", "--yaml"}} {
		if code, out, e := socCLI(false, args...); code != 2 || out != "" || strings.Count(e, "\n") != 1 {
			t.Errorf("%v: exit %d: %s%s", args, code, out, e)
		}
	}
	if _, _, e := socCLI(false, "show", "910B7"); !strings.Contains(e, "Ascend910B1") {
		t.Errorf("no nearest name: %s", e)
	}
}
