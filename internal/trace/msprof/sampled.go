package msprof

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"npu/internal/trace"
	"npu/internal/trace/ascend"
)

// sample is a sampled value whose stamp is of a clock that is found out later: collectors of different versions stamp with
// counts, with microseconds since the start and with monotonic times.
type sampled struct {
	stamp uint64
	name  string
	v     float64
}

// window is the time of the collection: whatever was sampled lies in it.
type window struct{ from, to int64 }

// window reads start_info and end_info.
func (d *deviceData) window() (w window, ok bool) {
	var start, end stamps
	if readJSON(d.path, &start, numbered("start_info", int(d.number))...) != nil {
		return w, false
	}
	from, ok := start.Begin.int()
	if !ok || from <= 0 || from > math.MaxInt64/2000 {
		return w, false
	}
	w = window{from * 1000, from*1000 + 24*3600e9}
	if readJSON(d.path, &end, numbered("end_info", int(d.number))...) == nil {
		if to, ok := end.End.int(); ok && to >= from && to < math.MaxInt64/2000 {
			w.to = to * 1000
		}
	}
	const slack = 2e9
	return window{w.from - slack, w.to + slack}, true
}

// clocks is the ways to read a stamp, in the order in which they are tried.
func (d *deviceData) clocks(host *hostData) []func(uint64) int64 {
	n := int(d.number)
	on, _ := readPairs(d.path, numbered("host_start.log", n)...)
	dev, _ := readPairs(d.path, numbered("dev_start.log", n)...)
	base, own := on["clock_monotonic_raw"]+d.offset, dev["clock_monotonic_raw"]
	small := func(v uint64, unit int64) int64 {
		if v > math.MaxInt64/4/uint64(unit) {
			return math.MaxInt64 / 4
		}
		return int64(v) * unit
	}
	return []func(uint64) int64{
		d.unix,
		func(v uint64) int64 { return small(v, 1000) + base },
		func(v uint64) int64 { return small(v, 1000) - own + base },
		func(v uint64) int64 { return small(v, 1) - own + base },
		func(v uint64) int64 { return small(v, 1) + d.offset },
		func(v uint64) int64 { return small(v, 1) },
		func(v uint64) int64 { return host.clock.at(v) + d.offset },
	}
}

// pick is the clock under which stamps from lo to hi lie within the collection, the likely one if it will do; nil when there is none.
func (d *deviceData) pick(host *hostData, lo, hi uint64, likely cellType) func(uint64) int64 {
	w, ok := d.window()
	if !ok {
		return nil
	}
	clocks := d.clocks(host)
	switch likely {
	case asMicros:
		clocks = append(clocks[1:2:2], clocks...)
	case asDevice:
		clocks = append(clocks[3:4:4], clocks...)
	case asHost:
		clocks = append(clocks[4:5:5], clocks...)
	}
	for _, at := range clocks {
		if from, to := at(lo), at(hi); from >= w.from && to <= w.to && to >= from {
			return at
		}
	}
	return nil
}

// place gives the samples of a kind their times: by the clock under which all of them lie within the collection. Where none
// fits, none is shown, and that is said.
func (d *deviceData) place(kind string, list []sampled, host *hostData) {
	if len(list) == 0 {
		return
	}
	lo, hi := list[0].stamp, list[0].stamp
	for _, s := range list {
		lo, hi = min(lo, s.stamp), max(hi, s.stamp)
	}
	if at := d.pick(host, lo, hi, asStamp); at != nil {
		for _, s := range list {
			d.values = append(d.values, value{at(s.stamp), s.v, s.name})
		}
		return
	}
	d.missing("the clock of %s: its %d values lie outside of the collection by all clocks that are known, and are not shown", kind, len(list))
}

// sampledKinds is the kinds of data that readSampled reads.
var sampledKinds = []string{"npu_mem.data", "npu_mem.app", "hbm.data", "ddr.data", "llc.data", "npu_module_mem.data", "hccs.data", "nic.data", "roce.data", "qos.data", "l2_cache.data", "aicpu.data"}

