package top

import (
	"errors"
	"time"

	"npu/internal/smi"
)

// Open finds the sources of this machine: a recording if one is named, else npu-smi and the runs of this tool that list
// gives; nil for none. warn is about a recording that is damaged behind some frame. A machine without npu-smi is no
// error: its source says so.
func Open(recording, npuSMI string, list Lister, interval time.Duration) (src Source, warn, err error) {
	if recording != "" {
		r, warn, err := OpenRecording(recording)
		if err != nil {
			return nil, nil, err
		}
		return r, warn, nil
	}
	path, err := smi.Find(npuSMI)
	var missing *smi.Fault
	switch {
	case errors.As(err, &missing):
		src = NewNone(smiName, missing.Says, missing.Try)
	case err != nil:
		return nil, nil, err
	default:
		src = NewSMI(path, interval)
	}
	if list != nil {
		src = Merge(src, NewRuns(list, interval))
	}
	return src, nil, nil
}
