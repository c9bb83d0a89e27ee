package runtime

import (
	"fmt"
	"os"
	"strings"
	"time"

	"npu/internal/blackbox/aicore"
	"npu/internal/blackbox/errcode"
	"npu/internal/blackbox/errring"
	"npu/internal/sim"
)

// maxRecords bounds the snapshot of streams.
const maxRecords = 2048

// sections are what the host knows of a fault. Under Port.Call.
func (rt *Runtime) sections(d *Device, e *Exception) []errring.Section {
	names := rt.strings.StringTable()
	name := func(id uint32) string {
		if int(id) < len(names) {
			return names[id]
		}
		return ""
	}
	f := e.Fault
	var fault, tasks, streams, memory strings.Builder
	fmt.Fprintf(&fault, "chip %s, simulated, device %d\n", d.hw.Chip().Name, e.Device)
	fmt.Fprintf(&fault, "%v %q, stream %d, task %d, submitted by thread %d, at %d ns\n", f.Kind, e.Kernel, e.Stream, e.Task, e.Thread, f.Time)
	fmt.Fprintf(&fault, "%v, device code 0x%x: %s\n", e.Code, f.Code, f.Detail)
	if f.HasAddr {
		fmt.Fprintf(&fault, "address 0x%x: %s\n", f.Addr, rt.whose(d, e, f.Addr))
	}
	for i, a := range e.Args {
		fmt.Fprintf(&fault, "argument %d: 0x%x\n", i, a)
	}
	for _, t := range d.rt.machine.Past(d.hw.ID()) {
		state := ""
		if t.Code != 0 {
			state = fmt.Sprintf(", failed with 0x%x", t.Code)
		}
		what := strings.TrimSpace(fmt.Sprint(t.Kind, " ", name(uint32(t.Name))))
		fmt.Fprintf(&tasks, "%d to %d ns: stream %d task %d %s%s\n", t.Start, t.End, t.Stream, t.Task, what, state)
	}
	for i, s := range d.hw.QueueStates() {
		if i == maxRecords {
			break
		}
		state := "idle"
		switch {
		case s.Use.Waits != "":
			state = "waits for " + s.Use.Waits
		case s.Use.Running:
			state = "at work"
		case s.Use.Depth > 0:
			state = "ready"
		}
		sunk := ""
		if s.Sunk {
			sunk = " (of a graph)"
		}
		fmt.Fprintf(&streams, "stream %d%s: task %d, %d of %d done, %s\n", s.Stream, sunk, s.Task, s.Retired, s.Arrived, state)
	}
	st := d.memory.pool.Stats()
	fmt.Fprintf(&memory, "%d of %d bytes in use, %d reserved, peak %d\n", st.InUse, st.Total, st.Reserved, st.Peak)
	for _, p := range d.hw.Poisoned() {
		fmt.Fprintf(&memory, "uncorrectable: 0x%x, %d bytes\n", p, sim.PoisonUnit)
	}
	for i, o := range rt.operandsOf(d, e) {
		if i < len(e.Args) {
			fmt.Fprintf(&memory, "%s %d: 0x%x, %d bytes\n", o.Role, o.Index, e.Args[i], o.Bytes)
		}
	}
	return []errring.Section{{Name: "fault", Lines: fault.String()}, {Name: "tasks", Lines: tasks.String()},
		{Name: "streams", Lines: streams.String()}, {Name: "memory", Lines: memory.String()}}
}

// whose says which operand an address is of, or past the end of.
func (rt *Runtime) whose(d *Device, e *Exception, addr uint64) string {
	var list []aicore.Region
	for i, o := range rt.operandsOf(d, e) {
		if i < len(e.Args) {
			list = append(list, aicore.Region{Name: fmt.Sprintf("%s %d", o.Role, o.Index), Addr: e.Args[i], Size: uint64(max(0, o.Bytes))})
		}
	}
	if m, ok := aicore.Owner(list, addr); ok {
		return m.String()
	}
	return "belongs to no operand"
}

