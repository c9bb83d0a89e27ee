package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"npu/internal/blackbox/aicore"
	"npu/internal/blackbox/errcode"
)

// judge writes cause, reasons and advice from the numbers.
func judge(f *Finding, in *incident, v view) {
	switch {
	case in.kind == kindHardware || f.Hardware != "":
		judgeHardware(f, in, v)
	case in.kind == kindCore:
		judgeCore(f, in, v)
	case in.kind == kindAICPU:
		judgeAICPU(f, in)
	case in.kind == kindCopy:
		judgeCopy(f, in)
	case in.kind == kindMemory:
		judgeMemory(f, in)
	case in.kind == kindHeartbeat:
		f.Cause = "the device does not answer any more (heartbeat lost)"
		if len(in.events) > 0 {
			f.Cause += ": " + in.events[0].text
		}
		f.Why = append(f.Why, "the host saw no life sign of the device: its operating system hung or restarted, or the PCIe link went away; what the process reports afterwards (allocation failures, closed channels) only follows")
		f.Advice = []string{"read history.log and the black box of the device (npu dump decode hisi_logs), and its event log",
			"npu-smi info -t health; reset the device before the next run; if it repeats with different jobs, exchange it"}
		f.Confidence = "high"
	case in.kind == kindWait:
		judgeWait(f, in)
	case in.kind == kindUnknown:
		judgeUnknown(f, in)
	case in.kind == kindComm:
		judgeComm(f, in)
	case in.kind == kindDriver:
		judgeDriver(f, in)
	default:
		judgeCode(f, in)
	}
}

func kernelText(f *Finding) string {
	if f.Kernel == "" {
		return "a kernel"
	}
	return string(f.Kernel)
}

func judgeHardware(f *Finding, in *incident, v view) {
	if in.kind == kindHardware && f.Hardware == "" && len(in.events) > 0 {
		f.Hardware = hardwareText(in.events[0], in)
	}
	if f.Hardware == "" {
		e, _ := errcode.ACL(f.ACL)
		f.Hardware = e.Meaning
	}
	f.Cause = "hardware: " + f.Hardware
	victim := in.kind == kindCore || len(in.cores) > 0 // the code may name the memory, and lines name the task
	if victim {
		f.Cause += "; the AI-core error of " + kernelText(f) + " follows from it"
		bitReasons(f, v)
	}
	if in.kind == kindHardware && !victim {
		f.Why = append(f.Why, "the device itself reported a fault of its hardware; no error of a task stands beside it in these files")
	} else {
		f.Why = append(f.Why, "the device itself reported a fault of its hardware shortly before the error; the task is the victim, not the cause")
	}
	f.Advice = []string{"do not blame the kernel: read npu-smi info -t ecc and -t health of the device",
		"isolate the page or the device and run again elsewhere; exchange it if the counter rises"}
	f.Confidence = "high"
}

