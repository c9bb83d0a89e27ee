package msprof

import (
	"bytes"
	"context"
	"math"
	"strconv"
	"strings"

	"npu/internal/trace"
)

// readRanges reads msproftx: ranges and marks of the user's program, 256 bytes each. The message is text that ends with a zero.
func (h *hostData) readRanges(ctx context.Context) error {
	return h.each(ctx, "msproftx", 256, func(rec []byte) {
		text, _, _ := bytes.Cut(rec[100:], []byte{0})
		r := userRange{begin: u64at(rec, 64), end: u64at(rec, 72), thread: u32at(rec, 40), message: string(bytes.ToValidUTF8(text, []byte("\ufffd")))}
		if r.end < r.begin {
			h.bad++
			return
		}
		h.ranges = append(h.ranges, r)
	})
}

// userRange is a range that the user's program marked.
type userRange struct {
	begin, end uint64
	thread     uint32
	message    string
}

// rangeSpans records the ranges as calls.
func (h *hostData) rangeSpans(rec *trace.Recorder, offset int64, device uint16, threads map[uint32]uint16) {
	for i := range h.ranges {
		r := &h.ranges[i]
		rec.Spans([]trace.Span{{Start: h.clock.at(r.begin) + offset, End: h.clock.at(r.end) + offset, Name: rec.Intern("mstx@" + r.message), Thread: threads[r.thread], Device: device, Task: trace.NoTask}})
	}
}

// commSheet reads hccl_info, a piece of a collective operation each, as a table: what went from where to where.
func (h *hostData) commSheet(ctx context.Context, offset int64) (*trace.Sheet, error) {
	if !h.has("hccl_info") {
		return nil, nil
	}
	s := trace.NewSheet("communication_tasks", trace.IntColumn("time_ns"), trace.TextColumn("name"), trace.TextColumn("tag"), trace.TextColumn("group_name"), trace.IntColumn("local_rank"),
		trace.IntColumn("remote_rank"), trace.IntColumn("rank_size"), trace.IntColumn("plane_id"), trace.IntColumn("context_id"), trace.IntColumn("notify_id"), trace.FloatColumn("duration_estimated_us"),
		trace.IntColumn("size_bytes"), trace.TextColumn("data_type"), trace.TextColumn("link_type"), trace.TextColumn("transport_type"))
	texts := map[string]string{}
	once := func(t string) string {
		if have, ok := texts[t]; ok {
			return have
		}
		texts[t] = t
		return t
	}
	number := func(v uint64) any {
		if v > math.MaxInt64 || v == math.MaxUint32 {
			return nil
		}
		return int64(v)
	}
	err := h.each(ctx, "hccl_info", 256, func(rec []byte) {
		var estimate any
		if v := math.Float64frombits(u64at(rec, 88)); v >= 0 && v < 1e12 {
			estimate = v
		}
		s.Add(h.clock.at(u64at(rec, 16))+offset, once(h.dict.name(u64at(rec, 24))), once(h.dict.name(u64at(rec, 32))), once(h.dict.name(u64at(rec, 40))),
			number(uint64(u32at(rec, 48))), number(uint64(u32at(rec, 52))), number(uint64(u32at(rec, 56))), number(uint64(u32at(rec, 64))), number(uint64(u32at(rec, 68))), number(u64at(rec, 72)), estimate,
			number(u64at(rec, 112)), commWord(u32at(rec, 124), dataTypes), commWord(u32at(rec, 128), linkTypes), commWord(u32at(rec, 132), transportTypes))
	})
	s.Trim()
	return s, err
}

// Words of collective operations, by their numbers.
const (
	dataTypes      = "INT8 INT16 INT32 FP16 FP32 INT64 UINT64 UINT8 UINT16 UINT32 FP64 BFP16 INT128"
	linkTypes      = "ON_CHIP HCCS PCIE ROCE SIO HCCS_SW STANDARD_ROCE UB UBoE"
	transportTypes = "SDMA RDMA LOCAL UB ROCE"
)

// commWord is the word for a number of a list; the number itself past its end.
func commWord(n uint32, list string) string {
	words := strings.Fields(list)
	if int64(n) < int64(len(words)) {
		return words[n]
	}
	return strconv.FormatUint(uint64(n), 10)
}
