package msprof

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"npu/internal/trace"
)

// deviceData is what one device recorded.
type deviceData struct {
	folder
	*pairs
	out      trace.Source
	info     info
	sample   sample
	number   uint16 // of the device on its host
	platform int    // chip; see ascend.Chip
	ids      ids
	clock    clock
	offset   int64 // from monotonic to Unix time
	apart    bool  // its times have nothing to do with the host's

	flips  []flip
	marks  []mark
	values []value
	counted
	ticks      []tick // clock of the cores
	stopped    bool   // the clock was reported as 0
	labels     map[labelKey]string
	plan       map[uint32]planned
	iterations int64
	soc        socTables
	openBlocks map[blockKey]uint64 // starts of blocks that wait for their ends
	cutBlocks  int64
	hwts       bool
	bad        int64
	lost       int64
	skipped    int64 // good records that this reader has no use for
	strayPMU   int64 // PMU records of no task
}

// unix is the time of a count.
func (d *deviceData) unix(count uint64) int64 { return d.clock.at(count) + d.offset }

// count says how many records there were of a kind; a cut record at the end of a stream is bad.
func (d *deviceData) count(kind string, n, left int64) {
	if n > 0 {
		d.out.Records[kind] += n
	}
	if left > 0 {
		d.bad++
	}
}

// missing says what the device should have and has not.
func (d *deviceData) missing(format string, args ...any) {
	d.out.Missing = append(d.out.Missing, fmt.Sprintf("device %d: "+format, append([]any{d.number}, args...)...))
}

// control reads the device's control files and sets its clock.
func (d *deviceData) control(host *hostData) {
	n := int(d.number)
	if err := readJSON(d.path, &d.info, numbered("info.json", n)...); err != nil {
		d.missing("info.json: chip, cores and clock are not known (%v)", reason(err))
	}
	if d.info.Platform == "" {
		d.info.Platform = host.info.Platform
	}
	if d.info.Platform == "" && d.shortRecords() {
		d.info.Platform = "15"
	}
	d.platform = d.info.Platform.number()
	if err := readJSON(d.path, &d.sample, append(numbered("sample.json", n), "../sample.json")...); err != nil {
		d.sample = host.sample
	}
	on, err := readPairs(d.path, numbered("host_start.log", n)...)
	if _, ok := on["cntvct"]; err == nil && !ok && !d.has("hwts.data") {
		err = errCut
	}
	if err != nil {
		on = nil
		d.missing("host_start.log: device times cannot be laid beside host times (%v)", reason(err))
		d.apart = true
	}
	dev, err := readPairs(d.path, numbered("dev_start.log", n)...)
	if err != nil {
		d.missing("dev_start.log: times count from the start of the device's counter (%v)", reason(err))
		on, d.apart = nil, true
	} else if _, ok := dev["cntvct"]; !ok {
		d.missing("dev_start.log: the count of the device's counter at its start: times count from the start of the counter")
		on, dev, d.apart = nil, nil, true
	}
	d.apart = d.apart || host.apart
	var counter, cpuHz int64
	if len(d.info.Devices) > 0 {
		counter = d.info.Devices[0].Counter.hertz()
	}
	if len(d.info.CPU) > 0 {
		cpuHz = d.info.CPU[0].Frequency.hertz()
	}
	if counter == 0 {
		if counter = 50_000_000; d.has("hwts.data") || d.has("training_trace") {
			counter = 100_000_000
		}
		d.missing("the frequency of its counter: taken as %d MHz", counter/1_000_000)
	}
	d.clock = deviceClock(counter, cpuHz, on, dev)
	if dev == nil {
		return
	}
	var start stamps
	if err := readJSON(d.path, &start, numbered("start_info", n)...); err != nil {
		d.missing("start_info: its times go by the host's (%v)", reason(err))
	}
	if offset, ok := start.unixOffset(); ok {
		d.offset = offset
	} else if d.offset = host.offset; host.offset == 0 {
		d.missing("the date: times are monotonic, not Unix")
	}
	if _, err := readControl(filepath.Join(d.path, fmt.Sprintf("end_info.%d", n))); err != nil && d.has("stars_soc.data") {
		d.missing("end_info: the collection did not end in order, and its last records may be missing")
	}
}

// shortRecords says whether the task log is one of records of 32 bytes, as those of generation 6.
func (d *deviceData) shortRecords() bool {
	list := d.kinds["stars_soc.data"]
	if len(list) == 0 {
		return false
	}
	f, err := os.Open(list[0].path)
	if err != nil {
		return false
	}
	defer f.Close()
	var b [4 * starsRecordV6]byte
	n, _ := io.ReadFull(f, b[:])
	short := n >= 2*starsRecordV6
	for at := 2; at+2 <= n; at += starsRecordV6 {
		short = short && binary.LittleEndian.Uint16(b[at:]) == magic
	}
	return short
}

// read reads all records of the device.
func (d *deviceData) read(ctx context.Context, host *hostData) error {
	d.pairs = newPairs()
	d.hwts = (d.has("hwts.data") || d.has("hwts.aiv_data")) && !d.has("stars_soc.data")
	steps := []func(context.Context) error{d.readStars, d.readTrack, d.readTraining, d.readFrequency, d.readSocProfile, d.readBlocks}
	switch {
	case d.has("stars_soc.data"):
	case d.has("nano_stars_profile.data"):
		steps[0] = d.readNano
	case d.hwts:
		steps = append([]func(context.Context) error{d.readHwts, d.readPlan}, steps[1:]...)
	}
	steps = append(steps, func(ctx context.Context) error { return d.readSampled(ctx, host) }, d.readPMU)
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	d.addSocTables()
	if !d.v6() {
		d.batches()
	}
	return nil
}

