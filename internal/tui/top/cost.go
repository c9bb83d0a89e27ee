package top

import (
	"syscall"
	"time"
)

// costMeter measures what this program itself takes of a core.
type costMeter struct {
	at    time.Time
	used  time.Duration
	share Value // per cent
}

// look takes a measurement each five seconds.
func (c *costMeter) look(now time.Time) {
	if !c.at.IsZero() && now.Sub(c.at) < 5*time.Second {
		return
	}
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return
	}
	used := time.Duration(r.Utime.Nano() + r.Stime.Nano())
	if !c.at.IsZero() {
		c.share = Num(100 * float64(used-c.used) / float64(now.Sub(c.at)))
	}
	c.at, c.used = now, used
}
