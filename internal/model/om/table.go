package om

import (
	"encoding/binary"
	"fmt"
	"strconv"
)

// PartitionType is the number of a partition.
type PartitionType uint32

// Partition types.
const (
	ModelDefPart   PartitionType = 0
	WeightsPart    PartitionType = 1
	TaskInfo       PartitionType = 2
	TBEKernels     PartitionType = 3
	CustAICPU      PartitionType = 4
	SoBins         PartitionType = 5
	FlowModel      PartitionType = 6
	FlowSubmodel   PartitionType = 7
	InOutInfo      PartitionType = 8
	TilingData     PartitionType = 12
	BundleModel    PartitionType = 24
	BundleVarInfo  PartitionType = 25
	CustomOps      PartitionType = 26
	maxPartitions                = 8
	maxFlowEntries               = 4096
)

var partitionNames = map[PartitionType]string{
	ModelDefPart: "MODEL_DEF", WeightsPart: "WEIGHTS_DATA", TaskInfo: "TASK_INFO", TBEKernels: "TBE_KERNELS", CustAICPU: "CUST_AICPU_KERNELS",
	SoBins: "SO_BINS", FlowModel: "FLOW_MODEL", FlowSubmodel: "FLOW_SUBMODEL", InOutInfo: "MODEL_INOUT_INFO", 9: "STATIC_TASK_DESC",
	10: "DYNAMIC_TASK_DESC", 11: "TASK_PARAM", TilingData: "TILING_DATA", 20: "PRE_MODEL_DESC", 21: "PRE_MODEL_SQE", 22: "PRE_KERNEL_ARGS",
	23: "PRE_MODEL_DESC_EXTEND", BundleModel: "BUNDLE_MODEL_INFO", BundleVarInfo: "BUNDLE_MODEL_VAR_INFO", CustomOps: "CUSTOM_OPS",
}

func (t PartitionType) String() string {
	if s, ok := partitionNames[t]; ok {
		return s
	}
	return "partition " + strconv.Itoa(int(t))
}

// Known says whether the type is one of the Ascend numbering.
func (t PartitionType) Known() bool { return partitionNames[t] != "" }

// Partition is one entry of a table: file[Offset : Offset+len(Data)].
type Partition struct {
	Type   PartitionType
	Offset int
	Data   []byte
}

// table reads the partition table at offset at and returns where the last partition ends.
func (g *Group) table(b []byte, at int, h *Header, model int) (end int, err error) {
	head, entry := 4, 12
	if h.wide() {
		head, entry = 8, 24
	}
	fail := func(off int, format string, args ...any) (int, error) {
		return 0, fmt.Errorf("model %d, partition table, offset %#x: %s", model, off, fmt.Sprintf(format, args...))
	}
	if len(b)-at < head {
		return fail(at, "%d bytes left for the table (file truncated?)", len(b)-at)
	}
	n := int64(binary.LittleEndian.Uint32(b[at:]))
	most := int64(maxPartitions)
	if h.Type == TypeFlow || h.Type == TypeBundle {
		most = maxFlowEntries
	}
	switch {
	case n == 0:
		return fail(at, "no partitions")
	case n > most:
		return fail(at, "%d partitions, at most %d are possible", n, most)
	case n > int64((len(b)-at-head)/entry):
		return fail(at, "%d partitions need %d bytes of table, %d are left", n, n*int64(entry), len(b)-at-head)
	}
	start := at + head + int(n)*entry
	pos := uint64(start)
	seen := map[PartitionType]bool{}
	for i := range int(n) {
		e := at + head + i*entry
		var off, size uint64
		t := PartitionType(binary.LittleEndian.Uint32(b[e:]))
		if h.wide() {
			off, size = binary.LittleEndian.Uint64(b[e+8:]), binary.LittleEndian.Uint64(b[e+16:])
		} else {
			off, size = uint64(binary.LittleEndian.Uint32(b[e+4:])), uint64(binary.LittleEndian.Uint32(b[e+8:]))
		}
		left := uint64(len(b)) - pos
		switch {
		case size > left:
			return fail(e, "%v says %d bytes, %d are left (file truncated?)", t, size, left)
		case off != pos-uint64(start):
			return fail(e, "%v says offset %d, the partitions before it end at %d", t, off, pos-uint64(start))
		case seen[t] && t != FlowSubmodel && t != BundleModel:
			return fail(e, "%v is there twice", t)
		}
		seen[t] = true
		g.Partitions = append(g.Partitions, Partition{Type: t, Offset: int(pos), Data: b[pos : pos+size : pos+size]})
		pos += size
	}
	return int(pos), nil
}

// appendTable writes the table and the partitions behind it.
func (g *Group) appendTable(to []byte, wide bool) []byte {
	le := binary.LittleEndian
	to = le.AppendUint32(to, uint32(len(g.Partitions)))
	if wide {
		to = le.AppendUint32(to, 0)
	}
	off := uint64(0)
	for _, p := range g.Partitions {
		to = le.AppendUint32(to, uint32(p.Type))
		if wide {
			to = le.AppendUint32(to, 0)
			to = le.AppendUint64(to, off)
			to = le.AppendUint64(to, uint64(len(p.Data)))
		} else {
			to = le.AppendUint32(to, uint32(off))
			to = le.AppendUint32(to, uint32(len(p.Data)))
		}
		off += uint64(len(p.Data))
	}
	for _, p := range g.Partitions {
		to = append(to, p.Data...)
	}
	return to
}

// Encode writes header, tables and partitions. Lengths in the header are set; which of the two length fields, and with
// it the width of the table, stays as in the header.
func (m *Model) Encode() []byte {
	h := m.Header
	wide := h.wide()
	var body []byte
	for _, g := range m.Groups {
		body = g.appendTable(body, wide)
	}
	if h.ModelLength != 0 {
		h.ModelLength = uint64(len(body))
	} else {
		h.Length = uint32(len(body))
	}
	return append(h.append(make([]byte, 0, HeaderSize+len(body))), body...)
}

// part finds a partition by type.
func (g *Group) part(t PartitionType) *Partition {
	for i := range g.Partitions {
		if g.Partitions[i].Type == t {
			return &g.Partitions[i]
		}
	}
	return nil
}
