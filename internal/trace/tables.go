package trace

import (
	"cmp"
	"maps"
	"slices"
)

// Tables collects what rows refer to: strings, cycle accounts, names of streams and threads, and the description of
// the run. Recorder and the capture writer embed it. It has one owner at a time and no lock.
type Tables struct {
	meta     Meta
	strings  []string
	ids      map[string]StringID
	accounts []Account
	rows     map[Account]uint32
	streams  map[streamKey]Stream
	threads  map[uint16]Thread
	revision int
}

type streamKey struct {
	device uint16
	stream uint32
}

// NewTables makes tables that hold only the empty string and the empty account.
func NewTables() Tables {
	return Tables{
		strings: []string{""}, ids: map[string]StringID{"": 0},
		accounts: []Account{{}}, rows: map[Account]uint32{{}: 0},
		streams: map[streamKey]Stream{}, threads: map[uint16]Thread{},
	}
}

// Intern gives the id of s; equal strings share one.
func (t *Tables) Intern(s string) StringID {
	if id, ok := t.ids[s]; ok {
		return id
	}
	id := StringID(len(t.strings))
	t.strings = append(t.strings, s)
	t.ids[s] = id
	return id
}

// Text is the string of id; empty for ids that name nothing.
func (t *Tables) Text(id StringID) string {
	if int(id) < len(t.strings) {
		return t.strings[id]
	}
	return ""
}

// AddAccount gives the row of a for Task.Acct; equal accounts share one, and the empty account is row 0.
func (t *Tables) AddAccount(a Account) uint32 {
	if row, ok := t.rows[a]; ok {
		return row
	}
	row := uint32(len(t.accounts))
	t.accounts = append(t.accounts, a)
	t.rows[a] = row
	return row
}

// NewAccounts makes n rows for accounts, the first of which is given, to be filled in before the trace is finished. Counts of
// real devices are rarely equal: looking for one costs more than it saves.
func (t *Tables) NewAccounts(n int) (first uint32, rows []Account) {
	at := len(t.accounts)
	if n > cap(t.accounts)-at {
		// Unlike slices.Grow, which writes zeroes, this leaves pages alone that nobody has touched.
		t.accounts = append(make([]Account, 0, at+n), t.accounts...)
	}
	t.accounts = t.accounts[:at+n]
	return uint32(at), t.accounts[at:]
}

// NameStream names a stream and keeps its priority (0 is the most urgent). A later call replaces an earlier one.
func (t *Tables) NameStream(device uint16, stream uint32, name string, priority int) {
	t.streams[streamKey{device, stream}] = Stream{device, stream, name, priority}
	t.revision++
}

// NameThread names a host thread. Threads are counted from 1.
func (t *Tables) NameThread(thread uint16, name string) {
	t.threads[thread] = Thread{thread, name}
	t.revision++
}

// SetMeta describes the run. A later call replaces an earlier one.
func (t *Tables) SetMeta(m Meta) {
	t.meta = m
	t.revision++
}

// Meta is the description so far.
func (t *Tables) Meta() Meta { return t.meta }

// StringTable is all strings by id. It must not be changed.
func (t *Tables) StringTable() []string { return t.strings }

// AccountTable is all accounts by row. It must not be changed.
func (t *Tables) AccountTable() []Account { return t.accounts }

// StreamTable is all named streams by device and number.
func (t *Tables) StreamTable() []Stream {
	return slices.SortedFunc(maps.Values(t.streams), func(a, b Stream) int {
		return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.ID, b.ID))
	})
}

// ThreadTable is all named threads by number.
func (t *Tables) ThreadTable() []Thread {
	return slices.SortedFunc(maps.Values(t.threads), func(a, b Thread) int { return cmp.Compare(a.ID, b.ID) })
}

// Revision grows whenever the description of the run or a name of a stream or thread changes.
func (t *Tables) Revision() int { return t.revision }
