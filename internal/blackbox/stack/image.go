package stack

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"npu/internal/problem"
)

const (
	sectionEntry = 64
	frameEntry   = 704
	oldMagic     = 0xAC23
)

// SniffImage says which binary form b has: "stackcore image", "stackcore image (old)", or empty. The image is a C
// structure whose layout depends on the processor, so its section table is searched for.
func SniffImage(b []byte) string {
	switch {
	case len(b) >= 4 && binary.LittleEndian.Uint16(b) == oldMagic && binary.LittleEndian.Uint16(b[2:]) == 1:
		return "stackcore image (old)"
	case tableAt(b) >= 0:
		return "stackcore image"
	}
	return ""
}

// tableAt finds the section table: a used entry named [stack]. It stands within the first 64 KiB.
func tableAt(b []byte) int {
	mark := []byte("\x01[stack]\x00")
	limit := min(len(b), 64<<10)
	if i := bytes.Index(b[:limit], mark); i >= 64 && i+sectionEntry <= len(b) {
		return i
	}
	return -1
}

// ParseImage decodes a process image.
func ParseImage(b []byte) (*Crash, error) {
	switch SniffImage(b) {
	case "stackcore image":
		return image(b), nil
	case "stackcore image (old)":
		return oldImage(b), nil
	}
	return nil, problem.Damagedf("offset 0: no stackcore image")
}

func (c *Crash) problem(at int64, format string, args ...any) {
	if len(c.Problems) < 200 {
		c.Problems = append(c.Problems, Problem{at, fmt.Sprintf(format, args...)})
	}
}

func cstring(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return strings.ToValidUTF8(string(b), "?")
}

func image(b []byte) *Crash {
	le := binary.LittleEndian
	c := &Crash{Form: "stackcore image", PID: int(int32(le.Uint32(b))), TID: int(int32(le.Uint32(b[4:]))), Signal: int(int32(le.Uint32(b[8:]))), TimeNS: le.Uint64(b[16:])}
	c.Reason = SignalName(c.Signal)
	table := tableAt(b)
	for i := 0; i < 10; i++ {
		at := table + i*sectionEntry
		if at+sectionEntry > len(b) {
			c.problem(int64(at), "the section table is cut")
			break
		}
		e := b[at:]
		if e[0] == 0 {
			continue
		}
		name := cstring(e[1:33])
		off, count, size, total := uint64(le.Uint32(e[36:])), uint64(le.Uint32(e[40:])), uint64(le.Uint32(e[44:])), uint64(le.Uint32(e[48:]))
		kind := le.Uint32(e[52:])
		n := total
		if kind == 1 {
			n = count * size
		}
		if off > uint64(len(b)) || n > uint64(len(b))-off {
			have := uint64(0)
			if off < uint64(len(b)) {
				have = uint64(len(b)) - off
			}
			c.problem(int64(at), "section %s says %d bytes at 0x%x, %d are in the file", name, n, off, have)
			n, off = have, min(off, uint64(len(b)))
		}
		c.Sections = append(c.Sections, Section{name, int64(off), int64(n)})
		body := b[off : off+n]
		switch name {
		case "[stack]":
			if size != frameEntry {
				c.problem(int64(at)+44, "frames of %d bytes, %d expected", size, frameEntry)
				continue
			}
			c.imageFrames(body)
		case "[maps]":
			c.Maps = bytes.Count(body, []byte{'\n'})
		case "[process status]":
			for _, l := range strings.Split(cstring(body), "\n") {
				if v, ok := strings.CutPrefix(l, "Name:"); ok {
					c.Process = strings.TrimSpace(v)
				}
			}
		}
	}
	c.finish(nil)
	return c
}

// imageFrames: the frame number starts again, or the thread id changes, with the next thread.
func (c *Crash) imageFrames(b []byte) {
	le := binary.LittleEndian
	last := -1
	for ; len(b) >= frameEntry; b = b[frameEntry:] {
		n, tid := int(le.Uint32(b[8:])), int(int32(le.Uint32(b[12:])))
		if len(c.Threads) == 0 || n == 0 || tid != c.Threads[len(c.Threads)-1].TID || n <= last {
			c.thread(Thread{Number: len(c.Threads) + 1, TID: tid})
		}
		last = n
		c.frame(Frame{PC: le.Uint64(b[16:]), Base: le.Uint64(b[48:]), Lib: cstring(b[56 : 56+512]), Func: cstring(b[568 : 568+128]), Offset: le.Uint64(b[696:])})
	}
}

// oldImage: 1 KiB head with block layouts, then process, thread and log blocks.
func oldImage(b []byte) *Crash {
	le := binary.LittleEndian
	c := &Crash{Form: "stackcore image (old)", PID: -1, TID: -1}
	if len(b) < 5+32*16 {
		c.problem(0, "the head is cut")
		return c
	}
	blocks := int(int8(b[4]))
	for i := 0; i < min(blocks, 32); i++ {
		l := b[5+16*i:]
		kind, off, size := le.Uint32(l), uint64(le.Uint32(l[4:])), uint64(le.Uint32(l[8:]))
		if off > uint64(len(b)) || size > uint64(len(b))-off {
			c.problem(int64(5+16*i), "block %d says %d bytes at 0x%x, the file has 0x%x", i, size, off, len(b))
			continue
		}
		body := b[off : off+size]
		switch {
		case i == 0 && len(body) >= 276: // process
			c.Process = cstring(body[:256])
			c.PID, c.TID, c.Signal = int(int32(le.Uint32(body[256:]))), int(int32(le.Uint32(body[260:]))), int(int32(le.Uint32(body[264:])))
			c.Reason = SignalName(c.Signal)
			if len(body) >= 280 {
				c.TimeNS = le.Uint64(body[272:])
			}
		case i == 1:
			const entry = 4 + 16 + 4 + 32*256
			for k := 0; k+entry <= len(body); k += entry {
				t := body[k:]
				layers := int(int32(le.Uint32(t[20:])))
				tid := int(int32(le.Uint32(t)))
				if tid == 0 && layers == 0 {
					continue
				}
				c.thread(Thread{Number: k/entry + 1, TID: tid, Name: cstring(t[4:20])})
				for f := 0; f < min(max(layers, 0), 32); f++ {
					c.frame(Frame{Func: cstring(t[24+256*f : 24+256*(f+1)])})
				}
			}
		default:
			c.Sections = append(c.Sections, Section{fmt.Sprintf("block %d type %d", i, kind), int64(off), int64(size)})
		}
	}
	c.finish(nil)
	return c
}
