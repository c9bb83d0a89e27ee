package top

import (
	"context"
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"npu/internal/tui/theme"
)

func TestMain(m *testing.M) {
	if os.Getenv(panicEnv) != "" {
		panicChild()
	}
	// teatest leaves the reader of its own terminal behind
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/charmbracelet/x/exp/teatest.NewTestModel.func2"))
}

// moment is when all made-up frames happen.
var moment = time.Date(2026, 11, 30, 9, 30, 0, 0, time.UTC)

// machine makes up frame n of a machine: card i of cards has the given number of chips. Figures move with n.
func machine(name string, cards, chips, n int) *Frame {
	at := moment.Add(time.Duration(n) * time.Second)
	f := &Frame{Seq: n + 1, Time: at, Sources: []Status{{Name: "npu-smi", Version: "25.5.1", State: Live, At: at, Took: 600 * time.Millisecond}}}
	f.Streams.Why = "npu-smi does not report streams; runs of npu do"
	f.Operators.Why = "npu-smi does not report operators; runs of npu do"
	for i := range cards * chips {
		wave := func(a, b, period float64) Value {
			return Num(math.Round(10*(a+b*math.Sin(float64(n)/period+float64(i)))) / 10)
		}
		card, chip := i/chips, i%chips
		d := Device{Source: "npu-smi", Index: i, NPU: card, Chip: Num(float64(chip)), Name: name, Health: "OK", UtilKind: "aicore",
			Bus: Text{S: fmt.Sprintf("0000:%02X:00.0", 0x81+i)}, Phy: Num(float64(i)), Logic: Unknown("this table has no logic id"),
			Temp: Num(math.Round(48 + 6*math.Sin(float64(n)/9+float64(i)))), Util: Num(math.Round(wave(52, 48, 5).N)),
			Power: wave(230, 90, 5), Memory: Pair{Num(0), Num(0)}, Hugepages: Pair{Num(0), Num(0)},
			HBM: Pair{Num(math.Round(wave(36000, 24000, 40).N)), Num(65536)}, Bandwidth: Unknown("not printed"), Faults: Unknown("npu-smi does not count faults")}
		if chip > 0 {
			d.Power = Unknown("the power of the package is printed with its first die")
		}
		if i%7 == 5 {
			d.Util = Num(0)
		}
		f.Devices = append(f.Devices, d)
		if i%3 != 2 {
			f.Processes.Rows = append(f.Processes.Rows, process(f, 4000+100*(i/2), d, d.HBM.Used.N*0.8))
		}
		if i == 1 {
			f.Processes.Rows = append(f.Processes.Rows, process(f, 3999, d, 122))
		}
	}
	f.Devices[min(3, len(f.Devices)-1)].Health = "Warning"
	if len(f.Devices) > 6 {
		f.Devices[6].Health = "Alarm"
	}
	f.Memory = shares(f.Devices, f.Processes)
	return f
}

func process(f *Frame, pid int, d Device, mem float64) Process {
	names := []string{"python3 -m vllm.entrypoints.api_server --model 通义千问-72B --tensor-parallel-size 8", "python train.py --epochs 90", "mindie_llm_backend_connector --config /etc/mindie.json"}
	p := Process{Source: "npu-smi", NPU: d.NPU, Chip: d.Chip, PID: pid, Name: "python3", Mem: Num(math.Round(mem)), Command: Text{S: names[pid/100%3]},
		User: Text{S: []string{"root", "lin", "maría"}[pid/100%3]}, HostMem: Num(2100 + float64(pid)), CPU: Num(float64(pid%97) + 3.5), Age: Num(float64(pid * 7)),
		ContainerPID: Unknown("not printed"), Streams: Unknown("npu-smi does not report streams")}
	if pid == 3999 {
		why := "the pid is not in this name space"
		p.Name, p.Command, p.User, p.HostMem, p.CPU, p.Age = "", Text{Why: why}, Text{Why: why}, Unknown(why), Unknown(why), Unknown(why)
	}
	return p
}

// simulator is a machine that knows everything: streams, operators, engines, faults.
func simulator(n int) *Frame {
	f := machine("Ascend910B3", 2, 1, n)
	f.Sources[0] = Status{Name: "simulator", State: Live, At: f.Time}
	f.Streams, f.Operators = List[Stream]{}, List[Operator]{}
	for i := range f.Devices {
		d := &f.Devices[i]
		d.Source, d.Bandwidth, d.Faults = "simulator", Num(61), Num(float64(i))
		for j, e := range []string{"cube", "vector", "dma0", "dma1"} {
			d.Engines = append(d.Engines, Engine{e, Num(float64(20*j + n%20))})
		}
		for j, s := range []string{"running", "waiting", "idle", "failed"} {
			f.Streams.Rows = append(f.Streams.Rows, Stream{Source: "simulator", NPU: i, Chip: Num(0), PID: 77, ID: j, State: s, Depth: Num(float64(j)), Tasks: Num(float64(n * j)), Priority: Num(0), Waits: waits(s)})
		}
		for j, o := range []string{"MatMulV2", "Conv2D", "LayerNorm", "TransData"} {
			f.Operators.Rows = append(f.Operators.Rows, Operator{Source: "simulator", NPU: i, Chip: Num(0), PID: 77, Type: o, Name: "encoder/layer_" + fmt.Sprint(j), Count: Num(float64(100 * (j + 1))), Total: Num(float64(9000 / (j + 1))), Mean: Num(90 / float64(j+1) / float64(j+1)), Share: Num(60 / float64(j+1))})
		}
	}
	for i := range f.Processes.Rows {
		f.Processes.Rows[i].Source, f.Processes.Rows[i].Streams = "simulator", Num(4)
	}
	f.Memory = shares(f.Devices, f.Processes)
	return f
}

// still is a source that stands still until the test moves it on.
type still struct {
	frames   []*Frame
	at       int
	watched  *Key
	interval time.Duration
}

func (s *still) Latest() *Frame                       { return s.frames[s.at] }
func (s *still) Next(_ context.Context, _ int) *Frame { return s.frames[s.at] }
func (s *still) Interval(d time.Duration)             { s.interval = d }
func (s *still) Watch(k *Key)                         { s.watched = k }
func (s *still) Close()                               {}

// screen is a model that has seen n frames of make, at a size, with a clock that stands still.
func screen(t testing.TB, profile theme.Profile, g theme.Glyphs, w, h, n int, frame func(int) *Frame) (*model, *still) {
	t.Helper()
	s := &still{}
	for i := range n {
		s.frames = append(s.frames, frame(i))
	}
	m := newModel(s, Screen{Theme: theme.New(profile, false, g), Interval: time.Second})
	m.now = func() time.Time { return moment.Add(time.Duration(n)*time.Second - 700*time.Millisecond) }
	for s.at = range s.frames {
		m.take()
	}
	m.w, m.h = w, h
	return m, s
}

func waits(state string) Text {
	if state == "waiting" {
		return Text{S: "event 12 of stream 0"}
	}
	return Text{Why: "it waits for nothing"}
}
