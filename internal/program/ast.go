package program

import (
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
	"npu/internal/trace"
)

// Program is a parsed stream program.
type Program struct {
	File  string
	Name  string // of the program statement, else of the file
	Setup Setup
	Body  []Stmt

	lines []string
}

// Line is the text of a line, trimmed; empty beyond the ends.
func (p *Program) Line(n int) string {
	if n < 1 || n > len(p.lines) {
		return ""
	}
	return trimLine(p.lines[n-1])
}

// Setup is what stands before the first other statement: the machine that the program runs on.
type Setup struct {
	Chip    string // empty: not said
	Devices int    // 0: not said
	Policy  string // empty: not said
	Memory  int64  // bytes of HBM of each device; 0: the chip's
	Bare    bool   // the main thread begins without a device
}

// Stmt is one statement.
type Stmt interface{ head() *Head }

// selfStmt is a statement that checks and runs itself.
type selfStmt interface {
	Stmt
	check(*checker)
	run(*host) error
}

// blockStmt is a statement with lines up to an end.
type blockStmt interface {
	Stmt
	// take ends a part of the block; after else or case there are several.
	take([]Stmt)
	parts() [][]Stmt
}

// Head is what all statements have.
type Head struct {
	Pos  Pos
	Verb string
	// Want is the error code that the statement must give; nil: none, it must succeed.
	Want *Want
}

func (h *Head) head() *Head { return h }

// Want is an expected error.
type Want struct {
	Pos  Pos
	Code int
}

// Ref names an object, and of a buffer perhaps a range of elements.
type Ref struct {
	Name   string
	Pos    Pos
	Lo, Hi Expr // nil: from the beginning, to the end
}

// On is the stream that a statement names; an empty name is the default stream.
type On struct {
	Name string
	Pos  Pos
	Sync bool // no stream was named
}

// MemKind is where a buffer lies.
type MemKind uint8

// Kinds of memory.
const (
	OnDevice MemKind = iota
	Pinned           // page-locked host memory
	Pageable         // ordinary host memory
)

func (k MemKind) String() string { return [...]string{"device", "pinned", "pageable"}[k] }

// InitKind is how the elements of a buffer are given.
type InitKind uint8

// Forms of initial data.
const (
	Values   InitKind = iota // one by one
	Fill                     // all the same
	Ramp                     // start, start+step, …
	Random                   // from low to high, by a seed
	FromFile                 // a .npy file
)

// Init is the content of a buffer, or what it is expected to be.
type Init struct {
	Pos  Pos
	Kind InitKind
	V    []float64 // Values: all; Fill: one; Ramp: start, step; Random: low, high
	Seed uint64
	File string

	data *tensor.Tensor // of the file, after Check
}

// TypeRef is an element type with a shape.
type TypeRef struct {
	Pos   Pos
	DType tensor.DType
	Shape tensor.Shape
}

// Statements that make objects.
type (
	// DeviceStmt: device N.
	DeviceStmt struct {
		Head
		N Expr
	}
	// ContextStmt: context NAME.
	ContextStmt struct {
		Head
		Name     string
		Device   Expr // nil: 0
		Isolated bool
	}
	// UseStmt: use NAME, push NAME, pop.
	UseStmt struct {
		Head
		Ref Ref
	}
	// StreamStmt: stream NAME.
	StreamStmt struct {
		Head
		Name       string
		Priority   Expr // nil: 0
		Flags      Expr // nil: 0
		Persistent bool

		shared bool // several threads submit to it
	}
	// EventStmt: event NAME.
	EventStmt struct {
		Head
		Name string
		Kind string // ex, plain, sync
	}
	// NotifyStmt: notify NAME.
	NotifyStmt struct {
		Head
		Name string
	}
	// MutexStmt: mutex NAME.
	MutexStmt struct {
		Head
		Name string
	}
	// BufferStmt: buffer NAME KIND TYPE = DATA.
	BufferStmt struct {
		Head
		Name string
		Kind MemKind
		Type TypeRef
		Init *Init
	}
	// KernelStmt: kernel NAME = ….
	KernelStmt struct {
		Head
		Name string
		Op   *OpKernel
		Own  *OwnKernel
	}
)

// OpKernel is a kernel of the operator library.
type OpKernel struct {
	Pos            Pos
	Type           string // ONNX name
	In             []Operand
	Opset, Outputs int
	Attrs          kernels.Attrs

	spec *kernels.Spec // after Check
	run  *kernels.Kernel
}

// Operand is an input of an operator: a type, and the value if it is a constant.
type Operand struct {
	TypeRef
	Const  *Init
	Absent bool
}

