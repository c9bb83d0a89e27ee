package ascend

import (
	"testing"

	"npu/internal/trace"
)

func TestNanos(t *testing.T) {
	for _, tt := range []struct {
		text string
		unit int64
		want int64
		ok   bool
	}{
		{"1784177144514943.513\t", 1000, 1784177144514943513, true},
		{" \"12\" ", 1000, 12000, true},
		{"607.98", 1000, 607980, true},
		{"-0.5", 1000, -500, true},
		{"0.0019", 1000, 1, true},
		{".5", 1000, 500, true},
		{"5.", 1000, 5000, true},
		{"1.5e3", 1000, 1500000, true},
		{"1699529622790614.8", 1000, 1699529622790614800, true},
		{"25e-1", 1000, 2500, true},
		{"49.999001", 1_000_000, 49999001, true},
		{"9223372036854775.807", 1000, 9223372036854775807, true},
		{"9223372036854775.808", 1000, 0, false},
		{"99999999999999999999", 1, 0, false},
		{"1e99", 1, 0, false}, {"1e", 1, 0, false}, {"1e9999999", 1, 0, false},
		{"", 1, 0, false}, {".", 1, 0, false}, {"N/A", 1, 0, false}, {"1x", 1, 0, false}, {"1.x", 1, 0, false}, {"0x10", 1, 0, false}, {"-", 1, 0, false},
	} {
		if got, ok := Nanos(tt.text, tt.unit); got != tt.want || ok != tt.ok {
			t.Errorf("Nanos(%q, %d) = %d, %v, want %d, %v", tt.text, tt.unit, got, ok, tt.want, tt.ok)
		}
	}
}

func TestKind(t *testing.T) {
	w := NewWords()
	for word, want := range map[string]trace.Kind{
		"Notify Wait": trace.NotifyWait, "NOTIFY_WAIT_SQE": trace.NotifyWait, "Write Value": trace.ValueWrite, "KERNEL_AIVEC": trace.KernelAIVector,
		"MIX_AIV": trace.KernelMixAIV, "STARS_COMMON": trace.Other, "": trace.Other,
	} {
		if got, _ := Kind(word); got != want {
			t.Errorf("%q is %v, want %v", word, got, want)
		}
		for range 2 {
			if got, _ := w.Kind(word); got != want {
				t.Errorf("%q is %v, want %v", word, got, want)
			}
		}
	}
	if k, e, ok := Kernel(trace.KernelAICore, "AI_VECTOR_CORE"); k != trace.KernelAIVector || e != trace.EngineVector || !ok {
		t.Errorf("%v %v %v", k, e, ok)
	}
}

func FuzzNanos(f *testing.F) {
	for _, s := range []string{"1.5", "-7e3", "99999999999999", "1e-40", "\t"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, s string) { Nanos(s, 1000) })
}
