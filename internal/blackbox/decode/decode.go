package decode

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"npu/internal/blackbox/elem"
	"npu/internal/blackbox/identify"
	"npu/internal/blackbox/plog"
	"npu/internal/problem"
)

// Options of a decode.
type Options struct {
	Out     string // folder for exports; empty: none
	Format  string // text, json, npy, bin, csv: what is exported (npy and bin) or printed
	DType   string // type for tensors of which the dump knows none
	Chip    string // family for black-box tables: 910B/A3 or 950
	NoStats bool   // skip the numbers (npu dump info)
}

// maxWhole is the largest file of the kinds that are read whole.
const maxWhole = 2 << 30

// job is one file being decoded.
type job struct {
	ctx   context.Context
	path  string
	size  int64
	file  *os.File
	o     Options
	rep   *Report
	dtype elem.Type
	base  string // name for exports
}

// File decodes one file. The report is not nil whenever something could be read; damage is in its problems, and the
// caller decides what that means (Damage makes an error of it).
func File(ctx context.Context, path string, o Options) (*Report, error) {
	return file(ctx, path, safeName(filepath.Base(path)), o)
}

func file(ctx context.Context, path, base string, o Options) (*Report, error) {
	kind, err := identify.File(path)
	if err != nil {
		return nil, err
	}
	j := &job{ctx: ctx, path: path, o: o, base: base, rep: &Report{File: path, Kind: kind, Cores: []Core{}, Tensors: []Tensor{}, Problems: []Problem{}}}
	if o.DType != "" {
		t, ok := elem.Parse(o.DType)
		if !ok {
			return nil, problem.Usagef("--dtype %q: no such type (float16, bfloat16, int32, hifloat8, ...)", o.DType)
		}
		j.dtype = t
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, problem.Mark(problem.Damaged, err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, problem.Mark(problem.Damaged, err)
	}
	j.file, j.size = f, st.Size()
	if err := j.decode(kind); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if j.rep.dropped > 0 {
		j.rep.Notes = append(j.rep.Notes, fmt.Sprintf("%d further records are left out", j.rep.dropped))
	}
	return j.rep, ctx.Err()
}

func (j *job) decode(kind string) error {
	switch kind {
	case identify.TensorDump:
		return j.tensorDump()
	case identify.Core:
		return j.core()
	case identify.Empty:
		return problem.Damagedf("the file is empty")
	case identify.Log, identify.History:
		return j.log(kind)
	case identify.NPY:
		return j.npy()
	case identify.NPZ:
		return j.npz()
	}
	whole := map[string]func([]byte) error{
		identify.KernelPrint: j.kernelPrint, identify.ATrace: j.atrace, identify.StackImage: j.stackImage, identify.StackText: j.stackText,
		identify.BlackBox: j.blackBox, identify.ErrorRing: j.errorRing, identify.KernelRing: j.printk, identify.DeviceInfo: j.deviceInfo, identify.KernelObject: j.kernelObject,
		identify.KernelJSON: j.kernelJSON, identify.Overflow: j.overflow, identify.DumpStats: j.dumpStats, identify.MsprobeJSON: j.msprobe,
	}
	fn, ok := whole[kind]
	if !ok {
		if kind == "" || kind == identify.Text {
			head := make([]byte, 512)
			n, _ := j.file.ReadAt(head, 0) // a shorter file is read as far as it goes
			if how := plog.Packing(head[:n]); how != "" {
				return problem.Damagedf("packed with %s: unpack it first; 'npu log' reads logs inside", how)
			}
			return problem.Damagedf("not a dump, core file, stack, black box or log that this program knows")
		}
		return problem.Damagedf("is a %s: use npu inspect", identify.Description(kind))
	}
	if j.size > maxWhole {
		return problem.Damagedf("%s of %d bytes: more than 2 GiB are not read", identify.Description(kind), j.size)
	}
	b := make([]byte, j.size)
	n, err := io.ReadFull(j.file, b)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return problem.Mark(problem.Damaged, fmt.Errorf("read: %w", err))
	}
	return fn(b[:n])
}

// Damage is the error for a report with problems: what could be read is in the report already.
func Damage(r *Report) error {
	if len(r.Problems) == 0 {
		return nil
	}
	p := r.Problems[0]
	more := ""
	if n := len(r.Problems) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more problems)", n)
	}
	return problem.Damagedf("%s: offset 0x%x: %s%s", r.File, p.Offset, p.Text, more)
}

// Dir decodes every file below a folder that has a known kind, in the order of their names, and hands each report to
// fn. Files of unknown kinds are counted.
func Dir(ctx context.Context, dir string, o Options, fn func(rep *Report, base string, err error) error) (skipped int, err error) {
	var files []string
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return ctx.Err()
	})
	if err != nil {
		return 0, problem.Mark(problem.Damaged, fmt.Errorf("read folder %s: %w", dir, err))
	}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return skipped, err
		}
		kind, err := identify.File(f)
		if err != nil || kind == "" || kind == identify.Text || kind == identify.Empty || kind == "onnx" || kind == "om" || kind == "npt" {
			skipped++
			continue
		}
		rel, err := filepath.Rel(dir, f)
		if err != nil {
			rel = filepath.Base(f)
		}
		var parts []string
		for _, p := range strings.Split(rel, string(filepath.Separator)) {
			parts = append(parts, safeName(p))
		}
		base := filepath.Join(parts...)
		rep, err := file(ctx, f, base, o)
		if err := fn(rep, base, err); err != nil {
			return skipped, err
		}
	}
	return skipped, nil
}

// safeName keeps letters, digits and . - _ of a name from a file; what is left can never leave the output folder.
func safeName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, s)
	s = strings.TrimLeft(s, ".")
	if s == "" {
		s = "_"
	}
	if len(s) > 200 {
		s = s[:200]
	}
	return s
}
