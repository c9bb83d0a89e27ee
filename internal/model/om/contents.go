package om

import (
	"encoding/binary"
	"fmt"
)

// contents decodes the partitions of one group.
func (g *Group) contents(b []byte, m *Model, i, depth int) error {
	at := func(err error) error {
		if err == nil || len(m.Groups) == 1 {
			return err
		}
		return fmt.Errorf("model %d: %w", i, err)
	}
	for k := range g.Partitions {
		p := &g.Partitions[k]
		var err error
		switch p.Type {
		case ModelDefPart:
			if len(p.Data) == 0 {
				err = fmt.Errorf("MODEL_DEF at offset %#x is empty", p.Offset)
				break
			}
			if g.Def, err = decodeModel(newWire(p.Data, p.Offset)); err != nil {
				g.Def = nil
				err = fmt.Errorf("MODEL_DEF: %w", err)
			}
		case WeightsPart:
			g.Weights = p.Data
		case TaskInfo:
			g.TaskDef, g.Tasks, err = decodeTasks(newWire(p.Data, p.Offset), 64+len(p.Data)/8)
			if err != nil {
				err = fmt.Errorf("TASK_INFO: %w", err)
			}
		case TBEKernels:
			g.Kernels, err = store(p, kernelMagic)
		case CustAICPU:
			g.AICPU, err = store(p, kernelMagic)
		case CustomOps:
			g.Custom, err = store(p, customMagic)
		case SoBins:
			g.HostLibs, err = hostLibs(p)
		case TilingData:
			g.Tilings, err = tilings(p)
		case InOutInfo:
			g.IO, err = decodeInOut(p)
		case FlowSubmodel:
			err = m.submodel(p, depth)
		default:
			if !p.Type.Known() {
				m.note("%v at offset %#x (%d bytes) is not known and was skipped", p.Type, p.Offset, len(p.Data))
			}
		}
		if err != nil {
			return at(err)
		}
	}
	if g.Def == nil {
		if m.Header.Type == TypeLite {
			return nil
		}
		return at(fmt.Errorf("no MODEL_DEF among the %d partitions", len(g.Partitions)))
	}
	g.Name = g.Def.Name
	var root *dictionary
	if i > 0 && m.Groups[0].Def != nil {
		var err error
		if root, err = newDictionary(m.Groups[0].Def); err != nil {
			return at(err)
		}
	}
	if err := expandAll(g.Def, root); err != nil {
		return at(fmt.Errorf("MODEL_DEF: %w", err))
	}
	return nil
}

func (m *Model) note(format string, args ...any) {
	m.Problems = append(m.Problems, fmt.Sprintf(format, args...))
}

// submodel reads a FLOW_SUBMODEL: a message around a complete model.
func (m *Model) submodel(p *Partition, depth int) error {
	n := Nested{}
	var data field
	err := newWire(p.Data, p.Offset).each(func(x *field) error {
		switch x.num {
		case 1:
			return x.str(&n.Name)
		case 2:
			return x.str(&n.Type)
		case 3:
			data = *x
			return x.bytes(new([]byte))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("FLOW_SUBMODEL: %w", err)
	}
	n.Bytes = len(data.b)
	if n.Bytes > 0 {
		if err := n.open(data.b, data.wire.off, depth); err != nil {
			return fmt.Errorf("FLOW_SUBMODEL %s: %w", n.Name, err)
		}
	}
	m.Nested = append(m.Nested, n)
	return nil
}

func (n *Nested) open(b []byte, off, depth int) error {
	if depth+1 >= maxDepth {
		return fmt.Errorf("offset %#x: models are nested more than %d deep", off, maxDepth)
	}
	var err error
	if n.Model, err = parse(b, depth+1); err != nil {
		return fmt.Errorf("the model at offset %#x: %w", off, err)
	}
	return nil
}

// bundle reads several models in one file. Offsets count from the end of the header.
func (m *Model) bundle(b []byte, depth int) error {
	le := binary.LittleEndian
	m.Header = Header{Type: TypeBundle, ModelNum: le.Uint32(b[offModelNum:]), ModelLength: le.Uint64(b[offLength64:]), Name: cstring(b[offName : offName+nameBytes])}
	if m.Header.ModelLength != uint64(len(b)) {
		return fmt.Errorf("offset %d: a bundle of %d bytes by its header, the file has %d (file truncated?)", offLength64, m.Header.ModelLength, len(b))
	}
	if len(b) < HeaderSize+8 {
		return fmt.Errorf("offset %d: no room for the partition table", HeaderSize)
	}
	n := int64(le.Uint32(b[HeaderSize:]))
	if n < 1 || n > maxFlowEntries || n > int64((len(b)-HeaderSize-8)/24) {
		return fmt.Errorf("offset %d: %d partitions do not fit the file", HeaderSize, n)
	}
	g := &Group{}
	m.Groups = append(m.Groups, g)
	payload := uint64(len(b) - HeaderSize)
	for i := range int(n) {
		e := HeaderSize + 8 + 24*i
		t, off, size := PartitionType(le.Uint32(b[e:])), le.Uint64(b[e+8:]), le.Uint64(b[e+16:])
		if off > payload || size > payload-off || off < uint64(8+24*n) {
			return fmt.Errorf("offset %#x: %v at %d with %d bytes is outside of the file", e, t, off, size)
		}
		at := HeaderSize + int(off)
		data := b[at : at+int(size) : at+int(size)]
		g.Partitions = append(g.Partitions, Partition{Type: t, Offset: at, Data: data})
		if t != BundleModel {
			continue
		}
		x := Nested{Name: fmt.Sprintf("model %d", len(m.Nested)), Type: "NPU", Bytes: len(data)}
		if err := x.open(data, at, depth); err != nil {
			return err
		}
		m.Nested = append(m.Nested, x)
	}
	if int64(len(m.Nested)) != int64(m.Header.ModelNum) {
		return fmt.Errorf("offset %d: model_num is %d, the table has %d models", offModelNum, m.Header.ModelNum, len(m.Nested))
	}
	return nil
}
