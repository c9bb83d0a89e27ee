package errcode

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"npu/internal/blackbox/aicore"
)

// Lookup explains whatever a user copies out of a log: 507015, 0x26, 0x7150026, EZ9999, 0x800000,
// "(0x800000, 0, 0)", bit23, ccu_mpu_err, ACL_ERROR_RT_STREAM_CONTEXT, 0x80E01801, 0xb4060006. The likeliest reading
// comes first; an empty list means that the catalogue has nothing like it.
func Lookup(query string) []Entry {
	q := strings.Trim(strings.TrimSpace(query), `"'.;`)
	low := strings.ToLower(q)
	switch {
	case q == "":
		return nil
	case strings.ContainsAny(q, ",") && !strings.ContainsAny(low, "ghijklmnopqrstuvwyz"):
		return triple(q)
	case strings.HasPrefix(low, "bit"):
		if n, err := strconv.Atoi(strings.TrimLeft(low[3:], " :=_-")); err == nil {
			return bitNumber(n)
		}
	}
	if i := strings.LastIndexAny(q, "=: "); i >= 0 && i+1 < len(q) { // retCode=0x26, ErrCode: 507015
		if n, ok := parse(q[i+1:]); ok {
			key := strings.ToLower(q[:i])
			return preferred(numeric(n, strings.Contains(strings.ToLower(q[i+1:]), "0x")), key)
		}
		return Lookup(q[i+1:])
	}
	if n, ok := parse(q); ok {
		return numeric(n, strings.HasPrefix(low, "0x"))
	}
	if e, ok := Message(q); ok {
		return []Entry{e}
	}
	return byName(low)
}

func parse(s string) (uint64, bool) {
	s = strings.TrimRight(s, ".,;)")
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil && strings.HasPrefix(s, "-") {
		var i int64
		i, err = strconv.ParseInt(s, 0, 64)
		n = uint64(uint32(i))
	}
	if err != nil && strings.HasPrefix(s, "0") { // 07150026 is not octal here
		n, err = strconv.ParseUint(s, 16, 64)
	}
	return n, err == nil
}

