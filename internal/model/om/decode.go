package om

import "fmt"

func decodeModel(w wire) (*ModelDef, error) {
	m := &ModelDef{}
	err := w.each(func(x *field) error {
		switch x.num {
		case 1:
			return x.str(&m.Name)
		case 2:
			return x.u32(&m.Version)
		case 3:
			return x.str(&m.CustomVersion)
		case 7:
			g, err := decodeGraph(x)
			if err != nil {
				return fmt.Errorf("graph %d: %w", len(m.Graphs), err)
			}
			m.Graphs = append(m.Graphs, g)
		case 11:
			return m.Attrs.decode(x)
		}
		return nil
	})
	return m, err
}

func decodeGraph(f *field) (*GraphDef, error) {
	w, err := f.message(1)
	if err != nil {
		return nil, err
	}
	g := &GraphDef{}
	return g, w.each(func(x *field) error {
		switch x.num {
		case 1:
			return x.str(&g.Name)
		case 4:
			return x.strs(&g.Inputs)
		case 5:
			return x.strs(&g.Outputs)
		case 6:
			op, err := decodeOp(x)
			if err != nil {
				return fmt.Errorf("operator %d (%s): %w", len(g.Ops), op.Name, err)
			}
			g.Ops = append(g.Ops, op)
		case 11:
			return g.Attrs.decode(x)
		}
		return nil
	})
}

func decodeOp(f *field) (*OpDef, error) {
	o := &OpDef{offset: f.off}
	w, err := f.message(4)
	if err != nil {
		return o, err
	}
	return o, w.each(func(x *field) error {
		switch x.num {
		case 1:
			return x.str(&o.Name)
		case 2:
			return x.str(&o.Type)
		case 5:
			return x.strs(&o.Inputs)
		case 10:
			return o.Attrs.decode(x)
		case 20:
			return x.bool(&o.HasOutAttr)
		case 21:
			return x.int(&o.ID)
		case 22:
			return x.int(&o.Stream)
		case 23:
			return x.strs(&o.InputNames)
		case 24:
			return x.strs(&o.SrcNames)
		case 25:
			return x.ints(&o.SrcIndex)
		case 26:
			return x.strs(&o.DstNames)
		case 27:
			return x.ints(&o.DstIndex)
		case 28:
			return x.ints(&o.InputI)
		case 29:
			return x.ints(&o.OutputI)
		case 30:
			return x.ints(&o.Workspace)
		case 31:
			return x.ints(&o.WorkBytes)
		case 32:
			return x.bools(&o.ConstInput)
		case 33:
			return x.desc(&o.In)
		case 34:
			return x.desc(&o.Out)
		case 35:
			return x.strs(&o.Subgraphs)
		}
		return nil
	})
}

func (x *field) desc(to *[]*TensorDesc) error {
	d, err := decodeDesc(x)
	*to = append(*to, d)
	return err
}

func decodeDesc(f *field) (*TensorDesc, error) {
	w, err := f.message(2)
	if err != nil {
		return nil, err
	}
	d := &TensorDesc{}
	return d, w.each(func(x *field) error {
		switch x.num {
		case 1:
			return x.str(&d.Name)
		case 2:
			return x.int(&d.DType)
		case 3:
			d.Scalar = true
			return x.each(func(y *field) error {
				if y.num == 1 {
					return y.ints(&d.Shape)
				}
				return nil
			})
		case 4:
			return x.str(&d.Layout)
		case 5:
			return d.Attrs.decode(x)
		case 9:
			return x.bool(&d.HasOutAttr)
		case 10:
			return x.int(&d.Size)
		case 11:
			return x.int(&d.WeightSize)
		case 12:
			return x.bool(&d.ReuseInput)
		case 13:
			return x.bool(&d.OutputTens)
		case 14:
			return x.str(&d.DeviceType)
		case 15:
			return x.bool(&d.InputTens)
		case 16:
			return x.int(&d.RealDims)
		case 17:
			return x.int(&d.ReuseIndex)
		case 18:
			return x.int(&d.DataOffset)
		case 19:
			return x.int(&d.CmpsSize)
		case 20:
			return x.bytes(&d.CmpsTab)
		case 21:
			return x.int(&d.CmpsTabOffs)
		}
		return nil
	})
}

