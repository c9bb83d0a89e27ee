package decode

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"npu/internal/blackbox/aicore"
	"npu/internal/blackbox/bbox"
	"npu/internal/blackbox/identify"
	"npu/internal/blackbox/plog"
	"npu/internal/blackbox/textdump"
)

// log decodes the firmware's text core dump out of a device log, and the history of exceptions.
func (j *job) log(kind string) error {
	if kind == identify.History {
		b, err := io.ReadAll(io.LimitReader(j.file, 64<<20))
		if err != nil {
			return damagedErr(err)
		}
		es, probs := bbox.ParseHistory(string(b))
		j.exceptions(es)
		for _, p := range probs {
			j.rep.problem(p.Offset, p.Text)
		}
		return nil
	}
	p := &textdump.Parser{}
	var lines [3]int64 // errors, warnings, others
	st, err := plog.Scan(j.file, 0, plog.Options{Level: plog.Debug, Since: plog.NoTime}, func(r *plog.Record) error {
		switch {
		case r.Level == plog.Error && !r.Cont:
			lines[0]++
		case r.Level == plog.Warning && !r.Cont:
			lines[1]++
		default:
			lines[2]++
		}
		if textdump.Wants(r.Text) {
			p.Feed(r.Text, r.Time, r.Line)
		}
		if r.Line&0xfff == 0 {
			return j.ctx.Err()
		}
		return nil
	})
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	r := j.rep
	r.fact("lines", fmt.Sprintf("%d (%d errors, %d warnings)", st.Lines, lines[0], lines[1]))
	r.fact("from", plog.Clock(st.First))
	r.fact("to", plog.Clock(st.Last))
	if len(p.Events) == 0 {
		r.Notes = append(r.Notes, "no core dump of the firmware in it; npu log finds causes in logs")
		return nil
	}
	r.Form = "log with a core dump of the firmware"
	for _, ev := range p.Events {
		if err := j.textEvent(ev); err != nil {
			return err
		}
	}
	return nil
}

func (j *job) textEvent(ev *textdump.Event) error {
	r := j.rep
	r.Chip = ev.Family().String()
	who := fmt.Sprintf("line %d", ev.Line)
	s := fmt.Sprintf("stream %d task %d, error type %d, pid %d", ev.Stream, ev.Task, ev.ErrorType, ev.PID)
	if ev.Old {
		s = fmt.Sprintf("device %d stream %d task %d, exception code 0x%x", ev.Device, ev.Stream, ev.Task, ev.ExceptionCode)
	}
	if aic, aiv := ev.Ran(); aic+aiv > 0 {
		s += fmt.Sprintf(", ran on %d AIC and %d AIV cores", aic, aiv)
	}
	r.record("exception", who, plog.Clock(ev.Time)+" "+s, 0)
	if len(ev.SQE) == 16 {
		var w []string
		for _, x := range ev.SQE {
			w = append(w, fmt.Sprintf("%08x", x))
		}
		r.record("queue entry", who, fmt.Sprintf("%s; entry pc 0x%x, argument block 0x%x", strings.Join(w, " "), ev.EntryPC(), ev.ArgBlock()), 0)
	}
	for _, sl := range ev.Slots {
		r.record("slot", who, sl, 0)
	}
	groups := map[string]int{}
	for _, c := range ev.Cores {
		x := Core{ID: c.ID, Type: c.Type, Bits: []int{}, Registers: []Register{}}
		words, in, start, cur := c.Fault()
		bits := words.Bits()
		x.Bystander = c.Complete && words.Zero()
		if start != 0 {
			x.PCStart = fmt.Sprintf("0x%x", start)
		}
		if cur != 0 {
			x.PC = fmt.Sprintf("0x%x", cur)
		}
		pcs := aicore.Repair(ev.Family(), cur, bits, in)
		fill(&x, ev.Family(), words, nil, bits, in, pcs)
		pc := cur
		if len(pcs) > 0 {
			pc = pcs[0].Value
		}
		if c.FirmwarePC != 0 {
			agree := "agrees"
			if len(pcs) > 0 && c.FirmwarePC != pc {
				agree = "differs"
			}
			x.Why = append(x.Why, fmt.Sprintf("the firmware repaired the program counter to 0x%x: %s", c.FirmwarePC, agree))
		}
		if start != 0 && pc >= start {
			x.Offset = fmt.Sprintf("0x%x", pc-start)
		}
		if ev.Family() == aicore.V100 {
			for _, fr := range aicore.FragmentsV100(bits, in) {
				x.Why = append(x.Why, fr.String())
			}
		}
		for _, g := range c.Registers {
			x.Registers = append(x.Registers, Register{g.Name, fmt.Sprintf("0x%x", g.Value)})
		}
		for _, m := range c.Memories {
			x.Memories = append(x.Memories, fmt.Sprintf("%s %d samples", m.Name, len(m.Rows)))
		}
		for _, m := range c.Stack {
			x.Memories = append(x.Memories, fmt.Sprintf("stack %d rows from 0x%x", len(m.Rows), m.Rows[0].Addr))
		}
		if !c.Complete {
			x.Why = append(x.Why, "the log ends inside this core's dump")
		} else if len(bits) > 0 {
			groups[fmt.Sprintf("%s at offset %s: %s", x.Type, x.Offset, bits[0].Meaning)]++
		}
		r.Cores = append(r.Cores, x)
		if err := j.textExport(c); err != nil {
			return err
		}
	}
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		n := groups[g]
		r.Cause = append(r.Cause, fmt.Sprintf("%d core(s) %s", n, g))
	}
	return nil
}

// textExport writes the stack of a core as bytes.
func (j *job) textExport(c *textdump.Core) error {
	if j.o.Out == "" || j.o.NoStats || len(c.Stack) == 0 || j.o.Format == "npy" {
		return nil
	}
	path, err := j.write(fmt.Sprintf("%s.%s_%d.stack.bin", j.base, strings.ToLower(cmp.Or(c.Type, "core")), c.ID), func(w io.Writer) error {
		for _, m := range c.Stack {
			for _, row := range m.Rows {
				if _, err := w.Write(row.Data); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err == nil {
		j.rep.Written = append(j.rep.Written, path)
	}
	return err
}
