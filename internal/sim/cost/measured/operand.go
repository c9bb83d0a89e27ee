package measured

import (
	"fmt"
	"strconv"
	"strings"

	"npu/internal/sim/cost/work"
	"npu/internal/tensor"
)

// operands reads the three cells of a row: shapes separated by semicolons, types and formats beside them. known is
// false when the cells do not say the shapes.
func operands(shapes, types, formats string) (list []work.Operand, known bool, err error) {
	shapes, types = bare(shapes), bare(types)
	if missing(shapes) || missing(types) {
		return nil, false, nil
	}
	ts, fs := strings.Split(types, ";"), strings.Split(bare(formats), ";")
	ss := strings.Split(shapes, ";")
	if len(ss) > 512 {
		return nil, false, fmt.Errorf("%d operands", len(ss))
	}
	list = make([]work.Operand, 0, len(ss))
	for i, s := range ss {
		o := work.Operand{Count: 1}
		if i < len(ts) {
			o.DType = dtype(ts[i])
		}
		if i < len(fs) {
			o.Format = strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(fs[i])), "FORMAT_")
		}
		if o.Shape, err = dims(s); err != nil {
			return nil, false, err
		}
		n, err := o.Shape.Elements()
		if err != nil || n > work.Most {
			return nil, false, fmt.Errorf("shape %s is too large", s)
		}
		o.Count = int64(n)
		o.Bytes = (o.Count*int64(o.DType.Bits()) + 7) / 8
		list = append(list, o)
	}
	return list, true, nil
}

// bare takes off the quotes that cells have twice, and the tab that some end in.
func bare(s string) string { return strings.Trim(s, "\" \t\r") }

func missing(s string) bool { return s == "N/A" || s == "NA" || s == "-" }

// dims reads "4096,1,1024", also in brackets or with x between.
func dims(s string) (tensor.Shape, error) {
	s = strings.Trim(s, "\"[](){} \t")
	if s == "" {
		return tensor.Shape{}, nil
	}
	f := strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == 'x' || r == ' ' || r == '*' })
	if len(f) > 16 {
		return nil, fmt.Errorf("shape %.40s has %d dimensions", s, len(f))
	}
	shape := make(tensor.Shape, len(f))
	for i, w := range f {
		d, err := strconv.Atoi(w)
		if err != nil || d < 0 {
			return nil, fmt.Errorf("shape %.40s: %.20q is no dimension", s, w)
		}
		shape[i] = d
	}
	return shape, nil
}

var dtypes = map[string]tensor.DType{
	"FLOAT": tensor.Float32, "FLOAT32": tensor.Float32, "FP32": tensor.Float32, "HF32": tensor.Float32,
	"FLOAT16": tensor.Float16, "FP16": tensor.Float16, "HALF": tensor.Float16, "BF16": tensor.BFloat16, "BFLOAT16": tensor.BFloat16,
	"DOUBLE": tensor.Float64, "FLOAT64": tensor.Float64, "INT8": tensor.Int8, "QINT8": tensor.Int8, "INT16": tensor.Int16, "QINT16": tensor.Int16,
	"INT32": tensor.Int32, "INT": tensor.Int32, "QINT32": tensor.Int32, "INT64": tensor.Int64, "UINT8": tensor.Uint8, "QUINT8": tensor.Uint8,
	"UINT16": tensor.Uint16, "UINT32": tensor.Uint32, "UINT64": tensor.Uint64, "BOOL": tensor.Bool, "UINT1": tensor.Bool,
	"INT4": tensor.Int4, "UINT4": tensor.Uint4, "INT2": tensor.Int4, "FLOAT4_E2M1": tensor.Int4, "FLOAT4_E1M2": tensor.Int4,
	"FLOAT8_E4M3FN": tensor.Float8E4M3, "FLOAT8_E5M2": tensor.Float8E5M2, "FLOAT8_E8M0": tensor.Float8E4M3, "HIFLOAT8": tensor.Float8E4M3,
	"COMPLEX32": tensor.Float32, "COMPLEX64": tensor.Complex64, "COMPLEX128": tensor.Complex128,
}

// dtype is a data type under any of its names; Undefined for those without a size.
func dtype(s string) tensor.DType {
	return dtypes[strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(s)), "DT_")]
}
