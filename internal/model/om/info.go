package om

import (
	"bytes"
	"strings"
)

// Soc is the chip that the file was compiled for, and where that stands; "" where the file does not say it.
func (m *Model) Soc() (name, from string) {
	g := m.root()
	if g == nil || g.Def == nil {
		return "", ""
	}
	a := g.Def.Attrs
	if s := a.Str("soc_version"); s != "" {
		return s, "soc_version"
	}
	words := strings.Fields(a.Str("atc_cmdline"))
	for i, w := range words {
		key, value, ok := strings.Cut(strings.TrimLeft(w, "-"), "=")
		if key != "soc_version" {
			continue
		}
		if !ok && i+1 < len(words) {
			value = words[i+1]
		}
		return strings.Trim(value, `"'`), "atc_cmdline"
	}
	return "", ""
}

// GuessSoc is the chip of files that do not name one: compilers that wrote the first header made models for Ascend310.
func (m *Model) GuessSoc() string {
	if m.Header.Version == version1 {
		return "Ascend310"
	}
	return ""
}

// Compiler is the version of the compiler, "" where the file does not say it.
func (m *Model) Compiler() string { return m.attr("atc_version", "compiler_version") }

// Attr is a text attribute of the model.
func (m *Model) Attr(name string) string { return m.attr(name) }

func (m *Model) attr(names ...string) string {
	if g := m.root(); g != nil && g.Def != nil {
		for _, n := range names {
			if s := g.Def.Attrs.Str(n); s != "" {
				return s
			}
		}
	}
	return ""
}

// Int is a number among the attributes of the model; ok is false where it is missing.
func (m *Model) Int(name string) (n int64, ok bool) {
	if g := m.root(); g != nil && g.Def != nil {
		if a := g.Def.Attrs.Get(name); a != nil {
			return a.Int, true
		}
	}
	return 0, false
}

// Toolkit is the version of the toolkit in the path of the compiler: "ascend-toolkit/5.1.RC1.alpha005" in its command
// line.
func (m *Model) Toolkit() string {
	line := m.Attr("atc_cmdline")
	for _, mark := range []string{"ascend-toolkit/", "CANN-", "cann-", "cann/"} {
		_, rest, ok := strings.Cut(line, mark)
		if !ok {
			continue
		}
		v, _, _ := strings.Cut(rest, "/")
		if v != "" && v != "latest" && v[0] >= '0' && v[0] <= '9' {
			return v
		}
	}
	return ""
}

// Ops counts the operators by type, all graphs and models together.
func (m *Model) Ops() map[string]int {
	n := map[string]int{}
	m.eachOp(func(o *OpDef) { n[o.Type]++ })
	return n
}

// FrameworkOps counts the operators of the original framework that run on the AI CPU, by their type there.
func (m *Model) FrameworkOps() map[string]int {
	n := map[string]int{}
	m.eachOp(func(o *OpDef) {
		if o.Type == "FrameworkOp" {
			n[o.Attrs.Str("original_type")]++
		}
	})
	return n
}

func (m *Model) eachOp(f func(*OpDef)) {
	for _, g := range m.Groups {
		if g.Def == nil {
			continue
		}
		for _, gr := range g.Def.Graphs {
			for _, o := range gr.Ops {
				f(o)
			}
		}
	}
}

// TaskTypes counts the tasks by type.
func (m *Model) TaskTypes() map[string]int {
	n := map[string]int{}
	for _, g := range m.Groups {
		for i := range g.Tasks {
			n[g.Tasks[i].Type.String()]++
		}
	}
	return n
}

// OpOf is the operator a task belongs to; nil for tasks of none.
func (g *Group) OpOf(t *Task) *OpDef {
	if t.OpIndex < 0 || g.Def == nil {
		return nil
	}
	for _, gr := range g.Def.Graphs {
		for _, o := range gr.Ops {
			if o.ID == t.OpIndex {
				return o
			}
		}
	}
	return nil
}

// KernelOf is the store's kernel of an operator: by attribute, or in old files by the operator's name. nil: none.
func (g *Group) KernelOf(o *OpDef) *Kernel {
	names := []string{o.Attrs.Str("_kernelname"), o.Attrs.Str(o.Name + "_kernelname"), o.Attrs.Str("_tbe_kernel_name_for_load"), o.Name}
	for _, n := range names {
		for i := range g.Kernels {
			if n != "" && g.Kernels[i].Name == n {
				return &g.Kernels[i]
			}
		}
	}
	return nil
}

// kernelName is the full name of an operator's kernel, which tells what was fused into it.
func (o *OpDef) kernelName() string {
	if n := o.Attrs.Str("_kernelname"); n != "" {
		return n
	}
	return o.Attrs.Str(o.Name + "_kernelname")
}

// KernelCount is the number of binaries in the stores.
func (m *Model) KernelCount() int {
	n := 0
	for _, g := range m.Groups {
		n += len(g.Kernels) + len(g.AICPU) + len(g.Custom)
	}
	return n
}

// Ours says that this program wrote the file.
func (m *Model) Ours() bool {
	return bytes.HasPrefix([]byte(m.Attr("atc_cmdline")), []byte(ourCommand))
}

// ourCommand begins the command line in files of ours, so that nobody takes them for the vendor's.
const ourCommand = "npu compile"
