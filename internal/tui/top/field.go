package top

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
)

// field is one fact of a row: its key in JSON and CSV, with the unit in the name, and where it lies. ref returns a
// pointer to a Value, Text, Pair, string, int, []Engine or []Fact.
type field[T any] struct {
	key string
	ref func(*T) any
}

// The keys are a contract: additions only.
var (
	deviceFields = []field[Device]{
		{"source", func(d *Device) any { return &d.Source }},
		{"index", func(d *Device) any { return &d.Index }},
		{"npu", func(d *Device) any { return &d.NPU }},
		{"chip", func(d *Device) any { return &d.Chip }},
		{"phy", func(d *Device) any { return &d.Phy }},
		{"device", func(d *Device) any { return &d.Logic }},
		{"name", func(d *Device) any { return &d.Name }},
		{"health", func(d *Device) any { return &d.Health }},
		{"bus", func(d *Device) any { return &d.Bus }},
		{"power_w", func(d *Device) any { return &d.Power }},
		{"temp_c", func(d *Device) any { return &d.Temp }},
		{"util", func(d *Device) any { return &d.Util }},
		{"util_kind", func(d *Device) any { return &d.UtilKind }},
		{"mem_mb", func(d *Device) any { return &d.Memory }},
		{"hbm_mb", func(d *Device) any { return &d.HBM }},
		{"hugepages", func(d *Device) any { return &d.Hugepages }},
		{"hbm_bandwidth", func(d *Device) any { return &d.Bandwidth }},
		{"faults", func(d *Device) any { return &d.Faults }},
		{"engines", func(d *Device) any { return &d.Engines }},
		{"facts", func(d *Device) any { return &d.Facts }},
	}
	processFields = []field[Process]{
		{"source", func(p *Process) any { return &p.Source }},
		{"npu", func(p *Process) any { return &p.NPU }},
		{"chip", func(p *Process) any { return &p.Chip }},
		{"pid", func(p *Process) any { return &p.PID }},
		{"container_pid", func(p *Process) any { return &p.ContainerPID }},
		{"name", func(p *Process) any { return &p.Name }},
		{"user", func(p *Process) any { return &p.User }},
		{"mem_mb", func(p *Process) any { return &p.Mem }},
		{"host_mem_mb", func(p *Process) any { return &p.HostMem }},
		{"cpu", func(p *Process) any { return &p.CPU }},
		{"age_s", func(p *Process) any { return &p.Age }},
		{"streams", func(p *Process) any { return &p.Streams }},
		{"command", func(p *Process) any { return &p.Command }},
	}
	streamFields = []field[Stream]{
		{"source", func(s *Stream) any { return &s.Source }},
		{"npu", func(s *Stream) any { return &s.NPU }},
		{"chip", func(s *Stream) any { return &s.Chip }},
		{"pid", func(s *Stream) any { return &s.PID }},
		{"stream", func(s *Stream) any { return &s.ID }},
		{"state", func(s *Stream) any { return &s.State }},
		{"waits_for", func(s *Stream) any { return &s.Waits }},
		{"depth", func(s *Stream) any { return &s.Depth }},
		{"tasks", func(s *Stream) any { return &s.Tasks }},
		{"priority", func(s *Stream) any { return &s.Priority }},
	}
	memoryFields = []field[Memory]{
		{"source", func(m *Memory) any { return &m.Source }},
		{"npu", func(m *Memory) any { return &m.NPU }},
		{"chip", func(m *Memory) any { return &m.Chip }},
		{"owner", func(m *Memory) any { return &m.Owner }},
		{"pid", func(m *Memory) any { return &m.PID }},
		{"mem_mb", func(m *Memory) any { return &m.Size }},
		{"peak_mb", func(m *Memory) any { return &m.Peak }},
		{"blocks", func(m *Memory) any { return &m.Blocks }},
	}
	operatorFields = []field[Operator]{
		{"source", func(o *Operator) any { return &o.Source }},
		{"npu", func(o *Operator) any { return &o.NPU }},
		{"chip", func(o *Operator) any { return &o.Chip }},
		{"pid", func(o *Operator) any { return &o.PID }},
		{"type", func(o *Operator) any { return &o.Type }},
		{"count", func(o *Operator) any { return &o.Count }},
		{"total_us", func(o *Operator) any { return &o.Total }},
		{"mean_us", func(o *Operator) any { return &o.Mean }},
		{"share", func(o *Operator) any { return &o.Share }},
		{"name", func(o *Operator) any { return &o.Name }},
	}
)

