package top

import (
	"fmt"
	"time"

	"npu/internal/smi"
)

// Saved makes frames of what somebody saved of npu-smi: of each table of "npu-smi info", or of each round of "npu-smi
// info watch". The texts hold no time: the last frame is of the given one, those before it a second apart. None means
// that the text is something else.
func Saved(text string, at time.Time) []*Frame {
	r := smi.ReadReport(text)
	var out []*Frame
	switch r.Kind {
	case smi.InfoReport:
		for _, t := range r.Tables {
			out = append(out, tableFrame(t))
		}
	case smi.WatchReport:
		for _, rows := range r.Watch.Rounds() {
			out = append(out, watchFrame(r.Watch, rows))
		}
	}
	for i, f := range out {
		f.Seq, f.Time = i+1, at.Add(time.Duration(i+1-len(out))*time.Second)
		f.Sources[0].At = f.Time
	}
	return out
}

func tableFrame(t *smi.Table) *Frame {
	r := smi.Reading{Table: t}
	f := &Frame{Sources: []Status{status(r)}, Notes: t.Notes, Devices: devices(r)}
	f.Sources[0].State = Live
	f.Streams.Why, f.Operators.Why = "npu-smi does not report streams; runs of npu do", "npu-smi does not report operators; runs of npu do"
	f.Processes = processes(t, func(p *Process) {
		why := "the table is a saved one: its processes are not of this machine"
		p.Command, p.User, p.HostMem, p.CPU, p.Age = Text{Why: why}, Text{Why: why}, Unknown(why), Unknown(why), Unknown(why)
	})
	f.Memory = shares(f.Devices, f.Processes)
	return f
}

// watchFrame is one round of samples.
func watchFrame(w *smi.Watch, rows [][]smi.Value) *Frame {
	f := &Frame{Sources: []Status{{Name: smiName, State: Live}}, Notes: w.Notes}
	why := "npu-smi info watch does not report it"
	f.Processes.Why, f.Memory.Why, f.Streams.Why, f.Operators.Why = why, why, why, why
	for i, row := range rows {
		get := func(title string) Value {
			if c := w.Column(title); c >= 0 {
				return Value(row[c])
			}
			return Unknown(why)
		}
		d := Device{Source: smiName, Index: i, NPU: int(get("NpuID").N), Chip: get("ChipId"), Phy: Unknown(why), Logic: Unknown(why),
			Bus: Text{Why: why}, Power: get("Pwr"), Temp: get("Temp"), Util: get("AI Core"), UtilKind: "aicore", Bandwidth: get("Memory BW"),
			Memory: Pair{Unknown(why), Unknown(why)}, HBM: Pair{Unknown(why), Unknown(why)}, Hugepages: Pair{Unknown(why), Unknown(why)},
			Faults: Unknown("npu-smi does not count faults"), Facts: []Fact{}}
		for c, t := range w.Titles {
			if v := row[c]; v.Known && t.Unit == "%" {
				d.Facts = append(d.Facts, Fact{Group: "device", Name: t.Name, Value: fmt.Sprint(v.N), Unit: t.Unit})
			}
		}
		f.Devices = append(f.Devices, d)
	}
	return f
}
