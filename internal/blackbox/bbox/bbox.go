package bbox

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"npu/internal/blackbox/errcode"
	"npu/internal/problem"
)

// Magics of the binary forms.
const (
	magicRDR    = 0xdead8d8d
	versionRDR  = 0x00010001
	magicHDR    = 0xEAEA2020
	magicCDR    = 0x63686970
	magicStatus = 0x48445253
	magicRoot   = 0x19283746
)

// Problem is damage at an offset.
type Problem struct {
	Offset int64
	Text   string
}

// Exception is one entry of the histories.
type Exception struct {
	Time    string
	ID      uint32
	Module  string
	Reason  string
	Meaning string
	Arg     uint32
	Folder  string // directory of the export that belongs to it
	Level   []string
}

// Area is a part of the reserved memory that a module owns.
type Area struct {
	Module         string
	Offset, Length uint64
	Form           string // control block: plain, proxy, proxy 2, none
}

// Box is a decoded binary of the black box.
type Box struct {
	Form       string // black-box head, HDR, CDR, HDR status
	Product    string
	Exceptions []Exception
	Areas      []Area
	Facts      []Fact
	Problems   []Problem
}

// Sniff says which binary form a file has; empty if none.
func Sniff(h []byte) string {
	if len(h) < 12 {
		return ""
	}
	le := binary.LittleEndian
	switch m := le.Uint32(h); {
	case m == magicRDR && le.Uint32(h[4:]) == versionRDR:
		return "black-box head"
	case m == magicHDR:
		return "HDR"
	case m == magicStatus:
		return "HDR status"
	case m == magicCDR || le.Uint32(h[4:]) == magicCDR:
		return "CDR"
	}
	return ""
}

// Parse decodes a binary form. chip is "910B/A3" or "950"; the tables of the first are taken when it is unknown.
func Parse(b []byte, chip string) (*Box, error) {
	x := &Box{Form: Sniff(b)}
	if _, ok := models()[chip]; !ok {
		chip = "910B/A3"
	}
	d := &decoder{chip: chip, left: 4000}
	switch x.Form {
	case "black-box head":
		x.head(b, d)
	case "HDR":
		d.decode("HDR", "", b, 0)
		x.short(b, 512<<10, "HDR")
	case "HDR status":
		d.decode("HDR_STATUS", "", b, 0)
	case "CDR":
		d.decode("CDR", "", b, 0)
		if len(d.facts) == 0 {
			d.decode("CDR_LOOSE", "", b, 0)
		}
	default:
		return nil, problem.Damagedf("offset 0: no binary of the black box")
	}
	x.Facts = d.facts
	return x, nil
}

func (x *Box) short(b []byte, want int, what string) {
	if len(b) < want {
		x.problem(int64(len(b)), "%s areas have 0x%x bytes, the file ends at 0x%x", what, want, len(b))
	}
}

func (x *Box) problem(at int64, format string, args ...any) {
	if len(x.Problems) < 200 {
		x.Problems = append(x.Problems, Problem{at, fmt.Sprintf(format, args...)})
	}
}

// head reads the first 8 KiB of the reserved memory and the areas behind it.
func (x *Box) head(b []byte, d *decoder) {
	le := binary.LittleEndian
	if len(b) < 7808 {
		x.problem(int64(len(b)), "the head has 7808 bytes, the file ends at %d", len(b))
		b = append(append([]byte(nil), b...), make([]byte, 7808-len(b))...)
	}
	x.Product = printable(b[16:32])
	areas := le.Uint32(b[8:])
	if areas > 17 {
		x.problem(8, "the head says %d areas, there is room for 17", areas)
		areas = 17
	}
	x.base(b[32:176])
	x.log(b[176:3784])
	for i := range areas {
		a := b[3784+16*i:]
		ar := Area{Offset: le.Uint64(a), Length: uint64(le.Uint32(a[8:])), Module: errcode.Module(uint32(a[12]))}
		if ar.Offset > uint64(len(b)) || ar.Length > uint64(len(b))-ar.Offset {
			if ar.Length > 0 {
				x.problem(int64(3784+16*i), "area of %s says 0x%x bytes at 0x%x, the file has 0x%x", ar.Module, ar.Length, ar.Offset, len(b))
			}
			ar.Form = "outside the file"
		} else if ar.Length > 0 {
			body := b[ar.Offset : ar.Offset+ar.Length]
			ar.Form = x.control(ar, body)
			if m := areaModel(ar.Module); m != "" {
				d.decode(m, ar.Module, body, int64(ar.Offset))
			}
		}
		x.Areas = append(x.Areas, ar)
	}
	x.base(b[4056:4200])
	x.log(b[4200:7808])
	if len(b) >= 0x2014 && le.Uint32(b[0x2000:]) != magicRoot {
		x.problem(0x2000, "the record of the host side does not start with 0x%x", magicRoot)
	}
}

// areaModel is the field table of a module's area.
func areaModel(module string) string {
	switch module {
	case "TS":
		return "TS"
	case "ATF":
		return "TF"
	case "TEEOS":
		return "TEE"
	case "AOS-DP":
		return "DP"
	case "DRIVER", "LPM", "DVPP", "HSM", "BIOS", "NETWORK", "UB":
		return module
	}
	return ""
}

// base reads a base_info record.
func (x *Box) base(b []byte) {
	le := binary.LittleEndian
	id := le.Uint32(b)
	if id == 0 {
		return
	}
	e := exception(id, uint32(b[12]), uint32(b[13]), le.Uint32(b[8:]), le.Uint64(b[48:]), le.Uint64(b[56:]))
	if s := printable(b[20:45]); s != "" {
		e.Time = s
	}
	if s := printable(b[80:128]); s != "" {
		e.Meaning = strings.TrimSpace(e.Meaning + "; " + s)
	}
	x.Exceptions = append(x.Exceptions, e)
}

