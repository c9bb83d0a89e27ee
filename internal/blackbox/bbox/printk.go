package bbox

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Printk is a record of the kernel's log ring.
type Printk struct {
	Offset int64
	NS     uint64
	Level  int
	Text   string
}

// SniffPrintk says whether b starts with records of the kernel's log ring: three plausible ones in a row, or fewer up
// to the end mark.
func SniffPrintk(b []byte) bool {
	at, n := 0, 0
	if len(b) >= 8 && binary.LittleEndian.Uint64(b) == 0xa5a5a5a55a5a5a5a {
		at = 8
	}
	for ; n < 3; n++ {
		size, ok := printkAt(b[at:])
		if !ok {
			return false
		}
		if size == 0 {
			break
		}
		at += size
	}
	return n > 0
}

// printkAt is the length of the record at the start of b; 0 is the end mark.
func printkAt(b []byte) (int, bool) {
	if len(b) < 16 {
		return 0, false
	}
	le := binary.LittleEndian
	n, text, dict := int(le.Uint16(b[8:])), int(le.Uint16(b[10:])), int(le.Uint16(b[12:]))
	if n == 0 {
		return 0, true
	}
	if n < 16 || n > len(b) || 16+text+dict > n || n%4 != 0 {
		return 0, false
	}
	for _, c := range b[16 : 16+text] {
		if c < 9 {
			return 0, false
		}
	}
	return n, true
}

// ParsePrintk reads the ring.
func ParsePrintk(b []byte) ([]Printk, []Problem) {
	var out []Printk
	at := 0
	if len(b) >= 8 && binary.LittleEndian.Uint64(b) == 0xa5a5a5a55a5a5a5a {
		at = 8
	}
	le := binary.LittleEndian
	for at+16 <= len(b) && len(out) < 1<<20 {
		n, ok := printkAt(b[at:])
		if !ok {
			return out, []Problem{{int64(at), fmt.Sprintf("record %d is damaged; the ones before it are good", len(out))}}
		}
		if n == 0 {
			return out, nil
		}
		r := b[at:]
		out = append(out, Printk{Offset: int64(at), NS: le.Uint64(r), Level: int(r[15] >> 5), Text: strings.ToValidUTF8(string(r[16:16+int(le.Uint16(r[10:]))]), "?")})
		at += n
	}
	if at < len(b) && !zero(b[at:min(len(b), at+16)]) {
		return out, []Problem{{int64(at), "the last record is cut"}}
	}
	return out, nil
}
