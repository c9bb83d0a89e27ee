package top

import (
	"cmp"
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"npu/internal/runtime/telemetry"
)

// runsName is the name of the source of simulated devices: the runs of this tool on this machine.
const runsName = "simulator"

// Lister gives what the live runs on this machine say of themselves, each with its pid. It must be quick.
type Lister func() ([]*telemetry.Snapshot, error)

// Runs is the source of simulated devices. Rates are per device time: a run that computes slowly is not less busy.
type Runs struct {
	list Lister
	host *hostReader
	stop chan struct{}
	done sync.WaitGroup
	wake chan time.Duration

	mu    sync.Mutex // guards below
	last  *Frame
	fresh chan struct{} // closed with the next frame
	past  map[pastKey]counters
}

// pastKey is one device of one run.
type pastKey struct {
	pid     int
	started int64
	device  int
}

// counters is what a device's figures were when they last moved, and the rates that came of it.
type counters struct {
	ns    int64
	busy  []int64
	moved uint64
	util  []float64 // per cent, by engine
	rate  float64   // bytes a second
}

// NewRuns looks at the runs now and then at each interval.
func NewRuns(list Lister, interval time.Duration) *Runs {
	r := &Runs{list: list, host: newHostReader("/proc"), stop: make(chan struct{}), wake: make(chan time.Duration, 1), fresh: make(chan struct{}), past: map[pastKey]counters{}}
	r.look()
	r.done.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				r.look()
			case d := <-r.wake:
				tick.Reset(d)
			case <-r.stop:
				return
			}
		}
	})
	return r
}

// Latest is the newest frame.
func (r *Runs) Latest() *Frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// Next waits for the next look.
func (r *Runs) Next(ctx context.Context, seq int) *Frame {
	for {
		r.mu.Lock()
		f, fresh := r.last, r.fresh
		r.mu.Unlock()
		if f.Seq > seq {
			return f
		}
		select {
		case <-fresh:
		case <-ctx.Done():
			return f
		}
	}
}

// Interval sets the time between two looks.
func (r *Runs) Interval(d time.Duration) {
	select {
	case <-r.wake: // a wish that was not seen yet
	default:
	}
	select {
	case r.wake <- d:
	default:
	}
}

// Watch has no effect: everything is known at once.
func (r *Runs) Watch(*Key) {}

// Close ends the looks.
func (r *Runs) Close() {
	close(r.stop)
	r.done.Wait()
}

func (r *Runs) look() {
	start := time.Now()
	runs, err := r.list()
	now := time.Now()
	f := &Frame{Time: now, Sources: []Status{{Name: runsName, State: Live, At: now, Took: now.Sub(start)}}}
	if err != nil {
		s := &f.Sources[0]
		s.State, s.Says, s.At = Failed, err.Error(), time.Time{}
		f.Processes.Why, f.Streams.Why, f.Memory.Why, f.Operators.Why = s.Says, s.Says, s.Says, s.Says
	}
	r.fill(f, runs)
	r.mu.Lock()
	defer r.mu.Unlock()
	f.Seq = 1
	if r.last != nil {
		f.Seq = r.last.Seq + 1
	}
	r.last = f
	close(r.fresh)
	r.fresh = make(chan struct{})
}

// chips numbers the kinds of chip: devices of different kinds may have the same number.
func chips(runs []*telemetry.Snapshot) []string {
	var names []string
	for _, s := range runs {
		for _, d := range s.Devices {
			if !slices.Contains(names, d.Chip) {
				names = append(names, d.Chip)
			}
		}
	}
	slices.Sort(names)
	return names
}

func (r *Runs) fill(f *Frame, runs []*telemetry.Snapshot) {
	kinds := chips(runs)
	kind := func(s *telemetry.Snapshot, device int) Value {
		for _, d := range s.Devices {
			if d.ID == device && len(kinds) > 1 {
				return Num(float64(slices.Index(kinds, d.Chip)))
			}
		}
		return Unknown("a simulated card is one chip")
	}
	next := map[pastKey]counters{}
	seen := r.host.begin()
	for _, s := range runs {
		name := s.Program
		for i := range s.Devices {
			d := &s.Devices[i]
			k := pastKey{s.PID, s.Started, d.ID}
			c := rates(r.past[k], d)
			next[k] = c
			chip := kind(s, d.ID)
			addDevice(f, d, c, chip)
			p := Process{Source: runsName, NPU: d.ID, Chip: chip, PID: s.PID, ContainerPID: Unknown("runs of npu show their own pid"), Name: comm(s.PID), Mem: mib(d.InUse),
				Streams: Num(float64(streamsOf(s, d.ID)))}
			seen.fill(&p)
			p.Name = cmp.Or(name, p.Name)
			f.Processes.Rows = append(f.Processes.Rows, p)
			f.Memory.Rows = append(f.Memory.Rows, Memory{Source: runsName, NPU: d.ID, Chip: chip, Owner: cmp.Or(name, "run"), PID: Num(float64(s.PID)), Size: mib(d.InUse), Peak: mib(d.Peak), Blocks: Num(float64(d.Blocks))})
		}
		for _, st := range s.Streams {
			o := Stream{Source: runsName, NPU: st.Device, Chip: kind(s, st.Device), PID: s.PID, ID: int(st.ID), State: st.State.String(), Waits: Text{S: st.Waits},
				Depth: Num(float64(st.Depth)), Tasks: Num(float64(st.Tasks)), Priority: Num(float64(st.Priority))}
			if st.Waits == "" {
				o.Waits.Why = "it waits for nothing"
			}
			f.Streams.Rows = append(f.Streams.Rows, o)
		}
		f.Operators.Rows = append(f.Operators.Rows, operators(s, kind)...)
	}
	seen.end()
	r.past = next
	slices.SortStableFunc(f.Devices, func(a, b Device) int { return cmp.Or(cmp.Compare(a.NPU, b.NPU), cmp.Compare(a.Chip.N, b.Chip.N)) })
	for i := range f.Devices {
		d := &f.Devices[i]
		d.Index = i
		d.HBM.Used, d.Util = figure(d.HBM.Used.N), figure(d.Util.N)
		if d.Bandwidth.Known {
			d.Bandwidth = figure(d.Bandwidth.N)
		}
		for j := range d.Engines {
			d.Engines[j].Util = figure(d.Engines[j].Util.N)
		}
		f.Memory.Rows = append(f.Memory.Rows, Memory{Source: runsName, NPU: d.NPU, Chip: d.Chip, Owner: "free", PID: Unknown("not a process"),
			Size: Num(max(0, d.HBM.Total.N-d.HBM.Used.N)), Peak: Unknown("free memory has no maximum"), Blocks: Unknown("free memory has no blocks")})
	}
}

