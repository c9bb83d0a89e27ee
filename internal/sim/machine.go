package sim

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"npu/internal/sim/soc"
	"npu/internal/trace"
)

// Policy is how the scheduler arbitrates between tasks that want the same engine.
type Policy uint8

// Policies.
const (
	// Preempt lets a kernel yield between waves of blocks to a queue of higher priority, and ranks explicit queues
	// above the default queue.
	Preempt Policy = iota
	// Reference is what the chip does: whole kernels in order of priority, nothing interrupted, the default queue has
	// the greatest priority.
	Reference
)

func (p Policy) String() string { return [...]string{"preempt", "reference"}[p&1] }

// Config describes the machine.
type Config struct {
	Chips      []*soc.Chip // one a device
	Policy     Policy
	TimingOnly bool // skip the arithmetic of kernels, nothing else
	// Stepped takes every task of a sunk model one by one, also where its known schedule could be shifted.
	Stepped bool
	// LoopTurns is how many turns the conditional loops of one execution take together, at most, so that a word that is
	// never cleared does not keep the simulation for ever; 0 is four million.
	LoopTurns int
	// AllLoops bounds jumps back and streams of a model that are started again in the same way.
	AllLoops bool
	// Recorder takes blocks of rows, one for each finished task; nil records nothing.
	Recorder trace.Swapper
	// MemoryBytes limits the memory of each device; 0 takes the chip's.
	MemoryBytes int64
	// Foreground has only threads that wait drive, also where kernels compute for long.
	Foreground bool
	// Pace ties device time to wall time, for watching: the devices simulate nothing that lies in the future of a clock
	// that starts now.
	Pace bool
}

// Errors of creation, and of waits after Interrupt.
var (
	ErrNoQueue     = errors.New("no queue left")
	ErrInterrupted = errors.New("interrupted")
	ErrNotOwner    = errors.New("the queue belongs to another thread")
	ErrRetired     = errors.New("the service has ended")
	ErrNoMemory    = errors.New("no address space for the device's memory")
)

// Machine is the simulated devices of one process with their common event queue. See the package comment for who may
// touch what.
type Machine struct {
	cfg     Config
	devices []*Device
	host    *window

	// Ownership and parking.
	owner       atomic.Uint32
	_           cacheLine
	want        atomic.Int32 // threads that wait for ownership
	hungry      atomic.Int32 // parked ports
	epoch       atomic.Uint64
	nextT       atomic.Int64 // time of the next event as the last owner left it
	outside     atomic.Int32
	wallOrdered atomic.Bool
	stopped     atomic.Bool
	ports       atomic.Pointer[[]*Port]
	shared      atomic.Pointer[[]*lanes] // of the queues that several ports fill
	parkMu      sync.Mutex
	parkedPorts []*Port
	services    []*Port
	timer       *time.Timer
	armed       bool
	looks       int // of the watchdog
	closed      bool
	live        live
	background  background
	link        *Link // nil: this process is alone
	_           cacheLine

	// The owner's.
	now           int64
	bound         int64 // events strictly before it may be simulated
	pending       heap
	queues        []*Queue
	freeQueues    []uint16
	functions     []*Function
	unloads       uint32 // of functions
	events        []*Event
	freeEvents    []uint32
	notifies      []*Notify
	freeNotifies  []uint32
	instances     []*Instance
	freeInstances []uint32
	updates       []func() // of Nop tasks, once each
	freeUpdates   []uint32
	groups        []group
	freeGroups    []uint32
	mailboxes     []*Mailbox
	reports       *Mailbox // takes faults, nil for nobody
	ringUsed      int      // errors that nobody has read
	ringWait      []*Job   // that found no room
	injections    []*Injection
	nameOf        func(trace.StringID) string
	opTimeout     int64 // ns that a kernel may take, 0 for what the chip has
	shortNs       int64 // blocks of up to so many ns are within every limit that no launch has for itself
	history       *History
	valueWaits    []*Queue // poll a word of memory
	dirty         bool     // some device may dispatch
	records       records
	stats         Stats
	onFault       func(*Fault)
	warnings      []string
}

// Stats counts what the devices did.
type Stats struct {
	Tasks      uint64 // retired
	Doorbells  uint64 // submissions that found their queue idle: the host started work
	HostWaits  uint64 // blocking waits of host threads for a queue, an event or a notify
	HostCopies uint64 // copies between host and device
	RingWaits  uint64 // faults that found the error ring full
	Late       uint64 // events in the past; 0 unless the program is ordered by wall time
	Shifted    uint64 // executions of models whose known schedule was shifted
	DeviceTime int64  // the latest end of a task
}

// NewMachine makes the devices. Close releases their memory.
func NewMachine(c Config) (*Machine, error) {
	if c.LoopTurns == 0 {
		c.LoopTurns = 1 << 22
	}
	m := &Machine{cfg: c, records: newRecords(c.Recorder)}
	if c.Pace {
		m.live.pace = time.Now()
	}
	m.functions = []*Function{nil}
	m.nextT.Store(never)
	m.ports.Store(new([]*Port))
	m.shared.Store(new([]*lanes))
	var err error
	if m.host, err = newWindow(hostBase, hostWindow); err != nil {
		return nil, err
	}
	for i, chip := range c.Chips {
		d, err := newDevice(m, i, chip)
		if err != nil {
			m.Close()
			return nil, err
		}
		m.devices = append(m.devices, d)
		if short := min(d.opDefault, d.cpuDefault) >> 16; m.shortNs == 0 || short < m.shortNs {
			m.shortNs = short
		}
	}
	return m, nil
}