// logText is what the real runtime would write into its log.
func logText(e *Exception, el *errring.Element, now time.Time) string {
	var b strings.Builder
	pid := os.Getpid()
	line := func(file string, n int, fn, format string, args ...any) {
		fmt.Fprintf(&b, "[ERROR] RUNTIME(%d,npu):%s.%03d.%03d [%s:%d]%d %s:%s\n", pid, now.Format("2006-01-02-15:04:05"), now.Nanosecond()/1e6, now.Nanosecond()/1e3%1e3,
			file, n, pid, fn, fmt.Sprintf(format, args...))
	}
	f := e.Fault
	taskID, flip := e.Task&0xffff, e.Task>>16
	hung := f.Code == sim.CodeAICoreTimeout || f.Code == sim.CodeVectorTimeout
	kind, desc := "0x1(task exception)", "exception"
	if hung {
		kind, desc = "0x4(task timeout)", "timeout"
	}
	switch {
	case f.Code == sim.CodeTaskTimeout:
		line("stars_engine.cc", 1100, "ProcWaitTimeout", "%s wait timeout occurred during task execution, stream_id=%d, sq_id=%d, task_id=%d, event_id=%d, timeout=%ds",
			strings.ToLower(strings.TrimSuffix(f.Kind.String(), "_WAIT")), e.Stream, e.Stream, taskID, el.ID, el.Limit/1e9)
	case !f.Kind.Kernel():
		line("stars_engine.cc", 1551, "ProcLogicCqReport", "Task run failed, device_id=%d, stream_id=%d, task_id=%d, sqe_type=11(sdma), errType=%s, sqSwStatus=0", e.Device, e.Stream, taskID, kind)
		line("device_error_proc.cc", 520, "ProcessSdmaError", "The error from device(chipId:%d, dieId:0), serial number is %d, there is a sdma error, sdma channel is 0, sdmaBlkFsmState=0x0, dfxSdmaBlkFsmOstCnt=0x0, sdmaChFree=0x0, irqStatus=0x0, cqeStatus=0x%x", e.Device, el.Serial, f.Code)
	default:
		line("stars_engine.cc", 1551, "ProcLogicCqReport", "Task run failed, device_id=%d, stream_id=%d, task_id=%d, sqe_type=0(ffts), errType=%s, sqSwStatus=0", e.Device, e.Stream, taskID, kind)
	}
	for _, c := range el.Cores {
		unit := "aicore"
		if c.Vector {
			unit = "aivec"
		}
		w := aicore.Words(c.Words)
		var names []string
		for _, x := range w.Bits() {
			names = append(names, x.Meaning)
		}
		if len(names) == 0 {
			names = []string{"timeout or trap error"}
		}
		line("device_error_core_proc.cc", 297, "ProcessStarsCoreErrorInfo", "The error from device(chipId:%d, dieId:0), serial number is %d, there is an %s error exception, core id is %d, error code = %s, dump info: pc start: 0x%x, current: 0x%x, vec error info: %s, mte error info: %s, ifu error info: %s, ccu error info: %s, cube error info: %s, biu error info: %s, aic error mask: %s, para base: 0x%x.",
			e.Device, el.Serial, unit, c.ID, logHex(w[0]), c.PCStart, c.PC, logHex(c.Vec), logHex(c.MTE), logHex(c.IFU), logHex(c.CCU), logHex(c.Cube), logHex(c.BIU), logHex(c.Mask), c.ParaBase)
		line("device_error_core_proc.cc", 310, "ProcessStarsCoreErrorInfo", "The extend info: errcode:(%s, %s, %s) errorStr: %s. fixp_error0 info: %s, fixp_error1 info: %s, fsmId:0, tslot:0, thread:0, ctxid:0, blk:%d, sublk:0, subErrType:%d.",
			logHex(w[0]), logHex(w[1]), logHex(w[2]), strings.Join(names, "; "), logHex(uint64(c.FIXP0)), logHex(uint64(c.FIXP1)), c.Block, c.SubError)
	}
	if f.Kind.Kernel() {
		meaning := desc
		if x, ok := errcode.Scheduler(f.Code); ok && x.Meaning != "" {
			meaning = x.Meaning
		}
		if f.Code != sim.CodeMemoryECC {
			line("davinci_kernel_task.cc", 1213, "PreCheckTaskErr", "Kernel task happen error, retCode=0x%x, [%s].", f.Code, meaning)
		}
		line("davinci_kernel_task.cc", 1082, "PrintErrorInfoForDavinciTask", "Aicore kernel execute failed, device_id=%d, stream_id=%d, report_stream_id=%d, task_id=%d, flip_num=%d, fault kernel_name=%s, fault kernel info ext=none, program id=%d, hash=0.",
			e.Device, e.Stream, e.Stream, taskID, flip, e.Kernel, f.Func)
		var args []string
		for _, a := range e.Args {
			args = append(args, fmt.Sprintf("0x%x", a))
		}
		line("davinci_kernel_task.cc", 1100, "PrintErrorInfoForDavinciTask", "[AIC_INFO] args(0 to %d) after execute:%s, ", len(args), strings.Join(args, ", "))
	}
	inner := uint32(0x7150000) | f.Code&0xff
	if f.Code == sim.CodeMemoryECC {
		inner = f.Code
	}
	line("api_c.cc", 755, "rtStreamSynchronize", "ErrCode=%d, desc=[%s], InnerCode=0x%x", int(e.Code), describe(e.Code), inner)
	return b.String()
}

func describe(c Code) string {
	if e, ok := errcode.ACL(int(c)); ok {
		return e.Meaning
	}
	return c.String()
}

// logHex is a number as the log prints it: 0 without 0x.
func logHex(v uint64) string {
	if v == 0 {
		return "0"
	}
	return fmt.Sprintf("0x%x", v)
}
