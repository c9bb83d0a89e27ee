package npt

import (
	"errors"
	"fmt"

	"npu/internal/trace"
)

// rows hands the payload of a chunk to the recorder. Kinds of later versions are skipped.
func (d *reader) rows(h *head, payload []byte) error {
	rows := int(h.rows)
	switch h.kind {
	case kindMeta:
		m, err := takeMeta(payload, rows)
		d.out.SetMeta(m)
		return err
	case kindStrings:
		return d.newStrings(payload, rows)
	case kindAccounts:
		return d.newAccounts(payload, rows)
	case kindStreams:
		return takeStreams(payload, rows, func(s trace.Stream) { d.out.NameStream(s.Device, s.ID, s.Name, s.Priority) })
	case kindThreads:
		return takeThreads(payload, rows, func(t trace.Thread) { d.out.NameThread(t.ID, t.Name) })
	case kindTasks:
		return d.newTasks(payload, rows)
	case kindSpans:
		return d.newSpans(payload, rows)
	case kindCounters:
		return d.newCounters(payload, rows)
	case kindSheets:
		s, err := takeSheet(payload, rows)
		d.source.AddSheet(s)
		return err
	case kindEnd:
		d.ended = true
		n, err := takeCounts(payload)
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

func (d *reader) newAccounts(payload []byte, rows int) error {
	list := make([]trace.Account, rows)
	d.columns.start(payload, rows)
	takeAccounts(&d.columns, list)
	if err := d.columns.done(); err != nil {
		return err
	}
	for _, a := range list {
		if int(d.out.AddAccount(a)) != d.accounts {
			return fmt.Errorf("account %d is there twice", d.accounts)
		}
		d.accounts++
	}
	return nil
}

var errName = errors.New("a row has a name that is not in the string table before it")

func (d *reader) newTasks(payload []byte, rows int) error {
	b := d.batch()
	b.tasks = resize(b.tasks, rows)
	d.columns.start(payload, rows)
	takeTasks(&d.columns, b.tasks)
	if err := d.columns.done(); err != nil {
		return err
	}
	for i := range b.tasks {
		k := &b.tasks[i]
		if int(k.Name) >= d.strings || int(k.Op) >= d.strings {
			return errName
		}
		if int(k.Acct) >= d.accounts {
			return errors.New("a row has a cycle account that is not in the table before it")
		}
	}
	d.full <- b
	d.total.tasks += uint64(rows)
	return nil
}

func (d *reader) newSpans(payload []byte, rows int) error {
	b := d.batch()
	b.spans = resize(b.spans, rows)
	d.columns.start(payload, rows)
	takeSpans(&d.columns, b.spans)
	if err := d.columns.done(); err != nil {
		return err
	}
	for i := range b.spans {
		if int(b.spans[i].Name) >= d.strings {
			return errName
		}
	}
	d.full <- b
	d.total.spans += uint64(rows)
	return nil
}

func (d *reader) newCounters(payload []byte, rows int) error {
	b := d.batch()
	b.counters = resize(b.counters, rows)
	d.columns.start(payload, rows)
	takeCounters(&d.columns, b.counters)
	if err := d.columns.done(); err != nil {
		return err
	}
	for i := range b.counters {
		if int(b.counters[i].Name) >= d.strings {
			return errName
		}
	}
	d.full <- b
	d.total.counters += uint64(rows)
	return nil
}

// batch is a batch without rows. One whose chunk turns out to be damaged is not handed on: nothing follows it.
func (d *reader) batch() *batch {
	b := <-d.free
	b.tasks, b.spans, b.counters = b.tasks[:0], b.spans[:0], b.counters[:0]
	return b
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
