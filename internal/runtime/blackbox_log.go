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

// logWriter writes lines as those of the runtime's log.
type logWriter struct {
	b   strings.Builder
	pid int
	now time.Time
}

func (w *logWriter) line(file string, n int, fn, format string, args ...any) {
	fmt.Fprintf(&w.b, "[ERROR] RUNTIME(%d,npu):%s.%03d.%03d [%s:%d]%d %s:%s\n", w.pid, w.now.Format("2006-01-02-15:04:05"), w.now.Nanosecond()/1e6, w.now.Nanosecond()/1e3%1e3,
		file, n, w.pid, fn, fmt.Sprintf(format, args...))
}

// logText is what the real runtime would write into its log on a chip of the family.
func logText(e *Exception, el *errring.Element, family aicore.Family, now time.Time) string {
	w := &logWriter{pid: os.Getpid(), now: now}
	f := e.Fault
	taskID := e.Task & 0xffff
	kind := "0x1(task exception)"
	if f.Hung() {
		kind = "0x4(task timeout)"
	}
	if f.Code == sim.CodeMemoryECC {
		w.event(e)
	}
	engine := "0(ffts)"
	if family == aicore.V200 {
		engine = "0(aic)"
		if el.Type == errring.AIVector {
			engine = "1(aiv)"
		}
	}
	switch {
	case f.Code == sim.CodeTaskTimeout:
		w.line("stars_engine.cc", 1100, "ProcWaitTimeout", "%s wait timeout occurred during task execution, stream_id=%d, sq_id=%d, task_id=%d, event_id=%d, timeout=%ds",
			strings.ToLower(strings.TrimSuffix(f.Kind.String(), "_WAIT")), e.Stream, e.Stream, taskID, el.ID, el.Limit/1e9)
	case !f.Kind.Kernel():
		w.line("stars_engine.cc", 1551, "ProcLogicCqReport", "Task run failed, device_id=%d, stream_id=%d, task_id=%d, sqe_type=11(sdma), errType=%s, sqSwStatus=0", e.Device, e.Stream, taskID, kind)
		w.line("device_error_proc.cc", 520, "ProcessSdmaError", "The error from device(chipId:%d, dieId:0), serial number is %d, there is a sdma error, sdma channel is 0, sdmaBlkFsmState=0x0, dfxSdmaBlkFsmOstCnt=0x0, sdmaChFree=0x0, irqStatus=0x0, cqeStatus=0x%x", e.Device, el.Serial, f.Code)
	case family != aicore.Legacy:
		w.line("stars_engine.cc", 1551, "ProcLogicCqReport", "Task run failed, device_id=%d, stream_id=%d, task_id=%d, sqe_type=%s, errType=%s, sqSwStatus=0", e.Device, e.Stream, taskID, engine, kind)
	}
	if f.Hung() && family != aicore.Legacy {
		w.hung(e, el)
	}
	for i := range el.Cores {
		w.core(e, el, &el.Cores[i], family)
	}
	if f.Code == sim.CodeMemoryECC {
		w.line("device_error_core_proc.cc", 640, "ProcRasErrorInfo", "report error module_type=5, module_name=EZ2001")
	}
	if f.Kind.Kernel() {
		w.kernel(e, family)
	}
	inner := uint32(0x7150000) | f.Code&0xff
	if f.Code == sim.CodeMemoryECC {
		inner = f.Code
	} else if x, ok := errcode.Scheduler(f.Code); ok && x.Inner != 0 {
		inner = x.Inner
	}
	w.line("api_c.cc", 755, "rtStreamSynchronize", "ErrCode=%d, desc=[%s], InnerCode=0x%x", int(e.Code), describe(e.Code), inner)
	return w.b.String()
}

// rasPoll is how often the driver looks for such events: the event is that old at least when the task has failed.
const rasPoll = 10 * time.Millisecond

