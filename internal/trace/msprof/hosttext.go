package msprof

import (
	"context"
	"strconv"
	"strings"

	"npu/internal/trace"
	"npu/internal/trace/ascend"
)

// usage reads what collectors write of the use of processors, memory and networks as text, of the host or of a device.
type usage struct {
	f     *folder
	place *place
	bad   int64
	count func(kind string, n int64)
	add   func(s *trace.Sheet)
}

// usageKind says how the text of a kind is read; nil for kinds that are none.
func usageKind(kind string) func(u *usage, text string, kind string) *trace.Sheet {
	switch kind {
	case "host_cpu.data":
		return (*usage).threads
	case "host_mem.data":
		return (*usage).residency
	case "host_network.data":
		return (*usage).network
	case "SystemCpuUsage.data", "host_sys_cpu.data":
		return (*usage).processors
	case "Memory.data", "host_sys_mem.data":
		return (*usage).memory
	case "dvpp.data":
		return (*usage).dvpp
	case "netdev_stats.data":
		return (*usage).netdev
	}
	pid, rest, _ := strings.Cut(kind, "-")
	if _, err := strconv.ParseUint(pid, 10, 32); err == nil {
		switch rest {
		case "Memory.data":
			return (*usage).process
		case "CpuUsage.data":
			return (*usage).processCPU
		}
	}
	return nil
}

// read reads all kinds of usage in the folder.
func (u *usage) read(ctx context.Context, kinds []string) error {
	for _, kind := range kinds {
		how := usageKind(kind)
		if how == nil {
			continue
		}
		text, err := u.f.text(ctx, kind, dictionaryLimit)
		if err != nil {
			return err
		}
		s := how(u, text, kind)
		for i := range s.Columns {
			if c := &s.Columns[i]; c.Name == "time_ns" {
				settleStamps(c.Int, u.place, asStamp)
			}
		}
		u.count(kind, int64(s.Rows))
		if u.place.device >= 0 && s.Rows > 0 {
			s.Fixed(trace.IntColumn("device"), int64(u.place.device))
		}
		s.Trim()
		u.add(s)
	}
	return nil
}

// whole is a whole number; NoInt for what is none.
func whole(text string) int64 {
	if v, err := strconv.ParseInt(text, 10, 64); err == nil {
		return v
	}
	return trace.NoInt
}

// stampOf is a stamp without its fraction.
func stampOf(text string) int64 {
	v, ok := ascend.Nanos(text, 1)
	if !ok || v < 0 {
		return trace.NoInt
	}
	return v
}

// threads reads lines of /proc/PID/task/TID/stat below "time N".
func (u *usage) threads(text, _ string) *trace.Sheet {
	s := trace.NewSheet("host_cpu", trace.IntColumn("time_ns"), trace.IntColumn("pid"), trace.IntColumn("process_group"), trace.IntColumn("cpu"), trace.IntColumn("user_jiffies"), trace.IntColumn("system_jiffies"))
	at, uptime := int64(trace.NoInt), false
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) == 2 && f[0] == "time":
			at, uptime = stampOf(f[1]), true
		case uptime:
			uptime = false
		case len(f) > 38:
			addInts(s, at, whole(f[0]), whole(f[3]), whole(f[38]), whole(f[13]), whole(f[14]))
		case len(f) > 0:
			u.bad++
		}
	}
	return s
}

// residency reads "stamp size resident ..." with pages of 4 KiB.
func (u *usage) residency(text, _ string) *trace.Sheet {
	s := trace.NewSheet("host_mem", trace.IntColumn("time_ns"), trace.IntColumn("virtual_bytes"), trace.IntColumn("resident_bytes"))
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 3 {
			if len(f) > 0 {
				u.bad++
			}
			continue
		}
		addInts(s, stampOf(f[0]), pages(f[1]), pages(f[2]))
	}
	return s
}

// pages is a number of pages of 4 KiB as bytes.
func pages(text string) int64 { return times(whole(text), 4096) }

func times(v, unit int64) int64 {
	if v < 0 || v > 1<<50 {
		return trace.NoInt
	}
	return v * unit
}

