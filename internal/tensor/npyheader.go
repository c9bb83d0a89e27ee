package tensor

import "fmt"

// NPYHeader is the start of a .npy file (version 1.0, C order, little endian) whose data a caller streams behind it:
// Shape.Bytes of the type, in row-major order. Types that NumPy lacks are refused; WriteNPY widens them.
func NPYHeader(t DType, s Shape) ([]byte, error) {
	if toDescr(t) == "" {
		return nil, fmt.Errorf("npy: %v tensors cannot be written", t)
	}
	head, err := npyHead(t, s, NPYOptions{})
	if err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	return head, nil
}