// readSampled reads what is sampled beside the tasks.
func (d *deviceData) readSampled(ctx context.Context, host *hostData) error {
	second := strings.HasPrefix(string(d.info.Version), "2")
	for _, k := range []struct {
		kind string
		size int
		take func(b []byte, add func(stamp uint64, v float64, format string, args ...any))
	}{
		{"npu_mem.data", 32, npuMemory(second)}, {"npu_mem.app", 32, npuMemory(second)},
		{"ddr.data", 20, func(b []byte, add func(uint64, float64, string, ...any)) {
			add(uint64(u32at(b, 0)), float64(u32at(b, 4)), "DDR %d %s (accesses)", u32at(b, 12), readWrite(u32at(b, 8)))
		}},
		{"llc.data", 24, func(b []byte, add func(uint64, float64, string, ...any)) {
			if second {
				add(u64at(b, 16), float64(u32at(b, 4)), "LLC %d event %d (count)", u32at(b, 12), u32at(b, 8))
				return
			}
			add(u64at(b, 0), float64(u64at(b, 8)), "LLC %d event %d (count)", u32at(b, 20), u32at(b, 16))
		}},
		{"npu_module_mem.data", 24, func(b []byte, add func(uint64, float64, string, ...any)) {
			add(u64at(b, 8), float64(u64at(b, 16)), "memory of module %d (bytes)", u32at(b, 0))
		}},
		{"qos.data", 64, func(b []byte, add func(uint64, float64, string, ...any)) {
			names := strings.Split(d.sample.QoS, ",")
			for i := range 10 {
				if i < len(names) && names[i] != "" {
					add(u64at(b, 16), float64(u32at(b, 24+4*i)), "QoS %s (MB/s)", strings.TrimSpace(names[i]))
				}
			}
		}},
	} {
		if !d.has(k.kind) {
			continue
		}
		var list []sampled
		names := map[string]string{}
		n, left, err := d.records(ctx, k.kind, k.size, func(b []byte) {
			k.take(b, func(stamp uint64, v float64, format string, args ...any) {
				name := fmt.Sprintf(format, args...)
				if _, ok := names[name]; !ok {
					names[name] = name
				}
				list = append(list, sampled{stamp, names[name], v})
			})
		})
		d.count(k.kind, n, left)
		if err != nil {
			return err
		}
		d.place(k.kind, list, host)
	}
	for _, read := range []func(context.Context, *hostData) error{
		func(ctx context.Context, h *hostData) error { return d.readHBM(ctx, h, second) }, d.readText, func(ctx context.Context, _ *hostData) error { return d.readL2(ctx) },
		func(ctx context.Context, _ *hostData) error { return d.readAICPU(ctx) }, d.readTables,
		func(ctx context.Context, _ *hostData) error { return d.readCCU(ctx) }, func(ctx context.Context, _ *hostData) error { return d.readInstructions(ctx) }, d.readCoreSamples,
	} {
		if err := read(ctx, host); err != nil {
			return err
		}
	}
	return nil
}

