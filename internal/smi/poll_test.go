package smi

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake writes a shell script as npu-smi; $1 is "info", $D the script's folder.
func fake(t *testing.T, body string) string {
	t.Helper()
	d := t.TempDir()
	if err := os.WriteFile(filepath.Join(d, "table"), []byte(small), 0o644); err != nil {
		t.Fatal(err)
	}
	p := filepath.Join(d, "npu-smi")
	if err := os.WriteFile(p, []byte("#!/bin/sh\nD="+d+"\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

const good = `[ $# = 1 ] && exec cat $D/table
exit 1`

func poll(t *testing.T, body string, timeout time.Duration) (*Poller, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	p := Start(fake(t, body), Options{Interval: 10 * time.Millisecond, Timeout: timeout, Retry: 10 * time.Millisecond})
	t.Cleanup(func() { p.Close(); cancel() })
	return p, ctx
}

func TestPoller_good(t *testing.T) {
	p, ctx := poll(t, good, time.Minute)
	r := p.Next(ctx, 0)
	if r.Fault != nil || r.Table == nil || len(r.Table.Devices) != 2 || r.At.IsZero() {
		t.Fatalf("%+v", r)
	}
	if r = p.Next(ctx, r.Calls); r.Calls < 2 {
		t.Errorf("%+v", r)
	}
}

// A tool that hangs is killed with everything it started; the reading says so and asking goes on.
func TestPoller_hangs(t *testing.T) {
	p, ctx := poll(t, `echo x >> $D/count
sleep 97531 & wait`, 200*time.Millisecond)
	r := p.Next(ctx, 1)
	if r.Table != nil || r.Fault == nil || r.Fault.Kind != Silent || !r.Fault.Transient() {
		t.Fatalf("%+v", r.Fault)
	}
	p.Close()
	procs, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range procs {
		if b, _ := os.ReadFile(f); strings.Contains(string(b), "97531") && strings.HasPrefix(string(b), "sleep") {
			t.Errorf("%s still runs: %q", f, b)
		}
	}
}

// Half a table, then death: what was known stays, with its age.
func TestPoller_halfTable(t *testing.T) {
	for name, second := range map[string]string{
		"dies":            "head -n 7 $D/table; exit 3",
		"is cut":          "head -n 7 $D/table",
		"kills itself":    "head -n 7 $D/table; kill -9 $$",
		"prints an error": "echo 'Failed to execute npu-smi info. ret is -8012.'; exit 180",
	} {
		t.Run(name, func(t *testing.T) {
			p, ctx := poll(t, `[ $# = 1 ] || exit 1
if [ -e $D/second ]; then `+second+`; else touch $D/second; cat $D/table; fi`, time.Minute)
			first := p.Next(ctx, 0)
			r := p.Next(ctx, first.Calls)
			if r.Fault == nil || r.Table == nil || len(r.Table.Devices) != 2 || !r.At.Equal(first.At) {
				t.Errorf("%+v\n%+v", r, r.Fault)
			}
		})
	}
	p, ctx := poll(t, "head -n 7 $D/table; exit 3", time.Minute)
	if r := p.Next(ctx, 0); r.Table == nil || len(r.Table.Devices) != 1 || r.Fault == nil {
		t.Errorf("a first half table is better than none: %+v", r)
	}
}

// A tool that prints without end is stopped.
func TestPoller_endless(t *testing.T) {
	p, ctx := poll(t, "exec yes 0123456789012345678901234567890123456789012345678901234567890123456789", time.Minute)
	if r := p.Next(ctx, 0); r.Fault == nil || r.Table != nil {
		t.Errorf("%+v", r)
	}
}

// Only one call runs at a time, whatever the interval.
func TestPoller_oneAtATime(t *testing.T) {
	p, ctx := poll(t, `mkdir $D/lock || echo overlap >> $D/overlap
sleep 0.05
rmdir $D/lock
cat $D/table`, time.Minute)
	p.Watch(4, true)
	p.SetInterval(time.Nanosecond)
	p.Next(ctx, 5)
	p.Close()
	if b, err := os.ReadFile(filepath.Join(filepath.Dir(p.path), "overlap")); err == nil {
		t.Errorf("calls overlap: %s", b)
	}
}

// The loader's complaint is answered with the driver's library path.
func TestPoller_loader(t *testing.T) {
	p, ctx := poll(t, `case "$LD_LIBRARY_PATH" in /usr/local/Ascend/*) exec cat $D/table;; esac
echo "npu-smi: error while loading shared libraries: libc_sec.so: cannot open shared object file" >&2
exit 127`, time.Minute)
	if r := p.Next(ctx, 0); r.Table == nil || r.Fault != nil {
		t.Errorf("%+v", r.Fault)
	}
}

// Details are asked for the watched card only.
func TestPoller_details(t *testing.T) {
	p, ctx := poll(t, `echo "$@" >> $D/calls
case "$*" in
info) exec cat $D/table;;
"info -m") printf 'NPU ID  Chip ID  Chip Logic ID  Chip Name\n4 0 0 Ascend 910B3\n5 0 1 Ascend 910B3\n';;
"info -t topo") printf '   NPU4  NPU5  CPU Affinity\nNPU4 X HCCS 0-23\nNPU5 HCCS X 0-23\n';;
"info -t common -i 5") printf 'NPU ID : 5\n\nChip ID : 0\nAicore curFreq(MHZ) : 800\n';;
*) echo "This device does not support querying it.";;
esac`, time.Minute)
	p.Watch(5, true)
	for r := p.Next(ctx, 0); r.Links == nil || r.Map == nil || len(r.Details) == 0; r = p.Next(ctx, r.Calls) {
		if ctx.Err() != nil {
			t.Fatalf("%+v", r)
		}
	}
	r := p.Latest()
	last := r.Details[len(r.Details)-1]
	if f, ok := last.Find("Aicore CurFreq"); !ok || f.Value != "800" || f.Unit != "MHZ" || r.DetailNPU != 5 || r.Links[1].To[0] != "HCCS" || len(r.Map) != 2 {
		t.Errorf("%+v", r)
	}
	p.Close()
	b, _ := os.ReadFile(filepath.Join(filepath.Dir(p.path), "calls"))
	if strings.Contains(string(b), "-i 4") {
		t.Errorf("asked for a card that nobody looks at:\n%s", b)
	}
}

func TestFind(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Find(""); err == nil || !strings.Contains(err.Error(), "--npu-smi") {
		t.Skipf("npu-smi is installed here, or: %v", err)
	}
	if _, err := Find("/nonexistent/npu-smi"); err == nil || !strings.Contains(err.Error(), "/nonexistent") {
		t.Error(err)
	}
	p := fake(t, good)
	t.Setenv("PATH", filepath.Dir(p))
	if got, err := Find(""); err != nil || got != p {
		t.Error(got, err)
	}
}

func TestFault_Error(t *testing.T) {
	got := fmt.Sprint(&Fault{Says: "a", Text: "b", Try: []string{"c", "d"}})
	if got != "a (b); try: c" {
		t.Error(got)
	}
}
