package replay

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"npu/internal/problem"
)

// Kind is what an operation does.
type Kind uint8

// Kinds of operations.
const (
	Alloc Kind = iota
	Free
	Sync // all streams
)

// Op is one operation of a trace.
type Op struct {
	Kind   Kind
	Block  int32  // number of the block, from 0
	Stream uint32 //
	Size   uint64 // asked for, of an allocation
}

// Trace is a list of operations.
type Trace struct {
	Name   string
	Ops    []Op
	Blocks int // blocks that are allocated
	// Unmatched counts frees of blocks that were allocated before the trace begins.
	Unmatched int
	Strange   int // events that make no sense and are left out
}

// maxSize is the largest block that a trace may ask for.
const maxSize = 1 << 46

// Read reads the traces of any of the known formats; a snapshot has one for each device. With an error, the operations
// before it are returned as well.
func Read(in io.Reader, name string) ([]*Trace, error) {
	r := bufio.NewReaderSize(in, 1<<16)
	if mark, _ := r.Peek(3); string(mark) == "\xef\xbb\xbf" {
		_, _ = r.Discard(len(mark)) // it was peeked
	}
	first, err := r.Peek(1)
	for err == nil && bytes.ContainsAny(first, " \t\r\n") {
		_, _ = r.ReadByte() // it was peeked
		first, err = r.Peek(1)
	}
	switch {
	case err != nil:
		return nil, problem.Damagedf("%s: no operations; expected op,id,size,stream lines or a memory snapshot in JSON", name)
	case first[0] == '{' || first[0] == '[':
		return readSnapshot(r, name)
	case first[0] == 0x80: // of the protocol, in all pickles of today
		return nil, problem.Damagedf("%s: offset 0: this is a Python pickle; save the snapshot as JSON: json.dump(torch.npu.memory._snapshot(), file)", name)
	}
	t, err := readCSV(r, name)
	if len(t.Ops) == 0 {
		if err == nil {
			err = problem.Damagedf("%s: no operations; expected op,id,size,stream lines", name)
		}
		return nil, err
	}
	return []*Trace{t}, err
}

// builder numbers the blocks of a trace.
type builder struct {
	t    *Trace
	live map[uint64]int32
}

func newBuilder(name string) *builder {
	return &builder{t: &Trace{Name: name}, live: map[uint64]int32{}}
}

// alloc adds an allocation; false if the block is in use.
func (b *builder) alloc(key, size uint64, stream uint32) bool {
	if _, ok := b.live[key]; ok {
		return false
	}
	n := int32(b.t.Blocks)
	b.t.Blocks++
	b.live[key] = n
	b.t.Ops = append(b.t.Ops, Op{Kind: Alloc, Block: n, Size: size, Stream: stream})
	return true
}

// free adds a free; false if the block is not known.
func (b *builder) free(key uint64, stream uint32) bool {
	n, ok := b.live[key]
	if !ok {
		return false
	}
	delete(b.live, key)
	b.t.Ops = append(b.t.Ops, Op{Kind: Free, Block: n, Stream: stream})
	return true
}

func readCSV(r *bufio.Reader, name string) (*Trace, error) {
	b := newBuilder(name)
	s := bufio.NewScanner(r)
	for line := 1; s.Scan(); line++ {
		text := bytes.TrimSpace(s.Bytes())
		if len(text) == 0 || text[0] == '#' || line == 1 && bytes.HasPrefix(text, []byte("op,")) {
			continue
		}
		if bad := b.line(text); bad != "" {
			return b.t, problem.Damagedf("%s: line %d: %s; the %d operations before it are good", name, line, bad, len(b.t.Ops))
		}
	}
	if err := s.Err(); err != nil {
		return b.t, problem.Damagedf("%s: behind operation %d: %w", name, len(b.t.Ops), err)
	}
	return b.t, nil
}

// line adds the operation of a line, or says what is wrong with it.
func (b *builder) line(text []byte) string {
	var f [4]uint64
	op := text[0]
	rest := text[1:]
	for i := 1; i < 4; i++ {
		if len(rest) == 0 || rest[0] != ',' {
			return "expected op,id,size,stream"
		}
		rest = rest[1:]
		n := bytes.IndexByte(rest, ',')
		if n < 0 {
			n = len(rest)
		}
		v, err := strconv.ParseUint(string(rest[:n]), 10, 63)
		if err != nil {
			return fmt.Sprintf("%q is no number", rest[:min(n, 24)])
		}
		f[i], rest = v, rest[n:]
	}
	switch {
	case len(rest) > 0:
		return "more than four fields"
	case f[3] > 1<<31:
		return fmt.Sprintf("stream %d", f[3])
	case op == 's':
		b.t.Ops = append(b.t.Ops, Op{Kind: Sync})
	case op == 'a' && (f[2] == 0 || f[2] > maxSize):
		return fmt.Sprintf("a block of %d bytes", f[2])
	case op == 'a' && !b.alloc(f[1], f[2], uint32(f[3])):
		return fmt.Sprintf("block %d is allocated twice", f[1])
	case op == 'f' && !b.free(f[1], uint32(f[3])):
		return fmt.Sprintf("block %d is not in use", f[1])
	case op != 'a' && op != 'f':
		return fmt.Sprintf("operation %q: expected a, f or s", op)
	}
	return ""
}

// Open reads the traces of a file. With an error, what could be read is returned as well.
func Open(path string) ([]*Trace, error) {
	f, err := os.Open(path)
	if err != nil {
		if pe := (*os.PathError)(nil); errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, problem.Damagedf("%s: %w", path, err)
	}
	defer f.Close()
	return Read(f, filepath.Base(path))
}