// object writes a row as a JSON object; what is unknown is null with KEY_reason beside it.
func object[T any](b *bytes.Buffer, row *T, fields []field[T]) {
	b.WriteByte('{')
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		v, why := plainValue(f.ref(row))
		if f.key == "health" && v == "" {
			v, why = nil, "the source does not say"
		}
		jsonPair(b, f.key, v)
		if why != "" {
			b.WriteByte(',')
			jsonPair(b, f.key+"_reason", why)
		}
	}
	b.WriteByte('}')
}

func jsonPair(b *bytes.Buffer, key string, v any) {
	k, _ := json.Marshal(key) // a string always encodes
	b.Write(k)
	b.WriteByte(':')
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // plainValue gives only what encodes
	b.Truncate(b.Len() - 1)
}

// plainValue is what JSON shows of a field, and the reason where that is null.
func plainValue(ref any) (v any, why string) {
	switch r := ref.(type) {
	case *Value:
		if !r.Known || math.IsNaN(r.N) || math.IsInf(r.N, 0) {
			return nil, r.Why
		}
		return r.N, ""
	case *Text:
		if r.S == "" {
			return nil, r.Why
		}
		return r.S, ""
	case *Pair:
		used, w1 := plainValue(&r.Used)
		total, w2 := plainValue(&r.Total)
		if used == nil && total == nil {
			return nil, w2
		}
		return [2]any{used, total}, w1 + w2
	case *string:
		return *r, ""
	case *int:
		return *r, ""
	case *[]Engine:
		out := []any{}
		for _, e := range *r {
			u, why := plainValue(&e.Util)
			m := map[string]any{"name": e.Name, "util": u}
			if why != "" {
				m["util_reason"] = why
			}
			out = append(out, m)
		}
		return out, ""
	case *[]Fact:
		out := []any{}
		for _, f := range *r {
			out = append(out, map[string]any{"group": f.Group, "name": f.Name, "value": f.Value, "unit": f.Unit})
		}
		return out, ""
	}
	return fmt.Sprint(ref), ""
}

// setObject reads a row back. Keys that are missing become unknown; keys of later versions are skipped.
func setObject[T any](row *T, fields []field[T], obj map[string]json.RawMessage) error {
	for _, f := range fields {
		why := "the recording does not say"
		if w, ok := obj[f.key+"_reason"]; ok {
			if err := json.Unmarshal(w, &why); err != nil {
				return fmt.Errorf("%s_reason: %w", f.key, err)
			}
		}
		if err := setField(f.ref(row), obj[f.key], why); err != nil {
			return fmt.Errorf("%s: %w", f.key, err)
		}
	}
	return nil
}

func setField(ref any, raw json.RawMessage, why string) error {
	null := len(raw) == 0 || string(raw) == "null"
	switch r := ref.(type) {
	case *Value:
		if *r = Unknown(why); !null {
			*r = Value{Known: true}
			return json.Unmarshal(raw, &r.N)
		}
	case *Text:
		if *r = (Text{Why: why}); !null {
			*r = Text{}
			return json.Unmarshal(raw, &r.S)
		}
	case *Pair:
		*r = Pair{Unknown(why), Unknown(why)}
		var p []*float64
		if null {
			return nil
		}
		if err := json.Unmarshal(raw, &p); err != nil {
			return err
		}
		if len(p) != 2 {
			return fmt.Errorf("%d numbers, expected used and total", len(p))
		}
		for i, v := range []*Value{&r.Used, &r.Total} {
			if p[i] != nil {
				*v = Num(*p[i])
			}
		}
	case *[]Engine:
		var list []struct {
			Name   string
			Util   *float64
			Reason string `json:"util_reason"`
		}
		if null {
			return nil
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		for _, e := range list {
			v := Unknown(e.Reason)
			if e.Util != nil {
				v = Num(*e.Util)
			}
			*r = append(*r, Engine{e.Name, v})
		}
	default: // string, int, facts
		if !null {
			return json.Unmarshal(raw, ref)
		}
	}
	return nil
}
