// Package decode turns any file that a real device leaves behind into one report: what it is, what it says in words,
// cores with registers and repaired program counters, tensors with statistics, records, damage with offsets; and
// exports tensors and memories. It joins a dump with what lies beside it (kernel object and description). The
// formats themselves are the business of the packages below. Each call runs its own goroutines and waits for them.
package decode

import (
	"encoding/json"
	"math"
)

// Report is what a file holds. Names in JSON are a contract with scripts; addresses are hex strings.
type Report struct {
	File     string    `json:"file"`
	Kind     string    `json:"kind"`
	Form     string    `json:"form,omitempty"`
	Version  string    `json:"version,omitempty"`
	Kernel   Name      `json:"kernel"`
	Chip     string    `json:"chip,omitempty"`
	Cause    []string  `json:"cause,omitempty"` // what happened, in words, most important first
	Facts    []Fact    `json:"facts,omitempty"`
	Cores    []Core    `json:"cores"`
	Regions  []Region  `json:"regions,omitempty"`
	Tensors  []Tensor  `json:"tensors"`
	Records  []Record  `json:"records,omitempty"`
	Notes    []string  `json:"notes,omitempty"`
	Problems []Problem `json:"problems"`
	Written  []string  `json:"written,omitempty"`
	dropped  int
}

// Name is a string that is null in JSON when it is empty.
type Name string

// MarshalJSON writes null for the empty name.
func (n Name) MarshalJSON() ([]byte, error) {
	if n == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(n))
}

// Number is a float that is null in JSON when it is no finite number.
type Number float64

// MarshalJSON writes null for NaN and infinities.
func (n Number) MarshalJSON() ([]byte, error) {
	if f := float64(n); math.IsNaN(f) || math.IsInf(f, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// Fact is a named value.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Core is an AI core.
type Core struct {
	ID         int        `json:"id"`
	Type       string     `json:"type"`
	PC         string     `json:"pc,omitempty"`
	PCStart    string     `json:"pc_start,omitempty"`
	PCFixed    string     `json:"pc_fixed,omitempty"`
	PCFixedBy  string     `json:"pc_fixed_by,omitempty"`
	PCDoubtful string     `json:"pc_doubtful,omitempty"`
	Offset     string     `json:"offset,omitempty"` // from the kernel's entry
	TextOffset string     `json:"text_offset,omitempty"`
	Source     string     `json:"source,omitempty"`
	ErrorWords []string   `json:"error_words,omitempty"`
	Codes      []int      `json:"codes,omitempty"`
	Bits       []int      `json:"bits"`
	Names      []string   `json:"names,omitempty"`
	Bus        string     `json:"bus,omitempty"`
	Why        []string   `json:"why,omitempty"`
	Code       []CodeWord `json:"code,omitempty"`
	Memories   []string   `json:"memories,omitempty"`
	Registers  []Register `json:"registers"`
	Bystander  bool       `json:"bystander"`
}

// CodeWord is a word of the kernel's text around the program counter.
type CodeWord struct {
	Addr string `json:"addr"`
	Word string `json:"word"`
	Text string `json:"text,omitempty"` // the instruction, where the set is known
	Note string `json:"note,omitempty"` // what its registers hold
	Here bool   `json:"here,omitempty"`
}

// Register is a register's value.
type Register struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Region is a piece of device memory in a core file.
type Region struct {
	Name       string   `json:"name"`
	Addr       string   `json:"addr"`
	Bytes      uint64   `json:"bytes"`
	Shape      []uint64 `json:"shape,omitempty"`
	Unreadable bool     `json:"unreadable,omitempty"`
	File       string   `json:"file,omitempty"`
}

// Tensor is a tensor of a dump.
type Tensor struct {
	Name      string   `json:"name"`
	Role      string   `json:"role"`
	Index     int      `json:"index"`
	DType     string   `json:"dtype"`
	Format    string   `json:"format"`
	Shape     []uint64 `json:"shape"`
	OrigShape []uint64 `json:"original_shape,omitempty"`
	Bytes     uint64   `json:"bytes"`
	Have      uint64   `json:"bytes_present"`
	Addr      string   `json:"addr,omitempty"`
	Arg       *int     `json:"arg,omitempty"`
	Kind      string   `json:"kind,omitempty"` // tiling data, workspace, ...
	Op        string   `json:"op,omitempty"`
	Elements  *int64   `json:"elements"` // these and the figures below: nil if the numbers were not looked at
	Min       *Number  `json:"min"`
	Max       *Number  `json:"max"`
	Mean      *Number  `json:"mean"`
	Std       *Number  `json:"std,omitempty"`
	L2        *Number  `json:"l2,omitempty"`
	NaN       *int64   `json:"nan"`
	Inf       *int64   `json:"inf"`
	Zeros     *int64   `json:"zeros"`
	FirstBad  *int64   `json:"first_bad,omitempty"` // element number of the first NaN or Inf
	First     []Value  `json:"first,omitempty"`     // first values
	Hex       string   `json:"hex,omitempty"`       // of tensors without a type
	File      string   `json:"file,omitempty"`
	Natural   string   `json:"file_natural,omitempty"` // the same tensor in row-major order
	Note      string   `json:"note,omitempty"`
}

// Value is a number of a tensor; NaN and infinities are strings.
type Value float64

// MarshalJSON writes strings for what JSON lacks.
func (v Value) MarshalJSON() ([]byte, error) {
	switch f := float64(v); {
	case f != f:
		return []byte(`"nan"`), nil
	case math.IsInf(f, 1):
		return []byte(`"inf"`), nil
	case math.IsInf(f, -1):
		return []byte(`"-inf"`), nil
	}
	return json.Marshal(float64(v))
}

// Record is a line that the file holds: a print, a trace message, a frame, an exception.
type Record struct {
	Kind   string `json:"kind"`
	Where  string `json:"where,omitempty"` // core, thread, area
	Text   string `json:"text"`
	Offset int64  `json:"offset"`
}

// Problem is damage at an offset.
type Problem struct {
	Offset int64  `json:"offset"`
	Text   string `json:"text"`
}

func (r *Report) fact(name, value string) {
	if value != "" {
		r.Facts = append(r.Facts, Fact{name, value})
	}
}

func (r *Report) problem(at int64, text string) {
	r.Problems = append(r.Problems, Problem{at, text})
}

// maxRecords bounds what a report holds in memory; counts beyond it are noted.
const maxRecords = 200000

func (r *Report) record(kind, where, text string, at int64) {
	if len(r.Records) >= maxRecords {
		r.dropped++
		return
	}
	r.Records = append(r.Records, Record{kind, where, text, at})
}
