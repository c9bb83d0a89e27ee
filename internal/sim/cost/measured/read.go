package measured

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"npu/internal/problem"
	"npu/internal/sim/cost"
	"npu/internal/sim/cost/work"
)

// Open reads a file, see Read.
func Open(path string) (*File, error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return nil, problem.Damagedf("%s is a folder: name the kernel_details.csv or op_summary_*.csv in it", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, problem.Mark(problem.Damaged, err)
	}
	defer f.Close()
	return Read(f, path)
}

// Read groups the rows of a kernel_details.csv or op_summary.csv by kernel and shapes. Columns are found by name in the
// spellings of all known versions; rows that cannot be compared are counted with the reason. The error is a damaged
// input in which nothing is comparable.
func Read(r io.Reader, path string) (*File, error) {
	c := csv.NewReader(r)
	c.FieldsPerRecord, c.LazyQuotes, c.ReuseRecord = -1, true, true
	header, err := c.Read()
	if err != nil {
		return nil, problem.Damagedf("%s: no header line: %w", path, err)
	}
	cols, err := findColumns(header)
	if err != nil {
		return nil, problem.Damagedf("%s: %w", path, err)
	}
	f := &File{Path: path}
	g := &grouper{file: f, cols: cols, shapes: map[string]*Shape{}, refused: map[string]string{}}
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		line, _ := c.FieldPos(0)
		if err != nil {
			var bad *csv.ParseError
			if f.Damaged == nil {
				f.Damaged = fmt.Errorf("%s: %w", path, err)
			}
			if !errors.As(err, &bad) {
				break // the reader itself failed: what came before is good
			}
			f.Rows++
			f.skip("not readable as CSV", "")
			continue
		}
		f.Rows++
		g.add(row, line)
	}
	f.finish()
	if len(f.Shapes) == 0 {
		why := "it has no rows"
		if len(f.Skipped) > 0 {
			why = fmt.Sprintf("%d of %d rows: %s", f.Skipped[0].Rows, f.Rows, f.Skipped[0].Reason)
		}
		return f, problem.Damagedf("%s: no row to compare: %s", path, why)
	}
	return f, nil
}

// grouper puts rows together that are the same kernel on the same shapes.
type grouper struct {
	file    *File
	cols    *columns
	shapes  map[string]*Shape
	refused map[string]string // key of rows that are skipped for their shapes, with the reason
	key     []byte
	clock   clock
}

// clock takes the core's clock from the longest row, where rounding matters least.
type clock struct{ ns float64 }

func cell(row []string, i int) string {
	if i < 0 || i >= len(row) {
		return ""
	}
	return row[i]
}

func (g *grouper) add(row []string, line int) {
	c := g.cols
	typ := bare(cell(row, c.typ))
	ns, ok := nanoseconds(cell(row, c.duration), c.unit)
	core, runs := coreOf(bare(cell(row, c.core)), typ)
	switch {
	case typ == "" || missing(typ):
		g.file.skip("no operator type", bare(cell(row, c.name)))
		return
	case cost.LookupOperator(typ).Class == cost.Communication || !runs:
		g.file.skip("no kernel of a core: communication and waits depend on other devices", typ)
		return
	case !ok:
		g.file.skip("no duration", typ)
		return
	}
	blocks, _ := strconv.Atoi(bare(cell(row, c.blocks)))
	blocks = min(max(blocks, 0), 1<<16)
	g.observe(row, core, blocks)

	g.key = g.key[:0]
	for _, i := range [...]int{c.typ, c.core, c.blocks, c.hf32, c.inShapes, c.inTypes, c.inFormats, c.outShapes, c.outTypes, c.outFormats} {
		g.key = append(append(g.key, cell(row, i)...), 0)
	}
	if s, ok := g.shapes[string(g.key)]; ok {
		s.Times = append(s.Times, ns)
		return
	}
	if why, ok := g.refused[string(g.key)]; ok {
		g.file.skip(why, typ)
		return
	}
	s := &Shape{Type: typ, Core: core, Blocks: blocks, First: line, Times: []int64{ns}}
	why := g.shape(s, row)
	if why != "" {
		g.refused[string(g.key)] = why
		g.file.skip(why, typ)
		return
	}
	g.shapes[string(g.key)] = s
	g.file.Shapes = append(g.file.Shapes, s)
}

// shape fills in operands and work, or says why not.
func (g *grouper) shape(s *Shape, row []string) string {
	c := g.cols
	var known, outKnown bool
	var err error
	if s.In, known, err = operands(cell(row, c.inShapes), cell(row, c.inTypes), cell(row, c.inFormats)); err != nil {
		return "shapes that cannot be read"
	}
	if s.Out, outKnown, err = operands(cell(row, c.outShapes), cell(row, c.outTypes), cell(row, c.outFormats)); err != nil {
		return "shapes that cannot be read"
	}
	if !known && !outKnown {
		return "no shapes"
	}
	w, err := work.Of(s.Type, s.In, s.Out)
	if err != nil {
		return err.Error()
	}
	w.HF32 = strings.EqualFold(bare(cell(row, c.hf32)), "YES")
	s.Work = w
	return ""
}

// observe notes what a row says of the chip.
func (g *grouper) observe(row []string, core cost.Core, blocks int) {
	c, f := g.cols, g.file
	switch core {
	case cost.AIC, cost.Mix:
		f.CubeBlocks = max(f.CubeBlocks, blocks)
		g.clock.see(f, cell(row, c.cubeTime), cell(row, c.cubeCycles), c.cubeUnit, blocks)
	case cost.AIV:
		f.VectorBlocks = max(f.VectorBlocks, blocks)
		g.clock.see(f, cell(row, c.vectorTime), cell(row, c.vectorCycles), c.vectorUnit, blocks)
	}
}

func (k *clock) see(f *File, time, cycles string, unit int64, blocks int) {
	ns, ok := nanoseconds(time, unit)
	n, err := strconv.ParseFloat(bare(cycles), 64)
	if !ok || err != nil || float64(ns) <= k.ns || blocks < 1 || !(n > 0 && n < 1e15) {
		return
	}
	k.ns = float64(ns)
	f.MHz = int(math.Round(n / float64(blocks) / float64(ns) * 1e3))
}

// nanoseconds reads a time; a kernel takes at least one.
func nanoseconds(s string, unit int64) (int64, bool) {
	v, err := strconv.ParseFloat(bare(s), 64)
	ns := v * float64(unit)
	if err != nil || !(ns >= 1 && ns < 1e15) {
		return 0, false
	}
	return int64(math.Round(ns)), true
}

// coreOf is the kind of core in the spellings of the files; runs is false for what is no kernel.
func coreOf(s, typ string) (core cost.Core, runs bool) {
	s = strings.ReplaceAll(strings.ToUpper(s), " ", "_")
	switch {
	case s == "AI_CORE" || s == "AIC" || s == "AI_CUBE":
		switch cost.LookupOperator(typ).Class {
		case cost.Matmul, cost.Convolution, cost.Attention:
			return cost.AIC, true
		}
		return cost.AIV, true // parts whose cores have both units
	case s == "MIX_AIC" || s == "KERNEL_MIX_AIC":
		return cost.Mix, true
	case s == "AI_VECTOR_CORE" || s == "AIV" || s == "MIX_AIV" || s == "KERNEL_MIX_AIV" || s == "DSA_SQE" || s == "DSA":
		return cost.AIV, true
	case s == "AI_CPU" || s == "AICPU":
		return cost.AICPU, true
	case s == "" || missing(s):
		return cost.AIV, true
	}
	return 0, false
}
