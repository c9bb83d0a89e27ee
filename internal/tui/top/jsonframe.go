package top

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// schema names the form of a frame in JSON. Additions keep it; anything else makes a /2.
const schema = "npu.top/1"

// MarshalFrame writes a frame as one line of JSON, without the newline. A recording is such lines.
func MarshalFrame(f *Frame, now time.Time) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	jsonPair(&b, "schema", schema)
	b.WriteByte(',')
	jsonPair(&b, "time", f.Time.UTC().Format(time.RFC3339Nano))
	b.WriteByte(',')
	names := ""
	for i, s := range f.Sources {
		if i > 0 {
			names += "+"
		}
		names += s.Name
	}
	jsonPair(&b, "source", names)
	b.WriteByte(',')
	if at := f.At(); at.IsZero() {
		jsonPair(&b, "age_ms", nil)
		b.WriteByte(',')
		jsonPair(&b, "age_ms_reason", "there are no figures yet")
	} else {
		jsonPair(&b, "age_ms", max(0, now.Sub(at).Milliseconds()))
	}
	b.WriteByte(',')
	jsonPair(&b, "sources", jsonStatus(f.Sources, now))
	rows(&b, "devices", f.Devices, "", deviceFields)
	rows(&b, "processes", f.Processes.Rows, f.Processes.Why, processFields)
	rows(&b, "streams", f.Streams.Rows, f.Streams.Why, streamFields)
	rows(&b, "memory", f.Memory.Rows, f.Memory.Why, memoryFields)
	rows(&b, "operators", f.Operators.Rows, f.Operators.Why, operatorFields)
	if len(f.Notes) > 0 {
		b.WriteByte(',')
		jsonPair(&b, "notes", f.Notes)
	}
	b.WriteByte('}')
	return b.Bytes()
}

func rows[T any](b *bytes.Buffer, key string, list []T, why string, fields []field[T]) {
	fmt.Fprintf(b, ",%q:", key)
	if why != "" {
		b.WriteString("null,")
		jsonPair(b, key+"_reason", why)
		return
	}
	b.WriteByte('[')
	for i := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		object(b, &list[i], fields)
	}
	b.WriteByte(']')
}

// statusJSON is a Status in JSON.
type statusJSON struct {
	Name    string   `json:"name"`
	Version string   `json:"version,omitempty"`
	State   State    `json:"state"`
	AgeMS   *int64   `json:"age_ms"`
	TookMS  *int64   `json:"took_ms,omitempty"`
	Says    string   `json:"says,omitempty"`
	Text    string   `json:"text,omitempty"`
	Found   []string `json:"found,omitempty"`
	Try     []string `json:"try,omitempty"`
}

func jsonStatus(list []Status, now time.Time) []statusJSON {
	out := []statusJSON{}
	for _, s := range list {
		j := statusJSON{Name: s.Name, Version: s.Version, State: s.State, Says: s.Says, Text: s.Text, Found: s.Found, Try: s.Try}
		if !s.At.IsZero() {
			age, took := max(0, now.Sub(s.At).Milliseconds()), s.Took.Milliseconds()
			j.AgeMS, j.TookMS = &age, &took
		}
		out = append(out, j)
	}
	return out
}

// frameJSON is what UnmarshalFrame reads besides the rows.
type frameJSON struct {
	Schema          string
	Time            time.Time
	Sources         []statusJSON
	Devices         []map[string]json.RawMessage
	Processes       []map[string]json.RawMessage
	Streams         []map[string]json.RawMessage
	Memory          []map[string]json.RawMessage
	Operators       []map[string]json.RawMessage
	ProcessesReason string `json:"processes_reason"`
	StreamsReason   string `json:"streams_reason"`
	MemoryReason    string `json:"memory_reason"`
	OperatorsReason string `json:"operators_reason"`
	Notes           []string
}

// UnmarshalFrame reads what MarshalFrame wrote.
func UnmarshalFrame(line []byte) (*Frame, error) {
	var j frameJSON
	if err := json.Unmarshal(line, &j); err != nil {
		return nil, err
	}
	if j.Schema != schema {
		return nil, fmt.Errorf("schema %.40q, expected %q", j.Schema, schema)
	}
	f := &Frame{Time: j.Time, Notes: j.Notes}
	for _, s := range j.Sources {
		o := Status{Name: s.Name, Version: s.Version, State: s.State, Says: s.Says, Text: s.Text, Found: s.Found, Try: s.Try}
		if s.AgeMS != nil {
			o.At = j.Time.Add(-time.Duration(*s.AgeMS) * time.Millisecond)
		}
		if s.TookMS != nil {
			o.Took = time.Duration(*s.TookMS) * time.Millisecond
		}
		f.Sources = append(f.Sources, o)
	}
	devices, err := list("devices", j.Devices, "", deviceFields)
	if err != nil {
		return nil, err
	}
	f.Devices = devices.Rows
	if f.Processes, err = list("processes", j.Processes, j.ProcessesReason, processFields); err != nil {
		return nil, err
	}
	if f.Streams, err = list("streams", j.Streams, j.StreamsReason, streamFields); err != nil {
		return nil, err
	}
	if f.Memory, err = list("memory", j.Memory, j.MemoryReason, memoryFields); err != nil {
		return nil, err
	}
	f.Operators, err = list("operators", j.Operators, j.OperatorsReason, operatorFields)
	return f, err
}

func list[T any](key string, objs []map[string]json.RawMessage, why string, fields []field[T]) (List[T], error) {
	out := List[T]{Why: why}
	if objs == nil && why == "" {
		out.Why = "the recording does not say"
	}
	for i, o := range objs {
		var row T
		if err := setObject(&row, fields, o); err != nil {
			return out, fmt.Errorf("%s[%d].%w", key, i, err)
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}
