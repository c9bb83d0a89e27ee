package graph

import (
	"errors"
	"fmt"
	"slices"

	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// Operators of communication between the ranks of a group, under their names in the graph engine. Attributes: "group"
// (hccl_world_group), "reduction" (sum, max, min), "rank_size", "root_rank", "dest_rank", "src_rank", "sr_tag", and of a
// receive "shape" and "dtype".
const (
	AllReduce     = "HcomAllReduce"
	AllGather     = "HcomAllGather"
	ReduceScatter = "HcomReduceScatter"
	Broadcast     = "HcomBroadcast"
	Send          = "HcomSend"
	Receive       = "HcomReceive"
)

// WorldGroup is the group of all ranks.
const WorldGroup = "hccl_world_group"

// Collective is what a node of communication does.
type Collective struct {
	Op        string
	Group     string
	Reduction string // sum, max or min, of those that combine
	Ranks     int    // of the group as the file says it; 0: it does not
	Root      int    // of a broadcast
	Peer      int    // of a send or receive
	Tag       int    // the same: a send and its receive have one
}

// IsCollective says whether an operator communicates. Such nodes have an effect on other ranks: no pass may drop, merge
// or fold them.
func IsCollective(op string) bool {
	return slices.Contains([]string{AllReduce, AllGather, ReduceScatter, Broadcast, Send, Receive}, op)
}

// CollectiveOf reads the attributes of a node of communication.
func CollectiveOf(n *Node) (*Collective, error) {
	a := n.Attrs
	c := &Collective{Op: n.Op, Group: a.Str("group", WorldGroup), Ranks: a.Int("rank_size", 0), Tag: a.Int("sr_tag", 0)}
	need := func(name string) (int, error) {
		if v := a.Int(name, -1); v >= 0 {
			return v, nil
		}
		return 0, fmt.Errorf("attribute %s is missing or negative", name)
	}
	var err error
	switch n.Op {
	case AllReduce, ReduceScatter:
		if c.Reduction = a.Str("reduction", ""); c.Reduction == "" {
			return nil, errors.New("attribute reduction is missing: sum, max or min")
		}
		if !slices.Contains([]string{"sum", "max", "min"}, c.Reduction) {
			return nil, fmt.Errorf("reduction %q: sum, max and min can be computed on a link: %w", c.Reduction, kernels.ErrUnsupported)
		}
	case Broadcast:
		c.Root, err = need("root_rank")
	case Send:
		c.Peer, err = need("dest_rank")
	case Receive:
		c.Peer, err = need("src_rank")
	}
	if err == nil && (n.Op == AllGather || n.Op == ReduceScatter) && c.Ranks < 1 {
		err = errors.New("attribute rank_size is missing: the result's shape depends on it")
	}
	return c, err
}

// collective infers the results of a node of communication.
func (w *inferrer) collective(n *Node) error {
	c, err := CollectiveOf(n)
	if err != nil {
		return err
	}
	for i, v := range n.In {
		if v == nil || !v.Known || !v.Shape.Static() {
			return fmt.Errorf("input %d has no size that is known: %w", i, kernels.ErrUnsupported)
		}
		if c.Reduction != "" && !reducible(v.DType) {
			return fmt.Errorf("%s of %v: %w", c.Reduction, v.DType, kernels.ErrUnsupported)
		}
	}
	in, out := 1, 1
	switch n.Op {
	case Broadcast:
		in, out = max(1, len(n.In)), max(1, len(n.In))
	case Send:
		out = 0
	case Receive:
		in = 0
	}
	if len(n.In) != in || len(n.Out) != out || slices.Contains(n.Out, nil) {
		return fmt.Errorf("%d inputs and %d outputs, it has %d and %d", len(n.In), len(n.Out), in, out)
	}
	for i, v := range n.Out {
		if n.Op == Receive {
			err = received(n, v)
		} else {
			err = c.shape(n.In[i], v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shape is the result of a collective of x.
func (c *Collective) shape(x, y *Value) error {
	y.DType, y.Shape, y.Known, y.Format = x.DType, x.Shape.Clone(), true, x.Format
	if c.Op != AllGather && c.Op != ReduceScatter {
		return nil
	}
	if len(y.Shape) == 0 {
		return errors.New("a scalar has no dimension to split over the ranks")
	}
	switch {
	case c.Op == AllGather:
		if c.Ranks > maxBytes/max(1, y.Shape[0]) {
			return fmt.Errorf("rank_size %d", c.Ranks)
		}
		y.Shape[0] *= c.Ranks
	case y.Shape[0]%c.Ranks != 0:
		return fmt.Errorf("the first dimension of %v cannot be split over %d ranks", y.Shape, c.Ranks)
	default:
		y.Shape[0] /= c.Ranks
	}
	if b, err := y.Shape.Bytes(y.DType); err != nil || b > maxBytes {
		return fmt.Errorf("the result would be %s, more than any device holds", Type(y))
	}
	return nil
}

// received gives the result of a receive the type and shape that its attributes say; without them it has those that
// it came with.
func received(n *Node, v *Value) error {
	if n.Attrs.Has("shape") {
		v.Shape, v.Known = tensor.Shape(n.Attrs.Ints("shape")), true
	}
	if name := n.Attrs.Str("dtype", ""); name != "" {
		t, err := tensor.ParseDType(name)
		if err != nil {
			return err
		}
		v.DType = t
	} else if n.Attrs.Has("dtype") {
		t, err := kernels.ElementType(n.Attrs.Int("dtype", 0))
		if err != nil {
			return err
		}
		v.DType = t
	}
	if v.DType.Bits() == 0 || !v.Known || !v.Shape.Static() {
		return errors.New("attributes shape and dtype must say what is received")
	}
	if b, err := v.Shape.Bytes(v.DType); err != nil || b > maxBytes {
		return fmt.Errorf("%s is more than any device holds", Type(v))
	}
	return nil
}

// reducible are the types that links combine.
func reducible(t tensor.DType) bool {
	switch t {
	case tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Int32, tensor.Int16, tensor.Int8:
		return true
	}
	return false
}
