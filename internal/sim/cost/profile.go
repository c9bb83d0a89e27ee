package cost

import (
	"slices"

	"npu/internal/sim/soc"
)

// Constant names one of the figures that are measured for an operator type.
type Constant uint8

// Constants of an operator type. Rates are shares of the chip's own data, so that they carry over to another chip.
const (
	Start  Constant = iota // ns from the start of the task to its end that do not grow with the work
	Stream                 // per mille of the memory bandwidth that kernels usually reach, for bytes beyond the size of L2
	L2Gain                 // percent of the stream rate at which bytes move that find room in L2; at least 100
	Instr                  // hundredths of a vector instruction an element
	Run                    // cycles of a core for each contiguous piece
	Cube                   // per mille of the cube's peak
	TransA                 // percent of that when the first operand is stored transposed
	TransB                 // the same of the second
	constantCount
)

var constantNames = [constantCount]string{"start_ns", "stream_permille", "l2_gain_percent", "instr_percent", "run_cycles", "cube_permille", "trans_a_percent", "trans_b_percent"}

func (c Constant) String() string { return constantNames[c%constantCount] }

// ConstantNamed is the inverse of String.
func ConstantNamed(name string) (Constant, bool) {
	i := slices.Index(constantNames[:], name)
	return Constant(max(i, 0)), i >= 0
}

// Constants are the figures of one operator type; zero: not known.
type Constants [constantCount]int64

// Over lays the known figures of c over those of below.
func (c Constants) Over(below Constants) Constants {
	for i, v := range c {
		if v > 0 {
			below[i] = v
		}
	}
	return below
}

// Scope says for what constants hold.
type Scope struct {
	Chip string // name of the chip that was measured; "*": any
	Name string // a canonical operator type, a class, or a kind of core
}

// Scope is the name under which constants of a class stand. Types start with a capital letter, classes with a small one.
func (c Class) Scope() string { return string(c) }

// Scope is the name under which constants stand that hold for all operators on one kind of core.
func (c Core) Scope() string {
	switch c {
	case AIC, Mix:
		return "cube"
	case AICPU:
		return "cpu"
	}
	return "vector"
}

// Profile is a set of constants. The zero Profile knows only the data sheet and the assumptions of constants.tsv. It
// must not change while it is in use.
type Profile struct {
	at    map[Scope]Constants
	chips []*soc.Chip // those with constants of their own
}

// Set gives the constants of a scope; zero figures are inherited from the scopes behind it: the type on any chip, the
// class, the kind of core, the assumptions.
func (p *Profile) Set(s Scope, c Constants) {
	if p.at == nil {
		p.at = map[Scope]Constants{}
	}
	p.at[s] = c
	if chip, err := soc.Lookup(s.Chip); s.Chip != "*" && err == nil && !slices.Contains(p.chips, chip) {
		p.chips = append(p.chips, chip)
	}
}

// Has says whether the scope has constants of its own.
func (p *Profile) Has(s Scope) bool {
	_, ok := p.at[s]
	return ok
}

// MeasuredAs is the chip whose constants hold for this one: itself, or a measured one of the same family with as many
// cores and as much L2. Empty: none, constants of any chip hold.
func (p *Profile) MeasuredAs(chip *soc.Chip) string {
	name := ""
	for _, c := range p.chips {
		if c.Name == chip.Name {
			return c.Name
		}
		if name == "" && c.Short == chip.Short && c.AICores == chip.AICores && c.L2Bytes == chip.L2Bytes {
			name = c.Name
		}
	}
	return name
}

// Constants are all figures for an operator type on a chip.
func (p *Profile) Constants(chip *soc.Chip, core Core, typ string) Constants {
	k := constantsOf(chip.Short)
	c := Constants{
		Stream: 1000, L2Gain: k.l2Gain, Run: k.runCycles, Cube: k.cubePercent * 10, TransA: 100, TransB: 100,
		Start: k.launchVector + k.rampVector,
	}
	switch core {
	case AIC, Mix:
		c[Start] = k.launchCube + k.rampCube
	case AICPU:
		c[Start] = k.aicpuStart
	}
	if len(p.at) == 0 || typ == "" {
		return c
	}
	if own, ok := p.at[Scope{"*", core.Scope()}]; ok {
		c = own.Over(c)
	}
	if core == AICPU {
		return c
	}
	name, op := Canonical(typ), LookupOperator(typ)
	if own, ok := p.at[Scope{"*", op.Class.Scope()}]; ok {
		own[Instr] *= op.Instr
		c = own.Over(c)
	}
	for _, s := range [...]Scope{{"*", name}, {p.MeasuredAs(chip), name}} {
		if own, ok := p.at[s]; ok {
			c = own.Over(c)
		}
	}
	c[L2Gain] = max(c[L2Gain], 100)
	return c
}
