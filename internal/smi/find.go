package smi

import (
	"fmt"
	"os"
	"os/exec"

	"npu/internal/problem"
)

// places is where driver packages put the tool.
var places = []string{"/usr/local/bin/npu-smi", "/usr/local/sbin/npu-smi"}

// Find returns the path of npu-smi: the given one, else that in PATH, else that of the usual places. A given path that
// is no program is a usage error; otherwise the error is a Fault of kind Missing.
func Find(given string) (string, error) {
	if given != "" {
		p, err := exec.LookPath(given)
		if err != nil {
			return "", problem.Usagef("--npu-smi %s: %w", given, err)
		}
		return p, nil
	}
	if p, err := exec.LookPath("npu-smi"); err == nil {
		return p, nil
	}
	for _, p := range places {
		if p, err := exec.LookPath(p); err == nil {
			return p, nil
		}
	}
	return "", missing()
}

// Probe checks by itself what the advice for an unreachable driver names, and returns what it found wrong.
func Probe() []string {
	var out []string
	for _, n := range []string{"/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc"} {
		f, err := os.OpenFile(n, os.O_RDWR, 0)
		switch {
		case err == nil:
			f.Close()
		case os.IsNotExist(err):
			out = append(out, n+" does not exist")
		case os.IsPermission(err):
			out = append(out, fmt.Sprintf("no right to open %s (uid %d)", n, os.Getuid()))
		}
	}
	if _, err := os.Stat("/etc/ascend_install.info"); os.IsNotExist(err) {
		out = append(out, "/etc/ascend_install.info does not exist: no driver is installed here")
	}
	return out
}