// comm is what the host calls a process.
func comm(pid int) string {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// figure is a number with no more digits than it is worth.
func figure(x float64) Value { return Num(math.Round(x*10) / 10) }

func mib(n uint64) Value { return figure(float64(n) / (1 << 20)) }

func streamsOf(s *telemetry.Snapshot, device int) int {
	n := 0
	for _, st := range s.Streams {
		if st.Device == device {
			n++
		}
	}
	return n
}

// rates is what a device did since its figures last moved; without a past, since its start.
func rates(old counters, d *telemetry.Device) counters {
	if len(old.busy) != len(d.Engines) || d.Ns < old.ns {
		old = counters{busy: make([]int64, len(d.Engines))}
	}
	c := counters{ns: d.Ns, moved: d.Moved}
	dt := float64(d.Ns - old.ns)
	for i, e := range d.Engines {
		c.busy = append(c.busy, e.BusyNs)
		u := 0.0
		if dt > 0 && e.Units > 0 {
			u = 100 * float64(e.BusyNs-old.busy[i]) / dt / float64(e.Units)
		}
		c.util = append(c.util, min(100, max(0, u)))
	}
	if dt > 0 && d.Moved >= old.moved {
		c.rate = float64(d.Moved-old.moved) / dt * 1e9
	}
	return c
}

// addDevice adds what one run does on a device to that device.
func addDevice(f *Frame, d *telemetry.Device, c counters, chip Value) {
	i := slices.IndexFunc(f.Devices, func(o Device) bool { return o.NPU == d.ID && o.Chip.N == chip.N })
	if i < 0 {
		none := "a simulated device has none"
		o := Device{Source: runsName, NPU: d.ID, Chip: chip, Phy: Num(float64(d.ID)), Logic: Num(float64(d.ID)), Name: d.Chip, Health: "OK", Bus: Text{Why: none},
			Power: Unknown("power is not simulated"), Temp: Unknown("temperature is not simulated"), Util: Num(0), UtilKind: "aicore",
			Memory: Pair{Unknown(none), Unknown(none)}, HBM: Pair{Num(0), mib(d.Total)}, Hugepages: Pair{Unknown(none), Unknown(none)},
			Bandwidth: Num(0), Faults: Num(0)}
		if d.Bandwidth == 0 {
			o.Bandwidth = Unknown("the bandwidth of this chip is not known")
		}
		for _, e := range d.Engines {
			o.Engines = append(o.Engines, Engine{e.Name, Num(0)})
		}
		f.Devices = append(f.Devices, o)
		i = len(f.Devices) - 1
	}
	o := &f.Devices[i]
	o.HBM.Used.N += float64(d.InUse) / (1 << 20)
	o.HBM.Total.N = max(o.HBM.Total.N, float64(d.Total)/(1<<20))
	if d.Bandwidth > 0 {
		o.Bandwidth = Num(min(100, o.Bandwidth.N+100*c.rate/float64(d.Bandwidth)))
	}
	if o.Faults.N += float64(d.Faults); o.Faults.N > 0 {
		o.Health = "Warning"
	}
	for j := range o.Engines {
		if j < len(c.util) {
			o.Engines[j].Util.N = min(100, o.Engines[j].Util.N+c.util[j])
		}
		if n := o.Engines[j].Name; n == "cube" || n == "vector" {
			o.Util.N = max(o.Util.N, o.Engines[j].Util.N)
		}
	}
}

// operators are a run's, with their share of the device time of all that it names.
func operators(s *telemetry.Snapshot, kind func(*telemetry.Snapshot, int) Value) []Operator {
	total := int64(0)
	for _, o := range s.Operators {
		total += o.Ns
	}
	var out []Operator
	for _, o := range s.Operators {
		x := Operator{Source: runsName, NPU: o.Device, Chip: kind(s, o.Device), PID: s.PID, Name: o.Name, Type: o.Type, Count: Num(float64(o.Count)),
			Total: Num(float64(o.Ns) / 1000), Mean: Unknown("it has not run"), Share: Unknown("nothing has run")}
		if o.Count > 0 {
			x.Mean = figure(float64(o.Ns) / 1000 / float64(o.Count))
		}
		if total > 0 {
			x.Share = figure(100 * float64(o.Ns) / float64(total))
		}
		out = append(out, x)
	}
	return out
}
