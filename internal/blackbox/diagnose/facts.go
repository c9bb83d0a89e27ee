package diagnose

import (
	"cmp"
	"slices"
	"strings"

	"npu/internal/blackbox/aicore"
)

// view is what the judgement needs of the cores.
type view struct {
	guilty, idle []*core
	bits         []aicore.Bit
	fragments    []aicore.Fragment
	trap         bool
	outOfBounds  string // checked build: which access
	offsets      map[uint64]int
}

// coreFacts tells guilty cores from bystanders and fills in words, counters and offsets.
func (a *Analyzer) coreFacts(f *Finding, in *incident) view {
	var v view
	shareStart(in.cores)
	for _, c := range in.cores {
		if !c.zero() {
			v.guilty = append(v.guilty, c)
		} else {
			v.idle = append(v.idle, c)
		}
	}
	if len(v.guilty) == 0 { // a hang, or a trap
		for _, c := range in.cores {
			if c.sub != nil && *c.sub < 4 {
				v.guilty = append(v.guilty, c)
			}
		}
		if v.guilty != nil {
			v.idle = slices.DeleteFunc(v.idle, func(c *core) bool { return slices.Contains(v.guilty, c) })
		} else {
			v.guilty, v.idle = v.idle, nil
		}
	}
	byID := func(x, y *core) int { return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.id, y.id)) }
	slices.SortFunc(v.guilty, byID)
	slices.SortFunc(v.idle, byID)
	kinds := map[string]bool{}
	for _, c := range v.guilty {
		f.Cores = append(f.Cores, c.id)
		kinds[c.kind] = true
		if c.sub != nil && *c.sub < 4 {
			v.trap = true
			v.outOfBounds = [...]string{"AI core read", "AI core write", "vector core read", "vector core write"}[*c.sub]
			f.SubErrType = c.sub
		}
	}
	for k := range kinds {
		f.CoreType = strings.Trim(f.CoreType+"/"+k, "/")
	}
	for _, c := range v.idle {
		f.Bystanders = append(f.Bystanders, c.id)
	}
	if in.family != aicore.FamilyUnknown {
		f.Chip = in.family.String()
	}
	v.trap = v.trap || in.ts == 0x27 || in.ts == 0x32 || in.acl == 507016 || in.acl == 507036 || len(in.asserts) > 0
	if len(v.guilty) == 0 {
		return v
	}
	c := reference(v.guilty)
	v.bits = bitsOf(in.family, c)
	if in.family == aicore.V100 {
		v.fragments = aicore.FragmentsV100(v.bits, c.in)
	}
	words(f, in, c, v.bits)
	counters(f, in, c, &v)
	return v
}

// shareStart gives cores that only the time-out report names the entry of the others: they ran the same kernel.
func shareStart(cs []*core) {
	for _, c := range cs {
		if c.start == 0 {
			continue
		}
		for _, o := range cs {
			if o.start == 0 {
				o.start, o.rawST = c.start, c.rawST
			}
		}
		return
	}
}

// reference is the core that stands for the others: the first whose error words the most cores share.
func reference(cs []*core) *core {
	best, n := cs[0], 0
	for _, c := range cs {
		k := 0
		for _, o := range cs {
			if o.words == c.words && slices.Equal(o.codes, c.codes) && o.start == c.start && (!c.zero() || o.current == c.current) {
				k++
			}
		}
		if k > n {
			best, n = c, k
		}
	}
	return best
}

func bitsOf(fam aicore.Family, c *core) []aicore.Bit {
	if fam == aicore.V200 || fam == aicore.V300 {
		var out []aicore.Bit
		for _, n := range c.codes {
			b, _ := aicore.BitAt(aicore.V200, n)
			out = append(out, b)
		}
		return out
	}
	return c.words.Bits()
}

func words(f *Finding, in *incident, c *core, bits []aicore.Bit) {
	switch in.family {
	case aicore.V200, aicore.V300:
		f.Codes = c.codes
	case aicore.Legacy:
		f.ErrCode = []string{hexs(c.words[0])}
	default:
		if c.hasWords {
			f.ErrCode = []string{hexs(c.words[0]), hexs(c.words[1]), hexs(c.words[2])}
		}
	}
	for _, b := range bits {
		f.Bits = append(f.Bits, b.Index)
		f.Names = append(f.Names, b.Name)
		switch {
		case f.Bus != "" || in.family != aicore.V100:
		case b.Index == 23:
			f.Bus = aicore.BusError(c.in.MTE)
		case b.Unit == "FIXP":
			f.Bus = aicore.BusError(uint64(c.in.FIXP0))
		}
	}
}

// counters repairs the program counter where the rule applies, and measures from the kernel's entry.
func counters(f *Finding, in *incident, c *core, v *view) {
	if c.start != 0 {
		f.PCStart = hexs(c.start)
		if c.rawST != c.start {
			f.PCStartRaw = hexs(c.rawST)
		}
	}
	if c.current != 0 {
		f.Current = hexs(c.current)
	}
	pcs := aicore.Repair(in.family, c.current, v.bits, c.in)
	if len(pcs) > 0 && c.current != 0 {
		f.PCRepair = true
		f.PCFixed, f.PCFixedBy, f.PCDoubtful = hexs(pcs[0].Value), pcs[0].Unit, pcs[0].Doubtful
		if len(pcs) > 1 {
			f.PCCandidates = map[string]string{}
			for _, p := range pcs {
				f.PCCandidates[p.Unit] = hexs(p.Value)
			}
		}
	}
	start := c.start
	v.offsets = map[uint64]int{}
	for _, g := range v.guilty {
		pc := g.current
		if p := aicore.Repair(in.family, g.current, bitsOf(in.family, g), g.in); len(p) > 0 {
			pc = p[0].Value
		}
		s := cmp.Or(g.start, start)
		if s == 0 || pc < s || pc-s > 1<<28 {
			continue
		}
		v.offsets[pc-s]++
		if g == c {
			f.Offset = hexs(pc - s)
		}
	}
	if len(v.offsets) > 0 {
		f.Offsets = map[string]int{}
		for o, n := range v.offsets {
			f.Offsets[hexs(o)] = n
		}
	}
}