// log reads the ring of the last 50 exceptions.
func (x *Box) log(b []byte) {
	le := binary.LittleEndian
	for i := range 50 {
		r := b[8+72*i:]
		if len(r) < 72 || le.Uint32(r) == 0 || le.Uint32(r) > 3 || le.Uint32(r[12:]) == 0 {
			continue
		}
		e := exception(le.Uint32(r[12:]), uint32(r[16]), uint32(r[17]), le.Uint32(r[20:]), le.Uint64(r[24:]), le.Uint64(r[32:]))
		if s := printable(r[40:65]); s != "" {
			e.Time = s
		}
		x.Exceptions = append(x.Exceptions, e)
	}
}

func exception(id, reason, module, arg uint32, sec, nsec uint64) Exception {
	e := Exception{ID: id, Module: errcode.Module(module), Arg: arg, Level: errcode.ExceptionID(id).Related}
	e.Reason, e.Meaning = errcode.Reason(reason)
	if sec > 0 && sec < 1<<34 {
		e.Time = time.Unix(int64(sec), int64(nsec%1e9)).UTC().Format("2006-01-02 15:04:05.000000")
	}
	return e
}

// control reads the control block in front of an area.
func (x *Box) control(a Area, b []byte) string {
	if len(b) < 8 {
		return "none"
	}
	le := binary.LittleEndian
	entry := func(at int, id uint32, sec, nsec uint64) {
		if id != 0 && len(x.Exceptions) < 4096 {
			e := exception(id, 0xff, 0, 0, sec, nsec)
			e.Module, e.Reason = a.Module, ""
			e.Meaning = errcode.ExceptionID(id).Meaning
			x.Exceptions = append(x.Exceptions, e)
		}
	}
	switch le.Uint32(b) {
	case 0xbaba0514:
		return "plain"
	case 0x56312e31:
		n := int(b[4])
		ctrl := 8 + 12*n
		for i := range n {
			c := ctrl + 40*i
			if c+40 > len(b) {
				x.problem(int64(a.Offset)+int64(c), "control block %d of %s is cut", i, a.Module)
				break
			}
			entry(c, le.Uint32(b[c+16:]), le.Uint64(b[c:]), le.Uint64(b[c+8:]))
		}
		return "proxy"
	case 0x56312e32:
		for i := range min(int(b[4]), 6) {
			c := 8 + 32*i
			if c+32 > len(b) {
				break
			}
			entry(c, le.Uint32(b[c+16:]), le.Uint64(b[c:]), le.Uint64(b[c+8:]))
		}
		return "proxy 2"
	}
	return "none"
}

// SniffHistory says whether a text is the history of exceptions.
func SniffHistory(head []byte) bool {
	return strings.Contains(string(head[:min(len(head), 400)]), "exception code [0x")
}

// ParseHistory reads history.log: one exception a line, newest last.
func ParseHistory(text string) ([]Exception, []Problem) {
	var out []Exception
	var probs []Problem
	at := int64(0)
	for _, l := range strings.SplitAfter(text, "\n") {
		line := strings.TrimSpace(l)
		if line != "" {
			if e, ok := historyLine(line); ok {
				out = append(out, e)
			} else if len(probs) < 100 {
				probs = append(probs, Problem{at, "line is no exception record"})
			}
		}
		at += int64(len(l))
	}
	return out, probs
}

func historyLine(l string) (Exception, bool) {
	_, rest, ok := strings.Cut(l, "exception code [")
	if !ok {
		return Exception{}, false
	}
	code, _, _ := strings.Cut(rest, "]")
	id, err := strconv.ParseUint(code, 0, 32)
	if err != nil {
		return Exception{}, false
	}
	field := func(key string) string {
		_, v, ok := strings.Cut(l, key+" [")
		if !ok {
			return ""
		}
		v, _, _ = strings.Cut(v, "]")
		return v
	}
	e := Exception{ID: uint32(id), Module: field("ModuleName"), Reason: field("ExceptionReason"), Folder: field("TimeStamp"), Level: errcode.ExceptionID(uint32(id)).Related}
	e.Time, _, _ = strings.Cut(strings.TrimPrefix(l, "["), "]")
	if n, meaning, ok := errcode.ReasonByName(e.Reason); ok {
		e.Meaning = fmt.Sprintf("%s (reason 0x%x)", meaning, n)
	}
	return e, true
}

// DeviceRow is a line of device_info.txt.
type DeviceRow struct{ Dir, Phy, Logic, Status string }

// SniffDeviceInfo says whether a text is the device table of an export.
func SniffDeviceInfo(head []byte) bool {
	h := string(head[:min(len(head), 600)])
	return strings.HasPrefix(h, "base info") || strings.Contains(h, "devices info") && strings.Contains(h, "phy-id")
}

// ParseDeviceInfo reads device_info.txt.
func ParseDeviceInfo(text string) (facts [][2]string, rows []DeviceRow) {
	table := false
	for _, l := range strings.Split(text, "\n") {
		f := strings.Fields(l)
		switch {
		case len(f) == 0 || strings.HasPrefix(l, "="):
		case f[0] == "dir":
			table = true
		case table && len(f) >= 4:
			rows = append(rows, DeviceRow{f[0], f[1], f[2], strings.Join(f[3:], " ")})
		default:
			if k, v, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(v) != "" {
				facts = append(facts, [2]string{strings.TrimSpace(k), strings.TrimSpace(v)})
			}
		}
	}
	return facts, rows
}