// event writes what the driver says of memory that cannot be corrected: it stands before everything else.
func (w *logWriter) event(e *Exception) {
	t := w.now.Add(-rasPoll)
	fmt.Fprintf(&w.b, "[EVENT] DRV(1,dms_poll_task):%s.%03d.%03d [dms_event.c:1399][fault_manager][%13.6f] event_id=0x80e01801; device_id=%d; node_type=0x40[HBM]; node_id=0; sub_node_id=0; event_type=0x2[multi bit ecc]; \n",
		t.Format("2006-01-02-15:04:05"), t.Nanosecond()/1e6, t.Nanosecond()/1e3%1e3, float64(e.Fault.Time)/1e9, e.Device)
}

// hung writes where the cores of a kernel stand that ran over its time.
func (w *logWriter) hung(e *Exception, el *errring.Element) {
	var own [2]uint64 // AI cores, vector cores
	kind := 0
	for _, c := range el.Cores {
		if kind = 0; c.Vector {
			kind = 1
		}
		own[kind] |= 1 << (c.ID % 64)
	}
	w.line("device_error_core_proc.cc", 1315, "ProcessStarsAicoreTimeoutDfx", "aicore task timeout dfx, falut_stream_id=%d, falut_task_id=%d, falut_slot_id=0, timeout and own_bitmap=0x%x", e.Stream, e.Task&0xffff, own[kind])
	for _, c := range el.Cores {
		w.line("device_error_core_proc.cc", 1354, "ProcessStarsAicoreTimeoutDfx", "aicore task timeout dfx, show core info, core_id=%d, core_type=%d, sub_error=0, current_pc=0x%x, aic_own_bitmap=%s, aiv_own_bitmap=%s",
			c.ID, kind, c.PC, logHex(own[0]), logHex(own[1]))
	}
}

// core writes what is said of a core. The lines differ between the families; see the log format's description.
func (w *logWriter) core(e *Exception, el *errring.Element, c *errring.Core, family aicore.Family) {
	unit := "aicore"
	if c.Vector {
		unit = "aivec"
	}
	var names, codes []string
	for _, x := range c.Bits(family) {
		names = append(names, x.Meaning)
		codes = append(codes, fmt.Sprint(x.Index))
	}
	text := strings.Join(names, "; ")
	if len(names) == 0 {
		text, codes = "timeout or trap error", []string{"0"}
	}
	in := &c.Infos
	switch family {
	case aicore.Legacy:
		infos := ""
		for _, x := range []struct {
			name string
			v    uint64
		}{{"vec", in.Vec}, {"mte", in.MTE}, {"ifu", in.IFU}, {"ccu", in.CCU}, {"cube", in.Cube}, {"biu", in.BIU}} {
			infos += fmt.Sprintf("%s error info: %s, ", x.name, logHex(x.v))
		}
		w.line("device_error_proc.cc", 510, "PrintCoreErrorInfo", "The error from device(%d), serial number is %d, there is an %s error, core id is %d, error code = %s, dump info: pc start: 0x%x, current: 0x%x, %saic error mask: %s, para base: 0x%x, errorStr: %s.",
			e.Device, el.Serial, unit, c.ID, logHex(c.Words[0]), c.PCStart, c.PC, infos, logHex(c.Mask), c.ParaBase, text)
		w.line("device_error_proc.cc", 541, "PrintCoreErrorInfo", "The extend info from device(%d), serial number is %d, there is %s error, core id is %d, aicore int: 0x1, aicore error2: 0, axi clamp ctrl: 0, axi clamp state: 0, biu status0: 0, biu status1: 0, clk gate mask: 0, dbg addr: 0, ecc en: 0, mte ccu ecc 1bit error: 0, vector cube ecc 1bit error: 0, run stall: 0x1, dbg data0: 0, dbg data1: 0, dbg data2: 0, dbg data3: 0, dfx data: 0",
			e.Device, el.Serial, unit, c.ID)
	case aicore.V200:
		list := strings.Join(codes, ", ")
		mte := uint32(0)
		for _, x := range c.Bits(family) {
			if x.Unit == "MTE" {
				mte |= 1 << x.Pos
			}
		}
		w.line("device_error_proc_c.cc", 664, "ProcessDavidStarsCoreErrorInfo", "An error occurs on the device(chipId:%d, dieId:0), the serial number is %d, the error is %s error, core id is %d, error code = %s, dump info: pc start: 0x%x, current: 0x%x, sc error info: %s, su error info: %s,0, mte error info: %s, vec error info: %s, cube error info: %s, l1 error info: %s, aic error mask: %s, para base: 0x%x, mte error: %s, aic cond: 0.\nThe extend info: errcode:(%s) errorStr: %s. subErrType: 0x%x.",
			e.Device, el.Serial, unit, c.ID, list, c.PCStart, c.PC, logHex(in.SC), logHex(in.SU), logHex(in.MTE), logHex(in.Vec), logHex(in.Cube), logHex(in.L1), logHex(c.Mask), c.ParaBase, logHex(uint64(mte)), list, text, c.SubError)
	default:
		w.line("device_error_core_proc.cc", 297, "ProcessStarsCoreErrorInfo", "The error from device(chipId:%d, dieId:0), serial number is %d, there is an %s error exception, core id is %d, error code = %s, dump info: pc start: 0x%x, current: 0x%x, vec error info: %s, mte error info: %s, ifu error info: %s, ccu error info: %s, cube error info: %s, biu error info: %s, aic error mask: %s, para base: 0x%x.",
			e.Device, el.Serial, unit, c.ID, logHex(c.Words[0]), c.PCStart, c.PC, logHex(in.Vec), logHex(in.MTE), logHex(in.IFU), logHex(in.CCU), logHex(in.Cube), logHex(in.BIU), logHex(c.Mask), c.ParaBase)
		w.line("device_error_core_proc.cc", 310, "ProcessStarsCoreErrorInfo", "The extend info: errcode:(%s, %s, %s) errorStr: %s. fixp_error0 info: %s, fixp_error1 info: %s, fsmId:0, tslot:0, thread:0, ctxid:0, blk:%d, sublk:0, subErrType:%d.",
			logHex(c.Words[0]), logHex(c.Words[1]), logHex(c.Words[2]), text, logHex(uint64(in.FIXP0)), logHex(uint64(in.FIXP1)), c.Block, c.SubError)
	}
}

