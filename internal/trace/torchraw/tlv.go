package torchraw

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// longest bounds one record: call stacks are far shorter.
const longest = 64 << 20

// tlv reads records of u16 type, u32 length and value, and gives each value to take, which must not keep it. The error says
// where the file ends early or makes no sense; the records before are good.
func tlv(in io.Reader, take func(value []byte)) (n int64, err error) {
	r := bufio.NewReaderSize(in, 1<<16)
	var value bytes.Buffer
	offset := int64(0)
	for {
		var head [6]byte
		k, err := io.ReadFull(r, head[:])
		switch {
		case k == 0 && errors.Is(err, io.EOF):
			return n, nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return n, fmt.Errorf("at offset %#x: the file ends within the head of a record; the %d records before it are good", offset, n)
		case err != nil:
			return n, err
		}
		length := int64(binary.LittleEndian.Uint32(head[2:]))
		if length > longest {
			return n, fmt.Errorf("at offset %#x: a record of %d bytes; the %d records before it are good", offset, length, n)
		}
		value.Reset()
		// CopyN grows with what there is: a lie about the length costs nothing.
		if _, err := io.CopyN(&value, r, length); errors.Is(err, io.EOF) {
			return n, fmt.Errorf("at offset %#x: a record of %d bytes, of which the file holds %d; the %d records before it are good", offset, length, value.Len(), n)
		} else if err != nil {
			return n, err
		}
		take(value.Bytes())
		n++
		offset += 6 + length
	}
}

// field is the text of the inner field of type want; empty when there is none. Fields come in any order.
func field(b []byte, want uint16) string {
	for len(b) >= 6 {
		kind, length := binary.LittleEndian.Uint16(b), uint64(binary.LittleEndian.Uint32(b[2:]))
		if length > uint64(len(b)-6) {
			return ""
		}
		if kind == want {
			return string(bytes.ToValidUTF8(b[6:6+length], []byte("\ufffd")))
		}
		b = b[6+length:]
	}
	return ""
}
