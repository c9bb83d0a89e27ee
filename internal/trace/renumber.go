package trace

// renumber numbers strings and accounts by their first use in the ordered rows, and drops those without use. Ids that
// name nothing become the first id past the end, which Check reports.
func renumber(t *Trace, strings []string, accounts []Account) {
	if numbered(t, len(strings), len(accounts)) {
		return
	}
	t.Strings, t.Accounts = []string{""}, accounts
	asTheyAre := accountsNumbered(&t.Tasks, len(accounts))
	names, rows := numbering{old: make([]uint32, len(strings))}, numbering{}
	if !asTheyAre {
		t.Accounts = make([]Account, 1, max(len(accounts), 1))
		rows.old = make([]uint32, len(accounts))
	}
	str := func(id StringID) StringID {
		n, first := names.of(uint32(id))
		if first {
			t.Strings = append(t.Strings, strings[id])
		}
		return StringID(n)
	}
	for i := range t.Tasks.n {
		t.Tasks.Name.set(i, str(t.Tasks.Name.At(i)))
		t.Tasks.Op.set(i, str(t.Tasks.Op.At(i)))
		if asTheyAre {
			continue
		}
		acct := t.Tasks.Acct.At(i)
		n, first := rows.of(acct)
		if first {
			t.Accounts = append(t.Accounts, accounts[acct])
		}
		t.Tasks.Acct.set(i, n)
	}
	for _, s := range t.Spans.All() {
		s.Name = str(s.Name)
	}
	for _, c := range t.Counters.All() {
		c.Name = str(c.Name)
	}
}

// numbering gives new numbers from 1 in the order of first use. 0 stays 0.
type numbering struct {
	old  []uint32 // new number by old one, 0 for none yet
	next uint32
}

func (n *numbering) of(old uint32) (id uint32, first bool) {
	switch {
	case old == 0:
		return 0, false
	case int(old) >= len(n.old):
		return ^uint32(0), false
	case n.old[old] == 0:
		n.next++
		n.old[old] = n.next
		return n.next, true
	}
	return n.old[old], false
}

// numbered says whether so many strings and accounts are numbered by first use already, as those of a capture of one
// trace are. Nearly all chunks hold only ids that were used before, which the largest of them says.
func numbered(t *Trace, strings, accounts int) bool {
	var names, rows used
	k := &t.Tasks
	for c := range k.Start.chunks {
		name, op, acct := k.Name.chunks[c], k.Op.chunks[c], k.Acct.chunks[c]
		if max(largest(name), largest(op)) > StringID(names) || largest(acct) > uint32(rows) {
			for i := c * chunkRows; i < min((c+1)*chunkRows, k.n); i++ {
				if !names.by(uint32(k.Name.At(i))) || !names.by(uint32(k.Op.At(i))) || !rows.by(k.Acct.At(i)) {
					return false
				}
			}
		}
	}
	for _, s := range t.Spans.All() {
		if !names.by(uint32(s.Name)) {
			return false
		}
	}
	for _, c := range t.Counters.All() {
		if !names.by(uint32(c.Name)) {
			return false
		}
	}
	return int(names)+1 == strings && int(rows)+1 == accounts
}

// accountsNumbered says whether so many accounts are numbered by first use, whatever the strings are.
func accountsNumbered(t *Tasks, n int) bool {
	var rows used
	for i := range t.n {
		if !rows.by(t.Acct.At(i)) {
			return false
		}
	}
	return int(rows)+1 == n
}

// used is how many ids from 1 on were used.
type used uint32

// by uses id, and says whether it was used before or is the next.
func (u *used) by(id uint32) bool {
	if id == uint32(*u)+1 {
		*u++
	}
	return id <= uint32(*u)
}

func largest[T number](chunk *[chunkRows]T) (most T) {
	if chunk == nil {
		return 0
	}
	for _, v := range chunk {
		most = max(most, v)
	}
	return most
}
