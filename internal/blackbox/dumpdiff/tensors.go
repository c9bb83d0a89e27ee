package dumpdiff

import "npu/internal/tensor"

// Tensor is one dumped tensor of a file or folder.
type Tensor struct {
	Node string // the operator's name, with / . \ and blanks as underscores
	Name string // "output.0"
	File string
	Load func() (*tensor.Tensor, error)
}

// Tensors lists the tensors of a dump, a .npy file or a folder of them, in order of execution, and notes what is
// damaged. A path without any is problem.Damaged.
func Tensors(path string) (list []Tensor, notes []string, err error) {
	items, notes, err := side(path)
	for _, x := range items {
		list = append(list, Tensor{Node: x.node, Name: x.name, File: x.label, Load: x.load})
	}
	return list, notes, err
}
