// Package kobject reads kernel objects (the .o files of AI-core kernels): entries, functions and, when the kernel was
// compiled with -g, lines and inlined functions. It answers one question: which function and line is this offset.
package kobject

import (
	"bytes"
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"npu/internal/problem"
)

// Machine is e_machine of kernel objects and core files.
const Machine = 0x1029

// Symbol is a function.
type Symbol struct {
	Name       string
	Addr, Size uint64
	Global     bool
}

// Object is a parsed kernel object. It is immutable.
type Object struct {
	Flags    uint32
	Type     string // REL or EXEC
	Symbols  []Symbol
	Sections []Section
	HasLines bool
	Notes    []string // what could not be read
	lines    []line
	inlined  []inline
}

// Section is one section of the object.
type Section struct {
	Name              string
	Addr, Size, Start uint64
}

type line struct {
	addr uint64
	file string
	line int
	end  bool
}

type inline struct {
	lo, hi   uint64
	name     string
	callFile string
	callLine int
}

// Parse reads an object. Damage inside the debug information only costs lines, and is noted.
func Parse(b []byte) (o *Object, err error) {
	// The standard library's readers are robust, but not written against hostile files; a panic there must not end
	// the program.
	defer func() {
		if r := recover(); r != nil {
			o, err = nil, problem.Damagedf("kernel object: section tables are damaged (%v)", r)
		}
	}()
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return nil, problem.Damagedf("kernel object: %w", err)
	}
	defer f.Close()
	if f.Machine != Machine {
		return nil, problem.Damagedf("kernel object: machine 0x%x is no AI core (expected 0x%x)", uint16(f.Machine), Machine)
	}
	o = &Object{Type: strings.TrimPrefix(f.Type.String(), "ET_")}
	if len(b) >= 52 {
		o.Flags = uint32(b[48]) | uint32(b[49])<<8 | uint32(b[50])<<16 | uint32(b[51])<<24
	}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_NULL && len(o.Sections) < 4096 {
			o.Sections = append(o.Sections, Section{s.Name, s.Addr, s.Size, s.Offset})
		}
	}
	syms, err := f.Symbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		o.Notes = append(o.Notes, "symbol table: "+err.Error())
	}
	for _, s := range syms {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC {
			continue
		}
		o.Symbols = append(o.Symbols, Symbol{s.Name, s.Value, s.Size, elf.ST_BIND(s.Info) == elf.STB_GLOBAL})
	}
	slices.SortStableFunc(o.Symbols, func(a, b Symbol) int { return cmp.Compare(a.Addr, b.Addr) })
	o.debug(f)
	return o, nil
}

func (o *Object) debug(f *elf.File) {
	defer func() {
		if r := recover(); r != nil {
			o.Notes = append(o.Notes, fmt.Sprintf("debug information is damaged (%v)", r))
		}
	}()
	if f.Section(".debug_line") == nil {
		return
	}
	d, err := f.DWARF()
	if err != nil {
		o.Notes = append(o.Notes, "debug information: "+err.Error())
		return
	}
	r := d.Reader()
	for {
		e, err := r.Next()
		if err != nil {
			o.Notes = append(o.Notes, "debug information: "+err.Error())
			return
		}
		if e == nil {
			break
		}
		if e.Tag == dwarf.TagCompileUnit {
			o.unit(d, e)
		}
		if e.Tag == dwarf.TagInlinedSubroutine {
			o.inline(d, e)
		}
	}
	slices.SortStableFunc(o.lines, func(a, b line) int { return cmp.Compare(a.addr, b.addr) })
	o.HasLines = len(o.lines) > 0
}

func (o *Object) unit(d *dwarf.Data, cu *dwarf.Entry) {
	lr, err := d.LineReader(cu)
	if err != nil || lr == nil {
		return
	}
	var le dwarf.LineEntry
	for len(o.lines) < 1<<22 && lr.Next(&le) == nil {
		l := line{addr: le.Address, line: le.Line, end: le.EndSequence}
		if le.File != nil {
			l.file = le.File.Name
		}
		o.lines = append(o.lines, l)
	}
}

func (o *Object) inline(d *dwarf.Data, e *dwarf.Entry) {
	ranges, err := d.Ranges(e)
	if err != nil || len(o.inlined) > 1<<20 {
		return
	}
	name := ""
	if off, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); ok {
		r := d.Reader()
		r.Seek(off)
		if a, err := r.Next(); err == nil && a != nil {
			name, _ = a.Val(dwarf.AttrName).(string)
		}
	}
	callLine, _ := e.Val(dwarf.AttrCallLine).(int64)
	for _, rg := range ranges {
		o.inlined = append(o.inlined, inline{rg[0], rg[1], name, "", int(callLine)})
	}
}

// Entry finds the symbol of a kernel. Logs sometimes print the name without the tiling key or the core suffix; a
// single function that starts with the name is taken then.
func (o *Object) Entry(kernel string) (Symbol, bool) {
	var prefix []Symbol
	var global []Symbol
	for _, s := range o.Symbols {
		if s.Name == kernel {
			return s, true
		}
		if kernel != "" && (strings.HasPrefix(s.Name, kernel) || strings.HasPrefix(kernel, s.Name) && len(s.Name) > 8) {
			prefix = append(prefix, s)
		}
		if s.Global {
			global = append(global, s)
		}
	}
	switch {
	case len(prefix) == 1:
		return prefix[0], true
	case len(prefix) == 0 && len(global) == 1:
		return global[0], true
	}
	return Symbol{}, false
}

// Location is where an offset of the text lies.
type Location struct {
	Function string
	Offset   uint64 // from the start of the function
	File     string
	Line     int
	Inlined  []string // functions inlined there, innermost first
}

// At looks an address of the object's text up; false outside every function.
func (o *Object) At(addr uint64) (Location, bool) {
	var l Location
	i, exact := slices.BinarySearchFunc(o.Symbols, addr, func(s Symbol, a uint64) int { return cmp.Compare(s.Addr, a) })
	if !exact {
		i--
	}
	for i >= 0 && i+1 < len(o.Symbols) && o.Symbols[i+1].Addr == o.Symbols[i].Addr {
		i++
	}
	if i < 0 || o.Symbols[i].Size > 0 && addr-o.Symbols[i].Addr >= o.Symbols[i].Size {
		return l, false
	}
	l.Function, l.Offset = o.Symbols[i].Name, addr-o.Symbols[i].Addr
	j, exact := slices.BinarySearchFunc(o.lines, addr, func(e line, a uint64) int { return cmp.Compare(e.addr, a) })
	for exact && j+1 < len(o.lines) && o.lines[j+1].addr == addr {
		j++ // of several rows for one address the last one counts
	}
	if !exact {
		j--
	}
	if j >= 0 && !o.lines[j].end {
		l.File, l.Line = o.lines[j].file, o.lines[j].line
	}
	var in []inline
	for _, e := range o.inlined {
		if addr >= e.lo && addr < e.hi {
			in = append(in, e)
		}
	}
	slices.SortStableFunc(in, func(a, b inline) int { return cmp.Compare(a.hi-a.lo, b.hi-b.lo) })
	for _, e := range in {
		l.Inlined = append(l.Inlined, e.name)
	}
	return l, true
}

func (l Location) String() string {
	s := fmt.Sprintf("%s+0x%x", l.Function, l.Offset)
	if l.File != "" {
		s += fmt.Sprintf(" (%s:%d)", path.Base(l.File), l.Line)
	}
	if len(l.Inlined) > 0 {
		s += " inlined " + strings.Join(l.Inlined, " in ")
	}
	return s
}
