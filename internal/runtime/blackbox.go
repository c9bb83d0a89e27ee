package runtime

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"npu/internal/blackbox/aicore"
	"npu/internal/blackbox/errring"
	"npu/internal/outfile"
	"npu/internal/problem"
	"npu/internal/sim"
)

// maxDumps bounds what a run that fails again and again leaves behind: the first faults are the cause.
const maxDumps = 100

// blackBox keeps what a run leaves behind of its faults. The service thread owns it.
type blackBox struct {
	dir   string
	pid   uint64
	total uint64
	ring  []errring.Element // the last ones that were read
	log   bytes.Buffer
	stamp string   // of the log's name
	files []string // written, in order
	err   error    // the first one
}

// DumpExceptions has each failing task leave in dir what it takes to find the cause: the black box of its device, on
// disk before the exception callbacks are called; a core file, if cores ran it; and the messages of the runtime's log
// (aclInit with dump.dump_scene aic_err_detail_dump and dump_path). dir is made if need be. The tree below it is that
// of the real runtime.
func (th *Thread) DumpExceptions(dir string) error {
	if dir == "" {
		return th.fail(ACLInvalidParam, callException.name, "the directory for dumps has no name", "")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return problem.Mark(problem.Usage, fmt.Errorf("directory for dumps: %w", err))
	}
	box := &blackBox{dir: dir, pid: uint64(os.Getpid())}
	return th.changeExceptions(func(x *exceptions) {
		x.box = box
		th.rt.machine.KeepHistory()
	})
}

// Dumps lists the files that DumpExceptions has made so far, and the first error of writing one. Call it when nothing
// runs.
func (rt *Runtime) Dumps() (files []string, err error) {
	if b := rt.exceptions.box; b != nil {
		return b.files, b.err
	}
	return nil, nil
}

// dump writes what there is to write of a fault. It runs on the service thread; the device stands still meanwhile.
func (cb *Thread) dump(box *blackBox, e *Exception) {
	box.total++
	var el errring.Element
	var sections []errring.Section
	core := func(io.Writer) error { return nil }
	name := ""
	err := cb.port.Call(func() {
		d := cb.rt.deviceOf(e.Fault)
		if d == nil {
			return
		}
		el = box.element(e)
		family, _ := aicore.FamilyOfChip(d.hw.Chip().Short)
		if box.ring = append(box.ring, el); len(box.ring) > errring.FormOf(family).Slots {
			box.ring = append(box.ring[:0], box.ring[1:]...)
		}
		if box.total > maxDumps {
			return
		}
		lines := logText(e, &el, family, time.Now())
		box.log.WriteString(lines)
		sections = append(cb.rt.sections(d, e), errring.Section{Name: "log", Lines: lines})
		if len(e.Fault.Cores) > 0 {
			name, core = fileName(cmp.Or(e.Kernel, "kernel")), cb.rt.coreFile(d, e)
		}
		if box.stamp == "" {
			box.stamp = stamp(time.Now())
		}
		now := stamp(time.Now())
		box.write(filepath.Join("black-box", fmt.Sprintf("device-%d", e.Device), fmt.Sprintf("%s.%d.%d.bbox", now, e.Stream, e.Task)), func(w io.Writer) error {
			_, err := w.Write(errring.Encode(&errring.Box{Family: family, Pid: box.pid, Total: box.total, Elements: box.ring, Sections: sections}))
			return err
		})
		if name != "" {
			box.write(filepath.Join("extra-info", "data-dump", fmt.Sprint(e.Device), fmt.Sprintf("%s.%d.%d.%s.core", name, e.Stream, e.Task, now)), core)
		}
		box.write(filepath.Join("log", "debug", "plog", fmt.Sprintf("plog-%d_%s.log", box.pid, box.stamp)), func(w io.Writer) error {
			_, err := w.Write(box.log.Bytes())
			return err
		})
	})
	if err != nil && box.err == nil {
		box.err = err
	}
}

// write makes one file; the first error is kept, and no half file.
func (b *blackBox) write(name string, write func(io.Writer) error) {
	path := filepath.Join(b.dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = outfile.Write(path, write)
	}
	switch {
	case err == nil && (len(b.files) == 0 || b.files[len(b.files)-1] != path):
		b.files = append(b.files, path)
	case err != nil && b.err == nil:
		b.err = err
		if p := (*fs.PathError)(nil); errors.As(err, &p) { // the name of the temporary file tells nothing
			b.err = fmt.Errorf("%s was not written: %w: make room, or choose another directory", path, p.Err)
		}
	}
}

// stamp is a time as the names of dumps have it: local time, ms.
func stamp(t time.Time) string { return strings.Replace(t.Format("20060102150405.000"), ".", "", 1) }

// fileName keeps a kernel's name readable within a file's.
func fileName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, s)
	return s[:min(len(s), 150)]
}

func (rt *Runtime) deviceOf(f *sim.Fault) *Device {
	for _, d := range rt.devices {
		if d.hw.ID() == f.Device {
			return d
		}
	}
	return nil
}

// element is the record of the error ring.
func (b *blackBox) element(e *Exception) errring.Element {
	f := e.Fault
	x := errring.Element{Pid: b.pid, Serial: b.total, Device: uint32(e.Device), Stream: e.Stream, Task: e.Task, Code: f.Code, Blocks: f.Blocks}
	switch {
	case f.Code == sim.CodeTaskTimeout:
		x.Type, x.Kind = errring.WaitTimeout, uint64(f.Kind)
		if len(f.Words) == 3 {
			x.ID, x.Limit = f.Words[0], f.Words[2]
		}
	case !f.Kind.Kernel():
		x.Type, x.Kind, x.ID, x.Limit = errring.SDMA, uint64(f.Kind), 0, f.Addr
	case len(f.Cores) == 0:
		x.Type = errring.AICPU
	case f.Cores[0].Vector:
		x.Type = errring.AIVector
	}
	for _, c := range f.Cores {
		if !c.Failed && f.Code != sim.CodeAICoreTimeout && f.Code != sim.CodeVectorTimeout {
			continue
		}
		x.Cores = append(x.Cores, errring.Core{ID: uint32(c.ID), Block: uint32(c.Block), Vector: c.Vector, Raised: c.Raised, PCStart: f.TextAddr, PC: c.PC,
			ParaBase: f.Args, Reached: c.Executed, SubError: 4})
	}
	return x
}
