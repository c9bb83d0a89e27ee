package bench

import (
	"cmp"
	"fmt"
	"strings"

	"npu/internal/runtime"
	"npu/internal/sim"
	"npu/internal/sim/soc"
	"npu/internal/trace"
)

// What the picture of pre-emption shows: kernels of some waves of blocks on a stream of low priority, and one wave of a
// high priority that is launched behind them.
const (
	blockNs  = 50_000
	waves    = 6       // of a low kernel
	lows     = 2       // low kernels
	arriveNs = 115_000 // of the high kernel, behind the begin of the first low one
)

// cores is how many blocks run at a time.
func cores(c *soc.Chip) int { return c.CubeUnits() }

// Preempted is what happened to a kernel of high priority under one policy.
type Preempted struct {
	Policy   sim.Policy
	From, To int64 // of the picture
	Low      []trace.Task
	High     trace.Task
}

// WaitNs is how long the high kernel waited from its arrival to its first block.
func (p *Preempted) WaitNs() int64 { return p.High.Start - p.High.Submit }

// Preempt runs low kernels that fill the device, and a high one behind them.
func Preempt(chip *soc.Chip, policy sim.Policy) (*Preempted, error) {
	rec := trace.NewRecorder()
	r, err := newRig(chip, func(c *runtime.Config) { c.Policy, c.Recorder = policy, rec })
	if err != nil {
		return nil, err
	}
	if err = cmp.Or(r.preempt(uint32(cores(chip))), r.close()); err != nil {
		return nil, err
	}
	t := rec.Finish()
	p := &Preempted{Policy: policy}
	for _, k := range t.Tasks.All() {
		switch t.String(k.Name) {
		case "low":
			if p.To = max(p.To, k.End); len(p.Low) == 0 {
				p.From = k.Submit
			}
			p.Low = append(p.Low, k)
		case "high":
			p.High = k
			p.To = max(p.To, k.End)
		}
	}
	return p, nil
}

func (r *rig) preempt(cores uint32) error {
	low, err := r.th.CreateStream(runtime.StreamConfig{Name: "low", Priority: 7})
	if err != nil {
		return err
	}
	high, err := r.th.CreateStream(runtime.StreamConfig{Name: "high", Priority: 0})
	if err != nil {
		return err
	}
	long, err := r.th.NewKernel("low", trace.KernelAICore, waves*cores, blockNs, nil)
	if err != nil {
		return err
	}
	short, err := r.th.NewKernel("high", trace.KernelAICore, cores, blockNs, nil)
	if err != nil {
		return err
	}
	begin := r.th.Clock()
	for range lows {
		if err := r.th.LaunchKernel(long, nil, low); err != nil {
			return err
		}
	}
	r.th.Work(begin + arriveNs - r.th.Clock())
	if err := r.th.LaunchKernel(short, nil, high); err != nil {
		return err
	}
	return r.sync(high, low)
}

// Preemption draws both policies, one below the other, at the same scale.
func Preemption(chip *soc.Chip, width int, unicode bool) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "a high-priority kernel (1 wave of %d blocks of %d µs) behind low-priority ones (%d waves each)\n", cores(chip), blockNs/1000, waves)
	pen := newPen(unicode)
	for _, policy := range []sim.Policy{sim.Preempt, sim.Reference} {
		p, err := Preempt(chip, policy)
		if err != nil {
			return "", err
		}
		const name = 5
		fmt.Fprintf(&b, "\npolicy %s: the high kernel starts %s after its launch\n", policy, nsText(float64(p.WaitNs())))
		column := (p.To - p.From + int64(width-name) - 1) / int64(width-name)
		fmt.Fprintf(&b, "%-*s%s%s\n%-*s%s%s\n", name-1, "high", pen.axis, pen.lane(p, column, p.high), name-1, "low", pen.axis, pen.lane(p, column, p.low))
		fmt.Fprintf(&b, "%-*s%s is running, %s waits; a column is %s\n", name, "", pen.full, pen.idle, nsText(float64(column)))
	}
	return b.String(), nil
}

// doing is what a stream does at a time.
type doing uint8

const (
	nothing doing = iota
	waits
	runs
)

// lane draws a stream from what it does in the middle of each column.
func (p pen) lane(x *Preempted, column int64, at func(t int64) doing) string {
	var b strings.Builder
	for t := x.From + column/2; t < x.To; t += column {
		b.WriteString([...]string{" ", p.idle, p.full}[at(t)])
	}
	return strings.TrimRight(b.String(), " ")
}

func (p *Preempted) high(t int64) doing {
	switch {
	case t < p.High.Submit || t >= p.High.End:
		return nothing
	case t < p.High.Start:
		return waits
	}
	return runs
}

// low: the high kernel needs every core, so nothing else runs beside it.
func (p *Preempted) low(t int64) doing {
	d := nothing
	for _, k := range p.Low {
		switch {
		case t >= k.Start && t < k.End:
			d = runs
		case t >= k.Submit && t < k.Start && d == nothing:
			d = waits
		}
	}
	if d == runs && t >= p.High.Start && t < p.High.End {
		d = waits
	}
	return d
}
