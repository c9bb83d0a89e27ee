package runtime

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"npu/internal/sim"
	"npu/internal/trace"
)

// dumpLane is a stream of a model in a dump: its nodes with their names, in order.
type dumpLane struct {
	lane  *lane
	tasks []dumpTask
}

type dumpTask struct {
	node *node
	pos  int
	name string
}

// describe collects what dumps show, bodies of conditions behind the model's own streams.
func (th *Thread) describe(m *Model) (lanes []dumpLane, err error) {
	if m == nil {
		return nil, th.fail(ACLInvalidParam, "aclmdlRIDebugJsonPrint", "model is null", "")
	}
	var all []*lane
	var walk func(*Model)
	walk = func(m *Model) {
		all = append(all, m.lanes...)
		for _, b := range m.bodies {
			walk(b)
		}
	}
	walk(m)
	err = th.port.Call(func() {
		names := th.rt.strings.StringTable()
		for _, l := range all {
			d := dumpLane{lane: l}
			for i := range l.nodes {
				n := &l.nodes[i]
				if n.task.Kind == trace.KindNone {
					continue
				}
				id := n.task.Name
				if n.task.Kind.Kernel() {
					id = th.rt.machine.NameOf(n.task.Func)
				}
				name := n.task.Kind.String()
				if int(id) < len(names) && names[id] != "" {
					name = names[id]
				}
				d.tasks = append(d.tasks, dumpTask{n, i, name})
			}
			lanes = append(lanes, d)
		}
	})
	return lanes, th.blocked("aclmdlRIDebugJsonPrint", nil, err)
}

// WriteModelJSON writes the model's streams and tasks in the form that chrome://tracing and Perfetto open: a stream is a
// thread, a task is a slice of one unit at its place in the stream, waits between streams are flows
// (aclmdlRIDebugJsonPrint).
func (th *Thread) WriteModelJSON(m *Model, w io.Writer) error {
	lanes, err := th.describe(m)
	if err != nil {
		return err
	}
	type event struct {
		Name string         `json:"name"`
		Cat  string         `json:"cat,omitempty"`
		Ph   string         `json:"ph"`
		Ts   int            `json:"ts"`
		Dur  int            `json:"dur,omitempty"`
		Pid  int            `json:"pid"`
		Tid  int            `json:"tid"`
		ID   int            `json:"id,omitempty"`
		BP   string         `json:"bp,omitempty"`
		Args map[string]any `json:"args,omitempty"`
	}
	events := []event{{Name: "process_name", Ph: "M", Args: map[string]any{"name": m.name}}}
	var flows []event
	for _, d := range lanes {
		events = append(events, event{Name: "thread_name", Ph: "M", Tid: d.lane.at, Args: map[string]any{"name": d.lane.title()}})
	}
	for _, d := range lanes {
		for _, x := range d.tasks {
			a := map[string]any{"stream": d.lane.at, "task": x.pos, "type": x.node.task.Kind.String()}
			switch {
			case x.node.task.Kind.Kernel():
				a["arguments"] = hex(x.node.args)
			case x.node.task.Kind == trace.Memcpy:
				a["bytes"] = x.node.task.C
			}
			events = append(events, event{Name: x.name, Cat: x.node.task.Kind.String(), Ph: "X", Ts: x.pos, Dur: 1, Tid: d.lane.at, Args: a})
		}
	}
	for _, d := range lanes {
		eachOrder(d.lane, func(from *lane, pos, at, n int) {
			flows = append(flows, event{Name: "notify", Ph: "s", Ts: max(0, pos-1), Tid: from.at, ID: n + 1},
				event{Name: "notify", Ph: "f", BP: "e", Ts: at, Tid: d.lane.at, ID: n + 1})
		})
	}
	e := json.NewEncoder(w)
	return e.Encode(map[string]any{"traceEvents": append(events, flows...)})
}

func hex(words []uint64) []string {
	out := make([]string, len(words))
	for i, x := range words {
		out[i] = fmt.Sprintf("0x%x", x)
	}
	return out
}

func (l *lane) title() string {
	switch {
	case l.m.parent != nil:
		return fmt.Sprintf("%s, stream %d", l.m.name, l.index)
	case l.stream != nil:
		return fmt.Sprintf("stream %d", l.stream.id)
	}
	return fmt.Sprintf("stream %d of the model", l.index)
}

// eachOrder calls f for each wait of the lane: the lane and position of the record, the node that waits, the notify.
func eachOrder(l *lane, f func(from *lane, pos, at, notify int)) {
	for i := range l.nodes {
		for _, n := range l.nodes[i].waits {
			for _, o := range l.m.lanes {
				for _, k := range o.marks {
					for _, x := range k.notifies {
						if x == n {
							f(o, k.pos, i, n)
						}
					}
				}
			}
		}
	}
}

// WriteModelDOT writes the model as a graph of Graphviz: a cluster a stream, solid edges within it, dashed ones for the
// waits between streams, for activations and for the bodies of conditions.
func (th *Thread) WriteModelDOT(m *Model, w io.Writer) error {
	lanes, err := th.describe(m)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "digraph %q {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n", m.name)
	for _, d := range lanes {
		fmt.Fprintf(b, "  subgraph cluster_%d {\n    label=%q;\n", d.lane.at, d.lane.title())
		for i, x := range d.tasks {
			fmt.Fprintf(b, "    t%d_%d [label=%q];\n", d.lane.at, x.pos, x.name)
			if i > 0 {
				fmt.Fprintf(b, "    t%d_%d -> t%d_%d;\n", d.lane.at, d.tasks[i-1].pos, d.lane.at, x.pos)
			}
		}
		fmt.Fprintf(b, "  }\n")
	}
	// at finds the task of a lane next to a position, for edges that begin or end at a place without a task.
	at := func(l *lane, pos, step int) (int, bool) {
		for ; pos >= 0 && pos < len(l.nodes); pos += step {
			if l.nodes[pos].task.Kind != trace.KindNone {
				return pos, true
			}
		}
		return 0, false
	}
	for _, d := range lanes {
		eachOrder(d.lane, func(from *lane, pos, to, n int) {
			p, ok1 := at(from, pos-1, -1)
			q, ok2 := at(d.lane, to, 1)
			if ok1 && ok2 {
				fmt.Fprintf(b, "  t%d_%d -> t%d_%d [style=dashed];\n", from.at, p, d.lane.at, q)
			}
		})
		for _, x := range d.tasks {
			var to []*lane
			if x.node.to != nil {
				to = append(to, x.node.to)
			}
			if c := x.node.cond; c != nil {
				for _, body := range c.bodies {
					to = append(to, body.lanes...)
				}
			}
			for _, l := range to {
				if q, ok := at(l, 0, 1); ok {
					fmt.Fprintf(b, "  t%d_%d -> t%d_%d [style=dashed, label=%q];\n", d.lane.at, x.pos, l.at, q, edge(x.node))
				}
			}
		}
	}
	fmt.Fprintln(b, "}")
	return b.Flush()
}

// edge names what starts another stream.
func edge(n *node) string {
	switch {
	case n.cond == nil:
		return "starts"
	case n.cond.kind == sim.ChooseLoop:
		return "while"
	case n.cond.kind == sim.ChooseSwitch:
		return "switch"
	}
	return "if"
}