// network reads lines of /proc/net/dev below "time N".
func (u *usage) network(text, _ string) *trace.Sheet {
	s := trace.NewSheet("host_network", trace.IntColumn("time_ns"), trace.IntColumn("rx_bytes"), trace.IntColumn("rx_packets"), trace.IntColumn("rx_errors"), trace.IntColumn("tx_bytes"), trace.IntColumn("tx_packets"), trace.IntColumn("tx_errors"), trace.TextColumn("interface"))
	at := int64(trace.NoInt)
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) == 2 && strings.TrimSuffix(f[0], ":") == "time":
			at = stampOf(f[1])
		case len(f) >= 12 && strings.HasSuffix(f[0], ":"):
			s.Columns[7].Text = append(s.Columns[7].Text, strings.TrimSuffix(f[0], ":"))
			addInts(s, at, whole(f[1]), whole(f[2]), whole(f[3]), whole(f[9]), whole(f[10]), whole(f[11]))
		}
	}
	return s
}

// stamped takes "TimeStamp:N" apart.
func stamped(line string) (int64, bool) {
	rest, ok := strings.CutPrefix(line, "TimeStamp:")
	if !ok {
		return 0, false
	}
	return stampOf(strings.TrimSpace(rest)), true
}

// processors reads lines of /proc/stat below "TimeStamp:N".
func (u *usage) processors(text, _ string) *trace.Sheet {
	names := []string{"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"}
	columns := []trace.SheetColumn{trace.IntColumn("time_ns")}
	for _, n := range names {
		columns = append(columns, trace.IntColumn(n+"_jiffies"))
	}
	s := trace.NewSheet("cpu_usage", append(columns, trace.TextColumn("cpu"))...)
	at := int64(trace.NoInt)
	for line := range strings.Lines(text) {
		if v, ok := stamped(line); ok {
			at = v
			continue
		}
		f := strings.Fields(line)
		if len(f) < 5 || !strings.HasPrefix(f[0], "cpu") {
			continue
		}
		values := []int64{at}
		for i := range names {
			if i+1 < len(f) {
				values = append(values, whole(f[i+1]))
			} else {
				values = append(values, trace.NoInt)
			}
		}
		s.Columns[len(names)+1].Text = append(s.Columns[len(names)+1].Text, f[0])
		addInts(s, values...)
	}
	return s
}

// memory reads /proc/meminfo below "TimeStamp:N", up to an empty line.
func (u *usage) memory(text, _ string) *trace.Sheet {
	keys := []string{"MemTotal", "MemFree", "Buffers", "Cached", "Shmem", "CommitLimit", "Committed_AS", "HugePages_Total", "HugePages_Free"}
	columns := []trace.SheetColumn{trace.IntColumn("time_ns")}
	for i, k := range keys {
		if i < 7 {
			k += "_bytes"
		}
		columns = append(columns, trace.IntColumn(trace.Word(k)))
	}
	s := trace.NewSheet("sys_mem", columns...)
	row, some := make([]int64, len(columns)), false
	flush := func() {
		if some {
			addInts(s, row...)
		}
		for i := range row {
			row[i] = trace.NoInt
		}
		some = false
	}
	flush()
	for line := range strings.Lines(text) {
		if v, ok := stamped(line); ok {
			flush()
			row[0], some = v, true
			continue
		}
		key, rest, _ := strings.Cut(line, ":")
		f := strings.Fields(rest)
		for i, k := range keys {
			if k == key && len(f) > 0 {
				if row[i+1] = whole(f[0]); i < 7 {
					row[i+1] = times(row[i+1], 1024)
				}
			}
		}
	}
	flush()
	return s
}

// process reads /proc/PID/statm and the name of the process below "TimeStamp:N".
func (u *usage) process(text, kind string) *trace.Sheet {
	pid, _, _ := strings.Cut(kind, "-")
	s := trace.NewSheet("process_mem", trace.IntColumn("time_ns"), trace.IntColumn("pid"), trace.IntColumn("virtual_bytes"), trace.IntColumn("resident_bytes"), trace.IntColumn("shared_bytes"), trace.TextColumn("process_name"))
	at, name := int64(trace.NoInt), ""
	for line := range strings.Lines(text) {
		if v, ok := stamped(line); ok {
			at = v
		} else if rest, ok := strings.CutPrefix(line, "ProcessName:"); ok {
			name = strings.TrimSpace(rest)
		} else if f := strings.Fields(line); len(f) >= 7 && whole(f[0]) >= 0 {
			s.Columns[5].Text = append(s.Columns[5].Text, name)
			addInts(s, at, whole(pid), pages(f[0]), pages(f[1]), pages(f[2]))
		}
	}
	return s
}

