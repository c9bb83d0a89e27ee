package diagnose

import (
	"bytes"
	"strings"
	"testing"
)

// A log with errors that no rule knows is answered with its own words, never with "no error".
func TestUnknownErrors(t *testing.T) {
	for _, c := range []struct{ name, text, cause string }{
		{"check of an operator", "[rank0]: RuntimeError: EZ9999: Inner Error!\n[rank0]: EZ9999: [PID: 62] 2026-02-03-04:05:06.000.001 headDim = 7, must be a multiple of 16.[FUNC:CheckShape][FILE:tiling.cc][LINE:12]\n        TraceBack (most recent call last):\n",
			"EZ9999: headDim = 7, must be a multiple of 16"},
		{"code without a process", "  0%|   | 0/50 [00:00<?, ?it/s].EZ9999: Inner Error!\nEZ9999  [InferShape] The k-axis of a(64) and b(92) must be the same[FUNC:InferShape][FILE:ops.cc][LINE:14]\n",
			"EZ9999: The k-axis of a(64) and b(92) must be the same"},
		{"plog", "[ERROR] GE(45,python):2026-02-03-04:05:06.000.001 [recover.cc:10]45 Append: ErrorNo: 4294967295(failed) inputs may have changed\n[ERROR] GE(45,python):2026-02-03-04:05:06.000.002 [recover.cc:11]45 Recover: failed\n",
			"Append: ErrorNo: 4294967295(failed) inputs may have changed"},
		{"call trace first", "[ERROR] HCCL(5,p):2026-02-03-04:05:06.000.001 [a.cc:1] [5]call trace: hcclRet -> 1\n[ERROR] HCCL(5,p):2026-02-03-04:05:06.000.002 [b.cc:1] [5]errNo[0x0000000005000001] the buffer is too small\n",
			"the buffer is too small"},
		{"exception of Python", "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nRuntimeError: aclnnFoo not in libopapi.so\n[ERROR] 2026-02-03-04:05:06 (PID:17, Device:0, RankID:-1) ERR01004 OPS invalid pointer\n",
			"RuntimeError: aclnnFoo not in libopapi.so"},
		{"logger's prefix", "(EngineCore_DP0 pid=20) ERROR 07-23 12:34:56 [core.py:396] ValueError: too few blocks\n", "ValueError: too few blocks"},
		{"MindSpore", "[ERROR] KERNEL(106,fffe557fa160,python):2026-02-03-04:05:06.000.001 [mindspore/a.cc:99] Build] task compile Failed, task id:3\n", "task compile Failed, task id:3"},
		{"known message with words", "EZ3003: 2026-02-03-04:05:06.000.001 No supported kernel is found for [Foo].\n", "EZ3003: No supported kernel is found for [Foo]"},
		{"history alone", "[2026-02-03-04:05:06.081811] system exception code [0xB4060007]: ModuleName [TS], ExceptionReason [TS_EXCEPTION], TimeStamp [20260203].\n", "the device reported:"},
		{"task alone", "[ERROR] RUNTIME(13,p):2026-02-03-04:05:06.000.001 [e.cc:1]6 F:Task run failed, device_id=3, stream_id=2, task_id=8, sqe_type=3(place holder), errType=0x20(sq sw status error), sqSwStatus=0x105\n", "a task failed: sq sw status error"},
		{"no words", "[ERROR]\n", "an error without a word about it"},
		{"program's own line", "[INFO]  begin\n[ERROR]  Operation failed: aclrtSynchronizeStream(stream) returned error code 507046\n", "waiting for a stream expired"},
	} {
		fs := findings(t, c.text)
		if len(fs) != 1 || !strings.Contains(fs[0].Cause, c.cause) || len(fs[0].Evidence) == 0 {
			t.Errorf("%s: %+v", c.name, fs)
		}
	}
	const quiet = "[INFO] GE(45,python):2026-02-03-04:05:06.000.001 [a.cc:1]45 f: no error\nINFO: started\nraise ValueError when empty\n"
	if fs := findings(t, quiet); len(fs) != 0 {
		t.Errorf("a quiet log: %+v", fs)
	}
}