// preferred moves the kind that the key names to the front: drvRetCode, retCode, InnerCode, errcode.
func preferred(es []Entry, key string) []Entry {
	kind := ""
	switch {
	case strings.Contains(key, "drv"):
		kind = "driver"
	case strings.Contains(key, "inner"):
		kind = "inner"
	case strings.Contains(key, "event"):
		kind = "event"
	case strings.Contains(key, "retcode"):
		kind = "scheduler"
	case strings.Contains(key, "error code"), strings.Contains(key, "errcode"):
		kind = "error_bit"
	}
	slices.SortStableFunc(es, func(a, b Entry) int {
		return cmp.Compare(boolInt(a.Kind != kind), boolInt(b.Kind != kind))
	})
	return es
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// numeric tries every table that a plain number can come from.
func numeric(n uint64, hex bool) []Entry {
	var out []Entry
	add := func(e Entry, ok bool) {
		if ok {
			out = append(out, e)
		}
	}
	if n <= 1<<31 {
		e, ok := ACL(int(n))
		add(withInner(e), ok && n >= 100000)
	}
	if n>>24 == 7 {
		e, ok := Inner(uint32(n))
		if !ok {
			e, ok = Entry{Kind: "inner", Code: fmt.Sprintf("0x%08x", n), Meaning: "inner code of the runtime without an entry of its own", ACL: 507000, Source: "rt_inner_codes"}, true
		}
		add(withACL(e), ok)
	}
	if n <= 1<<32-1 {
		e, ok := Event(uint32(n))
		add(e, ok)
		if ok := n>>30 == 1 || n>>30 == 2; ok && len(out) == 0 {
			add(ExceptionID(uint32(n)), true)
		}
		e, ok = Scheduler(uint32(n))
		add(withACL(e), ok && (hex || n < 1000))
	}
	if !hex {
		e, ok := Driver(int(n))
		add(e, ok)
		e, ok = AICPU(int(n))
		add(e, ok)
		if b, ok := aicore.BitAt(aicore.V200, int(n)); ok && n < 400 {
			add(bitEntry(b, "AI-core error code of the 950"), true)
		}
		if b, ok := aicore.BitAt(aicore.V100, int(n)); ok && n < 200 {
			add(bitEntry(b, "AI-core error bit of the 910B (flat index)"), true)
		}
		if n == 0 {
			out = append([]Entry{{Kind: "acl", Code: "0", Name: "ACL_SUCCESS", Class: "ok", Meaning: "no error"}}, out...)
		}
	}
	if hex || n > 1<<20 && len(out) == 0 {
		out = append(out, wordEntries(n)...)
	}
	if n <= 1<<32-1 && n>>16 != 0 && len(out) == 0 {
		// aclError printed in hex, as GE does
		e, ok := ACL(int(n))
		add(e, ok)
	}
	return out
}

func withInner(e Entry) Entry {
	var rel []string
	for code, t := range load().ts {
		if t.ACL == e.ACL && e.ACL != 0 {
			rel = append(rel, fmt.Sprintf("scheduler retCode=0x%x (%s)", code, t.Name))
		}
	}
	slices.Sort(rel)
	if len(rel) > 4 {
		rel = append(rel[:4], fmt.Sprintf("and %d more scheduler codes", len(rel)-4))
	}
	e.Related = append(e.Related, rel...)
	return e
}

func withACL(e Entry) Entry {
	if a, ok := ACL(e.ACL); ok && e.ACL != 0 {
		e.Related = append(e.Related, fmt.Sprintf("becomes %d %s (%s)", e.ACL, a.Name, a.Meaning))
		if e.Class == "" {
			e.Class = a.Class
		}
		if e.Causes == "" {
			e.Causes = a.Causes
		}
		if e.Next == "" {
			e.Next = a.Next
		}
	}
	return e
}

// wordEntries reads n as each of the three error words of the 910B.
func wordEntries(n uint64) []Entry {
	var out []Entry
	for i, name := range []string{"A (first value, also \"error code\")", "B (second value)", "C (third value)"} {
		var w aicore.Words
		w[i] = n
		for _, b := range w.Bits() {
			if b.Unit == "?" {
				continue
			}
			out = append(out, bitEntry(b, "910B/A3 error word "+name))
		}
		if i == 0 && len(out) > 8 {
			break
		}
	}
	return out
}

func bitEntry(b aicore.Bit, where string) Entry {
	c, next := Guidance(b.Class)
	return Entry{Kind: "error_bit", Code: fmt.Sprintf("bit %d", b.Index), Name: b.Name, Class: b.Class, Causes: c, Next: next,
		Meaning: b.Meaning, Related: []string{where, "unit " + b.Unit}, Source: "aicore_error_bits"}
}

func bitNumber(n int) []Entry {
	var out []Entry
	if b, ok := aicore.BitAt(aicore.V100, n); ok {
		out = append(out, bitEntry(b, "910B/A3, 310P, 910: flat index"))
	}
	if b, ok := aicore.BitAt(aicore.V200, n); ok {
		out = append(out, bitEntry(b, "950: decimal code"))
	}
	return out
}

// triple reads (A, B, C) of the 910B, or a decimal list of 950 codes.
func triple(q string) []Entry {
	q = strings.Trim(q, "()[] ")
	if i := strings.IndexByte(q, '('); i >= 0 {
		q = q[i+1:]
	}
	var vals []uint64
	hex := false
	for _, f := range strings.Split(q, ",") {
		n, ok := parse(strings.TrimSpace(f))
		if !ok {
			return nil
		}
		hex = hex || strings.Contains(f, "0x")
		vals = append(vals, n)
	}
	var out []Entry
	if len(vals) == 3 && (hex || vals[0]+vals[1]+vals[2] == 0) {
		w := aicore.Words{vals[0], vals[1], vals[2]}
		if w.Zero() {
			return []Entry{{Kind: "error_word", Code: "(0, 0, 0)", Name: "no error bit", Class: "hang",
				Meaning: "no error bit is set: a time-out (retCode 0x25 or 0x30), a trap such as an assertion (0x27, 0x32, or subErrType 0 to 3), or a core that was only stopped",
				Next:    "look at retCode and subErrType of the same event; give the log to npu log"}}
		}
		for _, b := range w.Bits() {
			out = append(out, bitEntry(b, "910B/A3 error words"))
		}
		return out
	}
	for _, v := range vals {
		if b, ok := aicore.BitAt(aicore.V200, int(v)); ok {
			out = append(out, bitEntry(b, "AI-core error code of the 950"))
		}
	}
	return out
}

// byName searches names and parts of names over all tables.
func byName(low string) []Entry {
	c := load()
	var out []Entry
	hit := func(e Entry) bool { return strings.Contains(strings.ToLower(e.Name), low) }
	for _, e := range c.acl {
		if hit(e) {
			out = append(out, withInner(e))
		}
	}
	for _, e := range c.inner {
		if hit(e) {
			out = append(out, withACL(e))
		}
	}
	for _, e := range c.ts {
		if hit(e) {
			out = append(out, withACL(e))
		}
	}
	for _, m := range []map[int]Entry{c.drv, c.aicpu} {
		for _, e := range m {
			if hit(e) {
				out = append(out, e)
			}
		}
	}
	for _, e := range c.exception {
		if hit(e) {
			out = append(out, ExceptionID(u32(e.Code)))
		}
	}
	for _, e := range c.reasons {
		if hit(e) {
			out = append(out, e)
		}
	}
	for _, f := range []aicore.Family{aicore.V100, aicore.V200} {
		for _, b := range aicore.All(f) {
			if strings.Contains(b.Name, low) {
				out = append(out, bitEntry(b, "chip family "+f.String()))
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(boolInt(strings.ToLower(a.Name) != low), boolInt(strings.ToLower(b.Name) != low)),
			cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Code, b.Code))
	})
	return out
}

// ExceptionID takes an exception id of the black box apart.
func ExceptionID(id uint32) Entry {
	side := [...]string{"unknown side", "host", "device", "unknown side"}[id>>30&3]
	kind := [...]string{"event", "error", "exception", "record"}[id>>28&3]
	level := map[uint32]string{4: "emergency", 3: "critical", 2: "warning", 1: "notice", 0: "none"}[id>>25&7]
	if level == "" {
		level = fmt.Sprintf("level %d", id>>25&7)
	}
	module := Module(id >> 17 & 0xff)
	e, ok := load().exception[id]
	if !ok {
		e = Entry{Kind: "exception_id", Name: module, Meaning: "exception of the black box"}
	}
	e.Code = fmt.Sprintf("0x%08x", id)
	e.Related = []string{side, kind, "level " + level, "module " + module, fmt.Sprintf("submodule %d", id>>12&0x1f), fmt.Sprintf("code %d", id&0xfff)}
	if id == 0xb4060006 {
		e.Next = "go to the plog of that time: npu log"
	}
	return e
}
