package textdump

import (
	"bytes"
	"math/bits"
	"strconv"
	"strings"

	"npu/internal/blackbox/aicore"
)

// Register finds a register of the core by name.
func (c *Core) Register(name string) (uint64, bool) {
	for _, r := range c.Registers {
		if r.Name == name {
			return r.Value, true
		}
	}
	return 0, false
}

func (c *Core) has(name string) bool {
	for _, r := range c.Registers {
		if strings.HasPrefix(r.Name, name) {
			return true
		}
	}
	return false
}

// Fault gives the error words, info words and counters of the core.
func (c *Core) Fault() (words aicore.Words, in aicore.Infos, start, current uint64) {
	get := func(n string) uint64 { v, _ := c.Register(n); return v }
	var aic [6]uint32
	for i := range aic {
		aic[i] = uint32(get("AIC_ERROR" + strconv.Itoa(i)))
	}
	words = aicore.WordsOf(aic)
	if v, ok := c.Register("AIC_ERROR"); ok { // old dialect: one 64-bit word
		words = aicore.Words{v}
	}
	in = aicore.Infos{Vec: get("VEC_ERR_INFO"), MTE: get("MTE_ERR_INFO"), IFU: get("IFU_ERR_INFO"), CCU: get("CCU_ERR_INFO"),
		Cube: get("CUBE_ERR_INFO"), BIU: get("BIU_ERR_INFO"), FIXP0: uint32(get("FIXP_ERROR0")), FIXP1: uint32(get("FIXP_ERROR1"))}
	return words, in, get("PC_START"), get("CURRENT_PC")
}

// Family tells the dialects apart: the old one comes from chips whose program counter is not repaired.
func (e *Event) Family() aicore.Family {
	if e.Old {
		return aicore.Legacy
	}
	return aicore.V100
}

// Ran is the number of cores that ran the task, by the bitmaps.
func (e *Event) Ran() (aic, aiv int) {
	for _, b := range e.AIVBitmap {
		aiv += bits.OnesCount64(b)
	}
	return bits.OnesCount64(e.AICBitmap), aiv
}

// EntryPC and ArgBlock are taken from the queue entry of a task that runs on AI cores.
func (e *Event) EntryPC() uint64 {
	if len(e.SQE) < 16 {
		return 0
	}
	return uint64(e.SQE[9])<<32 | uint64(e.SQE[8])
}

// ArgBlock is the device address of the argument block; 0 if the queue entry was not printed.
func (e *Event) ArgBlock() uint64 {
	if len(e.SQE) < 16 {
		return 0
	}
	return uint64(e.SQE[11])<<32 | uint64(e.SQE[10])
}

// integer finds "key" and reads the decimal or 0x number behind it; -1 if there is none.
func integer(b []byte, key string) int {
	i := bytes.Index(b, []byte(key))
	if i < 0 {
		return -1
	}
	n, err := strconv.ParseInt(string(first(b[i+len(key):])), 0, 64)
	if err != nil {
		return -1
	}
	return int(n)
}

func value(b []byte, key string) uint64 {
	i := bytes.Index(b, []byte(key))
	if i < 0 {
		return 0
	}
	n, _ := strconv.ParseUint(string(first(b[i+len(key):])), 0, 64)
	return n
}

// first is the number at the start of b.
func first(b []byte) []byte {
	i := 0
	for i < len(b) && i < 20 && (b[i] >= '0' && b[i] <= '9' || b[i] >= 'a' && b[i] <= 'f' || b[i] >= 'A' && b[i] <= 'F' || b[i] == 'x' || b[i] == '-') {
		i++
	}
	return b[:i]
}