// judgeCore covers exceptions, hangs and traps.
func judgeCore(f *Finding, in *incident, v view) {
	k := kernelText(f)
	switch {
	case f.Assert != "":
		f.Cause = "an assertion in " + k + " failed: " + f.Assert
		f.Why = append(f.Why, "the kernel checked a value and stopped itself; the error words are zero because nothing failed in the core")
		f.Advice = append(f.Advice, "the text names file, line and value: follow that value back to the input (an index outside its range is the classic)")
		f.Confidence = "high"
	case len(v.bits) > 0:
		f.Cause = fmt.Sprintf("AI-core exception in %s: %s", k, v.bits[0].Meaning)
		if f.Bus != "" {
			f.Cause += " (" + f.Bus + ")"
		}
		bitReasons(f, v)
		f.Confidence = "high"
		if f.Kernel == "" {
			f.Confidence = "medium: the kernel is not named in these lines"
		}
	case v.outOfBounds != "":
		f.Cause = fmt.Sprintf("%s stopped itself: %s outside its tensor (checked build) or another trap", k, v.outOfBounds)
		f.Why = append(f.Why, fmt.Sprintf("no error bit is set, and subErrType is %d: the kernel executed a trap after its own range check", *f.SubErrType))
		f.Advice = append(f.Advice, "check the index inputs and the tiling of the operator; the exception dump shows both", "look for an [ASSERT] line (module IDEDD) or print output of the kernel")
		f.Confidence = "medium"
	case v.trap:
		f.Cause = k + " executed a trap (assertion or range check)"
		f.Why = append(f.Why, "no error bit is set and the code says trap")
		f.Advice = append(f.Advice, "look for an [ASSERT] line (module IDEDD) or the printf workspace of the exception dump: it holds the text")
		f.Confidence = "medium"
	case in.hang:
		judgeHang(f, in, v)
	case in.hwts || len(in.cores) == 0:
		f.Cause = fmt.Sprintf("AI-core exception in %s; its error words are not in this log", k)
		f.Why = append(f.Why, "only the scheduler's code is here; without the error words the kind of fault is open")
		f.Advice = append(f.Advice, `get the plog lines with "dump info" (ASCEND_GLOBAL_LOG_LEVEL=3, $HOME/ascend/log/debug/plog) or the device log: they hold the error words and the program counter`)
		f.Confidence = "low: no error words"
	default:
		f.Cause = fmt.Sprintf("%s stopped without an error bit: a time-out or a trap", k)
		f.Why = append(f.Why, "all error words are zero; only retCode and subErrType could tell more")
		f.Advice = append(f.Advice, "look for an [ASSERT] line; compare the run time with the limit of the operator")
		f.Confidence = "low"
	}
	coreReasons(f, in, v)
	f.Advice = append(f.Advice, bitAdvice(v.bits)...)
	if f.Kernel != "" && python(f.Process) {
		f.Advice = append(f.Advice, "the line of Python that shows the error only noticed it: set ASCEND_LAUNCH_BLOCKING=1 to get the call; if the error goes away then, look for memory freed while it was in use, or a missing synchronisation")
	}
}

// python says that a process can be a Python program: then its trace points at the wrong line.
func python(proc string) bool {
	p := strings.ToLower(proc)
	return p == "" || p == "none" || p == "null" || strings.Contains(p, "python") || strings.Contains(p, "vllm") || strings.Contains(p, "sglang") ||
		strings.Contains(p, "ray") || strings.Contains(p, "worker") || strings.HasPrefix(p, "pt_")
}

func judgeHang(f *Finding, in *incident, v view) {
	f.Cause = kernelText(f) + " hung: no core reports an error, the time limit ended it"
	f.Why = append(f.Why, "all error words are zero and the code is a time-out; the program counters are exact then")
	if len(v.offsets) > 1 {
		var odd []string
		most := uint64(0)
		for o, n := range v.offsets {
			if n > v.offsets[most] || n == v.offsets[most] && o < most {
				most = o
			}
		}
		for _, c := range v.guilty {
			if c.start != 0 && c.current-c.start != most {
				odd = append(odd, fmt.Sprintf("core %d at %s", c.id, hexs(c.current-c.start)))
			}
		}
		f.Why = append(f.Why, fmt.Sprintf("%d cores wait at %s, but %s: it did not come to the barrier the others wait at, or left it early", v.offsets[most], hexs(most), strings.Join(odd, ", ")))
		f.Advice = append(f.Advice, "look at what "+strings.Join(odd, ", ")+" does before the synchronisation: a branch that depends on the block number or on data")
		f.Confidence = "high"
	} else {
		f.Why = append(f.Why, "every core stands at the same place: all wait for something that never comes (a flag, a peer, another engine)")
		f.Advice = append(f.Advice, "check set and wait of flags and cross-core synchronisation; for a collective kernel look at the other ranks")
		f.Confidence = "medium"
	}
	f.Advice = append(f.Advice, "if the work is only long, raise the limit (aclrtSetOpExecuteTimeOut)")
}

// bitReasons lists what each bit means, in words that do not mislead.
func bitReasons(f *Finding, v view) {
	for _, b := range v.bits {
		f.Why = append(f.Why, fmt.Sprintf("error bit %d %s (%s): %s", b.Index, b.Name, b.Unit, b.Meaning))
	}
	if m := aicore.BusMeaning(f.Bus); m != "" {
		f.Why = append(f.Why, f.Bus+": "+m)
	}
	if slices.ContainsFunc(v.bits, func(b aicore.Bit) bool { return b.Name == "ccu_bus_err" }) {
		f.Why = append(f.Why, "the vendor's text about D-cache and UB misleads here: it is an access to global memory")
	}
}