func u32at(b []byte, at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
func u64at(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }

func readWrite(event uint32) string {
	if event == 0 {
		return "read"
	}
	return "write"
}

// npuMemory reads u32 event, u32, u64 DDR, HBM, stamp; in version 2 the event and the stamp come first.
func npuMemory(second bool) func([]byte, func(uint64, float64, string, ...any)) {
	return func(b []byte, add func(uint64, float64, string, ...any)) {
		event, ddr, hbm, stamp := u32at(b, 0), u64at(b, 8), u64at(b, 16), u64at(b, 24)
		if second {
			event, stamp, ddr, hbm = u32at(b, 4), u64at(b, 8), u64at(b, 16), u64at(b, 24)
		}
		what := "event " + strconv.Itoa(int(event))
		if event < 2 {
			what = [...]string{"APP", "Device"}[event]
		}
		add(stamp, float64(ddr), "%s DDR in use (bytes)", what)
		add(stamp, float64(hbm), "%s HBM in use (bytes)", what)
	}
}

// readHBM reads accesses of 32 bytes by memory and direction, as bandwidth since the sample before.
func (d *deviceData) readHBM(ctx context.Context, host *hostData, second bool) error {
	if !d.has("hbm.data") {
		return nil
	}
	type key struct{ event, id uint32 }
	type access struct {
		stamp uint64
		count float64
	}
	series := map[key][]access{}
	size := 24
	if second {
		size = 32
	}
	n, left, err := d.records(ctx, "hbm.data", size, func(b []byte) {
		k, a := key{u32at(b, 16), u32at(b, 20)}, access{u64at(b, 0), float64(u64at(b, 8))}
		if second {
			k, a = key{u32at(b, 8), u32at(b, 12)}, access{u64at(b, 24), float64(u64at(b, 16))}
		}
		series[k] = append(series[k], a)
	})
	d.count("hbm.data", n, left)
	if err != nil {
		return err
	}
	var list []sampled
	for k, all := range series {
		name := fmt.Sprintf("HBM %d %s (bytes)", k.id, readWrite(k.event))
		for _, a := range all {
			list = append(list, sampled{a.stamp, name, a.count * 32})
		}
	}
	slices.SortFunc(list, func(a, b sampled) int {
		if a.stamp != b.stamp {
			if a.stamp < b.stamp {
				return -1
			}
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	d.place("hbm.data", list, host)
	return nil
}

// textColumns is the columns of what the driver writes of network cards as text, a sample a line behind its stamp.
var textColumns = []string{"bandwidth (MB/s)", "rx (packets/s)", "rx (bytes/s)", "rx packets", "rx bytes", "rx errors", "rx dropped", "tx (packets/s)", "tx (bytes/s)", "tx packets", "tx bytes", "tx errors", "tx dropped"}

// readText reads the kinds that are text: network cards, and HCCS links with their bytes so far.
func (d *deviceData) readText(ctx context.Context, host *hostData) error {
	for _, kind := range []string{"nic.data", "roce.data", "hccs.data"} {
		if !d.has(kind) {
			continue
		}
		text, err := d.text(ctx, kind, dictionaryLimit)
		if err != nil {
			return err
		}
		label := strings.ToUpper(strings.TrimSuffix(kind, ".data"))
		columns := textColumns
		if kind == "hccs.data" {
			columns = []string{"tx (bytes so far)", "rx (bytes so far)"}
		}
		var list []sampled
		n := int64(0)
		for line := range strings.Lines(text) {
			f := strings.Fields(strings.Replace(line, ":", " ", 1))
			stamp, ok := ascend.Nanos(first(f), 1)
			if !ok || stamp < 0 {
				if n > 0 && len(f) > 0 {
					d.bad++ // the first line may be a heading
				}
				continue
			}
			n++
			unit := ""
			if len(f) > len(columns)+1 {
				unit = " " + f[len(columns)+1]
			}
			for i, name := range columns {
				if i+1 >= len(f) {
					break
				}
				v, err := strconv.ParseFloat(f[i+1], 64)
				if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
					d.bad++
					continue
				}
				list = append(list, sampled{uint64(stamp), label + unit + " " + name, v})
			}
		}
		d.count(kind, n, 0)
		d.place(kind, list, host)
	}
	return nil
}

func first(f []string) string {
	if len(f) == 0 {
		return ""
	}
	return f[0]
}

// readL2 reads the cache counters of tasks: u16 task type, stream, task, u16, then eight counters in the order of sample.json.
func (d *deviceData) readL2(ctx context.Context) error {
	if !d.has("l2_cache.data") {
		return nil
	}
	if d.sample.Mode == "sample-based" {
		return nil
	}
	list := events(d.sample.L2Events)
	hit, request, victim := l2Events(d.platform)
	columns := []trace.SheetColumn{trace.IntColumn("device"), trace.IntColumn("stream"), trace.IntColumn("task"), trace.FloatColumn("hit_rate"), trace.FloatColumn("victim_rate")}
	for _, e := range list[:min(len(list), 8)] {
		columns = append(columns, trace.IntColumn(fmt.Sprintf("event_0x%x", e)))
	}
	s := trace.NewSheet("l2_cache", columns...)
	n, left, err := d.records(ctx, "l2_cache.data", 72, func(b []byte) {
		stream, id := d.ids.decode(0, binary.LittleEndian.Uint16(b[2:]), binary.LittleEndian.Uint16(b[4:]))
		var sums [3]float64
		values := []any{int64(d.number), int64(stream), int64(id), nil, nil}
		for i, e := range list[:min(len(list), 8)] {
			v := float64(u64at(b, 8+8*i))
			values = append(values, int64(u64at(b, 8+8*i)))
			for k, set := range [][]uint16{hit, request, victim} {
				if slices.Contains(set, e) {
					sums[k] += v
				}
			}
		}
		if sums[1] > 0 {
			values[3], values[4] = sums[0]/sums[1], sums[2]/sums[1]
		}
		s.Add(values...)
	})
	d.count("l2_cache.data", n, left)
	s.Trim()
	d.out.AddSheet(s)
	return err
}

// l2Events is the events of hits, requests and victims of a chip's L2 cache.
func l2Events(platform int) (hit, request, victim []uint16) {
	switch platform {
	case 1:
		return []uint16{0x5b}, []uint16{0x59}, []uint16{0x5c}
	case 4:
		return []uint16{0x6a}, []uint16{0x78, 0x79}, []uint16{0x71}
	case 5, 7:
		return []uint16{0x90, 0x91}, []uint16{0xfb, 0xfc}, []uint16{0x9c}
	}
	return nil, nil, nil
}
