package top

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"npu/internal/outfile"
	"npu/internal/tui/svg"
	"npu/internal/tui/theme"
	"npu/internal/tui/widget"
)

// shown is the frame with the rows that the panels show, in their order.
func (m *model) shown() *Frame {
	f, p := *m.frame, &m.panels
	f.Devices = values(pickDevices(f.Devices, p[PanelDevices].filter, p[PanelDevices].sort))
	f.Processes.Rows = values(pickProcesses(f.Processes.Rows, p[PanelProcesses].filter, p[PanelProcesses].sort))
	f.Streams.Rows = values(pick(f.Streams.Rows, streamFields, p[PanelStreams].filter, p[PanelStreams].sort))
	f.Memory.Rows = values(pick(f.Memory.Rows, memoryFields, p[PanelMemory].filter, p[PanelMemory].sort))
	f.Operators.Rows = values(pick(f.Operators.Rows, operatorFields, p[PanelOperators].filter, p[PanelOperators].sort))
	return &f
}

// export writes what is on the screen: the facts as .json, the rows of the active panel as .csv, or a picture. A file
// that exists is left alone.
func (m *model) export(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s exists already; it was left alone", path)
	}
	var write func(io.Writer) error
	switch strings.ToLower(filepath.Ext(path)) {
	case ".json":
		write = func(w io.Writer) error {
			var b bytes.Buffer
			if err := json.Indent(&b, MarshalFrame(m.shown(), m.now()), "", "  "); err != nil {
				return err
			}
			b.WriteByte('\n')
			_, err := w.Write(b.Bytes())
			return err
		}
	case ".csv":
		write = func(w io.Writer) error { return NewCSV(w, m.active).Write(m.shown()) }
	case ".svg", ".ansi", ".txt":
		write = m.picture(filepath.Ext(path))
	default:
		return fmt.Errorf("export %s: the suffix says what: .csv, .json, .svg, .ansi or .txt", path)
	}
	if err := outfile.Write(path, write); err != nil {
		return err
	}
	m.say("wrote " + path)
	return nil
}

// picture is the screen as it is seen without prompt and message, in the form of a suffix.
func (m *model) picture(suffix string) func(io.Writer) error {
	m.message = ""
	m.draw()
	th := m.th
	if suffix == ".txt" {
		th = theme.New(theme.None, m.th.Light, m.th.Glyphs)
	}
	text := m.buf.String(th)
	if suffix == ".svg" {
		return func(w io.Writer) error { return svg.Write(w, text, svg.Options{Light: m.th.Light, Title: "npu top"}) }
	}
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text+"\n")
		return err
	}
}

// fresh is a file name that does not exist yet: npu-top-WHAT-TIME.SUFFIX.
func (m *model) fresh(what, suffix string) string {
	base := "npu-top-" + what + m.now().Format("20060102-150405")
	for i, name := 2, base+suffix; ; i++ {
		if _, err := os.Lstat(name); os.IsNotExist(err) {
			return name
		}
		name = fmt.Sprintf("%s-%d%s", base, i, suffix)
	}
}

// copied puts the selected row's name, or the whole row, into the clipboard of the terminal.
func (m *model) copied(whole bool) {
	name, row := m.selectedText()
	if name == "" {
		m.say("nothing is selected")
		return
	}
	if whole {
		name = row
	}
	m.clip = widget.Clip(name)
	m.say("copied: " + name)
}

// selectedText is what the selected row of the active panel is called, and all that is known of it as KEY=VALUE.
func (m *model) selectedText() (name, row string) {
	p := &m.panels[m.active]
	switch m.active {
	case PanelDevices:
		if d := m.selectedDevice(); d != nil {
			return namesOf(m.frame.Devices).device(d), rowText(d, deviceFields)
		}
	case PanelProcesses:
		if rows := m.selectedProcesses(); len(rows) > 0 {
			return fmt.Sprint(rows[0].PID), rowText(rows[0], processFields)
		}
	case PanelStreams:
		return textOf(m.frame.Streams.Rows, p.sel, streamID, streamFields, func(s *Stream) string { return fmt.Sprint(s.ID) })
	case PanelMemory:
		id := func(r *Memory) string { return (&memoryRow{Memory: r}).id() }
		if name, row = textOf(m.frame.Memory.Rows, p.sel, id, memoryFields, func(r *Memory) string { return r.Owner }); name != "" {
			return name, row
		}
		for i := range m.frame.Devices { // the row of a whole device
			if d := &m.frame.Devices[i]; fmt.Sprint(d.Key()) == p.sel {
				return namesOf(m.frame.Devices).device(d), rowText(d, deviceFields)
			}
		}
	case PanelOperators:
		return textOf(m.frame.Operators.Rows, p.sel, operatorID, operatorFields, func(o *Operator) string { return o.Type })
	}
	return "", ""
}

func textOf[T any](rows []T, sel string, id func(*T) string, fields []field[T], name func(*T) string) (string, string) {
	for i := range rows {
		if id(&rows[i]) == sel {
			return name(&rows[i]), rowText(&rows[i], fields)
		}
	}
	return "", ""
}

// rowText is the known fields of a row.
func rowText[T any](r *T, fields []field[T]) string {
	var out []string
	for _, f := range fields {
		ref := f.ref(r)
		switch ref.(type) {
		case *[]Engine, *[]Fact:
			continue
		}
		v, _ := plainValue(ref)
		if pair, ok := v.([2]any); ok {
			v = fmt.Sprintf("%v/%v", pair[0], pair[1])
		}
		if v != nil && v != "" {
			out = append(out, fmt.Sprintf("%s=%v", f.key, v))
		}
	}
	return strings.Join(out, "\t")
}
