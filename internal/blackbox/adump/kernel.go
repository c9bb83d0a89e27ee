package adump

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"npu/internal/blackbox/elem"
	"npu/internal/problem"
)

// Kernel is the description that the compiler puts beside a kernel object (the .json).
type Kernel struct {
	BinFileName string `json:"binFileName"`
	KernelName  string `json:"kernelName"`
	CoreType    string `json:"coreType"`
	Magic       string `json:"magic"`
	BlockDim    int    `json:"blockDim"`
	OpParaSize  int    `json:"opParaSize"`
	SHA256      string `json:"sha256"`
	KernelList  []struct {
		KernelName string `json:"kernelName"`
	} `json:"kernelList"`
	Workspace struct {
		Size []int64 `json:"size"`
	} `json:"workspace"`
	Support struct {
		ImplMode string  `json:"implMode"`
		OpMode   string  `json:"opMode"`
		Inputs   []Param `json:"inputs"`
		Outputs  []Param `json:"outputs"`
	} `json:"supportInfo"`
	Path string `json:"-"`
}

// Param is one input or output of the description.
type Param struct {
	Name   string  `json:"name"`
	DType  string  `json:"dtype"`
	Format string  `json:"format"`
	Shape  []int64 `json:"shape"`
}

// ParseKernel reads a description.
func ParseKernel(b []byte) (*Kernel, error) {
	var k Kernel
	// Old descriptions write some members with other types (lists, null); those errors do not matter here.
	err := json.Unmarshal(b, &k)
	if k.KernelName == "" && k.BinFileName == "" {
		if err != nil {
			return nil, problem.Damagedf("kernel description: %w", err)
		}
		return nil, problem.Damagedf("kernel description: neither kernelName nor binFileName is in it")
	}
	return &k, nil
}

// KernelsBeside reads the descriptions in the folder of a dump.
func KernelsBeside(path string) []*Kernel {
	names, err := filepath.Glob(filepath.Join(globEscape(filepath.Dir(path)), "*.json"))
	if err != nil {
		return nil
	}
	var out []*Kernel
	for _, n := range names[:min(len(names), 256)] {
		if st, err := os.Stat(n); err != nil || st.Size() > 16<<20 {
			continue
		}
		b, err := os.ReadFile(n)
		if err != nil {
			continue
		}
		if k, err := ParseKernel(b); err == nil {
			k.Path = n
			out = append(out, k)
		}
	}
	return out
}

func globEscape(s string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(s)
}

// Types says whether the description fits the dump's tensors without a type, and gives the types. It fits when every
// input and output that it lists has the size that shape and type make. Arguments are paired by their index; dumps
// without indexes by order.
func (k *Kernel) Types(f *File) (map[int]elem.Type, bool) {
	if len(k.Support.Inputs)+len(k.Support.Outputs) == 0 {
		return nil, false
	}
	for _, byArg := range []bool{true, false} {
		out := map[int]elem.Type{}
		if k.pair(f, "input", k.Support.Inputs, byArg, 0, out) && k.pair(f, "output", k.Support.Outputs, byArg, len(k.Support.Inputs), out) && len(out) > 0 {
			return out, true
		}
	}
	return nil, false
}

func (k *Kernel) pair(f *File, role string, params []Param, byArg bool, first int, out map[int]elem.Type) bool {
	order := 0
	for ti, t := range f.Tensors {
		if t.Role != role || t.InputType == 7 {
			continue
		}
		i := order
		order++
		if byArg {
			i = t.ArgIndex - first
		}
		if i < 0 || i >= len(params) || t.DTypeNo != 0 || len(t.Shape) == 0 { // nothing to check against
			continue
		}
		ty, ok := elem.Parse(params[i].DType)
		if !ok {
			continue
		}
		n, ok := Elements(t.Shape)
		if need, ok2 := ty.Bytes(n); !ok || !ok2 || need != t.Size {
			return false
		}
		out[ti] = ty
	}
	return true
}

// FillTypes gives tensors of an L0 dump their types from the one description that fits; the result is its path. If
// two descriptions fit with different types, none is taken.
func (f *File) FillTypes(ks []*Kernel) string {
	var best map[int]elem.Type
	path := ""
	for _, k := range ks {
		m, ok := k.Types(f)
		if !ok {
			continue
		}
		if best != nil && !sameTypes(best, m) {
			return ""
		}
		if best == nil {
			best, path = m, k.Path
		}
	}
	for i, ty := range best {
		f.Tensors[i].DType = ty
	}
	return path
}

func sameTypes(a, b map[int]elem.Type) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

// Elements multiplies a shape; false if it overflows.
func Elements(shape []uint64) (uint64, bool) {
	n := uint64(1)
	if slices.Contains(shape, 0) {
		return 0, true
	}
	for _, d := range shape {
		if n > (1<<55)/d {
			return 0, false
		}
		n *= d
	}
	return n, true
}
