package profdb

import (
	"cmp"
	"errors"
	"math"
	"strconv"

	"github.com/ncruces/go-sqlite3"

	"npu/internal/trace"
)

// launches reads the calls of the runtime, to join tasks with them.
func (r *reader) launches() error {
	return r.db.rows("CANN_API", "startNs endNs globalTid connectionId", func(s *sqlite3.Stmt) {
		r.calls[s.ColumnInt64(3)] = launch{start: s.ColumnInt64(0), end: s.ColumnInt64(1), thread: r.thread(s.ColumnInt64(2))}
	})
}

// spans records the calls of the runtime.
func (r *reader) spans() error {
	levels := map[int64]string{20000: "AscendCL@", 15000: "Model@", 10000: "Node@", 5500: "Communication@", 5000: "Runtime@"}
	type named struct{ level, name int64 }
	names := map[named]trace.StringID{}
	return r.db.rows("CANN_API", "startNs endNs globalTid connectionId type name", func(s *sqlite3.Stmt) {
		span := trace.Span{Start: s.ColumnInt64(0), End: s.ColumnInt64(1), Thread: r.thread(s.ColumnInt64(2)), Task: trace.NoTask}
		if null(s, 0) || null(s, 1) || span.End < span.Start {
			r.source.BadRecords++
			return
		}
		key := named{s.ColumnInt64(4), s.ColumnInt64(5)}
		name, ok := names[key]
		if !ok {
			name = r.rec.Intern(levels[key.level] + r.text(r.str(s, 5)))
			names[key] = name
		}
		span.Name, span.Device = name, r.hostDevice()
		if l := r.calls[s.ColumnInt64(3)]; l.linked {
			span.Stream, span.Task = l.stream, l.task
		}
		r.rec.Spans([]trace.Span{span})
	})
}

// hostDevice is the device that calls are shown with: the only one of a rank.
func (r *reader) hostDevice() uint16 {
	if len(r.source.Devices) > 0 {
		return r.source.Devices[0].ID
	}
	return 0
}

// torch reads the calls of the framework. Their times are text.
func (r *reader) torch() error {
	return r.db.rows("PYTORCH_API", "startNs endNs globalTid name", func(s *sqlite3.Stmt) {
		start, err1 := strconv.ParseInt(s.ColumnText(0), 10, 64)
		end, err2 := strconv.ParseInt(s.ColumnText(1), 10, 64)
		if err1 != nil || err2 != nil || end < start {
			r.source.BadRecords++
			return
		}
		r.rec.Spans([]trace.Span{{Start: start, End: end, Thread: r.thread(s.ColumnInt64(2)), Name: r.str(s, 3), Device: r.hostDevice(), Task: trace.NoTask}})
	})
}

// counters reads the sampled values.
func (r *reader) counters() error {
	var errs []error
	for _, c := range []struct{ table, columns, name string }{
		{"AICORE_FREQ", "timestampNs freq deviceId", "AI Core frequency (MHz)"},
		{"NPU_MEM", "timestampNs hbm deviceId type", "HBM in use (bytes)"},
	} {
		errs = append(errs, r.db.rows(c.table, c.columns, func(s *sqlite3.Stmt) {
			name := c.name
			if s.ColumnCount() > 3 && !null(s, 3) {
				name += " " + r.text(r.strings[s.ColumnInt64(3)])
			}
			if s.ColumnCount() > 4 && !null(s, 4) {
				name += " " + strconv.FormatInt(s.ColumnInt64(4), 10)
			}
			v := s.ColumnFloat(1)
			if null(s, 0) || math.IsNaN(v) || math.IsInf(v, 0) {
				r.source.BadRecords++
				return
			}
			r.rec.Counters([]trace.Counter{{Time: s.ColumnInt64(0), Value: v, Name: r.rec.Intern(name), Device: r.device(s, 2)}})
		}))
	}
	return errors.Join(errs...)
}

// steps reads the step times of analysis.db, which are microseconds.
func (r *reader) steps() error {
	err := r.db.rows("STEP_TIME", "id startNs endNs", func(s *sqlite3.Stmt) {
		r.source.Steps = append(r.source.Steps, trace.Step{Name: s.ColumnText(0), Type: "rank", Index: r.rank(), Total: s.ColumnInt64(2) - s.ColumnInt64(1)})
	})
	return errors.Join(err, r.stepTimes())
}

// rank is the number of the only rank; empty when it is not known.
func (r *reader) rank() string {
	if len(r.source.Devices) != 1 {
		return ""
	}
	return strconv.Itoa(r.source.Devices[0].Rank)
}

func (r *reader) stepTimes() error {
	table := "StepTraceTime"
	if r.tables[table] == nil {
		table = "ClusterStepTraceTime"
	}
	return r.db.rows(table, "step computing communication communication_not_overlapped overlapped free stage bubble preparing deviceId|rankId|index type", func(s *sqlite3.Stmt) {
		us := func(i int) int64 {
			v := s.ColumnFloat(i) * 1000
			if !(math.Abs(v) < math.MaxInt64/2) {
				r.source.BadRecords++
				return 0
			}
			return int64(math.Round(v))
		}
		r.source.Steps = append(r.source.Steps, trace.Step{
			Name: s.ColumnText(0), Type: cmp.Or(s.ColumnText(10), "rank"), Index: s.ColumnText(9), Computing: us(1), Communication: us(2), NotOverlapped: us(3), Overlapped: us(4),
			Free: us(5), Stage: us(6), Bubble: us(7), Preparing: us(8),
		})
	})
}
