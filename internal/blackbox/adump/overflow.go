package adump

import (
	"encoding/binary"
	"fmt"
)

// Overflow is one record of the overflow debug buffer: a core or engine that saw a number leave its range.
type Overflow struct {
	Unit      string // AIC, AIV, AICPU, SDMA; AI Core, L2 atomic add, DHA atomic add in the old layout
	Valid     bool
	Model     uint64 // 4294967295: none
	Stream    uint64
	Task      uint64
	TaskType  uint64
	Context   uint64
	Thread    uint64
	PCStart   uint64
	ParaBase  uint64
	Core      uint64
	Block     uint64
	Kernel    uint64 // old layout: kernel code
	Status    []uint64
	OldLayout bool
}

// NoModel marks a record without a model.
const NoModel = 4294967295

// IsOverflow says whether a payload looks like an overflow record: the new magic, or the old fixed size with a
// sensible AI-core area.
func IsOverflow(b []byte) bool {
	if len(b) >= 24 && binary.LittleEndian.Uint32(b) == Magic {
		return true
	}
	return false
}

// ParseOverflow decodes a payload in the new layout, or in the old one of 2048 bytes.
func ParseOverflow(b []byte) ([]Overflow, []Problem) {
	if IsOverflow(b) {
		return newOverflow(b)
	}
	if len(b) >= 2048 {
		return oldOverflow(b), nil
	}
	return nil, []Problem{{0, fmt.Sprintf("%d bytes are no overflow record (no magic, and the old layout has 2048)", len(b))}}
}

func newOverflow(b []byte) (out []Overflow, probs []Problem) {
	le := binary.LittleEndian
	units := [...]string{"AIC", "AIV", "AICPU", "SDMA"}
	for at := 8; at+16 <= len(b) && len(out) < 4096; {
		valid, kind, n := le.Uint32(b[at:]), le.Uint32(b[at+4:]), int(le.Uint32(b[at+12:]))
		data := b[at+16:]
		if n > len(data) || n < 0 {
			probs = append(probs, Problem{int64(at), fmt.Sprintf("overflow record says %d bytes, %d are left", n, len(data))})
			n = len(data)
		}
		if valid == 0 && kind == 0 && n == 0 {
			break
		}
		o := Overflow{Unit: fmt.Sprintf("unknown(%d)", kind), Valid: valid != 0}
		if int(kind) < len(units) {
			o.Unit = units[kind]
		}
		w := words(data[:n])
		for i, p := range []*uint64{&o.Model, &o.Stream, &o.Task, &o.TaskType, &o.Context, &o.Thread, &o.PCStart, &o.ParaBase, &o.Core, &o.Block} {
			if i < len(w) {
				*p = w[i]
			}
		}
		if len(w) > 10 {
			o.Status = w[10:]
		}
		out = append(out, o)
		at += 16 + n
	}
	return out, probs
}

// oldOverflow: information of three units in front (128, 128, 256 bytes), their status from 512 on (256, 256, 1024).
func oldOverflow(b []byte) []Overflow {
	var out []Overflow
	for _, u := range []struct {
		name         string
		info, status int
	}{{"L2 atomic add", 0, 512}, {"DHA atomic add", 128, 768}, {"AI Core", 256, 1024}} {
		w, s := words(b[u.info:u.info+48]), words(b[u.status:u.status+24])
		o := Overflow{Unit: u.name, OldLayout: true, Model: w[0], Stream: w[1], Task: w[2], TaskType: w[3], PCStart: w[4], ParaBase: w[5]}
		if u.name == "AI Core" {
			o.Kernel, o.Block, o.Status = s[0], s[1], []uint64{s[2]}
		} else {
			o.Status = s
		}
		for _, v := range append(w, s...) {
			o.Valid = o.Valid || v != 0
		}
		if o.Valid {
			out = append(out, o)
		}
	}
	return out
}

func words(b []byte) []uint64 {
	var out []uint64
	for ; len(b) >= 8 && len(out) < 64; b = b[8:] {
		out = append(out, binary.LittleEndian.Uint64(b))
	}
	return out
}
