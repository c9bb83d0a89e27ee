package npt

import (
	"errors"
	"fmt"

	"npu/internal/trace"
)

// take hands the rows of a chunk to the recorder. Kinds of later versions are skipped.
func (d *reader) take(c *chunk) error {
	rows := int(c.rows)
	switch c.kind {
	case kindMeta:
		m, err := takeMeta(c.payload, rows)
		d.out.SetMeta(m)
		return err
	case kindStrings:
		return d.newStrings(c.payload, rows)
	case kindAccounts:
		return d.newAccounts(c.accounts)
	case kindStreams:
		return takeStreams(c.payload, rows, func(s trace.Stream) { d.out.NameStream(s.Device, s.ID, s.Name, s.Priority) })
	case kindThreads:
		return takeThreads(c.payload, rows, func(t trace.Thread) { d.out.NameThread(t.ID, t.Name) })
	case kindTasks:
		return d.newTasks(c)
	case kindSpans:
		return d.newSpans(c)
	case kindCounters:
		return d.newCounters(c.counters)
	case kindSheets:
		s, err := takeSheet(c.payload, rows)
		d.source.AddSheet(s)
		return err
	case kindEnd:
		d.ended = true
		n, err := takeCounts(c.payload)
		if err == nil && n != d.total {
			err = fmt.Errorf("%d records were read, and the file says %d", d.total.sum(), n.sum())
		}
		return err
	}
	return nil
}

func (n counts) sum() uint64 { return n.tasks + n.spans + n.counters }

// newStrings interns strings in the order of the file, which numbers them as the file does: it holds each once.
func (d *reader) newStrings(payload []byte, rows int) error {
	list, err := takeStrings(payload, rows)
	if err != nil {
		return err
	}
	for _, s := range list {
		if int(d.out.Intern(s)) != d.strings {
			return fmt.Errorf("string %d is there twice", d.strings)
		}
		d.strings++
	}
	return nil
}

func (d *reader) newAccounts(list []trace.Account) error {
	for _, a := range list {
		if int(d.out.AddAccount(a)) != d.accounts {
			return fmt.Errorf("account %d is there twice", d.accounts)
		}
		d.accounts++
	}
	return nil
}

var errName = errors.New("a row has a name that is not in the string table before it")

func (d *reader) newTasks(c *chunk) error {
	switch {
	case c.name >= int64(d.strings):
		return errName
	case c.acct >= int64(d.accounts):
		return errors.New("a row has a cycle account that is not in the table before it")
	case d.skim != nil:
		if err := d.skim.tasks(c.part.Tasks(), c.ordered, d.out.AccountTable()); err != nil {
			return err
		}
	case c.part == &c.small:
		d.out.Part(c.part)
	default:
		d.out.TakePart(c.part)
	}
	c.part = nil
	d.total.tasks += uint64(c.rows)
	return nil
}

func (d *reader) newSpans(c *chunk) error {
	if c.name >= int64(d.strings) {
		return errName
	}
	d.total.spans += uint64(len(c.spans))
	switch {
	case d.skim != nil:
		d.skim.to.Calls(c.spans)
	case len(c.spans) == trace.ChunkRows:
		d.out.TakeSpans(c.spans)
		c.spans = nil
	default:
		d.out.Spans(c.spans)
	}
	return nil
}

func (d *reader) newCounters(list []trace.Counter) error {
	for i := range list {
		if int(list[i].Name) >= d.strings {
			return errName
		}
	}
	d.out.Counters(list)
	d.total.counters += uint64(len(list))
	return nil
}

// resize gives n zero rows.
func resize[R any](rows []R, n int) []R {
	if cap(rows) < n {
		return make([]R, n)
	}
	rows = rows[:n]
	clear(rows)
	return rows
}
