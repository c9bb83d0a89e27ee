package smi

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Kind sorts failures by what can be done about them.
type Kind uint8

// Kinds of failure.
const (
	Missing  Kind = iota + 1 // there is no npu-smi
	Loader                   // npu-smi does not find the driver's libraries
	Denied                   // the driver cannot be reached: rights, device nodes, module
	Occupied                 // the devices belong to another container
	Mismatch                 // tool and chip do not fit
	NoDevice                 // the driver knows no NPU
	Busy                     // the driver is busy, resetting or upgrading
	Silent                   // no answer within the time-out
	Garbled                  // an answer that is no table
	Refused                  // any other error of the tool
)

// Fault says in words why npu-smi gave no figures, and what to try.
type Fault struct {
	Kind  Kind
	Says  string   // what is wrong, one clause in lower case
	Text  string   // the line of the tool that says so; empty without one
	Found []string // what Probe found wrong on this machine
	Try   []string // what to do, the likeliest first
}

func (f *Fault) Error() string {
	s := f.Says
	if f.Text != "" {
		s += " (" + f.Text + ")"
	}
	if len(f.Try) > 0 {
		s += "; try: " + f.Try[0]
	}
	return s
}

// Transient reports whether the same call may succeed soon by itself.
func (f *Fault) Transient() bool {
	return f.Kind == Busy || f.Kind == Silent || f.Kind == Garbled || f.Kind == Refused
}

// codes are the driver's error codes; npu-smi's own mirror them as -9001 to -9255.
var codes = map[int]string{
	8001: "invalid parameter", 8002: "not permitted", 8003: "memory operation failed", 8004: "secure function failed",
	8005: "inner error", 8006: "time-out", 8007: "invalid device id", 8008: "device does not exist", 8009: "ioctl failed",
	8010: "send failed", 8011: "receive failed", 8012: "not ready", 8013: "not supported in a container",
	8014: "file error", 8015: "reset failed", 8016: "aborted", 8017: "upgrade in progress", 8020: "resource occupied",
	8255: "not supported",
}

var retCode = regexp.MustCompile(`ret is (-?\d+)`)

// Diagnose explains an answer without a device: text is all that the tool printed, exit its status (-1: killed).
func Diagnose(text string, exit int) *Fault {
	line, code := telling(text)
	f := &Fault{Text: line}
	switch {
	case strings.Contains(line, "error while loading shared libraries"):
		f.Kind, f.Says = Loader, "npu-smi does not find the driver's libraries"
		f.Try = []string{"set LD_LIBRARY_PATH=" + driverLibs, "check that the Ascend driver is installed: cat /etc/ascend_install.info"}
	case strings.Contains(line, "initialize") && (code == 8020 || strings.Contains(line, "device is used")):
		f.Kind, f.Says = Occupied, "the devices are in use by another container"
		f.Try = []string{"look on the host, or stop the other container", "share devices by starting both containers privileged"}
	case strings.Contains(line, "initialize") && code == 8255:
		f.Kind, f.Says = Mismatch, "this npu-smi and this chip do not fit together"
		f.Try = []string{"install the npu-smi of the driver that runs (950 needs 25.7 or newer)"}
	case strings.Contains(line, "initialize"):
		f.Kind, f.Says = Denied, "the driver cannot be reached"
		f.Try = deniedAdvice
	case strings.Contains(line, "get board type failed"):
		f.Kind, f.Says = Mismatch, "npu-smi does not know this board"
		f.Try = []string{"update the driver package: the tool is older than the card"}
	case strings.Contains(line, "There is no NPU card") || strings.Contains(line, "Failed to get card number"):
		f.Kind, f.Says = NoDevice, "the driver finds no NPU on this machine"
		f.Try = []string{"lspci -d 19e5: (no line: the card is not on the bus)", "dmesg | grep -i davinci"}
	case code == 8006 || code == 8012 || code == 8015 || code == 8016 || code == 8017:
		f.Kind, f.Says = Busy, "the driver is busy: "+codes[code]
		f.Try = []string{"wait for the reset or upgrade to end", "dmesg | grep -i davinci"}
	case code != 0:
		f.Kind, f.Says = Refused, fmt.Sprintf("the driver refused: %s (-%d)", codeName(code), code)
		f.Try = []string{"dmesg | grep -i davinci"}
	case strings.Contains(line, "command not found") || exit == 127:
		f = missing()
		f.Text = line
	case strings.TrimSpace(text) == "":
		f.Kind, f.Says = Garbled, fmt.Sprintf("npu-smi printed nothing (exit status %d)", exit)
		f.Try = []string{"run npu-smi info by hand"}
	default:
		f.Kind, f.Says = Garbled, fmt.Sprintf("npu-smi printed no device table (exit status %d)", exit)
		f.Try = []string{"run npu-smi info by hand"}
	}
	return f
}

// deniedAdvice is in the order of likelihood; Probe checks what it can by itself.
var deniedAdvice = []string{
	"run as root, or join the group: sudo usermod -aG HwHiAiUser $USER",
	"in a container, pass the devices: --device /dev/davinci0 --device /dev/davinci_manager --device /dev/devmm_svm --device /dev/hisi_hdc",
	"load the driver, or reboot after its upgrade: lsmod | grep drv_",
	"install firmware and driver in the vendor's order",
}

func missing() *Fault {
	return &Fault{Kind: Missing, Says: "npu-smi was not found in PATH nor in " + strings.Join(places, ", "),
		Try: []string{"install the Ascend driver, or name the tool: --npu-smi PATH",
			"in a container, mount /usr/local/bin/npu-smi, /usr/local/dcmi and /usr/local/Ascend/driver"}}
}

func silent(seconds float64) *Fault {
	return &Fault{Kind: Silent, Says: fmt.Sprintf("npu-smi does not answer within %.3g s", seconds),
		Try: []string{"dmesg | grep -i davinci (a hung driver, or a device in reset)", "ps -ef | grep npu-smi"}}
}

func codeName(code int) string {
	if s, ok := codes[code]; ok {
		return s
	}
	return "unknown code"
}

// telling picks the line that says most, and the error code in it (8005 for both -8005 and -9005).
func telling(text string) (line string, code int) {
	best := -1
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		rank := 0
		switch {
		case l == "" || strings.HasPrefix(l, "+") || strings.HasPrefix(l, "|"):
			continue
		case strings.Contains(l, "ConsoleLogLevel"):
			continue // always precedes another line that says more
		case strings.Contains(l, "initialize") || strings.Contains(l, "shared libraries"):
			rank = 3
		case strings.Contains(l, "There is no NPU") || strings.Contains(l, "Failed to get card number"):
			rank = 2
		case retCode.MatchString(l):
			rank = 2
		}
		if rank > best {
			best, line = rank, l
		}
	}
	if m := retCode.FindStringSubmatch(line); m != nil {
		code, _ = strconv.Atoi(strings.TrimPrefix(m[1], "-"))
		if code >= 9001 && code <= 9255 {
			code -= 1000
		}
	}
	if r := []rune(line); len(r) > 200 {
		line = string(r[:200]) + "…"
	}
	return line, code
}
