package top

import (
	"math"
	"time"

	"npu/internal/runtime/telemetry"
)

// sharing makes up frame n of three runs that share two devices: two workers that pass a token, and a server that
// computes on both. What the runs say of themselves goes through the source of runs; only what the host would say of
// the processes is added.
func sharing(r *Runs, n int) *Frame {
	at := moment.Add(time.Duration(n) * time.Second)
	ns := int64(n+1) * 1e9
	busy := func(share, swing, phase float64) int64 { // the integral of a wave
		s := 0.0
		for i := range n + 1 {
			s += share + swing*math.Sin(float64(i)/6+phase)
		}
		return int64(max(0, s) * 1e9)
	}
	device := func(id int, share float64, mib, peak uint64) telemetry.Device {
		return telemetry.Device{ID: id, Chip: "Ascend910B3", Ns: ns, Moved: uint64(float64(n+1) * share * 9e11), Bandwidth: 1.6e12, InUse: mib << 20, Peak: peak << 20,
			Total: 64 << 30, Blocks: mib / 64, Engines: []telemetry.Engine{
				{Name: "cube", Units: 20, BusyNs: 20 * busy(share, share/2, float64(id))}, {Name: "vector", Units: 40, BusyNs: 40 * busy(share/3, share/6, float64(id))},
				{Name: "dma0", Units: 1, BusyNs: busy(share/4, share/8, 1)}}}
	}
	stream := func(dev int, id uint32, s telemetry.State, waits string, depth, tasks uint64) telemetry.Stream {
		return telemetry.Stream{Device: dev, ID: id, State: s, Waits: waits, Depth: depth, Tasks: tasks * uint64(n+1)}
	}
	work := func(dev int, scale int64) []telemetry.Operator {
		return []telemetry.Operator{{Device: dev, Name: "block_7/attention/qk", Type: "BatchMatMulV2", Count: uint64(40 * (n + 1)), Ns: 9e6 * scale * int64(n+1)},
			{Device: dev, Name: "block_7/mlp/up", Type: "MatMulV2", Count: uint64(40 * (n + 1)), Ns: 6e6 * scale * int64(n+1)},
			{Device: dev, Name: "block_7/norm", Type: "RmsNorm", Count: uint64(80 * (n + 1)), Ns: 1e6 * scale * int64(n+1)}}
	}
	turn := n % 2
	token := func(mine bool, other string) telemetry.Stream {
		if mine {
			return stream(0, 4, telemetry.Running, "", 3, 410)
		}
		return stream(0, 4, telemetry.Waiting, "notify 2 of process "+other, 2, 410)
	}
	a, b := token(turn == 0, "8212"), token(turn == 1, "8211")
	b.Device = 1
	runs := []*telemetry.Snapshot{
		{PID: 8211, Started: 1, Program: "pipeline stage 0", Devices: []telemetry.Device{device(0, 0.42, 18400, 19100)}, Streams: []telemetry.Stream{stream(0, 3, telemetry.Running, "", 6, 900), a}, Operators: work(0, 8)},
		{PID: 8212, Started: 1, Program: "pipeline stage 1", Devices: []telemetry.Device{device(1, 0.36, 17250, 17800)}, Streams: []telemetry.Stream{stream(1, 3, telemetry.Idle, "", 0, 880), b}, Operators: work(1, 7)},
		{PID: 8305, Started: 1, Program: "server", Devices: []telemetry.Device{device(0, 0.21, 9300, 12200), device(1, 0.3, 31000, 31000)},
			Streams: []telemetry.Stream{stream(0, 3, telemetry.Waiting, "event 6 of process 8211", 12, 300), stream(1, 4, telemetry.Running, "", 1, 310)}, Operators: work(1, 3)},
	}
	f := &Frame{Seq: n + 1, Time: at, Sources: []Status{{Name: runsName, State: Live, At: at}}}
	r.fill(f, runs)
	for i := range f.Processes.Rows {
		p := &f.Processes.Rows[i]
		p.User, p.CPU, p.HostMem, p.Age = Text{S: "lin"}, Num(float64(40+p.PID%7*9)), Num(float64(300+p.PID%50*4)), Num(float64(n+p.PID%90*60))
		p.Command = Text{S: map[int]string{8211: "npu run stage0.om -n 1000000 --pace", 8212: "npu run stage1.om -n 1000000 --pace", 8305: "./server --npu 0,1 --port 8000"}[p.PID]}
	}
	return f
}
