package adump

import (
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"math"
	"strings"

	"npu/internal/blackbox/elem"
	"npu/internal/problem"
)

// StatRow is one tensor of dump statistics.
type StatRow struct {
	Role   string
	Index  int
	Size   int64
	DType  string
	Format string
	Shape  string
	Values [][2]string // name and value as written
}

// statItems are the items in the order of the mask's bits.
var statItems = [...]string{"Max Value", "Min Value", "Avg Value", "Nan Count", "Negative Inf Count", "Positive Inf Count", "l2norm"}

// SniffStatsCSV says whether a file starts like dump statistics.
func SniffStatsCSV(head []byte) bool {
	return strings.HasPrefix(string(head), "Input/Output,Index,Data Size")
}

// ParseStatsCSV reads dump statistics.
func ParseStatsCSV(b []byte) ([]StatRow, error) {
	r := csv.NewReader(strings.NewReader(string(b)))
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if len(rows) == 0 {
		return nil, problem.Damagedf("dump statistics: no header (%w)", err)
	}
	head := rows[0]
	var out []StatRow
	for _, row := range rows[1:] {
		if len(row) < 6 {
			continue
		}
		s := StatRow{Role: strings.ToLower(row[0]), Index: atoi(row[1]), DType: row[3], Format: row[4], Shape: row[5]}
		s.Size = int64(atoi(row[2]))
		for i := 6; i < len(row) && i < len(head); i++ {
			s.Values = append(s.Values, [2]string{head[i], row[i]})
		}
		out = append(out, s)
	}
	if err != nil {
		return out, problem.Damagedf("dump statistics: %w", err)
	}
	return out, nil
}

// statRecord is the size of one tensor in the binary form.
const statRecord = 8 + 4 + 4 + 4 + 25*4 + 4 + 4 + 64*8 + 4 + 4

// SniffStatsBin says whether a file is the binary form that the device sends: the count and the size agree.
func SniffStatsBin(head []byte, size int64) bool {
	if len(head) < 16 {
		return false
	}
	n := int64(int32(binary.LittleEndian.Uint32(head)))
	return n > 0 && n < 4096 && size == 16+n*statRecord && binary.LittleEndian.Uint64(head[8:]) < 1<<16
}

// ParseStatsBin decodes the binary form.
func ParseStatsBin(b []byte) ([]StatRow, error) {
	if !SniffStatsBin(b, int64(len(b))) {
		return nil, problem.Damagedf("offset 0: %d bytes are no binary dump statistics", len(b))
	}
	le := binary.LittleEndian
	n := int(int32(le.Uint32(b)))
	mask := le.Uint64(b[8:])
	var out []StatRow
	for i := range n {
		r := b[16+i*statRecord:]
		ty := elem.GE(int(int32(le.Uint32(r[8:]))))
		s := StatRow{Size: int64(le.Uint64(r)), DType: ty.Name, Format: FormatName(int(int32(le.Uint32(r[12:]))))}
		rank := min(le.Uint32(r[16:]), 25)
		var dims []string
		for d := range rank {
			dims = append(dims, itoa(le.Uint32(r[20+4*d:])))
		}
		s.Shape = strings.Join(dims, "x")
		count := min(le.Uint32(r[124:]), 64)
		stats := r[128 : 128+64*8]
		s.Role, s.Index = "input", int(int32(le.Uint32(r[644:])))
		if le.Uint32(r[640:]) == 1 {
			s.Role = "output"
		}
		k := uint32(0)
		for bit, name := range statItems {
			if mask>>bit&1 == 0 || k >= count {
				continue
			}
			v := le.Uint64(stats[8*k:])
			k++
			val := fmt.Sprint(int32(v))
			switch {
			case bit < 3 && ty.DType().Float(), bit == 6:
				val = fmt.Sprint(math.Float32frombits(uint32(v)))
			case strings.HasSuffix(ty.Name, "int64"):
				val = fmt.Sprint(int64(v))
			}
			s.Values = append(s.Values, [2]string{name, val})
		}
		out = append(out, s)
	}
	return out, nil
}
