package decode

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
)

// block is a piece of a payload on its way to the file and to the statistics.
type block struct {
	b    []byte
	at   int64
	uses atomic.Int32
}

// pump reads [off, off+size) of r in pieces and gives each one to all sinks, which run at the same time as the reading
// and as each other. first is the size of the first piece, so that a writer behind a header can stay on page borders.
// It returns the first error; sinks then see no further pieces. All goroutines have ended when it returns.
func pump(ctx context.Context, r io.ReaderAt, off, size, first int64, sinks ...func([]byte) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	const depth = 4
	free := make(chan *block, depth)
	for range depth {
		free <- &block{b: make([]byte, 0, min(piece, max(size, 1)))}
	}
	queues := make([]chan *block, len(sinks))
	done := make(chan error, len(sinks))
	for i, sink := range sinks {
		q := make(chan *block, depth)
		queues[i] = q
		go func() {
			var err error
			for x := range q {
				if err == nil && ctx.Err() == nil {
					if err = sink(x.b); err != nil {
						cancel(err)
					}
				}
				if x.uses.Add(-1) == 0 {
					free <- x
				}
			}
			done <- err
		}()
	}
	err := feed(ctx, r, off, size, first, free, queues)
	for i := range queues {
		close(queues[i])
	}
	for range sinks {
		if e := <-done; e != nil && err == nil {
			err = e
		}
	}
	return err
}

func feed(ctx context.Context, r io.ReaderAt, off, size, first int64, free chan *block, queues []chan *block) error {
	n := max(min(first, piece), 1)
	for at := int64(0); at < size; at, n = at+n, piece {
		n = min(n, size-at)
		if ctx.Err() != nil { // a select alone could pick the free block
			return context.Cause(ctx)
		}
		var x *block
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case x = <-free:
		}
		x.b, x.at = x.b[:min(n, int64(cap(x.b)))], at
		n = int64(len(x.b))
		k, err := r.ReadAt(x.b, off+at)
		if int64(k) < n {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("read payload at 0x%x: %w", off+at, err)
		}
		x.uses.Store(int32(len(queues)))
		for _, q := range queues {
			q <- x
		}
	}
	return nil
}
