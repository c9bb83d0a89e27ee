package query

import (
	"strings"

	"github.com/ncruces/go-sqlite3"

	"npu/internal/trace"
)

func tables() []table {
	return []table{
		{"tasks", "start_ns, end_ns, duration_ns, submit_ns, ready_ns, device, rank, stream, task, kind, name, op_type, engine, block_dim, bytes, direction, " +
			"model, iteration, thread, code, part, cycles, cube_cycles, vector_cycles, scalar_cycles, mte1_cycles, mte2_cycles, mte3_cycles, fixpipe_cycles, l2_hits, l2_misses, read_bytes, write_bytes", tasks},
		{"calls", "start_ns, end_ns, duration_ns, name, thread, thread_name, device, stream, task, code", calls},
		{"counters", "time_ns, device, name, value", counters},
		{"streams", "device, stream, name, priority", streams},
		{"steps", "name, type, idx, total_ns, computing_ns, communication_ns, not_overlapped_ns, overlapped_ns, free_ns, stage_ns, bubble_ns, preparing_ns", steps},
	}
}

// sheets is the tables of the source, with the rank of their devices.
func sheets(t *trace.Trace) []table {
	var out []table
	for i := range t.Source.Sheets {
		s := &t.Source.Sheets[i]
		var columns []string
		for k := range s.Columns {
			columns = append(columns, identifier(s.Columns[k].Name))
		}
		device := s.Column("device")
		ranked := device != nil && device.Type == trace.ColumnInt && s.Column("rank") == nil
		if ranked {
			columns = append(columns, "rank")
		}
		out = append(out, table{identifier(s.Name), strings.Join(columns, ", "), func(t *trace.Trace, row func(values ...any) error) error {
			ranks := ranksOf(t)
			values := make([]any, len(columns))
			for i := range s.Rows {
				for k := range s.Columns {
					values[k] = s.Columns[k].Value(i)
				}
				if ranked {
					values[len(values)-1] = nil
					if d := device.IntAt(i); d >= 0 && d < 1<<16 {
						values[len(values)-1] = ranks[uint16(d)]
					}
				}
				if err := row(values...); err != nil {
					return err
				}
			}
			return nil
		}})
	}
	return out
}

func ranksOf(t *trace.Trace) map[uint16]any {
	ranks := map[uint16]any{}
	for _, d := range t.Source.Devices {
		if d.Rank >= 0 {
			ranks[d.ID] = int64(d.Rank)
		}
	}
	return ranks
}

func tasks(t *trace.Trace, row func(values ...any) error) error {
	ranks := ranksOf(t)
	for _, k := range t.Tasks.All() {
		a := t.Account(k.Acct)
		var direction any
		if k.Kind == trace.Memcpy {
			direction = k.Dir.String()
		}
		var submit, ready any
		if k.Flags&trace.FlagNoSubmit == 0 {
			submit, ready = k.Submit, k.Ready
		}
		part := int64(0)
		if k.Flags&trace.FlagPart != 0 {
			part = 1
		}
		err := row(k.Start, k.End, k.End-k.Start, submit, ready, int64(k.Device), ranks[k.Device], int64(k.Stream), int64(k.Task), k.Kind.String(), t.String(k.Name),
			t.String(k.Op), k.Engine.String(), int64(k.Blocks), k.Bytes, direction, int64(k.Model), int64(k.Iter), int64(k.Thread), int64(k.Code), part,
			a.Total, a.Cube, a.Vector, a.Scalar, a.MTE1, a.MTE2, a.MTE3, a.Fixpipe, a.L2Hits, a.L2Misses, a.ReadBytes, a.WriteBytes)
		if err != nil {
			return err
		}
	}
	return nil
}

func calls(t *trace.Trace, row func(values ...any) error) error {
	names := map[uint16]string{}
	for _, th := range t.Threads {
		names[th.ID] = th.Name
	}
	for _, s := range t.Spans.All() {
		var stream, task any
		if s.Task != trace.NoTask {
			stream, task = int64(s.Stream), int64(s.Task)
		}
		if err := row(s.Start, s.End, s.End-s.Start, t.String(s.Name), int64(s.Thread), names[s.Thread], int64(s.Device), stream, task, int64(s.Code)); err != nil {
			return err
		}
	}
	return nil
}

func counters(t *trace.Trace, row func(values ...any) error) error {
	for _, c := range t.Counters.All() {
		if err := row(c.Time, int64(c.Device), t.String(c.Name), c.Value); err != nil {
			return err
		}
	}
	return nil
}

func streams(t *trace.Trace, row func(values ...any) error) error {
	for _, s := range t.Streams {
		if err := row(int64(s.Device), int64(s.ID), s.Name, int64(s.Priority)); err != nil {
			return err
		}
	}
	return nil
}

func steps(t *trace.Trace, row func(values ...any) error) error {
	for _, s := range t.Source.Steps {
		if err := row(s.Name, s.Type, s.Index, s.Total, s.Computing, s.Communication, s.NotOverlapped, s.Overlapped, s.Free, s.Stage, s.Bubble, s.Preparing); err != nil {
			return err
		}
	}
	return nil
}

// identifier quotes a name of the trace's own. SQL has no word for a NUL.
func identifier(name string) string {
	return sqlite3.QuoteIdentifier(strings.ReplaceAll(name, "\x00", ""))
}
