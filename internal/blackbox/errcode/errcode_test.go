package errcode

import (
	"bytes"
	"strings"
	"testing"
)

func TestTablesLoad(t *testing.T) {
	c := load()
	for name, n := range map[string][2]int{"acl": {len(c.acl), 190}, "inner": {len(c.inner), 400}, "ts": {len(c.ts), 195}, "drv": {len(c.drv), 95},
		"aicpu": {len(c.aicpu), 25}, "messages": {len(c.messages), 80}, "events": {len(c.events), 20}, "modules": {len(c.modules), 30},
		"reasons": {len(c.reasons), 35}, "exception": {len(c.exception), 9}, "guidance": {len(c.guidance), 20}} {
		if n[0] < n[1] {
			t.Errorf("table %s has %d rows, expected at least %d", name, n[0], n[1])
		}
	}
	for k, e := range c.messages {
		if e.Meaning == "" || c.guidance[e.Class] == [2]string{} {
			t.Errorf("message %s: meaning %q, class %q without guidance", k, e.Meaning, e.Class)
		}
	}
	for k, e := range c.acl {
		if _, ok := c.guidance[e.Class]; !ok {
			t.Errorf("%d: class %q without guidance", k, e.Class)
		}
	}
}

func TestLookup(t *testing.T) {
	for _, c := range []struct{ query, kind, want string }{
		{"507015", "acl", "AICORE_EXCEPTION"},
		{"107002", "acl", "CONTEXT_NULL"},
		{"0x26", "scheduler", "AICORE_EXCEPTION"},
		{"0x7150026", "inner", "becomes 507015"},
		{"0x0715005e", "inner", "becomes 507035"},
		{"InnerCode=0x7150050", "inner", "becomes 507011"},
		{"EZ9999", "message", "AI core"},
		{"ee1001", "message", "argument"},
		{"EZ1234", "message", "operator"},
		{"0x800000", "error_bit", "mte_biu_rdwr_resp"},
		{"(0, 0x200000000000000, 0)", "error_bit", "ccu_mpu_err"},
		{"(0x200000000000000, 0, 0)", "error_bit", "vec_neg_ln"},
		{"errcode:(0,0,0)", "error_word", "time-out"},
		{"74, 259", "error_bit", "mte_write_overflow"},
		{"bit 79", "error_bit", "ccu_bus_err"},
		{"ccu_mpu_err", "error_bit", "memory protection"},
		{"drvRetCode=17", "driver", "ioctl"},
		{"17", "driver", "ioctl"},
		{"11005", "aicpu", "kernel's own code"},
		{"0x80E01801", "event", "multi-bit ECC"},
		{"0xb4060006", "exception_id", "module TS"},
		{"ACL_ERROR_RT_STREAM_CONTEXT", "acl", "another context"},
		{"0x7BC83", "acl", "MODEL_EXECUTE"},
		{"TS_EXCEPTION", "reason", "task scheduler"},
	} {
		es := Lookup(c.query)
		if len(es) == 0 {
			t.Errorf("%s: nothing found", c.query)
			continue
		}
		var b bytes.Buffer
		if err := Write(&b, es); err != nil {
			t.Fatal(err)
		}
		found := false
		for _, e := range es {
			var one bytes.Buffer
			if err := Write(&one, []Entry{e}); err != nil {
				t.Fatal(err)
			}
			found = found || e.Kind == c.kind && strings.Contains(one.String(), c.want)
		}
		if !found {
			t.Errorf("%s: no %s entry with %q in\n%s", c.query, c.kind, c.want, b.String())
		}
	}
	for _, q := range []string{"", "nonsense-name", "EZ", "0xzz", ",,,", "bitx"} {
		if es := Lookup(q); len(es) != 0 {
			t.Errorf("%q: found %v", q, es)
		}
	}
}

func FuzzLookup(f *testing.F) {
	for _, s := range []string{"507015", "0x26", "(0x1,2,3)", "bit9999999999", "drvRetCode=", "=", "EZ9999:", "-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if err := Write(&bytes.Buffer{}, Lookup(s)); err != nil {
			t.Fatal(err)
		}
	})
}
