// Package errcode is the catalogue of error numbers that an Ascend system prints: ACL codes, inner codes of the
// runtime, codes of the task scheduler, the driver and the AI CPU, message codes (EZ9999), events of the device,
// exception ids of the black box, and the bits of the AI-core error words. The tables are embedded data; where each
// comes from is in tables/SOURCES.md. It keeps no state.
package errcode

import (
	"embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

//go:embed tables/*.csv
var tables embed.FS

// Entry is what the catalogue says about one number.
type Entry struct {
	Kind    string   `json:"kind"` // acl, inner, scheduler, driver, aicpu, message, event, exception_id, error_bit, error_word
	Code    string   `json:"code"`
	Name    string   `json:"name,omitempty"`
	Class   string   `json:"class,omitempty"`
	Meaning string   `json:"meaning"`
	Causes  string   `json:"causes,omitempty"`
	Next    string   `json:"next,omitempty"`
	Related []string `json:"related,omitempty"`
	ACL     int      `json:"acl,omitempty"` // the aclError it becomes
	Source  string   `json:"source,omitempty"`
	Inner   uint32   `json:"-"` // of a scheduler code, the inner code that it becomes; 0 if there is none
}

type catalogue struct {
	acl       map[int]Entry
	inner     map[uint32]Entry
	ts        map[uint32]Entry
	drv       map[int]Entry
	aicpu     map[int]Entry
	messages  map[string]Entry
	events    map[uint32]Entry
	modules   map[uint32]string
	reasons   map[uint32]Entry
	exception map[uint32]Entry
	guidance  map[string][2]string
}

// The catalogue never changes after it is read.
var load = sync.OnceValue(read)

func read() *catalogue {
	c := &catalogue{acl: map[int]Entry{}, inner: map[uint32]Entry{}, ts: map[uint32]Entry{}, drv: map[int]Entry{},
		aicpu: map[int]Entry{}, messages: map[string]Entry{}, events: map[uint32]Entry{}, modules: map[uint32]string{},
		reasons: map[uint32]Entry{}, exception: map[uint32]Entry{}, guidance: map[string][2]string{}}
	for _, r := range rows("guidance", 3) {
		c.guidance[r[0]] = [2]string{r[1], r[2]}
	}
	for _, file := range []string{"return_codes", "acl_codes"} {
		for _, r := range rows(file, 5) {
			c.acl[int(u32(r[0]))] = c.guided(Entry{Kind: "acl", Code: r[0], Name: r[1], Class: r[2], Meaning: r[3], Next: r[4], ACL: int(u32(r[0])), Source: file})
		}
	}
	for _, r := range rows("rt_inner_codes", 4) {
		e := Entry{Kind: "inner", Code: r[0], Name: r[1], Meaning: "inner code of the runtime, module " + r[2], ACL: int(u32(r[3])), Source: "rt_inner_codes"}
		if e.ACL == 0 {
			e.ACL = 507000
		}
		c.inner[u32(r[0])] = e
	}
	for _, r := range rows("ts_ret_codes", 5) {
		e := Entry{Kind: "scheduler", Code: r[0], Name: r[1], Meaning: r[4], ACL: int(u32(r[3])), Source: "ts_ret_codes"}
		if e.Meaning == "" {
			e.Meaning = words(r[1])
		}
		if r[2] != "" {
			e.Related, e.Inner = []string{"inner code " + r[2]}, u32(r[2])
		}
		c.ts[u32(r[0])] = e
	}
	for _, r := range rows("drv_error_codes", 3) {
		e := Entry{Kind: "driver", Code: r[0], Name: r[1], Class: "driver", Meaning: r[2], Source: "drv_error_codes"}
		if e.Meaning == "" {
			e.Meaning = words(strings.TrimPrefix(r[1], "DRV_ERROR_"))
		}
		c.drv[int(u32(r[0]))] = e
	}
	for _, r := range rows("aicpu_codes", 4) {
		c.aicpu[int(u32(r[0]))] = Entry{Kind: "aicpu", Code: r[0], Name: r[1], Class: "kernel", Meaning: r[2], Next: r[3], ACL: 507018, Source: "aicpu_codes"}
	}
	for _, r := range rows("messages", 5) {
		c.messages[r[0]] = c.guided(Entry{Kind: "message", Code: r[0], Class: r[1], Meaning: r[2], Causes: r[3], Next: r[4], Source: "messages"})
	}
	for _, r := range rows("ras_events", 4) {
		c.events[u32(r[0])] = c.guided(Entry{Kind: "event", Code: strings.ToLower(r[0]), Class: r[1], Name: r[2], Meaning: r[3], Source: "ras_events"})
	}
	for _, r := range rows("bbox_ids", 4) {
		n := u32(r[1])
		switch r[0] {
		case "module":
			c.modules[n] = r[2]
		case "reason":
			c.reasons[n] = Entry{Kind: "reason", Code: r[1], Name: r[2], Meaning: r[3]}
		case "exception_id":
			c.exception[n] = Entry{Kind: "exception_id", Code: r[1], Name: r[2], Meaning: r[3], Source: "bbox_ids"}
		}
	}
	return c
}

// guided fills causes and next step from the class where the entry has none of its own.
func (c *catalogue) guided(e Entry) Entry {
	g := c.guidance[e.Class]
	if e.Causes == "" {
		e.Causes = g[0]
	}
	if e.Next == "" {
		e.Next = g[1]
	}
	return e
}

// rows reads an embedded table without its header; rows that are too short are left out (a test finds them).
func rows(name string, fields int) [][]string {
	b, err := tables.ReadFile("tables/" + name + ".csv")
	if err != nil {
		return nil
	}
	r := csv.NewReader(strings.NewReader(string(b)))
	r.FieldsPerRecord = -1
	all, err := r.ReadAll()
	if err != nil || len(all) == 0 {
		return nil
	}
	var out [][]string
	for _, row := range all[1:] {
		if len(row) >= fields {
			out = append(out, row)
		}
	}
	return out
}

func u32(s string) uint32 {
	n, _ := strconv.ParseUint(strings.TrimSpace(s), 0, 32)
	return uint32(n)
}

// words turns SOME_NAME into "some name".
func words(s string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(s, "ERROR_"), "_", " "))
}

