package chrome

import (
	"runtime"
	"sync"
)

// chunkRows is how many rows one processor formats at a time, about.
const chunkRows = 512

// rounds formats chunks of rows on all processors and writes them in their order. There are two rounds of chunks: while one
// is formatted, the other is written and filled anew. The bytes do not depend on the number of processors.
type rounds struct {
	c    *writer
	both [2]round
	turn int
}

type round struct {
	forms   []*form
	n       int // in use
	working sync.WaitGroup
}

func newRounds(c *writer) *rounds {
	r := &rounds{c: c}
	for i := range r.both {
		for range runtime.GOMAXPROCS(0) {
			r.both[i].forms = append(r.both[i].forms, newForm(c))
		}
	}
	return r
}

// form is the one that formats the next chunk.
func (r *rounds) form() *form {
	if at := &r.both[r.turn]; at.n == len(at.forms) {
		r.turn = 1 - r.turn
		r.write()
	}
	at := &r.both[r.turn]
	at.n++
	return at.forms[at.n-1]
}

// start formats the chunk of the form that was given last.
func (r *rounds) start(f *form, format func(f *form)) {
	at := &r.both[r.turn]
	at.working.Go(func() { format(f) })
}

// write waits for the round at hand and writes it.
func (r *rounds) write() {
	at := &r.both[r.turn]
	at.working.Wait()
	for _, f := range at.forms[:at.n] {
		r.c.events(f.b)
		f.b, f.rows = f.b[:0], f.rows[:0]
	}
	at.n = 0
}

// finish writes what is left.
func (r *rounds) finish() {
	r.turn = 1 - r.turn
	r.write()
	r.turn = 1 - r.turn
	r.write()
}