// processCPU reads /proc/PID/stat, the name of the process and the sum over all processors below "TimeStamp:N".
func (u *usage) processCPU(text, _ string) *trace.Sheet {
	s := trace.NewSheet("process_cpu", trace.IntColumn("time_ns"), trace.IntColumn("pid"), trace.IntColumn("user_jiffies"), trace.IntColumn("system_jiffies"), trace.IntColumn("children_user_jiffies"), trace.IntColumn("children_system_jiffies"),
		trace.IntColumn("all_jiffies"), trace.TextColumn("process_name"))
	at, name := int64(trace.NoInt), ""
	row := []int64{trace.NoInt, trace.NoInt, trace.NoInt, trace.NoInt, trace.NoInt}
	for line := range strings.Lines(text) {
		if v, ok := stamped(line); ok {
			at = v
			continue
		}
		if rest, ok := strings.CutPrefix(line, "ProcessName:"); ok {
			name = strings.TrimSpace(rest)
			continue
		}
		f := strings.Fields(line)
		switch {
		case len(f) > 16 && whole(f[0]) >= 0:
			row = []int64{whole(f[0]), whole(f[13]), whole(f[14]), whole(f[15]), whole(f[16])}
		case len(f) > 1 && strings.HasPrefix(f[0], "cpu"):
			all := int64(0)
			for _, v := range f[1:] {
				all += max(whole(v), 0)
			}
			s.Columns[7].Text = append(s.Columns[7].Text, name)
			addInts(s, at, row[0], row[1], row[2], row[3], row[4], all)
		}
	}
	return s
}

// dvpp reads the engines for images: stamp, unit where the chip has several, type and number of the engine, then time, frames
// and use of all and of the profiled processes, and the last ones.
func (u *usage) dvpp(text, _ string) *trace.Sheet {
	s := trace.NewSheet("dvpp", trace.IntColumn("time_ns"), trace.IntColumn("unit"), trace.TextColumn("engine_type"), trace.TextColumn("engine"), trace.FloatColumn("all_time_us"), trace.FloatColumn("all_frames"), trace.TextColumn("all_utilization"),
		trace.FloatColumn("process_time_us"), trace.FloatColumn("process_frames"), trace.TextColumn("process_utilization"), trace.FloatColumn("last_time_us"), trace.FloatColumn("last_frames"))
	number := func(text string) any {
		if v, err := strconv.ParseFloat(text, 64); err == nil && v-v == 0 {
			return v
		}
		return nil
	}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 11 && len(f) != 12 {
			continue
		}
		at := stampOf(strings.Replace(f[0], ":", ".", 1))
		if at == trace.NoInt {
			continue // the heading
		}
		unit := any(int64(0))
		if len(f) == 12 {
			if unit = whole(f[1]); unit == int64(trace.NoInt) {
				u.bad++
				continue
			}
			f = append(f[:1:1], f[2:]...)
		}
		s.Add(at, unit, f[1], f[2], number(f[3]), number(f[4]), f[5], number(f[6]), number(f[7]), f[8], number(f[9]), number(f[10]))
	}
	return s
}

// netdev reads counters of network controllers, all so far, behind a stamp.
func (u *usage) netdev(text, _ string) *trace.Sheet {
	names := []string{"mac_tx_pfc_packets", "mac_rx_pfc_packets", "mac_tx_bytes", "mac_rx_bytes", "mac_tx_bad_bytes", "mac_rx_bad_bytes", "roce_tx_packets", "roce_rx_packets", "roce_tx_error_packets", "roce_rx_error_packets",
		"roce_tx_cnp_packets", "roce_rx_cnp_packets", "roce_retried_packets", "nic_tx_bytes", "nic_rx_bytes"}
	columns := []trace.SheetColumn{trace.IntColumn("time_ns")}
	for _, n := range names {
		columns = append(columns, trace.IntColumn(n))
	}
	s := trace.NewSheet("netdev_stats", columns...)
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 || stampOf(strings.TrimSuffix(f[0], ":")) == trace.NoInt {
			continue
		}
		values := []int64{stampOf(strings.TrimSuffix(f[0], ":"))}
		for i := range names {
			if i+1 < len(f) {
				values = append(values, whole(f[i+1]))
			} else {
				values = append(values, trace.NoInt)
			}
		}
		addInts(s, values...)
	}
	return s
}