// Close releases the devices' memory. No port may be in use.
func (m *Machine) Close() {
	m.own()
	m.flush()
	m.parkMu.Lock()
	m.closed = true
	if m.timer != nil {
		m.timer.Stop()
	}
	m.parkMu.Unlock()
	for _, d := range m.devices {
		d.hbm.close()
	}
	m.host.close()
	m.disown()
	m.background.ended.Wait()
}

// Devices are the simulated devices by number.
func (m *Machine) Devices() []*Device { return m.devices }

// OnFault registers what is called, on the driver, for each faulting task before its queue goes on. f must not call
// the machine.
func (m *Machine) OnFault(f func(*Fault)) { m.onFault = f }

// Stats are the counters so far. Call it from Port.Call, or when nothing runs.
func (m *Machine) Stats() Stats {
	s := m.stats
	return s
}

// Now is the device time that has been simulated. Call it from Port.Call.
func (m *Machine) Now() int64 { return m.now }

// OrderedByWall notes that wall time has decided something. It may be called from any goroutine.
func (m *Machine) OrderedByWall() {
	if !m.wallOrdered.Load() {
		m.wallOrdered.Store(true)
	}
}

// WallOrdered says whether some outcome was ordered by wall time rather than by virtual time.
func (m *Machine) WallOrdered() bool { return m.wallOrdered.Load() }

// Warnings are messages for the user, for instance about threads that blocked without saying so.
func (m *Machine) Warnings() []string { return m.warnings }

// Interrupt ends the waits of all ports with ErrInterrupted, now and from now on. It may be called from any goroutine.
func (m *Machine) Interrupt() {
	m.stopped.Store(true)
	m.live.alert.Or(alertStop)
	m.parkMu.Lock()
	for _, p := range m.parkedPorts {
		p.post()
	}
	m.parkMu.Unlock()
}

// Flush hands the recorded rows to the sink. Call it from Port.Call.
func (m *Machine) Flush() { m.flush() }

// Attach adds a host thread whose clock starts at clock or, if the devices are further, at their present time.
// Within a running program use Port.Spawn, which makes the number of the thread independent of wall time.
func (m *Machine) Attach(clock int64) *Port {
	m.own()
	m.link.unstick()
	p := m.attach(clock)
	m.disown()
	return p
}

func (m *Machine) attach(clock int64) *Port {
	p := &Port{m: m, ch: make(chan struct{}, 1), clock: max(clock, m.now)}
	p.pub = uint64(p.clock) << tailBits
	p.word.Store(p.pub)
	p.log[logMask] = noQueue // nothing was submitted
	old := m.portList()
	for i, x := range old {
		if x.gone {
			// Take the place of a thread that has ended: the list does not grow with threads that come and go.
			p.id, p.seq, p.seenSeq = x.id, x.seq, x.seq
			list := append([]*Port(nil), old...)
			list[i] = p
			m.ports.Store(&list)
			return p
		}
	}
	p.id = uint16(len(old))
	list := append(append([]*Port(nil), old...), p)
	m.ports.Store(&list)
	return p
}

// Spawn attaches a child thread whose clock starts at this port's.
func (p *Port) Spawn() (*Port, error) {
	var c *Port
	err := p.Call(func() {
		c = p.m.attach(p.clock)
		p.m.bound = min(p.m.bound, c.clock+1+Doorbell)
	})
	return c, err
}

// Adopt tells the watchdog which goroutine this port is. Call it on that goroutine.
func (p *Port) Adopt() { p.gid.Store(goroutineID()) }

func (m *Machine) portList() []*Port { return *m.ports.Load() }

// tryOwn takes the devices if nobody drives them.
func (m *Machine) tryOwn() bool { return m.owner.CompareAndSwap(0, 1) }

// own waits for the devices. The owner of the moment is at most one kernel away from its horizon, since the caller's
// own clock holds it.
func (m *Machine) own() {
	if m.tryOwn() {
		return
	}
	m.want.Add(1)
	for i := 0; !m.tryOwn(); i++ {
		if i < 50 {
			runtime.Gosched()
		} else {
			time.Sleep(20 * time.Microsecond)
		}
	}
	m.want.Add(-1)
}

// disown gives the devices up, leaves word of the next event, and wakes a parked port if something became possible
// since the last look.
func (m *Machine) disown() {
	for {
		m.refresh()
		m.link.publish()
		next := never
		if len(m.pending) > 0 {
			next = m.pending[0].t
		}
		if m.dirty {
			next = m.now
		}
		m.nextT.Store(next)
		m.owner.Store(0)
		if m.hungry.Load() == 0 {
			return
		}
		if m.unseen() {
			if m.tryOwn() {
				continue
			}
			return
		}
		m.kick()
		return
	}
}
