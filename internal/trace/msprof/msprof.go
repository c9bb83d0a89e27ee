// Package msprof reads the raw data of the vendor's profiler: PROF_* directories as the device and the host wrote them,
// before any analysis. It knows the stars generation of task logs (910B and later), the hwts generation (910A, 310P), the
// host's events and dictionaries, PMU counters and clocks. Times become Unix nanoseconds, exact to the nanosecond.
//
// Read decodes several devices at once, in goroutines that end before it does, and never writes beside the data. What is missing, lost or unreadable is counted and
// said in the trace's Source.
package msprof

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"npu/internal/problem"
	"npu/internal/trace"
)

// Is says whether dir holds raw profiling data itself: a host or device folder, or slices of a task log.
func Is(dir string) bool {
	host, devices, err := domains(dir)
	return err == nil && (host != "" || len(devices) > 0)
}

// domains finds the folders of the host and of each device. Data of 2020 lies in the directory itself.
func domains(dir string) (host string, devices map[int]string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", nil, err
	}
	devices = map[int]string{}
	flat := false
	for _, e := range entries {
		name := e.Name()
		switch rest, isDevice := strings.CutPrefix(name, "device_"); {
		case name == "host" && raw(filepath.Join(dir, name)):
			host = filepath.Join(dir, name)
		case isDevice && raw(filepath.Join(dir, name)):
			if n, err := strconv.Atoi(rest); err == nil && n >= 0 && n < 1<<16 {
				devices[n] = filepath.Join(dir, name)
			}
		case !e.IsDir():
			if kind, _, ok := parseSlice(name); ok && (kind == "hwts.data" || kind == "stars_soc.data" || kind == "training_trace" || kind == "ts_track.data") {
				flat = true
			}
		}
	}
	if flat && len(devices) == 0 {
		devices[flatNumber(dir)] = dir
	}
	return host, devices, nil
}

// raw says whether a host or device folder has a data folder with slices.
func raw(dir string) bool {
	f, err := openFolder(dir)
	return err == nil && len(f.kinds) > 0
}

var startLog = regexp.MustCompile(`^(?:host_start\.log|info\.json)\.(\d{1,4})$`)

// flatNumber is the device of a directory without device folders: control files carry its number.
func flatNumber(dir string) int {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if m := startLog.FindStringSubmatch(e.Name()); m != nil {
			n, _ := strconv.Atoi(m[1])
			return n
		}
	}
	return 0
}

// Size is the number of bytes of raw data in dir, from which callers estimate memory.
func Size(dir string) (n int64) {
	host, devices, err := domains(dir)
	if err != nil {
		return 0
	}
	for _, path := range append(slices.Collect(maps.Values(devices)), host) {
		if f, err := openFolder(path); path != "" && err == nil {
			n += f.bytes()
		}
	}
	return n
}

// Read reads the raw data of dir. The error is a problem.Damaged when dir holds none.
func Read(ctx context.Context, dir string) (*trace.Trace, error) {
	hostDir, devices, err := domains(dir)
	if err != nil {
		return nil, problem.Mark(problem.Damaged, err)
	}
	if hostDir == "" && len(devices) == 0 {
		return nil, problem.Damagedf("%s holds no raw profiling data: expected host and device_N folders with slices", dir)
	}
	rec := trace.NewRecorder()
	source := trace.Source{Format: "msprof raw", Records: map[string]int64{}}
	missing := func(format string, args ...any) {
		source.Missing = append(source.Missing, fmt.Sprintf(format, args...))
	}

	host := &hostData{folder: folder{kinds: map[string][]slice{}}, records: source.Records}
	offset := int64(0)
	if hostDir != "" {
		if offset, err = host.open(ctx, hostDir, missing); err != nil {
			return nil, problem.Damagedf("%s: %w", hostDir, err)
		}
	} else if len(devices) > 0 {
		missing("the host folder: kernels have no names, and calls are not known")
	}
	numbers := slices.Sorted(maps.Keys(devices))
	list, l, err := readAll(ctx, numbers, devices, host, hostDir)
	if err != nil {
		return nil, err
	}
	if len(numbers) == 0 {
		missing("the device folders: only calls are known")
		rec.SetMeta(trace.Meta{})
		host.spans(rec, offset, 0, l.caller)
	}
	meta := trace.Meta{Devices: len(numbers)}
	if host.found && offset == 0 && len(list) > 0 && list[0].offset != 0 {
		offset = list[0].offset
		host.offset = offset
	}
	var m *matcher
	for i, d := range list {
		if m == nil || m.v6 != d.v6() {
			m = newMatcher(host, l, rec, offset, d.v6(), m)
		}
		d.record(m, rec)
		d.recordCounters(rec)
		if left := m.unmatched(d.number); left > 0 {
			d.missing("the device's records of %d tasks that the host submitted", left)
		}
		d.describe()
		d.meta(&meta)
		source.BadRecords += d.bad
		source.Missing = append(source.Missing, d.out.Missing...)
		source.Hints = append(source.Hints, d.out.Hints...)
		source.Notes = append(source.Notes, d.out.Notes...)
		for k := range d.out.Sheets {
			source.AddSheet(&d.out.Sheets[k])
		}
		for kind, n := range d.out.Records {
			source.Records[kind] += n
		}
		if i == 0 {
			host.spans(rec, offset, d.number, l.caller)
			if rank, ok := d.info.Rank.int(); ok && rank >= 0 && rank < 1<<24 {
				source.Ranks = 1
				source.Devices = append(source.Devices, trace.SourceDevice{ID: d.number, Rank: int(rank), Device: int(d.number), Host: d.info.Host})
			}
		}
		list[i] = nil // its records are tasks now
	}
	pieces, err := host.commSheet(ctx, offset)
	if err == nil {
		err = host.readTables(ctx, offset, &source)
	}
	if err != nil {
		return nil, problem.Damagedf("%s: %w", hostDir, err)
	}
	source.AddSheet(pieces)
	source.Notes = append(source.Notes, host.notes...)
	source.BadRecords += host.bad
	if host.events > 0 {
		source.Records["api events without an end"] = host.events
	}
	slices.Sort(source.Hints)
	source.Hints = slices.Compact(source.Hints)
	rec.SetMeta(meta)
	rec.SetSource(source)
	return rec.Finish(), nil
}

