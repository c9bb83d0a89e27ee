package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"npu/internal/problem"
	"npu/internal/smi"
	"npu/internal/tui/top"
)

// maxSMI bounds what is read of a text that may be of npu-smi.
const maxSMI = 256 << 20

// inspectSMI shows a saved output of npu-smi; false if the file is none.
func inspectSMI(o *inspectOptions) (bool, error) {
	f, err := os.Open(o.file)
	if err != nil {
		return false, nil // whoever looked before has read it
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSMI))
	if err != nil {
		return false, nil
	}
	st, err := f.Stat()
	if err != nil {
		return false, nil
	}
	all := smi.ReadReports(string(b))
	if len(all) == 0 {
		return false, nil
	}
	if o.json {
		out := smiObject(all[0], string(b), st.ModTime())
		if len(all) > 1 {
			also := []any{}
			for _, r := range all[1:] {
				also = append(also, smiObject(r, string(b), st.ModTime()))
			}
			out["also"] = also
		}
		err = o.printJSON(out)
	} else {
		for i, r := range all {
			if i > 0 {
				fmt.Fprintln(o.out)
			}
			if err = o.smiText(r, string(b), st.ModTime()); err != nil {
				return true, err
			}
		}
	}
	if err == nil {
		err = unread(o.file, all[0])
	}
	return true, err
}

// unread is the error of lines that could not be read.
func unread(file string, r smi.Report) error {
	var notes []string
	for _, t := range r.Tables {
		for _, n := range t.Notes {
			if !strings.HasPrefix(n, "[WARNING]") {
				notes = append(notes, n)
			}
		}
	}
	if r.Watch != nil {
		notes = append(notes, r.Watch.Notes...)
	}
	if len(notes) == 0 {
		return nil
	}
	return problem.Damagedf("%s: %s could not be read: %s", file, count(int64(len(notes)), "line"), notes[0])
}

func (o *inspectOptions) smiText(r smi.Report, text string, at time.Time) error {
	fmt.Fprintf(o.out, "%s: output of npu-smi", o.file)
	if r.Kind != smi.ErrorReport {
		fmt.Fprintf(o.out, " %s", strings.Replace(r.Kind, "info topo", "info -t topo", 1))
	}
	fmt.Fprintln(o.out)
	w := tabwriter.NewWriter(o.out, 0, 8, 2, ' ', 0)
	switch r.Kind {
	case smi.InfoReport, smi.WatchReport:
		frames := top.Saved(text, at)
		if n := len(frames); n > 1 {
			fmt.Fprintf(o.out, "%d frames, the last one here; all of them: npu top --replay %s\n", n, o.file)
		}
		fmt.Fprintln(o.out)
		last := frames[len(frames)-1]
		return top.PrintTable(o.out, last, last.Time)
	case smi.MapReport:
		fmt.Fprintln(w, "NPU\tCHIP\tLOGIC\tPHY\tNAME")
		for _, m := range r.Map {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", figure(m.NPU), figure(m.Chip), figure(m.Logic), figure(m.Phy), m.Name)
		}
	case smi.TopoReport:
		fmt.Fprintf(w, "\t%s\tCPUS\n", strings.Join(r.Peers, "\t"))
		for _, l := range r.Links {
			fmt.Fprintf(w, "%s\t%s\t%s\n", l.Device, strings.Join(l.To, "\t"), cmp.Or(l.CPUs, "-"))
		}
	case smi.ErrorReport:
		fmt.Fprintf(w, "  it says\t%s\n  that is\t%s\n", cmp.Or(r.Fault.Text, "nothing of an error"), r.Fault.Says)
		for _, t := range r.Fault.Try {
			fmt.Fprintf(w, "  try\t%s\n", t)
		}
	default:
		for _, b := range r.Blocks {
			switch {
			case b.Chip == "mcu":
				fmt.Fprintln(w, "controller of the card")
			case b.Chip != "":
				fmt.Fprintf(w, "chip %s\n", b.Chip)
			}
			for _, f := range b.Fields {
				fmt.Fprintf(w, "  %s\t%s\n", f.Key, strings.TrimSpace(f.Value+" "+f.Unit))
			}
		}
		for _, p := range r.Processes {
			fmt.Fprintf(w, "  process %d %s\t%s MB on chip %s\n", p.PID, cmp.Or(p.Name, "(name unknown)"), figure(p.Memory), figure(p.Chip))
		}
	}
	return w.Flush()
}

func figure(v smi.Value) string {
	if !v.Known {
		return "-"
	}
	return fmt.Sprint(v.N)
}

type object = map[string]any

// smiObject is the same for JSON: the keys of npu top for devices, null for what is unknown.
func smiObject(r smi.Report, text string, at time.Time) object {
	out := object{"kind": "npu-smi", "command": r.Kind}
	value := func(v smi.Value) any {
		if !v.Known {
			return nil
		}
		return v.N
	}
	list := []any{} // printed as [], never as null
	switch r.Kind {
	case smi.InfoReport, smi.WatchReport:
		for _, f := range top.Saved(text, at) {
			list = append(list, json.RawMessage(top.MarshalFrame(f, f.Time)))
		}
		out["frames"] = list
	case smi.MapReport:
		for _, m := range r.Map {
			list = append(list, object{"npu": value(m.NPU), "chip": value(m.Chip), "device": value(m.Logic), "phy": value(m.Phy), "name": m.Name})
		}
		out["devices"] = list
	case smi.TopoReport:
		for _, l := range r.Links {
			to := object{}
			for i, p := range r.Peers {
				to[p] = l.To[i]
			}
			list = append(list, object{"device": l.Device, "to": to, "cpus": l.CPUs})
		}
		out["links"] = list
	case smi.ErrorReport:
		out["says"], out["text"], out["try"] = r.Fault.Says, r.Fault.Text, r.Fault.Try
	default:
		for _, b := range r.Blocks {
			fields := []any{}
			for _, f := range b.Fields {
				fields = append(fields, object{"name": f.Key, "unit": f.Unit, "value": f.Value})
			}
			list = append(list, object{"chip": b.Chip, "fields": fields})
		}
		out["blocks"] = list
		procs := []any{}
		for _, p := range r.Processes {
			procs = append(procs, object{"pid": p.PID, "name": p.Name, "mem_mb": value(p.Memory), "chip": value(p.Chip)})
		}
		out["processes"] = procs
	}
	return out
}
