package bench

import (
	"runtime/debug"
	"syscall"
)

// countsPages says that this system tells how many pages a process touched for the first time.
const countsPages = true

// Bursts that are watched for new pages: pageGroups times pageBursts.
const (
	pageGroups = 5
	pageBursts = 4
)

// newPages is how many pages of memory an operation touches that the process did not have yet, which costs as much as
// thousands of additions each: minor faults of all threads, with the collector at rest. It is the median over groups of
// bursts, since Go makes a stack for a goroutine now and then.
func newPages(p *probe) (float64, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var groups [pageGroups]float64
	var from, to syscall.Rusage
	for i := range groups {
		var m meter
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &from); err != nil {
			return 0, err
		}
		for range pageBursts {
			if err := p.burst(&m); err != nil {
				return 0, err
			}
		}
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &to); err != nil {
			return 0, err
		}
		groups[i] = float64(to.Minflt-from.Minflt) / float64(m.ops)
	}
	return median(groups[:]), nil
}
