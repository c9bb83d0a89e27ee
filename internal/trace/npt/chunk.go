package npt

import "fmt"

// tableBytes is where a chunk of strings, streams or threads ends.
const tableBytes = 1 << 20

// flushTables writes what the rows to come refer to and the file does not hold yet.
func (n *Writer) flushTables() {
	if r := n.Revision(); r != n.revision {
		n.revision = r
		b, fields := appendMeta(n.columns.b[:0], n.Meta())
		n.columns.b = b
		n.chunk(kindMeta, fields)
		table(n, kindStreams, n.StreamTable(), appendStreams)
		table(n, kindThreads, n.ThreadTable(), appendThreads)
	}
	strings := n.StringTable()
	for _, s := range strings[n.strings:] {
		if len(s) > maxString && n.err == nil {
			n.err = fmt.Errorf("write capture: a name of %d bytes is longer than the %d that the format holds", len(s), maxString)
		}
	}
	table(n, kindStrings, strings[n.strings:], func(b []byte, rows []string) []byte { return appendString(b, rows[0]) })
	n.strings = len(strings)
	for rows := n.AccountTable()[n.accounts:]; len(rows) > 0; {
		k := min(len(rows), chunkRows)
		n.columns.start(k)
		putAccounts(&n.columns, rows[:k])
		n.chunk(kindAccounts, k)
		rows = rows[k:]
		n.accounts += k
	}
}

// table writes rows in as many chunks as their size asks for; put appends the rows that it is given.
func table[R any](n *Writer, k kind, rows []R, put func([]byte, []R) []byte) {
	count := 0
	n.columns.b = n.columns.b[:0]
	for i := range rows {
		n.columns.b = put(n.columns.b, rows[i:i+1])
		if count++; count == maxRows || len(n.columns.b) >= tableBytes || i == len(rows)-1 {
			n.chunk(k, count)
			n.columns.b, count = n.columns.b[:0], 0
		}
	}
}

// chunk writes the payload in n.columns.b, compressed where that helps. What is stored is never shorter than a byte a
// row: Reader takes that as the bound of what a file may make it allocate.
func (n *Writer) chunk(k kind, rows int) {
	if n.err != nil {
		return
	}
	raw := n.columns.b
	h := head{kind: k, rows: uint32(rows), raw: uint32(len(raw)), encoding: storedRaw}
	payload := raw
	if len(raw) > 256 {
		n.packed = n.zstd.EncodeAll(raw, n.packed[:0])
		if len(n.packed) < len(raw) && len(n.packed) >= rows {
			h.encoding, payload = storedZstd, n.packed
		}
	}
	h.stored = uint32(len(payload))
	if cap(n.out) < chunkHead {
		n.out = make([]byte, chunkHead)
	}
	n.out = n.out[:chunkHead]
	h.put(n.out)
	h.hash = sum(n.out, payload)
	h.put(n.out)
	n.out = append(n.out, payload...)
	if _, err := n.w.Write(n.out); err != nil {
		n.err = fmt.Errorf("write capture: %w", err)
	}
}
