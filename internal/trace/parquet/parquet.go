// Package parquet writes the tasks of a trace as a Parquet file, one row a task in order of start, for data frames and query
// engines: DuckDB, ClickHouse, Spark and pandas open it as it is. Times are int64 nanoseconds; names are dictionary-coded;
// a row group holds 100,000 rows, so that readers skip what lies outside a time window by the minima and maxima.
package parquet

import (
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"npu/internal/trace"
)

const (
	groupRows = 100_000
	batchRows = 1024
)

// row is the schema of the file. The names are those of the CSV.
type row struct {
	StartNs    int64  `parquet:"start_ns,delta"`
	EndNs      int64  `parquet:"end_ns,delta"`
	DurationNs int64  `parquet:"duration_ns"`
	SubmitNs   int64  `parquet:"submit_ns,delta"`
	ReadyNs    int64  `parquet:"ready_ns,delta"`
	Device     int32  `parquet:"device,dict"`
	Rank       *int32 `parquet:"rank,dict,optional"`
	Stream     int64  `parquet:"stream,dict"`
	StreamName string `parquet:"stream_name,dict"`
	Task       int64  `parquet:"task,delta"`
	Kind       string `parquet:"kind,dict"`
	Name       string `parquet:"name,dict"`
	OpType     string `parquet:"op_type,dict"`
	Engine     string `parquet:"engine,dict"`
	Direction  string `parquet:"direction,dict"`
	Part       bool   `parquet:"part"`
	BlockDim   int64  `parquet:"block_dim,dict"`
	Bytes      int64  `parquet:"bytes"`
	Event      int64  `parquet:"event,dict"`
	Generation int64  `parquet:"generation,dict"`
	Model      int64  `parquet:"model,dict"`
	Iteration  int64  `parquet:"iteration,dict"`
	Thread     int32  `parquet:"thread,dict"`
	Code       int64  `parquet:"code,dict"`

	Cycles           int64 `parquet:"cycles,dict"`
	CubeCycles       int64 `parquet:"cube_cycles,dict"`
	VectorCycles     int64 `parquet:"vector_cycles,dict"`
	ScalarCycles     int64 `parquet:"scalar_cycles,dict"`
	MTE1Cycles       int64 `parquet:"mte1_cycles,dict"`
	MTE2Cycles       int64 `parquet:"mte2_cycles,dict"`
	MTE3Cycles       int64 `parquet:"mte3_cycles,dict"`
	FixpipeCycles    int64 `parquet:"fixpipe_cycles,dict"`
	ICacheMissCycles int64 `parquet:"icache_miss_cycles,dict"`
	ReadBytes        int64 `parquet:"read_bytes,dict"`
	WriteBytes       int64 `parquet:"write_bytes,dict"`
	L2Hits           int64 `parquet:"l2_hits,dict"`
	L2Misses         int64 `parquet:"l2_misses,dict"`
}

// Write writes all tasks of t. The bytes depend on t alone.
func Write(w io.Writer, t *trace.Trace) error {
	out := parquet.NewGenericWriter[row](w,
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}), parquet.MaxRowsPerRowGroup(groupRows), parquet.CreatedBy("npu", "", ""),
		parquet.KeyValueMetadata("chip", t.Meta.Chip), parquet.KeyValueMetadata("model", t.Meta.Model), parquet.KeyValueMetadata("lost_records", fmt.Sprint(t.Meta.Lost)))
	names := map[streamKey]string{}
	for _, s := range t.Streams {
		names[streamKey{s.Device, s.ID}] = s.Name
	}
	ranks := map[uint16]*int32{}
	for _, d := range t.Source.Devices {
		if rank := int32(d.Rank); d.Rank >= 0 {
			ranks[d.ID] = &rank
		}
	}
	rows := make([]row, 0, batchRows)
	flush := func() error {
		if _, err := out.Write(rows); err != nil {
			return fmt.Errorf("write Parquet: %w", err)
		}
		rows = rows[:0]
		return nil
	}
	for _, k := range t.Tasks.All() {
		r := rowOf(t, &k)
		r.StreamName, r.Rank = names[streamKey{k.Device, k.Stream}], ranks[k.Device]
		if rows = append(rows, r); len(rows) == batchRows {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("write Parquet: %w", err)
	}
	return nil
}

type streamKey struct {
	device uint16
	stream uint32
}

func rowOf(t *trace.Trace, k *trace.Task) row {
	a := t.Account(k.Acct)
	r := row{
		StartNs: k.Start, EndNs: k.End, DurationNs: k.End - k.Start, SubmitNs: k.Submit, ReadyNs: k.Ready, Device: int32(k.Device), Stream: int64(k.Stream),
		Task: int64(k.Task), Kind: k.Kind.String(), Name: t.String(k.Name), OpType: t.String(k.Op), Engine: k.Engine.String(), Part: k.Flags&trace.FlagPart != 0,
		BlockDim: int64(k.Blocks), Bytes: k.Bytes, Event: int64(k.Event), Generation: int64(k.Gen), Model: int64(k.Model), Iteration: int64(k.Iter),
		Thread: int32(k.Thread), Code: int64(k.Code),
		Cycles: a.Total, CubeCycles: a.Cube, VectorCycles: a.Vector, ScalarCycles: a.Scalar, MTE1Cycles: a.MTE1, MTE2Cycles: a.MTE2, MTE3Cycles: a.MTE3,
		FixpipeCycles: a.Fixpipe, ICacheMissCycles: a.ICache, ReadBytes: a.ReadBytes, WriteBytes: a.WriteBytes, L2Hits: a.L2Hits, L2Misses: a.L2Misses,
	}
	if k.Kind == trace.Memcpy {
		r.Direction = k.Dir.String()
	}
	return r
}