// coreReasons says how the cores differ and which memory the address can belong to.
func coreReasons(f *Finding, in *incident, v view) {
	if len(f.Bystanders) > 0 {
		f.Why = append(f.Why, fmt.Sprintf("core%s %s only stopped with the others and reported nothing: bystanders", plural(len(f.Bystanders)), ints(f.Bystanders)))
	}
	if len(v.bits) > 0 && len(f.Cores) > 0 {
		switch n := len(f.Cores); {
		case f.Blocks > 0 && n == f.Blocks || in.fwRan > 0 && n == in.fwRan:
			f.Why = append(f.Why, "every core fails: the fault does not depend on the block")
		case n == 1 && f.Blocks > 1:
			f.Why = append(f.Why, fmt.Sprintf("only one of %d blocks fails: the fault depends on its data or its place", f.Blocks))
		case len(v.offsets) == 1 && n > 1:
			f.Why = append(f.Why, fmt.Sprintf("%d cores fail at the same instruction", n))
		case len(v.offsets) > 1:
			f.Why = append(f.Why, fmt.Sprintf("the cores fail at %d different places", len(v.offsets)))
		}
	}
	if in.pageFault != 0 {
		f.Addresses = append(f.Addresses, hexs(in.pageFault))
		s := fmt.Sprintf("the device could not map the page of address %s", hexs(in.pageFault))
		if m, ok := aicore.Owner(in.regions, in.pageFault); ok {
			s += ": " + ownerText(m)
		}
		f.Why = append(f.Why, s)
	}
	for _, fr := range v.fragments {
		if fr.Full() {
			f.Addresses = append(f.Addresses, hexs(fr.Value<<fr.Lo))
			continue
		}
		ms := aicore.Locate(in.regions, fr)
		for i, m := range ms {
			if i == 2 {
				break
			}
			f.Why = append(f.Why, fr.String()+": "+m.String())
		}
	}
	if f.PCDoubtful != "" {
		f.Why = append(f.Why, "the repaired program counter is doubtful: "+f.PCDoubtful)
	}
	if in.acl == 507056 || in.acl == 507057 || in.ts == 0x5d {
		f.Why = append(f.Why, "the scheduler found no local memory event: the memory of another device or the link is suspected")
		f.Advice = append(f.Advice, "read the log of the peer and the link state; the peer may have freed the memory")
	}
}

func ownerText(m aicore.Match) string {
	if m.Inside {
		return fmt.Sprintf("inside %s at +%s", m.Region.Name, hexs(m.Offset))
	}
	return fmt.Sprintf("%d bytes past the end of %s", m.Offset, m.Region.Name)
}