// ACL looks an aclError up.
func ACL(code int) (Entry, bool) { e, ok := load().acl[code]; return e, ok }

// Inner looks an inner code (0x07MMxxxx) up. Codes without an entry become 507000 in the runtime.
func Inner(code uint32) (Entry, bool) { e, ok := load().inner[code]; return e, ok }

// Scheduler looks a retCode of the task scheduler up.
func Scheduler(code uint32) (Entry, bool) { e, ok := load().ts[code]; return e, ok }

// Driver looks a drvRetCode up.
func Driver(code int) (Entry, bool) { e, ok := load().drv[code]; return e, ok }

// AICPU looks an error number of the AI CPU up.
func AICPU(code int) (Entry, bool) { e, ok := load().aicpu[code]; return e, ok }

// Message looks a message code (EZ9999, ERR00100) up. Unknown codes of known groups get a general entry.
func Message(code string) (Entry, bool) {
	code = strings.ToUpper(code)
	if e, ok := load().messages[code]; ok {
		return e, true
	}
	group := map[byte]string{'E': "runtime", 'H': "ACL layer", 'I': "collective communication", 'L': "driver interface", 'K': "profiling",
		'P': "dump or AI processor level", 'Z': "operator or AI core", 'J': "service process of the device", 'F': "fusion engine"}
	if len(code) == 6 && (code[0] == 'E' || code[0] == 'W') && digits(code[1:]) {
		return Entry{Kind: "message", Code: code, Class: "internal", Meaning: "message of the graph engine or the compiler", Next: "read the text after the code", Source: "general"}, true
	}
	if len(code) == 6 && (code[0] == 'E' || code[0] == 'W' || code[0] == 'I') && digits(code[2:]) {
		if g, ok := group[code[1]]; ok {
			kind := "message"
			if code[2] == '9' {
				kind = "inner error"
			}
			return load().guided(Entry{Kind: "message", Code: code, Class: "internal", Meaning: kind + " of the " + g, Next: "read the text after the code", Source: "general"}), true
		}
	}
	return Entry{}, false
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return len(s) > 0
}

// Event looks an event id of the device (RAS) up. Ids of known units that are not listed get a general entry.
func Event(id uint32) (Entry, bool) {
	if e, ok := load().events[id]; ok {
		return e, true
	}
	general := map[uint32]string{0x8147: "DVPP", 0x815f: "peripherals", 0x8193: "DSA", 0x8195: "network interface", 0x8197: "PCIe"}
	if u, ok := general[id>>16]; ok {
		return load().guided(Entry{Kind: "event", Code: fmt.Sprintf("0x%08x", id), Class: "hardware", Name: u, Meaning: "event of the unit " + u, Source: "general"}), true
	}
	return Entry{}, false
}

// Guidance is the usual cause and next step of a class of errors.
func Guidance(class string) (causes, next string) { g := load().guidance[class]; return g[0], g[1] }

// Module names a module number of the black box.
func Module(n uint32) string {
	if s, ok := load().modules[n]; ok {
		return s
	}
	return fmt.Sprintf("unknown(0x%x)", n)
}

// Reason names a reset or exception reason of the black box.
func Reason(n uint32) (name, meaning string) {
	if e, ok := load().reasons[n]; ok {
		return e.Name, e.Meaning
	}
	return fmt.Sprintf("unknown(0x%x)", n), ""
}

// ReasonByName is the inverse of Reason.
func ReasonByName(name string) (n uint32, meaning string, ok bool) {
	for k, e := range load().reasons {
		if e.Name == name {
			return k, e.Meaning, true
		}
	}
	return 0, "", false
}
