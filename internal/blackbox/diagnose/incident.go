package diagnose

import (
	"slices"

	"npu/internal/blackbox/aicore"
	"npu/internal/blackbox/plog"
)

// kind is what an incident is about; the order is the weight when two happen together.
type kind uint8

const (
	kindUnknown   kind = iota // a line of an error that no rule explains
	kindCode                  // only an error code of a call is known
	kindWait                  // a wait (notify, collective, stream) ran out of time
	kindComm                  // the communication library could not bring ranks together, or a link broke
	kindHeartbeat             // the device does not answer
	kindDriver                // a driver call failed
	kindMemory                // an allocation failed
	kindCopy                  // a copy engine failed
	kindAICPU                 // an AI CPU kernel failed
	kindCore                  // an AI core failed, hung or trapped
	kindHardware              // an event of the device itself
)

func (k kind) String() string {
	return [...]string{"unknown", "code", "wait", "communication", "heartbeat", "driver", "memory", "copy", "aicpu", "aicore", "hardware"}[k]
}

// core is one AI core of an incident.
type core struct {
	kind         string // AIC, AIV
	id           int
	words        aicore.Words
	codes        []int // 950
	hasWords     bool
	start, rawST uint64
	current      uint64
	in           aicore.Infos
	sub          *int
	block        *int
	timedOut     bool // listed by the time-out report
}

func (c *core) zero() bool { return c.words.Zero() && len(c.codes) == 0 }

// incident collects the lines of one event.
type incident struct {
	kind         kind
	file         int
	pid          int
	proc         string
	rank, device *int
	first, last  int64
	line         int
	stream, task *int
	report, flip *int
	sqe          string
	family       aicore.Family
	cores        []*core
	serial       *int
	kernel, node string
	ts           uint32
	acl          int
	inner        uint32
	drv          *int
	codes        []string
	args         []uint64
	tilingKey    string
	blocks       int
	regions      []aicore.Region
	pending      string // what the next [Dump] address belongs to
	sdma         *SDMA
	notify       *Notify
	comm         *comm
	heap         *allocator
	said         string // the words of the log, where they are all there is
	others       int    // kindUnknown: further lines of errors
	size         int64
	call         string // what failed, in words of the log
	asserts      []string
	aicpu        int
	hang         bool
	pageFault    uint64 // page that the device's OS could not map
	events       []*event
	deviceClock  int64 // host time minus device time, microseconds
	joined       bool
	firmware     bool // only the device's log knows it
	fwRan        int  // cores that ran the task, by the firmware
	evidence     []Evidence
	hwts         bool
}

// event is a fault event of the device (RAS, black box history, device OS).
type event struct {
	id     uint32
	device *int
	time   int64
	text   string
	class  string
	line   Evidence
	file   int
	used   bool
}

func (in *incident) code(c string) {
	if c != "" && !slices.Contains(in.codes, c) && len(in.codes) < 32 {
		in.codes = append(in.codes, c)
	}
}

// coreOf finds or adds a core.
func (in *incident) coreOf(kind string, id int) *core {
	for _, c := range in.cores {
		if c.id == id && (c.kind == kind || c.kind == "" || kind == "") {
			if c.kind == "" {
				c.kind = kind
			}
			return c
		}
	}
	c := &core{kind: kind, id: id}
	if len(in.cores) < 512 {
		in.cores = append(in.cores, c)
	}
	return c
}

// weak says that an incident can only be a consequence when something harder is known.
func (in *incident) weak() bool {
	if in.kind == kindWait {
		return true
	}
	return in.kind == kindCode && fallout(in.acl)
}

// fallout lists the codes that a process gets after something else went wrong.
func fallout(acl int) bool {
	switch acl {
	case 107022, 107023, 107003, 107035, 107019, 107020, 507010, 507899, 507901, 507046, 507047, 507012, 507000, 507900:
		return true
	}
	return false
}

const second = int64(1_000_000)

func later(a, b int64) bool { return a != plog.NoTime && b != plog.NoTime && a > b }