// bitAdvice is what to try for the conditions that were reported, the most frequent ones in particular.
func bitAdvice(bits []aicore.Bit) []string {
	var out []string
	add := func(s string) {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, b := range bits {
		switch b.Name {
		case "mte_biu_rdwr_resp", "fixp_biu_rdwr_resp":
			add("check index inputs (block table, gather indices) against the size of the tensor they index: ids beyond it are the most frequent cause; take an exception dump (acl.json dump_scene aic_err_norm_dump) and look at the index input with npu dump decode")
			add("check that no input was freed or reused before the kernel ran")
		case "mte_gdma_read_overflow", "mte_gdma_write_overflow", "mte_ub_wr_ovflw", "mte_ub_rd_ovflw", "mte_write_overflow", "mte_read_overflow":
			add("a move runs past the end of an on-chip buffer (UB, L1): its length or local offset is wrong; look where they come from: tiling data, or a counter in global memory that was never initialised")
		case "ccu_bus_err", "su_ccu_bus_err_t0":
			add("look at the pointers and indices that the scalar unit reads itself (GetValue, SetValue, tiling): one of them leads to memory that is not mapped")
		case "ccu_mpu_err", "su_ccu_mpu_err_t0":
			add("a scalar access leaves the on-chip buffers: look for an index that grows with the data (long context, large batch)")
		case "ccu_addr_err", "su_ccu_addr_err_t0":
			add("the scalar unit used an address above 48 bits: a garbage pointer, for example an argument of the wrong type or an uninitialised variable")
		case "ccu_illegal_instr", "su_ccu_illegal_instr_t0", "vec_instr_undef", "vec_err_instr_undef_t0":
			add("check that the binary was built for this chip and version; check UB addresses of the instruction at the program counter: an unaligned one is reported this way")
		case "ifu_bus_err", "su_ifu_bus_err_t0":
			add("the core fetched instructions from a bad address: the binary was unloaded while it ran, or the stack was overwritten")
		case "vec_ub_wrap_around", "vec_ub_addr_wrap_around":
			add("a vector operand runs past the end of UB (192 KiB on the 910B): the tile is too large, or an offset in UB is wrong")
		default:
			_, next := errcode.Guidance(b.Class)
			add(next)
		}
	}
	return out
}

func judgeAICPU(f *Finding, in *incident) {
	f.Cause = "an AI CPU kernel failed"
	if f.Kernel != "" {
		f.Cause = "AI CPU kernel " + string(f.Kernel) + " failed"
	}
	if e, ok := errcode.AICPU(in.aicpu); ok {
		f.Cause += fmt.Sprintf(": %d %s", in.aicpu, e.Meaning)
		if e.Next != "" {
			f.Advice = append(f.Advice, e.Next)
		}
	}
	if in.hang {
		f.Cause += " (time-out)"
	}
	f.Advice = append(f.Advice, "read the log of the AI CPU process on the device: $HOME/ascend/log/debug/device-N/device-PID_*.log")
	f.Confidence = "medium"
}

func judgeCopy(f *Finding, in *incident) {
	f.Cause = "a copy engine (SDMA) failed"
	if in.sdma != nil && in.sdma.Size > 0 {
		f.Cause += fmt.Sprintf(" on a copy of %d bytes", in.sdma.Size)
	}
	f.Why = append(f.Why, "source or destination of the copy is not mapped, or was freed before the copy ran")
	f.Advice = []string{"check both addresses and the size of the copy; a buffer that an earlier allocation could not give is a frequent cause", "for copies between devices check the peer"}
	f.Confidence = "medium"
}

func judgeMemory(f *Finding, in *incident) {
	side := "device "
	f.Cause = "out of " + side + "memory"
	if in.size > 0 {
		f.Cause += fmt.Sprintf(": an allocation of %s failed", sizeText(in.size))
	}
	if in.drv != nil {
		if e, ok := errcode.Driver(*in.drv); ok {
			f.Why = append(f.Why, fmt.Sprintf("driver code %d: %s", *in.drv, e.Meaning))
		}
	}
	if in.heap != nil {
		in.heap.judge(f, in.size)
		f.Confidence = "high"
	} else if in.kind == kindMemory && in.drv == nil && !slices.Contains(in.codes, "EL0004") {
		f.Why = append(f.Why, "no EL0004 message and no driver code beside it: it can also be the consequence of a device that died; look for an older error")
		f.Confidence = "medium"
	} else {
		f.Confidence = "high"
	}
	f.Advice = []string{"npu-smi info: does another process hold the device's memory", "a smaller batch or sequence; in PyTorch PYTORCH_NPU_ALLOC_CONF=expandable_segments:True against fragmentation"}
}

func sizeText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.4g GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.4g MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d bytes", n)
}

func judgeWait(f *Finding, in *incident) {
	f.Cause = shortText(in)
	if slices.Contains(in.codes, "EI0006") {
		f.Cause = "the ranks did not come together (" + strings.Join(in.codes, ", ") + ")"
	}
	if c := in.comm; c != nil {
		if f.Cause == "" || in.acl == 0 && len(in.codes) == 0 {
			f.Cause = "the ranks did not come together"
			if c.op != "" {
				f.Cause += " in " + c.op
			}
			if in.notify.Seconds > 0 {
				f.Cause += fmt.Sprintf(" within %d s", in.notify.Seconds)
			}
		}
		if ranks := c.absentRanks(); len(ranks) > 0 {
			f.Cause += fmt.Sprintf(": rank%s %s did not come", plural(len(ranks)), ints(ranks))
		}
		f.Why = append(f.Why, c.why...)
	}
	f.Why = append(f.Why, "a rank or stream waited for another one; who did not come is the cause, and its log is not among these files or shows no error")
	f.Advice = []string{"read the logs of all ranks in one call (npu log DIR): the first rank with a device error is the cause",
		"if no rank has one, compare the order of the collectives, and look for a rank that is slow (saving, loading data)"}
	f.Confidence = "low: the log of the peer is missing"
}