func decodeTensor(f *field) (*TensorDef, error) {
	w, err := f.message(1)
	if err != nil {
		return nil, err
	}
	t := &TensorDef{}
	return t, w.each(func(x *field) error {
		switch x.num {
		case 1:
			var err error
			t.Desc, err = decodeDesc(x)
			return err
		case 2:
			return x.bytes(&t.Data)
		}
		return nil
	})
}

func decodeNamed(f *field) (*NamedAttrs, error) {
	w, err := f.message(1)
	if err != nil {
		return nil, err
	}
	n := &NamedAttrs{}
	return n, w.each(func(x *field) error {
		switch x.num {
		case 1:
			return x.str(&n.Name)
		case 2:
			return n.Attrs.decode(x)
		}
		return nil
	})
}

// decode reads one entry of a map of attributes.
func (a *Attrs) decode(f *field) error {
	w, err := f.message(1)
	if err != nil {
		return err
	}
	var kv KV
	err = w.each(func(x *field) error {
		switch x.num {
		case 1:
			return x.str(&kv.Key)
		case 2:
			return kv.Attr.decode(x)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("attribute %q: %w", kv.Key, err)
	}
	*a = append(*a, kv)
	return nil
}

func (a *Attr) decode(f *field) error {
	w, err := f.message(1)
	if err != nil {
		return err
	}
	return w.each(func(x *field) error {
		kind := AttrKind(0)
		if x.num < 256 {
			kind = AttrKind(x.num)
		}
		var err error
		switch kind {
		case AttrList:
			a.List, err = decodeList(x)
		case AttrString, AttrBytes, AttrExpr:
			err = x.bytes(&a.Data)
		case AttrInt, AttrDType:
			err = x.int(&a.Int)
		case AttrFloat:
			err = x.float(&a.F)
		case AttrBool:
			if err = x.int(&a.Int); a.Int != 0 {
				a.Int = 1
			}
		case AttrFunc:
			a.Func, err = decodeNamed(x)
		case AttrDesc:
			a.Desc, err = decodeDesc(x)
		case AttrTensor:
			a.Tensor, err = decodeTensor(x)
		case AttrGraph:
			a.Graph, err = decodeGraph(x)
		case AttrIntLists:
			a.Ints, err = decodeLists(x, (*field).ints)
		case AttrFloatLists:
			a.Floats, err = decodeLists(x, (*field).floats)
		default:
			return nil
		}
		a.Kind = kind
		return err
	})
}

// decodeLists reads a list of lists.
func decodeLists[T any](f *field, read func(*field, *[]T) error) ([][]T, error) {
	w, err := f.message(1)
	if err != nil {
		return nil, err
	}
	var out [][]T
	err = w.each(func(x *field) error {
		if x.num != 1 {
			return nil
		}
		in, err := x.message(1)
		if err != nil {
			return err
		}
		var one []T
		err = in.each(func(y *field) error {
			if y.num == 1 {
				return read(y, &one)
			}
			return nil
		})
		out = append(out, one)
		return err
	})
	return out, err
}

func decodeList(f *field) (*List, error) {
	w, err := f.message(1)
	if err != nil {
		return nil, err
	}
	l := &List{}
	return l, w.each(func(x *field) error {
		switch x.num {
		case 2, 7:
			var b []byte
			if err := x.bytes(&b); err != nil {
				return err
			}
			if x.num == 2 {
				l.Strings = append(l.Strings, b)
			} else {
				l.Bytes = append(l.Bytes, b)
			}
		case 3:
			return x.ints(&l.Ints)
		case 4:
			return x.floats(&l.Floats)
		case 5:
			return x.bools(&l.Bools)
		case 8:
			return x.desc(&l.Descs)
		case 9:
			t, err := decodeTensor(x)
			l.Tensors = append(l.Tensors, t)
			return err
		case 10:
			g, err := decodeGraph(x)
			l.Graphs = append(l.Graphs, g)
			return err
		case 11:
			n, err := decodeNamed(x)
			l.Funcs = append(l.Funcs, n)
			return err
		case 12:
			return x.ints(&l.DTypes)
		case 20:
			return x.int(&l.Type)
		}
		return nil
	})
}
