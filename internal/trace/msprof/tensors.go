package msprof

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"npu/internal/trace"
)

// tensors is up to five tensors of one operator, as the host announced them.
type tensors struct {
	count  uint64
	name   uint64
	thread uint32
	n      uint8
	list   [5]tensor
}

type tensor struct {
	output       bool
	format, kind uint16
	shape        [8]uint32
}

// readTensors reads tensor_info: u64 operator, u32 number, then 44 bytes a tensor: u32 input or output, format, type, 8 x u32 shape.
func (h *hostData) readTensors(ctx context.Context) error {
	h.tensors = make([]tensors, 0, h.about("tensor_info", 256))
	err := h.each(ctx, "tensor_info", 256, func(rec []byte) {
		t := tensors{thread: u32at(rec, 8), count: u64at(rec, 16), name: u64at(rec, 24), n: uint8(min(u32at(rec, 32), 5))}
		for i := range t.list[:t.n] {
			b := rec[36+44*i:]
			t.list[i] = tensor{output: u32at(b, 0) == 1, format: uint16(u32at(b, 4)), kind: uint16(u32at(b, 8))}
			for k := range t.list[i].shape {
				t.list[i].shape[k] = binary.LittleEndian.Uint32(b[12+4*k:])
			}
		}
		h.tensors = append(h.tensors, t)
	})
	sortNearly(h.tensors, func(a, b *tensors) int { return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.count, b.count)) })
	return err
}

// tensorsOf is the tensors that were announced within call c, of the operator name.
func (h *hostData) tensorsOf(c *call, name uint64) (out []tensor) {
	at, _ := slices.BinarySearchFunc(h.tensors, tensors{thread: c.thread, count: c.begin}, func(a, b tensors) int {
		return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.count, b.count))
	})
	for ; at < len(h.tensors) && h.tensors[at].thread == c.thread && h.tensors[at].count <= c.end; at++ {
		if t := &h.tensors[at]; t.name == name || name == 0 {
			out = append(out, t.list[:t.n]...)
		}
	}
	return out
}

// detailSheet is the table of the operators' tensors.
type detailSheet struct {
	*trace.Sheet
	texts map[string]string
}

func newDetailSheet() *detailSheet {
	return &detailSheet{trace.NewSheet("op_details", trace.IntColumn("device"), trace.IntColumn("stream"), trace.IntColumn("task"), trace.IntColumn("start_ns"), trace.IntColumn("duration_ns"),
		trace.TextColumn("name"), trace.TextColumn("op_type"), trace.TextColumn("input_shapes"), trace.TextColumn("input_data_types"), trace.TextColumn("input_formats"),
		trace.TextColumn("output_shapes"), trace.TextColumn("output_data_types"), trace.TextColumn("output_formats")), map[string]string{}}
}

// once is s with the memory of an equal text before.
func (d *detailSheet) once(s string) string {
	if have, ok := d.texts[s]; ok {
		return have
	}
	d.texts[s] = s
	return s
}

func (d *detailSheet) add(k *trace.Task, name, op string, list []tensor) {
	var columns [6]strings.Builder
	for i := range list {
		at := 0
		if list[i].output {
			at = 3
		}
		for c, text := range []string{list[i].dims(), typeName(list[i].kind), formatName(list[i].format)} {
			b := &columns[at+c]
			if b.Len() > 0 {
				b.WriteByte(';')
			}
			b.WriteString(text)
		}
	}
	values := []any{int64(k.Device), int64(k.Stream), int64(k.Task), k.Start, k.End - k.Start, name, op}
	for i := range columns {
		values = append(values, d.once(columns[i].String()))
	}
	d.Add(values...)
}

// dims is the shape as the exporters write it: 32,3,224,224.
func (t *tensor) dims() string {
	var b strings.Builder
	for i, n := range t.shape {
		if n == 0 {
			break
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatUint(uint64(n), 10))
	}
	return b.String()
}

func typeName(n uint16) string {
	if s, ok := map[uint16]string{0: "FLOAT", 1: "FLOAT16", 2: "INT8", 3: "INT32", 4: "UINT8", 6: "INT16", 7: "UINT16", 8: "UINT32", 9: "INT64", 10: "UINT64", 11: "DOUBLE", 12: "BOOL", 27: "DT_BF16"}[n]; ok {
		return s
	}
	return strconv.Itoa(int(n))
}

func formatName(n uint16) string {
	if s, ok := map[uint16]string{0: "NCHW", 1: "NHWC", 2: "ND", 3: "NC1HWC0", 4: "FRACTAL_Z", 29: "FRACTAL_NZ"}[n&0xFF]; ok {
		return s
	}
	return strconv.Itoa(int(n))
}