// OwnKernel is a kernel that only has a length, and perhaps an effect or a fault.
type OwnKernel struct {
	Pos    Pos
	Core   trace.Kind
	Blocks Expr // nil: 1
	Time   Expr // ns of a block
	Fault  string
	// Effect on all elements of the first argument.
	Effect string // "", "set", "add"
	Value  float64
}

// Statements that do something.
type (
	// CopyStmt: copy DST <- SRC.
	CopyStmt struct {
		Head
		Dst, Src Ref
		Bytes    Expr // nil: what both hold
		On       On
	}
	// MemsetStmt: memset BUFFER VALUE.
	MemsetStmt struct {
		Head
		Dst   Ref
		Value Expr
		On    On
	}
	// SetStmt: set BUFFER = DATA.
	SetStmt struct {
		Head
		Dst  Ref
		Init *Init
	}
	// LaunchStmt: launch KERNEL(ARGS -> RESULTS).
	LaunchStmt struct {
		Head
		Kernel  Ref
		Args    []Ref // inputs, then results
		Inputs  int   // how many of them stand before the arrow
		On      On
		Timeout Expr // of this launch; nil: what holds for all
	}
	// OrderStmt: record, wait, reset of an event or notify.
	OrderStmt struct {
		Head
		What     Ref
		External bool // for others than the captured graph
		On       On
		Timeout  Expr
	}
	// ValueStmt: write WORD VALUE, await WORD >= VALUE.
	ValueStmt struct {
		Head
		Word  Ref
		Cond  string // await: >= == & ~
		Value Expr
		On    On
	}
	// HostStmt: host TEXT, a host function; callback TEXT, in a thread that a subscribe made.
	HostStmt struct {
		Head
		Text    string
		Time    Expr
		NoBlock bool
		On      On
	}
	// SyncStmt: sync WHAT.
	SyncStmt struct {
		Head
		What    Ref // name "device": all streams of the device
		Timeout Expr
	}
	// QueryStmt: query WHAT.
	QueryStmt struct {
		Head
		What Ref
		Is   string // "", done, pending
	}
	// ElapsedStmt: elapsed A B.
	ElapsedStmt struct {
		Head
		A, B       Ref
		Is, Within Expr
	}
	// ModeStmt: mode STREAM stop.
	ModeStmt struct {
		Head
		What Ref
		Mode string
	}
	// LimitStmt: limit wait T, limit kernel T.
	LimitStmt struct {
		Head
		Of   string
		Time Expr
	}
	// DestroyStmt: destroy X, free BUFFER, abort STREAM, lock MUTEX, …
	DestroyStmt struct {
		Head
		What   Ref
		Device Expr // of abort device
		Force  bool
	}
	// ResetDeviceStmt: reset device N.
	ResetDeviceStmt struct {
		Head
		N     Expr
		Force bool
	}
	// PeerStmt: peer N on.
	PeerStmt struct {
		Head
		N   Expr
		Off bool
	}
	// WorkStmt: work T.
	WorkStmt struct {
		Head
		Time Expr
	}
	// PrintStmt: print ….
	PrintStmt struct {
		Head
		Parts []PrintPart
	}
	// ExpectStmt: expect BUFFER = DATA.
	ExpectStmt struct {
		Head
		What Ref
		Init *Init
		Tol  tensor.Tolerance
		At   *Ref // expect BUFFER at BUFFER: whose place it must have
	}
	// LastStmt: last CODE.
	LastStmt struct {
		Head
		Keep bool
		Code int // 0: none
	}
	// WatchStmt: watch faults.
	WatchStmt struct{ Head }
)

func (st *RepeatStmt) take(list []Stmt) { st.Body = list }
func (st *ThreadStmt) take(list []Stmt) { st.Body = list }
func (st *RepeatStmt) parts() [][]Stmt  { return [][]Stmt{st.Body} }
func (st *ThreadStmt) parts() [][]Stmt  { return [][]Stmt{st.Body} }

// PrintPart is a text or a buffer.
type PrintPart struct {
	Text string
	Ref  *Ref
}

// Blocks.
type (
	// RepeatStmt: repeat N as NAME … end.
	RepeatStmt struct {
		Head
		Count Expr
		As    string
		Body  []Stmt
	}
	// ThreadStmt: thread NAME … end.
	ThreadStmt struct {
		Head
		Name string
		Body []Stmt
	}
	// JoinStmt: join NAME….
	JoinStmt struct {
		Head
		Names []Ref
	}
)