// readAll reads the host's records, and beside them those of the devices. Both know what was switched on already.
func readAll(ctx context.Context, numbers []int, dirs map[int]string, host *hostData, hostDir string) (list []*deviceData, l links, err error) {
	var failed error
	var done sync.WaitGroup
	done.Go(func() {
		if failed = host.read(ctx); failed == nil {
			host.order()
			l = host.links()
		}
	})
	list, err = readDevices(ctx, numbers, dirs, host)
	done.Wait()
	if err == nil && failed != nil {
		err = problem.Damagedf("%s: %w", hostDir, failed)
	}
	return list, l, err
}

// readDevices reads the devices, several at once.
func readDevices(ctx context.Context, numbers []int, dirs map[int]string, host *hostData) ([]*deviceData, error) {
	list, errs := make([]*deviceData, len(numbers)), make([]error, len(numbers))
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	var done sync.WaitGroup
	for i, n := range numbers {
		free <- struct{}{}
		done.Go(func() {
			defer func() { <-free }()
			d := &deviceData{number: uint16(n), ids: ids{host.expand}, out: trace.Source{Records: map[string]int64{}}}
			list[i] = d
			if d.folder, errs[i] = openFolder(dirs[n]); errs[i] != nil {
				return
			}
			d.control(host)
			errs[i] = d.read(ctx, host)
		})
	}
	done.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, problem.Damagedf("%s: %w", dirs[numbers[i]], err)
		}
	}
	return list, ctx.Err()
}

// open lists the host folder, reads what describes its records, and gives the offset of its clock to Unix time.
func (h *hostData) open(ctx context.Context, dir string, missing func(format string, args ...any)) (offset int64, err error) {
	if h.folder, err = openFolder(dir); err != nil {
		return 0, err
	}
	h.found, h.missing, h.host = true, missing, true
	if err := readJSON(dir, &h.info, "info.json"); err != nil {
		missing("host/info.json: the frequency of the host's counter (%v)", reason(err))
	}
	if err := readJSON(dir, &h.sample, "sample.json"); err != nil {
		missing("host/sample.json: what was switched on (%v)", reason(err))
	}
	log, err := readPairs(dir, "host_start.log")
	if err != nil {
		missing("host/host_start.log: host times, so that calls and tasks go by their order alone (%v)", reason(err))
		h.apart = true
	}
	var start stamps
	if err := readJSON(dir, &start, "start_info"); err != nil {
		missing("host/start_info: host times go by the device's (%v)", reason(err))
	}
	cpuHz := int64(0)
	if len(h.info.CPU) > 0 {
		cpuHz = h.info.CPU[0].Frequency.hertz()
	}
	h.clock = hostClock(cpuHz, log)
	offset, _ = start.unixOffset()
	h.offset = offset
	if !h.has("api_event.data") && h.has("task_track") {
		missing("host api_event.data: what the host called, and so why the device was idle")
	}
	if !h.has("type_info_dic") && (h.has("task_track") || h.has("api_event.data")) {
		missing("host type_info_dic: names of calls and task types, which go by a list of this program")
	}
	if !h.has("task_track") {
		missing("host task_track: the names and types of tasks")
	}
	if !h.has("hash_dic") && h.has("task_track") {
		missing("host hash_dic: names of kernels, shown as numbers")
	}
	return offset, h.readExpand(ctx)
}

// meta describes the chip of the device.
func (d *deviceData) meta(m *trace.Meta) {
	m.Lost += d.lost
	if m.Chip = d.chip(); len(d.info.Devices) == 0 {
		return
	}
	v := &d.info.Devices[0]
	m.CubeCores, m.VectorCores, m.AICPUs, m.ClockMHz = v.Cube.number(), v.Vector.number(), v.AICPUs.number(), v.CubeMHz.number()
}

// reason is what is worth saying of an error about a control file.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file"
	case errors.Is(err, fs.ErrPermission):
		return "no permission"
	}
	return err.Error()
}

// number names threads by their ids in the operating system, and numbers them from 1.
func number(rec *trace.Recorder, seen map[uint32]bool) map[uint32]uint16 {
	out := map[uint32]uint16{}
	for i, id := range slices.Sorted(maps.Keys(seen)) {
		n := uint16(min(i+1, 1<<16-1))
		out[id] = n
		rec.NameThread(n, fmt.Sprintf("tid %d", id))
	}
	return out
}