func judgeDriver(f *Finding, in *incident) {
	f.Cause = "a call into the driver failed"
	if in.drv != nil {
		if e, ok := errcode.Driver(*in.drv); ok {
			f.Cause += fmt.Sprintf(": driver code %d, %s", *in.drv, e.Meaning)
		} else {
			f.Cause += fmt.Sprintf(": driver code %d", *in.drv)
		}
	}
	if in.call != "" {
		f.Why = append(f.Why, "the call: "+in.call)
	}
	call := strings.ToLower(in.call)
	switch {
	case f.ACL == 107017 || f.Inner == "0x07020014" || strings.Contains(call, "dma address"):
		f.Cause = "host memory of an asynchronous copy cannot be turned into a DMA address (" + strings.TrimPrefix(f.Cause, "a call into the driver failed: ") + ")"
		f.Why = append(f.Why, "not a kernel fault: the host pointer is pageable memory that the driver does not know, was freed, or belongs to other hardware")
		f.Advice = append(f.Advice, "use page-locked memory from aclrtMallocHost or register it (aclrtHostRegister); keep it alive until the copy is done; or copy synchronously")
	case strings.Contains(call, "p2p") || strings.Contains(call, "peer"):
		f.Why = append(f.Why, "enabling peer access between two devices failed in the kernel driver")
		f.Advice = append(f.Advice, "in a container map all devices that talk to each other, with /dev/davinci_manager, /dev/devmm_svm and /dev/hisi_hdc", "check that driver and runtime fit together")
	default:
		f.Advice = append(f.Advice, "check driver version against the runtime, the devices mapped into the container, and dmesg or the driver's host log at that time")
	}
	if f.ACL == 507899 {
		f.Why = append(f.Why, "507899 only wraps the driver's code")
	}
	f.Confidence = "medium"
	if in.drv != nil {
		f.Confidence = "high"
	}
}

func judgeCode(f *Finding, in *incident) {
	if e, ok := errcode.ACL(f.ACL); ok && f.ACL != 0 {
		f.Cause = fmt.Sprintf("%d %s: %s", f.ACL, e.Name, e.Meaning)
		f.Advice = append(f.Advice, e.Next)
		if fallout(f.ACL) {
			f.Why = append(f.Why, "this code usually follows from another error that is not in these files")
		}
	} else if len(in.codes) > 0 {
		e, _ := errcode.Message(in.codes[0])
		f.Cause = in.codes[0] + ": " + e.Meaning
		switch {
		case in.said == "":
		case e.Source == "general":
			f.Cause = in.codes[0] + ": " + in.said
		default:
			f.Why = append(f.Why, "the log says: "+in.said)
		}
		f.Advice = append(f.Advice, e.Next)
	} else if in.ts != 0 {
		e, _ := errcode.Scheduler(in.ts)
		f.Cause = fmt.Sprintf("the scheduler reports 0x%x: %s", in.ts, e.Meaning)
	} else if len(in.events) > 0 {
		judgeEvent(f, in.events[0])
	} else {
		f.Cause = "a task failed"
		if in.said != "" {
			f.Cause += ": " + in.said
		}
	}
	if in.kernel != "" {
		f.Cause += " in kernel " + in.kernel
	}
	f.Confidence = "low"
}

// judgeEvent is for an event of the device that stands alone.
func judgeEvent(f *Finding, e *event) {
	f.Cause = fmt.Sprintf("the device reported: %s (0x%08X)", e.text, e.id)
	if e.class == "exception" {
		x := errcode.ExceptionID(e.id)
		f.Why = append(f.Why, strings.Join(x.Related, ", "))
		f.Advice = append(f.Advice, "the entry only says that something failed at that time: read the plog and the device log of that time together with this folder")
		return
	}
	f.Advice = append(f.Advice, "npu-smi info -t health of the device; read the logs of the job of that time together with this one")
}
