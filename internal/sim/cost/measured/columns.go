package measured

import (
	"fmt"
	"strings"
)

// columns says where a file has what; -1: nowhere. Names changed with the versions of CANN and torch_npu.
type columns struct {
	name, typ, core, duration, blocks, hf32        int
	inShapes, inTypes, inFormats                   int
	outShapes, outTypes, outFormats                int
	cubeTime, cubeCycles, vectorTime, vectorCycles int
	unit                                           int64 // ns of one unit of duration
	cubeUnit, vectorUnit                           int64
}

// units of time columns, as they stand in brackets behind the name.
var units = map[string]int64{"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}

func findColumns(header []string) (*columns, error) {
	c := &columns{}
	for _, p := range c.places() {
		*p = -1
	}
	for i, h := range header {
		name, unit := heading(h)
		p := c.place(name)
		if p == nil || *p >= 0 {
			continue
		}
		*p = i
		switch p {
		case &c.duration:
			c.unit = unit
		case &c.cubeTime:
			c.cubeUnit = unit
		case &c.vectorTime:
			c.vectorUnit = unit
		}
	}
	switch {
	case c.typ < 0 && c.name < 0 || c.duration < 0:
		return nil, fmt.Errorf("no columns for operator type and duration (expected kernel_details.csv or op_summary.csv)")
	case c.typ < 0:
		return nil, fmt.Errorf("no column for the operator type (collected at level 0? collect at level 1 or 2)")
	}
	return c, nil
}

// heading splits "Task Duration(us)" into "taskduration" and the unit's nanoseconds; microseconds where there is none.
func heading(h string) (string, int64) {
	h = strings.ToLower(strings.Trim(h, "\ufeff \t\r\""))
	unit := int64(1e3)
	if i := strings.IndexByte(h, '('); i >= 0 {
		if u, ok := units[strings.Trim(h[i:], "() \t")]; ok {
			unit = u
		}
		h = h[:i]
	}
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '_' || r == '-' {
			return -1
		}
		return r
	}, h), unit
}

func (c *columns) place(name string) *int {
	switch name {
	case "name", "opname", "kernelname":
		return &c.name
	case "type", "optype", "kerneltype":
		return &c.typ
	case "acceleratorcore", "tasktype", "coretype":
		return &c.core
	case "duration", "taskduration":
		return &c.duration
	case "blockdim", "blocknum":
		return &c.blocks
	case "hf32eligible":
		return &c.hf32
	case "inputshapes":
		return &c.inShapes
	case "inputdatatypes":
		return &c.inTypes
	case "inputformats":
		return &c.inFormats
	case "outputshapes":
		return &c.outShapes
	case "outputdatatypes":
		return &c.outTypes
	case "outputformats":
		return &c.outFormats
	case "aicoretime", "aictime":
		return &c.cubeTime
	case "aictotalcycles", "totalcycles":
		return &c.cubeCycles
	case "aivtime":
		return &c.vectorTime
	case "aivtotalcycles":
		return &c.vectorCycles
	}
	return nil
}

func (c *columns) places() []*int {
	return []*int{&c.name, &c.typ, &c.core, &c.duration, &c.blocks, &c.hf32, &c.inShapes, &c.inTypes, &c.inFormats,
		&c.outShapes, &c.outTypes, &c.outFormats, &c.cubeTime, &c.cubeCycles, &c.vectorTime, &c.vectorCycles}
}
