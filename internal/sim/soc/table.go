package soc

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed chips.tsv
var chipsTSV string

//go:embed families.tsv
var familiesTSV string

// load parses the embedded tables at the first use; a test proves that they parse.
var load = sync.OnceValues(func() ([]*Chip, error) { return parse(chipsTSV, familiesTSV) })

func parse(chips, families string) ([]*Chip, error) {
	limits := make(map[string]Limits)
	err := eachRow(families, func(r *row) {
		limits[r.text("family")] = r.limits()
	})
	if err != nil {
		return nil, fmt.Errorf("families.tsv: %w", err)
	}
	var all []*Chip
	err = eachRow(chips, func(r *row) {
		c := r.chip()
		l, ok := limits[c.Short]
		if !ok {
			r.fail("family", "no such row in families.tsv")
		}
		c.Limits = l
		all = append(all, c)
	})
	if err != nil {
		return nil, fmt.Errorf("chips.tsv: %w", err)
	}
	slices.SortFunc(all, func(a, b *Chip) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// row is one line of a table, read by column name. The first problem is kept.
type row struct {
	columns map[string]int
	fields  []string
	err     error
}

func eachRow(table string, f func(*row)) error {
	var columns map[string]int
	n := 0
	for line := range strings.Lines(table) {
		n++
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Split(line, "\t")
		if columns == nil {
			columns = make(map[string]int)
			for i, name := range fields {
				columns[name] = i
			}
			continue
		}
		if len(fields) != len(columns) {
			return fmt.Errorf("line %d has %d fields, expected %d", n, len(fields), len(columns))
		}
		r := &row{columns: columns, fields: fields}
		f(r)
		if r.err != nil {
			return fmt.Errorf("line %d: %w", n, r.err)
		}
	}
	return nil
}

func (r *row) fail(column, what string) {
	if r.err == nil {
		r.err = fmt.Errorf("column %s: %s", column, what)
	}
}

// text is a field; empty for "-".
func (r *row) text(column string) string {
	i, ok := r.columns[column]
	if !ok {
		r.fail(column, "missing")
		return ""
	}
	if r.fields[i] == "-" {
		return ""
	}
	return r.fields[i]
}

func (r *row) int64(column string) int64 {
	s := r.text(column)
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		r.fail(column, strconv.Quote(s)+" is no count")
	}
	return n
}

func (r *row) int(column string) int { return int(r.int64(column)) }

func (r *row) ints(column string) []int {
	var out []int
	for w := range strings.SplitSeq(r.text(column), ",") {
		if w == "" {
			continue
		}
		n, err := strconv.Atoi(w)
		if err != nil {
			r.fail(column, strconv.Quote(w)+" is no count")
		}
		out = append(out, n)
	}
	return out
}

func (r *row) mkn(column string) MKN {
	switch v := r.ints(column); len(v) {
	case 0:
		return MKN{}
	case 3:
		return MKN{v[0], v[1], v[2]}
	}
	r.fail(column, "expected M,K,N")
	return MKN{}
}

func (r *row) link(column string) Link {
	return Link{r.int64(column+"_mbs") * 1e6, r.int64(column + "_ns")}
}

func (r *row) limits() Limits {
	return Limits{
		Runtime:           r.text("runtime_name"),
		StreamsPhysical:   r.int("streams_physical"),
		StreamMax:         r.int("stream_max"),
		StreamsDocumented: r.int("streams_documented"),
		RingDepth:         r.int("ring_depth"),
		RingUsable:        r.int("ring_usable"),
		RingHeld:          r.int("ring_held"),
		TaskObjects:       r.int("task_objects"),
		PersistentTasks:   r.int("persistent_tasks"),
		DeviceTasks:       r.int("device_tasks"),
		TaskIDs:           r.int("task_ids"),
		EventClockHz:      r.int64("event_clock_hz"),
		EventPool:         r.int("event_pool"),
		EventMax:          r.int("event_max"),
		NotifyMax:         r.int("notify_max"),
		CountingNotify:    r.int("cnt_notify") == 1,
		AICPUStreamBase:   r.int("aicpu_stream_base"),
		Prefetch:          r.int("prefetch"),
		DMAEngines:        r.int("dma_engines"),
		PCIe:              r.link("pcie"),
		HCCS:              r.link("hccs"),
		HCCSFarNs:         r.int64("hccs_far_ns"),
		SIO:               r.link("sio"),
		RoCE:              r.link("roce"),
		LinkEfficiency:    r.int("link_efficiency"),
		Assumed:           r.text("assumed"),
	}
}

func (r *row) chip() *Chip {
	c := &Chip{
		Name: r.text("name"), Short: r.text("family"), Like: r.text("like"),
		AICVersion: r.text("aic_version"), NpuArch: r.int("npu_arch"),
		AICores: r.int("ai_core_cnt"), CubeCores: r.int("cube_core_cnt"), VectorCores: r.int("vector_core_cnt"),
		MixCores: r.int("mix_vector_core_cnt"), AICPUs: r.int("ai_cpu_cnt"),
		Split: r.text("cube_vector_combine") == "split", BF16: r.int("support_bf16") == 1,
		CubeMHz: r.int("cube_freq"), VecMHz: r.int("vec_freq"), VecLanes: r.int("vec_calc_size"), VecPipes: 1,
		MemoryBytes: r.int64("memory_size"), L2Bytes: r.int64("l2_size"), NominalMBs: r.int64("nominal_mbs"),
		L0A: r.int("l0_a_size"), L0B: r.int("l0_b_size"), L0C: r.int("l0_c_size"), L1: r.int("l1_size"),
		UB: r.int("ub_size"), VecUB: r.int("vec_ub_size"),
		UBBlock: r.int("ubblock_size"), UBBank: r.int("ubbank_size"), UBBanks: r.int("ubbank_num"),
		UBBankGroups: r.int("ubbank_group_num"), BiasTable: r.int("bt_size"), FixpipeBuffer: r.int("fb0_size"),
		PaddingSize: r.int("padding_size"), VirtualSizes: r.ints("vir_type_list"),
		CompilerStreams: r.int("normal_stream_num"), CompilerDepth: r.int("normal_stream_depth"),
		mknDefault: r.mkn("mkn_default"), mknInt8: r.mkn("mkn_int8"), mknInt4: r.mkn("mkn_int4"),
		mknF32: r.mkn("mkn_float"), mknFP8: r.mkn("mkn_float8"),
		Rates: Rates{
			DDRRead: r.int("ddr_rate"), DDRWrite: r.int("ddr_write_rate"),
			L2Read: r.int("l2_rate"), L2Write: r.int("l2_write_rate"),
			L1ToL0A: r.int("l1_to_l0_a_rate"), L1ToL0B: r.int("l1_to_l0_b_rate"),
			L1ToUB: r.int("l1_to_ub_rate"), UBToL1: r.int("ub_to_l1_rate"), L0CToUB: r.int("l0_c_to_ub_rate"),
			UBToL2: r.int("ub_to_l2_rate"), UBToDDR: r.int("ub_to_ddr_rate"),
			VecDDR: r.int("vec_ddr_rate"), VecL2: r.int("vec_l2_rate"),
			VecUBToL2: r.int("vec_ub_to_l2_rate"), VecUBToDDR: r.int("vec_ub_to_ddr_rate"),
		},
	}
	c.fillIn(r)
	return c
}

// fillIn applies the rules for what a part's file leaves out.
func (c *Chip) fillIn(r *row) {
	if c.MemoryBytes == 0 {
		c.MemoryBytes, c.MemoryAssumed = r.int64("memory_default"), true
	}
	if c.Short == "Ascend950" || c.Short == "Ascend350" {
		c.VecPipes = 2 // the vendor states twice the formula
	} else if r.text("padding_size") == "" {
		c.PaddingSize = 32 // as on every part before the 950
	}
	if v := &c.Rates; c.VectorCores > 0 && v.VecDDR == 0 { // two vector cores share the port of one AI core
		v.VecDDR, v.VecL2, v.VecUBToL2, v.VecUBToDDR = v.DDRRead/2, v.L2Read/2, v.UBToL2/2, v.UBToDDR/2
		v.VecAssumed = true
	}
	if c.VecUB == 0 {
		c.VecUB = c.UB
	}
}