// frequencyKind is the data that says how fast the cores ran, on chips that write one.
func (d *deviceData) frequencyKind() string {
	if d.has("lpmFreqConv.data") || d.platform != 5 {
		return "stars_soc.data" // nothing more is expected
	}
	return "lpmInfoConv.data"
}

// describe says what is missing, lost and not readable.
func (d *deviceData) describe() {
	if !d.has("stars_soc.data") && !d.hwts && !d.has("nano_stars_profile.data") && len(d.tasks) == 0 {
		d.missing("no task log (stars_soc.data or hwts.data): its tasks are not known")
	}
	for _, kind := range slices.Sorted(maps.Keys(d.kinds)) {
		d.holes(kind, d.missing)
		if (kind == "stars_soc.data" || kind == "hwts.data") && d.about(kind, 1) == 0 {
			d.missing("its tasks: %s is empty", kind)
		}
	}
	for _, x := range []struct{ on, kind, what string }{
		{d.sample.L2Cache, "l2_cache.data", "L2 cache counters"}, {d.sample.HBM, "hbm.data", "HBM bandwidth"}, {d.sample.NIC, "nic.data", "network cards"}, {d.sample.RoCE, "roce.data", "RoCE"},
		{d.sample.PCIe, "pcie.data", "PCIe"}, {d.sample.HCCS, "hccs.data", "HCCS links"},
		{d.sample.Frequency, d.frequencyKind(), "the clock of the cores"},
	} {
		if x.on == "on" && !d.has(x.kind) {
			d.missing("%s (%s), which was switched on", x.what, x.kind)
		}
	}
	if ends := d.left + d.cut; ends > 0 {
		d.missing("the ends of %d tasks, which were left out", ends)
	}
	if d.alone > 0 {
		d.missing("the starts of %d tasks, which were left out", d.alone)
	}
	if d.strayPMU > 0 {
		d.missing("the tasks of %d PMU records", d.strayPMU)
	}
	if d.skipped > 0 {
		d.out.Records["other device records"] += d.skipped
	}
	if d.iterations > 0 {
		d.out.Records["iterations"] += d.iterations
	}
	pmu := d.has("ffts_profile.data") || d.has("aicore.data") || d.has("nano_stars_profile.data")
	if d.sample.Profiling == "on" && !pmu {
		d.missing("PMU counters, which were switched on")
	}
	if !pmu {
		d.out.Hints = append(d.out.Hints, "no PMU counters: collect with --ai-core=on --aic-metrics=PipeUtilization to see what bounds a kernel")
	}
	for kind, n := range d.unread(d.known) {
		d.out.Records["bytes not read: "+kind] += n
		if why := notRead(kind); why != "" {
			d.out.Notes = append(d.out.Notes, fmt.Sprintf("%s is not read: %s", kind, why))
		}
	}
	if d.sample.Level == "level0" {
		d.out.Hints = append(d.out.Hints, "collected at level0: operator types, shapes and block numbers are not in it; collect with --task-time=l1")
	}
}

// known says whether the reader takes the records of kind.
func (d *deviceData) known(kind string) bool {
	switch kind {
	case "stars_soc.data", "stars_soc_profile.data", "stars_block.data", "hwts.data", "hwts.aiv_data", "nano_stars_profile.data", "ts_track.data", "ts_track.aiv_data", "training_trace", "ffts_profile.data", "aicore.data",
		"aiVectorCore.data", "lpmFreqConv.data", "lpmInfoConv.data", "Framework.host.vm.task_desc_info", "Framework.host.vm.graph_desc_info", "Framework.host.vm.point", "ccu0.instr", "ccu1.instr", "ccu0.stat", "ccu1.stat",
		"DATA_PREPROCESS.AICPU":
		return true
	}
	_, _, _, instructions := instructionCore(kind)
	return instructions || slices.Contains(sampledKinds, kind) || usageKind(kind) != nil || slices.ContainsFunc(deviceLayouts(d.v6()), func(l layout) bool { return l.kind == kind })
}

// notRead says why the records of kind are left alone; nothing for kinds that nobody has heard of.
func notRead(kind string) string {
	switch {
	case kind == "ai_ctrl_cpu.data" || strings.HasPrefix(kind, "ctrlcpu.data"):
		return "samples of the control processors' functions, which the vendor's tools hand to perf"
	case kind == "host_syscall.data" || kind == "host_pthreadcall.data":
		return "text of perf trace and ltrace, which are tools of the host"
	case kind == "host_disk.data":
		return "text of iotop, whose columns are those of the host's version"
	case kind == "DATA_PREPROCESS.AICPUMI" || strings.HasPrefix(kind, "Framework.dataset_iterator") || strings.HasPrefix(kind, "Framework.device_queue"):
		return "queues of MindSpore's data pipeline, whose layout its releases do not share"
	case strings.HasPrefix(kind, "AclModule.") || strings.HasPrefix(kind, "Runtime.") || strings.HasPrefix(kind, "runtime.") || strings.HasPrefix(kind, "Framework.") || strings.HasPrefix(kind, "HCCL."):
		return "the host's records of collectors before 2023, whose layout is no longer published"
	}
	return ""
}
