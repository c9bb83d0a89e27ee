package smi

import (
	"strings"
	"testing"
)

func TestDiagnose_real(t *testing.T) {
	for _, c := range []struct {
		file string
		exit int
		kind Kind
		says string
		try  string
	}{
		{"err-8005-host.txt", 187, Denied, "cannot be reached", "HwHiAiUser"},
		{"err-8005-container.txt", 187, Denied, "cannot be reached", "/dev/davinci_manager"},
		{"err-8005-container-old-driver.txt", 187, Denied, "cannot be reached", "reboot"},
		{"err-8020-device-used.txt", 172, Occupied, "another container", "host"},
		{"err-loader-libc_sec.txt", 127, Loader, "libraries", "LD_LIBRARY_PATH"},
		{"err-loader-libdrvdsmi_host.txt", 127, Loader, "libraries", "LD_LIBRARY_PATH"},
	} {
		f := Diagnose(readSample(t, c.file), c.exit)
		if f.Kind != c.kind || !strings.Contains(f.Says, c.says) || !strings.Contains(strings.Join(f.Try, "\n"), c.try) || f.Text == "" || f.Transient() {
			t.Errorf("%s: %+v", c.file, f)
		}
	}
}

func TestDiagnose(t *testing.T) {
	for _, c := range []struct {
		text string
		exit int
		kind Kind
		says string
	}{
		{"dcmi module initialize failed. ret is -8255\n", 193, Mismatch, "fit"},
		{"npu get board type failed. ret is -1\n", 1, Mismatch, "board"},
		{"There is no NPU card on this server.\n", 0, NoDevice, "no NPU"},
		{"Failed to execute npu-smi info. ret is -8012.\n", 180, Busy, "not ready"},
		{"Failed to execute npu-smi info. ret is -9017.\n", 1, Busy, "upgrade"},
		{"Failed to execute npu-smi info. ret is -8009.\n", 183, Refused, "ioctl"},
		{"sh: npu-smi: command not found\n", 127, Missing, "not found"},
		{"", 1, Garbled, "nothing"},
		{"+-----+\n| npu-smi 25.5.1  Version: 25.5.1 |\n", 0, Garbled, "no device table"},
	} {
		if f := Diagnose(c.text, c.exit); f.Kind != c.kind || !strings.Contains(f.Says, c.says) || len(f.Try) == 0 {
			t.Errorf("%q: %+v", c.text, f)
		}
	}
}

func FuzzDiagnose(f *testing.F) {
	f.Add("DrvMng\ndcmi module initialize failed. ret is -8005", 187)
	f.Add("ret is -99999999999999999999", 0)
	f.Fuzz(func(t *testing.T, s string, exit int) {
		if d := Diagnose(s, exit); d.Says == "" || d.Kind == 0 || len(d.Text) > 1000 {
			t.Errorf("%+v", d)
		}
	})
}
