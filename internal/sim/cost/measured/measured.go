// Package measured reads kernel times of real chips (kernel_details.csv of torch_npu, op_summary.csv of msprof) and
// says of each kernel what work it did, so that it can be compared with what package cost estimates. It estimates
// nothing itself and starts no goroutine.
package measured

import (
	"cmp"
	"slices"

	"npu/internal/sim/cost"
	"npu/internal/sim/cost/work"
)

// Shape is a kernel on operands of one type, shape and format: all rows of a file that agree in these.
type Shape struct {
	Type    string // operator type as in the file
	Core    cost.Core
	Blocks  int // block dim of the launch; 0: not in the file
	Work    cost.Work
	In, Out []work.Operand
	Times   []int64 // ns, one a row, ascending
	First   int     // line of the first row
}

// Ns is the median time.
func (s *Shape) Ns() int64 {
	n := len(s.Times)
	return (s.Times[n/2] + s.Times[(n-1)/2]) / 2
}

// Skipped counts rows that cannot be compared, by reason.
type Skipped struct {
	Reason string
	Rows   int
	Types  []string // some of the operator types
}

// File is what one file holds.
type File struct {
	Path    string
	Rows    int
	Shapes  []*Shape // in the order of their first rows
	Skipped []Skipped
	// What the rows say of the chip: largest block dims, clock from cycles and core time, and bytes a second of the
	// fastest large transfer. Zero: they do not say.
	CubeBlocks, VectorBlocks int
	MHz                      int
	BytesPerSecond           int64
	// Damaged is the first row that could not be read, after which others were; or nil.
	Damaged error
}

// Compared is how many rows went into Shapes.
func (f *File) Compared() int {
	n := 0
	for _, s := range f.Shapes {
		n += len(s.Times)
	}
	return n
}

func (f *File) skip(reason, typ string) {
	i := slices.IndexFunc(f.Skipped, func(s Skipped) bool { return s.Reason == reason })
	if i < 0 {
		i = len(f.Skipped)
		f.Skipped = append(f.Skipped, Skipped{Reason: reason})
	}
	s := &f.Skipped[i]
	s.Rows++
	if len(s.Types) < 6 && typ != "" && !slices.Contains(s.Types, typ) {
		s.Types = append(s.Types, typ)
	}
}

// finish sorts times and notes what the rows say of the chip.
func (f *File) finish() {
	slices.SortFunc(f.Skipped, func(a, b Skipped) int { return cmp.Or(b.Rows-a.Rows, cmp.Compare(a.Reason, b.Reason)) })
	for _, s := range f.Shapes {
		slices.Sort(s.Times)
		bytes := s.Work.ReadBytes + s.Work.WriteBytes
		// Bytes far beyond any L2 tell the memory's rate.
		if s.Core == cost.AIV && bytes > 1<<29 && bytes < 1<<40 {
			f.BytesPerSecond = max(f.BytesPerSecond, int64(float64(bytes)/float64(max(s.Ns(), 1))*1e9))
		}
	}
}
