// Package csv writes a trace as comma-separated values for spreadsheets and data frames: a header and a row a task, in
// order of start. Times are nanoseconds, cycles are summed over the cores.
package csv

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"npu/internal/trace"
)

// Header names the columns.
const Header = "device,stream,stream_name,task,kind,name,op_type,engine,submit_ns,ready_ns,start_ns,end_ns,duration_ns,block_dim,bytes,direction," +
	"event,generation,model,iteration,thread,code,cycles,cube_cycles,vector_cycles,scalar_cycles,mte1_cycles,mte2_cycles,mte3_cycles,fixpipe_cycles," +
	"icache_miss_cycles,read_bytes,write_bytes,l2_hits,l2_misses,flags"

const flushAt = 1 << 16

// Write writes all tasks of t. The bytes depend on t alone.
func Write(w io.Writer, t *trace.Trace) error {
	type streamKey struct {
		device uint16
		stream uint32
	}
	names := map[streamKey]string{}
	for _, s := range t.Streams {
		names[streamKey{s.Device, s.ID}] = field(s.Name)
	}
	fields := make([]string, len(t.Strings))
	for i, s := range t.Strings {
		fields[i] = field(s)
	}
	text := func(id trace.StringID) string {
		if int(id) < len(fields) {
			return fields[id]
		}
		return ""
	}
	b := make([]byte, 0, flushAt+4096)
	b = append(append(b, Header...), '\n')
	for _, k := range t.Tasks.All() {
		b = number(b, int64(k.Device))
		b = number(b, int64(k.Stream))
		b = word(b, names[streamKey{k.Device, k.Stream}])
		b = number(b, int64(k.Task))
		b = word(b, k.Kind.String())
		b = word(b, text(k.Name))
		b = word(b, text(k.Op))
		b = word(b, k.Engine.String())
		for _, v := range [...]int64{k.Submit, k.Ready, k.Start, k.End, k.End - k.Start, int64(k.Blocks), k.Bytes} {
			b = number(b, v)
		}
		direction := ""
		if k.Kind == trace.Memcpy {
			direction = k.Dir.String()
		}
		b = word(b, direction)
		for _, v := range [...]uint32{k.Event, k.Gen, k.Model, k.Iter, uint32(k.Thread), k.Code} {
			b = number(b, int64(v))
		}
		a := t.Account(k.Acct)
		for _, v := range [...]int64{
			a.Total, a.Cube, a.Vector, a.Scalar, a.MTE1, a.MTE2, a.MTE3, a.Fixpipe, a.ICache, a.ReadBytes, a.WriteBytes, a.L2Hits, a.L2Misses,
		} {
			b = number(b, v)
		}
		b = number(b, int64(k.Flags))
		b[len(b)-1] = '\n'
		if len(b) >= flushAt {
			if _, err := w.Write(b); err != nil {
				return fmt.Errorf("write CSV: %w", err)
			}
			b = b[:0]
		}
	}
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

func number(b []byte, v int64) []byte { return append(strconv.AppendInt(b, v, 10), ',') }

func word(b []byte, s string) []byte { return append(append(b, s...), ',') }

// field quotes s where RFC 4180 asks for it.
func field(s string) string {
	if !strings.ContainsAny(s, "\",\r\n") && strings.TrimSpace(s) == s {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
