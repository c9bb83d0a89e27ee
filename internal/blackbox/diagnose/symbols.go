package diagnose

import (
	"fmt"
	"os"

	"npu/internal/blackbox/kobject"
	"npu/internal/problem"
)

// LoadSymbols makes a Symbolizer from a kernel object.
func LoadSymbols(file string) (Symbolizer, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, problem.Mark(problem.Damaged, fmt.Errorf("read kernel object: %w", err))
	}
	o, err := kobject.Parse(b)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return func(kernel string, offset uint64) string {
		e, ok := o.Entry(kernel)
		if !ok {
			return ""
		}
		// The offset counts from the entry of this kernel, which need not be the start of the text.
		l, ok := o.At(e.Addr + offset)
		if !ok {
			return ""
		}
		return l.String()
	}, nil
}
