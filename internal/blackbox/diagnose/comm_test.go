package diagnose

import (
	"context"
	"slices"
	"strings"
	"testing"
)

func findings(t *testing.T, text string) []Finding {
	t.Helper()
	rep, err := Run(context.Background(), []string{"-"}, strings.NewReader(text), all)
	if err != nil {
		t.Fatal(err)
	}
	return rep.Findings
}

// What the communication library prints, in its own forms with other values, and what the answer must say.
func TestCommunication(t *testing.T) {
	head := func(module, at, text string) string {
		return "[ERROR] " + module + "(4711,train):2026-02-03-04:" + at + " [x.cc:1] [4712]" + text + "\n"
	}
	for _, c := range []struct {
		name, text, kind, cause, why string
	}{
		{"port", head("HCCL", "05:06.000.001", "[InitGroupStage][RanktableDetect] socket type[2], listen on ip[10.0.0.7%eth0] and specific port[61000] fail. Please check.") +
			head("HCCL", "05:07.000.001", "[Wait][LinkEstablish]wait socket establish timeout, role[1] rank[3] timeout[120]"),
			"communication", "cannot listen on 10.0.0.7%eth0 port 61000", ""},
		{"ranks that came", head("HCCL", "05:06.000.001", "[InitGroupStage]topo exchange server get socket timeout! timeout[120 s]") +
			head("HCCL", "05:06.000.002", "[InitGroupStage][DisplayConnectionedRank]total connected num is [3],line num is [1]") +
			head("HCCL", "05:06.000.003", "[InitGroupStage][DisplayConnectionedRank]need connect rankNum is [5]") +
			head("HCCL", "05:06.000.004", "[InitGroupStage][DisplayConnectionedRank]connected rankinfo[LINE 0]: [0000000000000000],[0000000000000001],[0000000000000003];"),
			"wait", "within 120 s: ranks 2,4 did not come", ""},
		{"ranks that did not", head("HCCL", "05:06.000.001", `[InitGroupStage] TopoDetect ERROR occur !!! fault_type[1], fault_info["Failed to connect agent[2,6,]"]`),
			"wait", "ranks 2,6 did not come", ""},
		{"old table of links", head("HCCL", "05:06.000.001", "   |  10.0.0.1(6)   |   10.0.0.2(5)   |  server  | no connect |   "),
			"wait", "did not come together", "rank 5 (10.0.0.2) and rank 6 (10.0.0.1) did not connect: no connect"},
		{"table of links", head("HCCL", "05:06.000.001", "   |  10.0.0.1(6)   |  16666  |   10.0.0.2(5)   |  2882681339  |  client  | time out |   DISABLE  | LinkInfo"),
			"wait", "did not come together", "rank 5 (10.0.0.2) and rank 6 (10.0.0.1) did not connect: time out"},
		{"peers", head("HCCL", "05:06.000.001", "[Wait][P2PConnected]connected p2p timeout, timeout:130 s. local logicDevid:2, remote physic id:9."),
			"wait", "within 130 s", "device 2 (logical) waited for peer access to device 9 (physical)"},
		{"RDMA", head("HCCL", "05:06.000.001", "[Heartbeat]cqe err status[12], time:[2026-02-03 04:05:06.000000], ip:[10.1.0.8]"),
			"communication", "completion status 12, the other side did not answer", "the other side is 10.1.0.8"},
		{"RDMA of the adapter", head("ROCE", "05:06.000.001", "handle_error_cqe(630) : error cqe status: 0x15") +
			head("HCCL", "05:06.000.002", "cqe error status[12], time:[x],localInfo{server[10.0.0.1],deviceIp[10.1.0.1]}, remoteIP{server[10.0.0.2],deviceId[10.0.0.2],deviceIp[10.1.0.2]}"),
			"communication", "completion status 21", "the other side is 10.1.0.2 on host 10.0.0.2"},
		{"heartbeat", head("HCCL", "05:06.000.001", "[TaskExecStage][HeartbeatAbnormal]Cluster Exception Location[IP/ID]:[10.0.0.9/3], Arrival Time:[x], ExceptionType:[Stuck Occurred], Possible Reason:1.x"),
			"wait", "did not come together", "names device 10.0.0.9/3 (host address/device): stuck occurred"},
		{"other collective", head("HCCL", "05:06.000.001", "[InitChannelStage][ParameterConflict]CMD information tag check fail. local[AllGather_1], remote[AllReduce_1]"),
			"communication", "different collectives", "local[AllGather_1], remote[AllReduce_1]"},
		{"variable", head("HCCL", "05:06.000.001", "[InitGroupStage][EnvConfig]set ifname to [eno7] by HCCL_SOCKET_IFNAME, but not found"),
			"communication", "configuration of the collective communication is wrong: set ifname to [eno7]", ""},
		{"host's task", head("HCCL", "05:06.000.001", "[TaskExecStage][Timeout][Host]Task run failed, base information is streamID:[7], taskID[21], tag[AllReduce_10.0.0.1%eth0_60000_0_17], AlgType(level 0-1-2):[x].") +
			head("HCCL", "05:06.000.002", "[TaskExecStage][Timeout][Host]Task run failed, para information is notify id:[0x50], stage:[ffffffff], remote rank:[3]."),
			"wait", "did not come together in AllReduce", ""},
		{"device's task", head("HCCL", "05:06.000.001", "[TaskException][AICPU]base information is streamId:149, sqid:153, head:1, tail:2, type:SDMA, localRank:1, remoteRank:2, taskId:77, notifyId:0."),
			"communication", "a transfer of a collective failed on the device (SDMA)", "the other side is rank 2"},
		{"EI0004", "EI0004: [PID: 4711] 2026-02-03-04:05:06.000.001 The ranktable is invalid,Reason:[devId 9 is too large].\n",
			"communication", "EI0004: rank table is not valid", "devId 9 is too large"},
		{"EI0005", "EI0005: 2026-02-03-04:05:06.000.001 The arguments are inconsistent between ranks:parameter count, local end 5, remote end 6\n",
			"communication", "EI0005: parameters of a collective differ between ranks", "local end 5, remote end 6"},
		{"sub-task", head("RUNTIME", "05:06.000.001", "57288 PrintSdmaErrorInfoForFftsPlusTask:fftsplus task execute failed, dev_id=0, stream_id=50, task_id=21, context_id=18, thread_id=0, err_type=4[fftsplus sdma error]"),
			"copy", "a copy engine (SDMA) failed", ""},
		{"sub-task's wait", "EI9999: 2026-02-03-04:05:06.000.001  The error from device(chipId:0, dieId:0), serial number is 1, hccl fftsplus task timeout occurred during task execution, stream_id:4, sq_id:4, task_id:5, stuck notify num:7, timeout:1836.\n",
			"wait", "a wait ran out of time", ""},
	} {
		fs := findings(t, c.text)
		if len(fs) != 1 {
			t.Errorf("%s: %d findings", c.name, len(fs))
			continue
		}
		f := fs[0]
		if f.Kind != c.kind || !strings.Contains(f.Cause, c.cause) {
			t.Errorf("%s: %s, %q", c.name, f.Kind, f.Cause)
		}
		if !slices.ContainsFunc(f.Why, func(s string) bool { return strings.Contains(s, c.why) }) && c.why != "" {
			t.Errorf("%s: why %q", c.name, f.Why)
		}
	}
}

