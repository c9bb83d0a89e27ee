package msprof

import (
	"context"
	"encoding/binary"
	"strings"
)

// Types of records of hwts.data.
const (
	hwtsStart = 0
	hwtsEnd   = 1
	hwtsBlock = 2

	sqeVector = 2 // type of a task on vector cores
)

// readHwts reads the task log of the 910A generation. Real logs hold starts without an end.
func (d *deviceData) readHwts(ctx context.Context) error {
	d.expect((d.about("hwts.data", starsRecord) + d.about("hwts.aiv_data", starsRecord)) / 2)
	for _, kind := range []string{"hwts.data", "hwts.aiv_data"} {
		if err := d.readHwtsLog(ctx, kind); err != nil {
			return err
		}
	}
	return nil
}

// readHwtsLog reads one of the logs: vector cores of 310P have a log of their own.
func (d *deviceData) readHwtsLog(ctx context.Context, kind string) error {
	var g gaps
	blocks := int64(0)
	n, left, err := d.records(ctx, kind, starsRecord, func(rec []byte) {
		if binary.LittleEndian.Uint16(rec[2:]) != magic {
			d.bad++
			return
		}
		g.see(rec[0] >> 4)
		key := pairKey{stream: binary.LittleEndian.Uint32(rec[16:]) % 2048, id: uint32(binary.LittleEndian.Uint16(rec[6:])), context: noContext}
		count := binary.LittleEndian.Uint64(rec[8:])
		switch rec[0] & 7 {
		case hwtsStart:
			sqe := rec[1]
			if kind == "hwts.aiv_data" && sqe == 0 {
				sqe = sqeVector
			}
			d.begin(key, count, sqe, 0)
		case hwtsEnd:
			d.finish(key, count)
		case hwtsBlock:
			blocks++
		default:
			d.skipped++
		}
	})
	d.settle()
	d.lost += g.lost
	d.count(kind, n, left)
	if blocks > 0 {
		d.out.Records["hwts block records"] += blocks
	}
	return err
}

// readPlan reads what MindSpore wrote about its tasks until 2022: "name block_dim task_id stream_id" a line. The framework's streams are not the device's: the task id alone tells.
func (d *deviceData) readPlan(ctx context.Context) error {
	text, err := d.text(ctx, "Framework.host.vm.task_desc_info", dictionaryLimit)
	if err != nil || text == "" {
		return err
	}
	types := map[string]string{}
	graph, err := d.text(ctx, "Framework.host.vm.graph_desc_info", dictionaryLimit)
	if err != nil {
		return err
	}
	for line := range strings.Lines(graph) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(line, "op_name:"), " op_type:")
		op, _, ok := strings.Cut(rest, " ")
		if ok {
			types[name] = op
		}
	}
	d.plan = map[uint32]planned{}
	n := int64(0)
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 4 {
			d.bad++
			continue
		}
		blocks, ok1 := word(f[1]).int()
		id, ok2 := word(f[2]).int()
		if !ok1 || !ok2 {
			d.bad++
			continue
		}
		n++
		d.plan[uint32(id)] = planned{f[0], types[f[0]], uint32(max(blocks, 0))}
	}
	d.out.Records["Framework.task_desc_info"] = n
	return nil
}

// planned is a task as the framework announced it.
type planned struct {
	name, op string
	blocks   uint32
}
