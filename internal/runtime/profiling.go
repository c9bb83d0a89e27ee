package runtime

import (
	"fmt"
	"slices"
)

// ProfMetrics is the group of events that the cores count while they are profiled, numbered as aclprofAicoreMetrics.
type ProfMetrics int

// Groups of events.
const (
	ProfArithmetic      ProfMetrics = 0
	ProfPipe            ProfMetrics = 1
	ProfMemoryBandwidth ProfMetrics = 2
	ProfL0              ProfMetrics = 3
	ProfConflict        ProfMetrics = 4
	ProfMemoryUB        ProfMetrics = 5
	ProfL2Cache         ProfMetrics = 6
	ProfPipeExecute     ProfMetrics = 7
	ProfMemoryAccess    ProfMetrics = 8
	ProfNoMetrics       ProfMetrics = 0xFF
)

// ProfMask says what is profiled, in the bits of aclprofCreateConfig.
type ProfMask uint64

// Bits of a mask.
const (
	ProfACLAPI        ProfMask = 0x1
	ProfTaskTime      ProfMask = 0x2
	ProfAICoreMetrics ProfMask = 0x4
	ProfTX            ProfMask = 0x80 // marks and ranges of the user
	ProfRuntimeAPI    ProfMask = 0x100

	profAllBits ProfMask = 0xC0100FBFF
)

// Bounds of the profiling calls, in bytes.
const (
	profPathMax   = 4096
	profConfigMax = 256
)

// ProfOptions is what a ProfConfig is made of. Of the domains of marks only those of Include are kept, or all but
// those of Exclude; the marks that name no domain are of DefaultDomain. One of the lists must be empty.
type ProfOptions struct {
	Devices          []int
	Metrics          ProfMetrics
	Mask             ProfMask
	Include, Exclude []string
}

// ProfConfig says what is profiled on which devices (aclprofConfig).
type ProfConfig struct{ opts ProfOptions }

// profiling is the process's own profiling, under Port.Call. What happens is recorded whether it runs or not, since
// the trace of the simulator costs the program no time; it decides over marks, and the rules of the calls are kept.
type profiling struct {
	path     string // empty: not initialised
	byFile   bool   // the file of aclInit has switched it on
	settings map[int]string
	running  []*ProfConfig // on different devices
	session  uint64        // counts the times that it has begun to run
	ranges   map[RangeID]openMark
	lastID   RangeID

	subscribed int // models
}

// run begins a session, or takes one more device into it.
func (p *profiling) run(c *ProfConfig) {
	if len(p.running) == 0 {
		p.session++
	}
	p.running = append(p.running, c)
}

// halt ends what c runs; the ranges that are open when nothing runs any more were never ended.
func (p *profiling) halt(c *ProfConfig) bool {
	i := slices.Index(p.running, c)
	if i < 0 {
		return false
	}
	if p.running = slices.Delete(p.running, i, i+1); len(p.running) == 0 {
		clear(p.ranges)
	}
	return true
}

// end gives everything back but the subscriptions.
func (p *profiling) end() {
	for len(p.running) > 0 {
		p.halt(p.running[0])
	}
	p.path, p.byFile, p.settings = "", false, nil
}

// busy is the device of c that another configuration profiles; -1 for none.
func (p *profiling) busy(c *ProfConfig) int {
	for _, r := range p.running {
		for _, d := range c.opts.Devices {
			if slices.Contains(r.opts.Devices, d) {
				return d
			}
		}
	}
	return -1
}

// profRefusal is why a call cannot be; its zero value is none.
type profRefusal struct {
	code         Code
	detail, hint string
}

func (p *profiling) byOthers() profRefusal {
	switch {
	case p.byFile:
		return profRefusal{ProfAlreadyRun, "the file of aclInit has switched profiling on", "take its profiler section away, or do not call aclprof"}
	case p.subscribed > 0:
		return profRefusal{ProfAPIConflict, fmt.Sprintf("%d models are subscribed with aclprofModelSubscribe", p.subscribed), "unsubscribe them first"}
	}
	return profRefusal{}
}

func notInitialised() profRefusal {
	return profRefusal{ProfNotRun, "profiling is not initialised", "call aclprofInit first"}
}

// profile runs f on the state of profiling at the thread's clock, and makes an error of its answer.
func (th *Thread) profile(c call, f func(p *profiling) profRefusal) (err error) {
	t := th.begin(c)
	defer func() { th.end(c, t, err) }()
	if err = th.forbidden(c); err != nil {
		return err
	}
	var no profRefusal
	if err = th.port.Call(func() { no = f(&th.rt.profiling) }); err != nil {
		return th.blocked(c.name, nil, err)
	}
	if no.code != 0 {
		return th.fail(no.code, c.name, no.detail, no.hint)
	}
	return nil
}

// ProfInit prepares profiling whose results belong to a path of 1 to 4096 bytes (aclprofInit). 100042: it is prepared
// already, also by the file of Init; 148047: a model is subscribed. The rows themselves go to Config.Recorder.
func (th *Thread) ProfInit(path string) error {
	return th.profile(callProfInit, func(p *profiling) profRefusal {
		no := p.byOthers()
		switch {
		case path == "" || len(path) > profPathMax:
			return profRefusal{ACLInvalidParam, fmt.Sprintf("a path of %d bytes", len(path)), fmt.Sprintf("give 1 to %d", profPathMax)}
		case no.code != 0:
			return no
		case p.path != "":
			return profRefusal{ProfAlreadyRun, "profiling is initialised already", "call aclprofFinalize first"}
		}
		p.path = path
		return profRefusal{}
	})
}