// With a cause that a rule knows, other errors stay out of the answer.
func TestUnknownBesideKnown(t *testing.T) {
	fs := findings(t, "ValueError: x\nRuntimeError: ACL stream synchronize failed, error code is 507014\n")
	if len(fs) != 1 || fs[0].ACL != 507014 {
		t.Errorf("%+v", fs)
	}
}

func TestUnknownIsBounded(t *testing.T) {
	text := bytes.Repeat([]byte("[ERROR] GE(45,python):2026-02-03-04:05:06.000.001 [a.cc:1]45 f: strange\n"), 5000)
	fs := findings(t, string(text))
	if len(fs) != 1 || len(fs[0].Evidence) > maxEvidence || !strings.Contains(strings.Join(fs[0].Why, " "), "4999 further lines") {
		t.Errorf("%+v", fs)
	}
}

// A traceback without a process and the message behind it that names it are one error.
func TestTracebackJoinsMessage(t *testing.T) {
	fs := findings(t, `worker-1: RuntimeError: npuSynchronizeDevice:NPUStream.cpp:363 NPU error, error code is 107020
worker-1: [ERROR] 2026-02-03-04:05:06 (PID:639, Device:0, RankID:16) ERR00100 PTA call acl api failed.
worker-1: EI9999: Inner Error!
worker-1: EI9999: 2026-02-03-04:05:06.419.527  The error from device(chipId:0, dieId:0), serial number is 1, hccl fftsplus task timeout occurred during task execution, stream_id:4, sq_id:4, task_id:5, stuck notify num:1, timeout:1836.
worker-1:         The 0 stuck notify wait context info:(context_id=2, notify_id=7).
worker-1:         wait for compute device to finish failed, runtime result = 107020.
`)
	if len(fs) != 1 || len(fs[0].Followups) != 0 {
		t.Fatalf("%+v", fs)
	}
	f := fs[0]
	if f.Cause != "notify 7 waited 1836 s" || f.PID == nil || *f.PID != 639 || f.Stream == nil || *f.Stream != 4 || *f.Task != 5 {
		t.Errorf("%+v", f)
	}
}

// The message of PyTorch's allocator says who holds the memory.
func TestFrameworkMemory(t *testing.T) {
	fs := findings(t, "(Worker pid=45) ERROR 06-09 06:57:48 worker_base.py:581] RuntimeError: NPU out of memory. Tried to allocate 22.50 MiB (NPU 3; 60.00 GiB total capacity; 10.25 GiB already allocated; "+
		"10.25 GiB current active; 512.00 MiB free; 10.50 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb.\n")
	if len(fs) != 1 {
		t.Fatalf("%+v", fs)
	}
	f := fs[0]
	if f.Kind != "memory" || f.Device == nil || *f.Device != 3 || f.Size != 22.5*(1<<20) || f.Cause != "out of device memory: an allocation of 22.5 MiB failed" {
		t.Errorf("%+v", f)
	}
	why := strings.Join(f.Why, "\n")
	for _, want := range []string{"of 60 GiB of the device the process has reserved 10.5 GiB and uses 10.25 GiB of it; 512 MiB are free", "49 GiB are held by others", "256 MiB of what is reserved are not in use"} {
		if !strings.Contains(why, want) {
			t.Errorf("%q is not in %q", want, why)
		}
	}
	fs = findings(t, "torch.OutOfMemoryError: NPU out of memory. Tried to allocate 1.2.3 GiB (NPU x; lots)\n")
	if len(fs) != 1 || fs[0].Kind != "memory" || fs[0].Size != 0 {
		t.Errorf("odd figures: %+v", fs)
	}
}