// kernel writes what is said of the kernel that failed.
func (w *logWriter) kernel(e *Exception, family aicore.Family) {
	f := e.Fault
	meaning := "exception"
	if f.Hung() {
		meaning = "timeout"
	}
	if x, ok := errcode.Scheduler(f.Code); ok && x.Meaning != "" {
		meaning = x.Meaning
	}
	if f.Code != sim.CodeMemoryECC {
		w.line("davinci_kernel_task.cc", 1213, "PreCheckTaskErr", "Kernel task happen error, retCode=0x%x, [%s].", f.Code, meaning)
	}
	w.line("davinci_kernel_task.cc", 1082, "PrintErrorInfoForDavinciTask", "Aicore kernel execute failed, device_id=%d, stream_id=%d, report_stream_id=%d, task_id=%d, flip_num=%d, fault kernel_name=%s, fault kernel info ext=none, program id=%d, hash=0.",
		e.Device, e.Stream, e.Stream, e.Task&0xffff, e.Task>>16, e.Kernel, f.Func)
	args := ""
	for _, a := range e.Args {
		if family == aicore.Legacy {
			args += fmt.Sprintf("%d, ", a)
		} else {
			args += fmt.Sprintf("0x%x, ", a)
		}
	}
	if family == aicore.Legacy {
		w.line("davinci_kernel_task.cc", 1100, "PrintErrorInfoForDavinciTask", "[AIC_INFO] args after execute: %s", args)
	} else {
		w.line("davinci_kernel_task.cc", 1389, "GetArgsInfo", "[AIC_INFO] args(0 to %d) after execute:%s", len(e.Args), args)
		w.line("davinci_kernel_task.cc", 1392, "GetArgsInfo", "tilingKey = 0, print 1 Times totalLen=(%d*8), argsSize=%d, blockDim=%d", len(e.Args), 8*len(e.Args), f.Blocks)
	}
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
