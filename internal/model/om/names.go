package om

import "fmt"

// Files of CANN 7 and later replace names of attributes, and string values, by indices into lists of the model.

// dictionary is the lists of one model.
type dictionary struct {
	names   []string
	values  []string
	strings []bool // by name: the value is an index too
}

func newDictionary(m *ModelDef) (*dictionary, error) {
	d := &dictionary{names: m.Attrs.Strs("attr_name_enum"), values: m.Attrs.Strs("attr_value_enum")}
	if x := m.Attrs.Get("attrs_use_string_value"); x != nil && x.List != nil {
		d.strings = x.List.Bools
	}
	if len(d.names) == 0 {
		return nil, nil
	}
	if len(d.strings) != len(d.names) {
		return nil, fmt.Errorf("attr_name_enum has %d names, attrs_use_string_value %d entries", len(d.names), len(d.strings))
	}
	return d, nil
}

// index reads a compressed key: a zero byte, then the index in base 127, lowest digit first, each digit plus one.
func index(key string) (int, bool) {
	if len(key) < 2 || key[0] != 0 {
		return 0, false
	}
	n, scale := 0, 1
	for i := 1; i < len(key); i++ {
		if key[i] == 0 || scale > 1<<28 {
			return 0, false
		}
		n += int(key[i]-1) * scale
		scale *= 127
	}
	return n, true
}

// expand replaces a compressed attribute by its plain form.
func (d *dictionary) expand(kv *KV) error {
	if len(kv.Key) == 0 || kv.Key[0] != 0 {
		return nil
	}
	i, ok := index(kv.Key)
	if !ok || i >= len(d.names) {
		return fmt.Errorf("attribute name %q is not one of the %d in attr_name_enum", kv.Key, len(d.names))
	}
	kv.Key = d.names[i]
	if !d.strings[i] {
		return nil
	}
	value := func(n int64) ([]byte, error) {
		if n < 0 || n >= int64(len(d.values)) {
			return nil, fmt.Errorf("attribute %q: value %d is not one of the %d in attr_value_enum", kv.Key, n, len(d.values))
		}
		return []byte(d.values[n]), nil
	}
	var err error
	switch kv.Kind {
	case AttrInt, AttrNone:
		kv.Kind = AttrString
		kv.Data, err = value(kv.Int)
		kv.Int = 0
	case AttrList:
		l := kv.List
		for _, n := range l.Ints {
			s, e := value(n)
			if e != nil {
				return e
			}
			l.Strings = append(l.Strings, s)
		}
		l.Ints, l.Type = nil, listString
	}
	return err
}

// expandAll decodes the operators and descriptors of a model: by its own dictionary, then by the root's while a name
// is still compressed.
func expandAll(m *ModelDef, root *dictionary) error {
	own, err := newDictionary(m)
	if err != nil {
		return err
	}
	var dicts []*dictionary
	for _, d := range []*dictionary{own, root} {
		if d != nil {
			dicts = append(dicts, d)
		}
	}
	if len(dicts) == 0 {
		return nil
	}
	one := func(attrs Attrs) error {
		for i := range attrs {
			for _, d := range dicts {
				if err := d.expand(&attrs[i]); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, g := range m.Graphs {
		for _, o := range g.Ops {
			if err := expandOp(o, one); err != nil {
				return fmt.Errorf("operator %q: %w", o.Name, err)
			}
		}
	}
	return nil
}

func expandOp(o *OpDef, one func(Attrs) error) error {
	if err := one(o.Attrs); err != nil {
		return err
	}
	for _, list := range [][]*TensorDesc{o.In, o.Out} {
		for _, d := range list {
			if err := one(d.Attrs); err != nil {
				return err
			}
		}
	}
	for i := range o.Attrs {
		if t := o.Attrs[i].Tensor; t != nil && t.Desc != nil {
			if err := one(t.Desc.Attrs); err != nil {
				return err
			}
		}
	}
	return nil
}
