package om

import (
	"fmt"
	"maps"
	"slices"

	"npu/internal/model/graph"
	"npu/internal/tensor"
)

// attrs writes what rebuilds the node, and what other readers look for.
func (s *graphWriter) attrs(o *OpDef, n *graph.Node, names []string, at Placed) error {
	o.Attrs.setStr(attrOp, n.Op)
	o.Attrs.setStrs(attrValues, names)
	list := &NamedAttrs{}
	for _, k := range slices.Sorted(maps.Keys(n.Attrs)) {
		if !list.Attrs.setAny(k, n.Attrs[k]) {
			return fmt.Errorf("attribute %s is of a kind that the format does not have", k)
		}
	}
	o.Attrs.add(attrAttrs, Attr{Kind: AttrFunc, Func: list})
	o.Attrs.setStrs("_datadump_original_op_names", n.Origin)
	describe(o, n)
	if at.Type == "" {
		o.Attrs.setBool("_no_task", true)
		return nil
	}
	if graph.IsCollective(n.Op) {
		o.Attrs.setStr("_ge_attr_op_kernel_lib_name", "ops_kernel_info_hccl")
		if g := o.Attrs.Str("group"); !slices.Contains(s.w.groups, g) {
			s.w.groups = append(s.w.groups, g)
		}
		return nil
	}
	o.Attrs.setInt("tvm_blockdim", int64(at.Blocks))
	o.Attrs.setStr("_kernelname", s.w.kernel(at.Type, n))
	o.Attrs.setStr("_ge_attr_op_kernel_lib_name", "npu")
	return nil
}

// setAny writes an attribute of package kernels.
func (a *Attrs) setAny(key string, v any) bool {
	switch v := v.(type) {
	case int64:
		a.setInt(key, v)
	case float32:
		a.setFloat(key, v)
	case string:
		a.setStr(key, v)
	case []int64:
		a.setInts(key, v)
	case []float32:
		a.setFloats(key, v)
	case []string:
		a.setStrs(key, v)
	case *tensor.Tensor:
		if v == nil {
			return false
		}
		d := descOf(&graph.Value{Name: key, DType: v.DType, Shape: v.Shape, Known: true})
		a.add(key, Attr{Kind: AttrTensor, Tensor: &TensorDef{Desc: d, Data: v.Data}})
	default:
		return false
	}
	return true
}
