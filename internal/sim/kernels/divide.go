package kernels

import (
	"fmt"

	"npu/internal/tensor"
)

// faultingDivision makes an integer division by zero an error, which is a fault of the core that ran it. The quotient
// itself is 0 then.
func faultingDivision(run func(*Exec) error, t tensor.DType) func(*Exec) error {
	size := int(t.Size())
	return func(x *Exec) error {
		if err := run(x); err != nil {
			return err
		}
		if i := zeroElement(x.In[1], size); i >= 0 {
			return fmt.Errorf("division by zero: element %d of the divisor", i)
		}
		return nil
	}
}

// zeroElement is the first element of size bytes that is zero, -1 for none.
func zeroElement(b []byte, size int) int {
	for i := 0; i+size <= len(b); i += size {
		zero := true
		for _, c := range b[i : i+size] {
			if c != 0 {
				zero = false
				break
			}
		}
		if zero {
			return i / size
		}
	}
	return -1
}
