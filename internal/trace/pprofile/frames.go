package pprofile

import (
	"fmt"

	"github.com/google/pprof/profile"
)

type locationKey struct {
	device     uint16
	name, file string
}

// location is the frame name on a device; file is what groups such frames: the operator type of an operator, the kind
// of task of an operator type.
func (b *builder) location(device uint16, name, file string) *profile.Location {
	at := locationKey{device, name, file}
	if l := b.locations[at]; l != nil {
		return l
	}
	l := &profile.Location{
		ID: uint64(len(b.p.Location) + 1), Mapping: b.mapping(device), Address: uint64(device)<<32 | uint64(len(b.p.Location)+1),
		Line: []profile.Line{{Function: b.function(name, file)}},
	}
	b.p.Location = append(b.p.Location, l)
	b.locations[at] = l
	return l
}

func (b *builder) function(name, file string) *profile.Function {
	at := [2]string{name, file}
	if f := b.functions[at]; f != nil {
		return f
	}
	f := &profile.Function{ID: uint64(len(b.p.Function) + 1), Name: name, SystemName: name, Filename: file}
	b.p.Function = append(b.p.Function, f)
	b.functions[at] = f
	return f
}

// mapping is the device, so that viewers can focus on one. They take a mapping for symbolised when it says so.
func (b *builder) mapping(device uint16) *profile.Mapping {
	if m := b.mappings[device]; m != nil {
		return m
	}
	name := fmt.Sprintf("npu%d", device)
	if b.t.Meta.Chip != "" {
		name += " " + b.t.Meta.Chip
	}
	m := &profile.Mapping{ID: uint64(len(b.p.Mapping) + 1), File: name, HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}
	m.Start, m.Limit = uint64(device)<<32, uint64(device+1)<<32
	b.p.Mapping = append(b.p.Mapping, m)
	b.mappings[device] = m
	return m
}
