// Package plaintext reads text that editors and spreadsheets saved in another form than UTF-8 with LF.
package plaintext

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// Decoded reads text in another form than UTF-8 with LF: UTF-16, as some editors save it, and lines that end with CR
// alone. nil: head, the first bytes of r, is neither.
func Decoded(head []byte, r *bufio.Reader) io.Reader {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")) && len(head) >= 4:
		return &wide{r: r, order: binary.LittleEndian}
	case bytes.HasPrefix(head, []byte("\xfe\xff")) && len(head) >= 4:
		return &wide{r: r, order: binary.BigEndian}
	case bytes.IndexByte(head, '\r') >= 0 && bytes.IndexByte(head, '\n') < 0 && bytes.IndexByte(head, 0) < 0:
		if more, _ := r.Peek(r.Size()); bytes.IndexByte(more, '\n') < 0 { // not only a long first line
			return &carriage{r}
		}
	}
	return nil
}

// wide turns UTF-16 into UTF-8; what is no text becomes U+FFFD.
type wide struct {
	r     *bufio.Reader
	order binary.ByteOrder
	out   []byte
	err   error
}

func (w *wide) Read(p []byte) (int, error) {
	for len(w.out) < len(p) && w.err == nil {
		var u [2]byte
		if _, w.err = io.ReadFull(w.r, u[:]); w.err != nil {
			break
		}
		c := rune(w.order.Uint16(u[:]))
		if utf16.IsSurrogate(c) {
			if next, err := w.r.Peek(2); err == nil {
				if both := utf16.DecodeRune(c, rune(w.order.Uint16(next))); both != utf8.RuneError {
					c = both
					_, w.err = w.r.Discard(2)
				}
			}
		}
		if c != '\ufeff' {
			w.out = utf8.AppendRune(w.out, c)
		}
	}
	n := copy(p, w.out)
	w.out = append(w.out[:0], w.out[n:]...)
	if n == 0 && len(p) > 0 {
		if w.err == io.ErrUnexpectedEOF { // half a character at the end
			return 0, io.EOF
		}
		return 0, w.err
	}
	return n, nil
}

// carriage turns CR into LF.
type carriage struct{ r io.Reader }

func (c *carriage) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	for i, b := range p[:n] {
		if b == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}