// CreateProfConfig makes a configuration (aclprofCreateConfig). 100000 names what in it is wrong.
func (th *Thread) CreateProfConfig(o ProfOptions) (*ProfConfig, error) {
	bad := func(detail, hint string) (*ProfConfig, error) {
		return nil, th.fail(ACLInvalidParam, "aclprofCreateConfig", detail, hint)
	}
	if len(o.Devices) == 0 {
		return bad("no device", "name the devices to profile")
	}
	for i, d := range o.Devices {
		if d < 0 || d >= len(th.rt.devices) {
			return bad(fmt.Sprintf("device %d", d), fmt.Sprintf("the range is [0, %d)", len(th.rt.devices)))
		}
		if slices.Contains(o.Devices[:i], d) {
			return bad(fmt.Sprintf("device %d stands there twice", d), "")
		}
	}
	switch {
	case (o.Metrics < ProfArithmetic || o.Metrics > ProfMemoryAccess) && o.Metrics != ProfNoMetrics:
		return bad(fmt.Sprintf("metrics %d", o.Metrics), "give 0 to 8, or 0xFF for none")
	case o.Mask&^profAllBits != 0:
		return bad(fmt.Sprintf("mask 0x%x has unknown bits 0x%x", uint64(o.Mask), uint64(o.Mask&^profAllBits)), "")
	case len(o.Include) > 0 && len(o.Exclude) > 0:
		return bad("domains to include and domains to exclude", "give one of the lists")
	}
	o.Devices, o.Include, o.Exclude = slices.Clone(o.Devices), slices.Clone(o.Include), slices.Clone(o.Exclude)
	return &ProfConfig{o}, nil
}

// SetProfConfig keeps a setting of up to 256 bytes for the next start (aclprofSetConfig). The settings are of the
// sampling of real hardware; the simulated one needs none of them.
func (th *Thread) SetProfConfig(kind int, text string) error {
	return th.profile(callProfSet, func(p *profiling) profRefusal {
		switch {
		case kind <= 0 || text == "" || len(text) > profConfigMax:
			return profRefusal{ACLInvalidParam, fmt.Sprintf("setting %d of %d bytes", kind, len(text)), fmt.Sprintf("give a type above 0 and 1 to %d bytes", profConfigMax)}
		case p.path == "":
			return notInitialised()
		}
		if p.settings == nil {
			p.settings = map[int]string{}
		}
		p.settings[kind] = text
		return profRefusal{}
	})
}

// ProfStart begins to profile (aclprofStart). 100043: ProfInit was not called; 100042: one of the devices is profiled
// already; 148047: a model is subscribed.
func (th *Thread) ProfStart(c *ProfConfig) error {
	return th.profile(callProfStart, func(p *profiling) profRefusal {
		no := p.byOthers()
		switch {
		case c == nil:
			return profRefusal{ACLInvalidParam, "configuration is null", ""}
		case no.code != 0:
			return no
		case p.path == "":
			return notInitialised()
		case p.busy(c) >= 0:
			return profRefusal{ProfAlreadyRun, fmt.Sprintf("device %d is being profiled", p.busy(c)), "call aclprofStop first"}
		}
		p.run(c)
		return profRefusal{}
	})
}

// ProfStop ends what ProfStart with the same configuration began (aclprofStop). 100043: it does not run; 100010:
// another configuration runs.
func (th *Thread) ProfStop(c *ProfConfig) error {
	return th.profile(callProfStop, func(p *profiling) profRefusal {
		switch {
		case c == nil:
			return profRefusal{ACLInvalidParam, "configuration is null", ""}
		case p.byFile:
			return p.byOthers()
		case p.path == "":
			return notInitialised()
		case len(p.running) == 0:
			return profRefusal{ProfNotRun, "profiling does not run", "call aclprofStart first"}
		case !p.halt(c):
			return profRefusal{ProfilingConfig, "profiling was started with another configuration", "stop with the configuration of the start"}
		}
		return profRefusal{}
	})
}

// ProfFinalize ends profiling, also what still runs (aclprofFinalize). 100043: ProfInit was not called.
func (th *Thread) ProfFinalize() error {
	return th.profile(callProfFinalize, func(p *profiling) profRefusal {
		switch {
		case p.byFile:
			return p.byOthers()
		case p.path == "":
			return notInitialised()
		}
		p.end()
		return profRefusal{}
	})
}

// profileByFile is what the profiler section of the file of Init switches on: all devices until the library ends.
func (th *Thread) profileByFile() error {
	c := &ProfConfig{ProfOptions{Metrics: ProfNoMetrics, Mask: ProfACLAPI | ProfTaskTime | ProfTX}}
	for d := range th.rt.devices {
		c.opts.Devices = append(c.opts.Devices, d)
	}
	var no profRefusal
	err := th.port.Call(func() {
		p := &th.rt.profiling
		switch no = p.byOthers(); {
		case no.code != 0:
		case p.path != "":
			no = profRefusal{ProfAlreadyRun, "aclprofInit has initialised profiling", "call aclInit first"}
		default:
			p.byFile = true
			p.run(c)
		}
	})
	if err != nil {
		return th.blocked(callInit.name, nil, err)
	}
	if no.code != 0 {
		return th.fail(no.code, callInit.name, no.detail, no.hint)
	}
	return nil
}