// A cause of the communication comes before the waits of other ranks, an error of a core before both.
func TestCommunicationOrder(t *testing.T) {
	const (
		wait = "[ERROR] HCCL(11,a):2026-02-03-04:05:00.000.001 [x.cc:1] [12]wait socket establish timeout, role[1] rank[3] timeout[120]\n"
		port = "[ERROR] HCCL(22,b):2026-02-03-04:04:00.000.001 [x.cc:1] [23]socket type[1], listen on ip[10.0.0.7] and specific port[16666] fail.\n"
		core = "[ERROR] RUNTIME(33,c):2026-02-03-04:03:00.000.001 [x.cc:1]33 f:Aicore kernel execute failed, device_id=3, stream_id=2, report_stream_id=2, task_id=9, flip_num=0, fault kernel_name=Add_1, fault kernel info ext=none.\n"
	)
	if fs := findings(t, wait+port); fs[0].Kind != "communication" || len(fs[0].Followups) != 1 {
		t.Errorf("%s with %d followups", fs[0].Kind, len(fs[0].Followups))
	}
	if fs := findings(t, wait+core); fs[0].Kind != "aicore" || len(fs[0].Followups) != 1 {
		t.Errorf("%s with %d followups", fs[0].Kind, len(fs[0].Followups))
	}
}
