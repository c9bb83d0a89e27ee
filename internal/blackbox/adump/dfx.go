package adump

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Item is an argument as the log inside an exception dump lists it.
type Item struct {
	What string // "normal tensor", "workspace", "tiling data"
	Arg  int    // index in the argument list
	Addr uint64
	Size uint64
	Null bool
}

var dfxLine = sync.OnceValue(func() [2]*regexp.Regexp {
	return [2]*regexp.Regexp{
		regexp.MustCompile(`begin to load ([a-z0-9 ]+?), index:(\d+)`),
		regexp.MustCompile(`addr:(0x[0-9a-fA-F]+|\(nil\)); ?size:(\d+)`),
	}
})

// Items reads the arguments with their device addresses out of the log. It is the only place that has them.
func (f *File) Items() []Item {
	var out []Item
	re := dfxLine()
	cur := Item{Arg: -1}
	for _, l := range strings.Split(f.DFX, "\n") {
		if m := re[0].FindStringSubmatch(l); m != nil {
			cur = Item{What: m[1], Arg: atoi(m[2])}
			continue
		}
		if m := re[1].FindStringSubmatch(l); m != nil && cur.Arg >= 0 && len(out) < 4096 {
			cur.Size, _ = strconv.ParseUint(m[2], 10, 64)
			cur.Null = m[1] == "(nil)"
			if !cur.Null {
				cur.Addr, _ = strconv.ParseUint(m[1], 0, 64)
			}
			out = append(out, cur)
			cur = Item{Arg: -1}
		}
	}
	return out
}

// Args is the argument block as the log prints it.
func (f *File) Args() []uint64 {
	var out []uint64
	for _, l := range strings.Split(f.DFX, "\n") {
		_, list, ok := strings.Cut(l, "after execute:")
		if !ok {
			continue
		}
		for _, w := range strings.Split(list, ",") {
			if n, err := strconv.ParseUint(strings.TrimSpace(w), 0, 64); err == nil && len(out) < 4096 {
				out = append(out, n)
			}
		}
	}
	return out
}

// Addresses fills in the tensors' device addresses from the log. Where the message has no argument index, the log's
// order is the payload's: inputs, outputs and spaces one after the other.
func (f *File) Addresses() {
	items := f.Items()
	byArg := map[int]Item{}
	for _, it := range items {
		byArg[it.Arg] = it
	}
	ordered := f.ordered(items)
	for i := range f.Tensors {
		t := &f.Tensors[i]
		if t.Address != 0 {
			continue
		}
		if t.ArgIndex >= 0 {
			if it, ok := byArg[t.ArgIndex]; ok && it.Size == t.Size {
				t.Address = it.Addr
				continue
			}
		}
		if it, ok := ordered[i]; ok && it.Size == t.Size {
			t.Address, t.ArgIndex = it.Addr, it.Arg
		}
	}
}

// ordered pairs tensors and items by kind and order, if the sizes agree all along.
func (f *File) ordered(items []Item) map[int]Item {
	out := map[int]Item{}
	k := 0
	for i, t := range f.Tensors {
		if t.Role == "buffer" {
			continue
		}
		for k < len(items) && (items[k].Null || items[k].Size != t.Size) {
			k++
		}
		if k == len(items) {
			return out
		}
		out[i] = items[k]
		k++
	}
	return out
}

// Facts are the pairs that the log's first line of an L1 dump holds (node_name, node_type, stream_id, ...).
func (f *File) Facts() map[string]string {
	out := map[string]string{}
	for _, l := range strings.Split(f.DFX, "\n") {
		if !strings.Contains(l, "node_type:") && !strings.Contains(l, "kernel_name") {
			continue
		}
		for _, p := range strings.Split(strings.TrimPrefix(l, "[AIC_INFO] "), ", ") {
			if k, v, ok := strings.Cut(p, ":"); ok && len(out) < 64 && !strings.Contains(k, " ") {
				out[k] = v
			}
		}
	}
	return out
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}
