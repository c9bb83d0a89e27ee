package profcomm

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"npu/internal/problem"
	"npu/internal/trace"
)

func parsed(s string) (*trace.Trace, error) { return Read(context.Background(), strings.NewReader(s)) }

const timeInfo = `"Communication Time Info": {"Start Timestamp(us)": 1736408883732241.5, "Elapse Time(ms)": 79.08952021875, "Transit Time(ms)": 0.2, "Wait Time(ms)": 5, "Synchronization Time(ms)": 4, "Idle Time(ms)": 1, "Wait Time Ratio": 0.9594, "Synchronization Time Ratio": 0.9}`

const bandwidth = `"Communication Bandwidth Info": {"RDMA": {"Transit Size(MB)": 0, "Transit Time(ms)": 0, "Bandwidth(GB/s)": 0, "Large Packet Ratio": 0, "Size Distribution": {}}, "HCCS": {"Transit Size(MB)": 28.647232000000002, "Transit Time(ms)": 1.8, "Bandwidth(GB/s)": 15.7, "Large Packet Ratio": 0.5, "Size Distribution": {"2.064384": [12, 1.578891625]}}}`

func TestRead_rank(t *testing.T) {
	tr, err := parsed("\ufeff" + `{"step50": {"p2p": {}, "collective": {"hcom_allReduce__586_0_1@17522688603477080586": {` + timeInfo + `,` + bandwidth + `}, "Total Op Info": {` + timeInfo + `}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	ops := tr.Source.Sheet("communication")
	if ops.Rows != 2 || ops.Column("op").Text[0] != "hcom_allReduce__586_0_1" || ops.Column("group_name").Text[0] != "17522688603477080586" || ops.Column("step").Text[0] != "step50" ||
		ops.Column("type").Text[0] != "collective" || ops.Column("start_ns").Int[0] != 1736408883732241500 || ops.Column("elapse_ns").Int[0] != 79089520 || ops.Column("op").Text[1] != "Total Op Info" {
		t.Errorf("%+v", ops)
	}
	b := tr.Source.Sheet("communication_bandwidth")
	if b.Rows != 1 || b.Column("transport").Text[0] != "HCCS" || b.Column("size_bytes").Int[0] != 28647232 || b.Column("bandwidth_gb_s").Float[0] != 15.7 {
		t.Errorf("%+v", b)
	}
	s := tr.Source.Sheet("communication_sizes")
	if s.Rows != 1 || s.Column("packet_bytes").Int[0] != 2064384 || s.Column("count").Int[0] != 12 || s.Column("total_ns").Int[0] != 1578892 {
		t.Errorf("%+v", s)
	}
}

func TestRead_cluster(t *testing.T) {
	tr, err := parsed(`{"(0, 1)": {"step": {"hcom_broadcast__501_0@6": {"0": {` + timeInfo + `}, "1": {` + timeInfo + `}}}}}`)
	ops := tr.Source.Sheet("communication")
	if err != nil || tr.Source.Ranks != 2 || fmt.Sprint(ops.Column("rank").Int) != "[0 1]" || ops.Column("ranks").Text[0] != "(0, 1)" {
		t.Errorf("%v, %+v", err, ops)
	}
	tr, err = parsed(`{"p2p": {"step2": {"hcom_send__822_0@13": {"0-8": {"Transport Type": "RDMA", "Transit Time(ms)": 0.86381540625, "Transit Size(MB)": 20.97152, "Bandwidth(GB/s)": 24.2778}, "x-y": {"Transport Type": "RDMA", "Transit Size(MB)": 1}}}}}`)
	m := tr.Source.Sheet("communication_matrix")
	if err != nil || m.Rows != 1 || m.Column("src").Int[0] != 0 || m.Column("dst").Int[0] != 8 || m.Column("size_bytes").Int[0] != 20971520 || tr.Source.BadRecords != 1 {
		t.Errorf("%v, %+v", err, m)
	}
	tr, err = parsed(`{"collective": [[0, 1], [2]], "p2p": [[0, 2]]}`)
	g := tr.Source.Sheet("communication_group")
	if err != nil || fmt.Sprint(g.Column("type").Text, g.Column("ranks").Text) != "[collective collective p2p] [0,1 2 0,2]" {
		t.Errorf("%v, %+v", err, g)
	}
	if tr, err := parsed(`{"step1": {"p2p": {}, "collective": {}}}`); err != nil || len(tr.Source.Sheets) != 0 {
		t.Errorf("a step without communication: %v", err)
	}
}

func TestRead_damage(t *testing.T) {
	tr, err := parsed(`{"step50": {"collective": {"a@1": {` + timeInfo + `}, "b@1": {"Communication Ti`)
	if tr == nil || tr.Source.Sheet("communication").Rows != 1 || problem.ClassOf(err) != problem.Damaged || !strings.Contains(err.Error(), "at offset") {
		t.Errorf("%v, %v", tr, err)
	}
	for _, s := range []string{"", "[]", "{}", `{"a":1}`, strings.Repeat(`{"p2p":`, 40), `{"p2p":` + strings.Repeat("[", 40)} {
		if tr, err := parsed(s); tr != nil || problem.ClassOf(err) != problem.Damaged {
			t.Errorf("%.20q: %v, %v", s, tr, err)
		}
	}
}

func TestSniff(t *testing.T) {
	for s, want := range map[string]bool{
		`{"step50": {"p2p": {}`: true, ` {"a": {"Communication Time Info"`: true, `{"traceEvents": [{"name": "p2p", "collective": 1`: false, `[{"p2p"`: false, `{"a": 1}`: false,
	} {
		if Sniff(s) != want {
			t.Errorf("%q: %v", s, !want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"step50": {"collective": {"a@1": {` + timeInfo + `,` + bandwidth + `}}}}`)
	f.Add(`{"p2p": {"s": {"a": {"0-8": {"Transport Type": "", "Transit Size(MB)": 1e300}}}}}`)
	f.Add(`{"collective": [[0, {"a": [1]}]]`)
	f.Fuzz(func(t *testing.T, s string) {
		tr, _ := parsed(s)
		if tr == nil {
			return
		}
		for i := range tr.Source.Sheets {
			if tr.Source.Sheets[i].Rows > len(s) {
				t.Errorf("%d rows of %d bytes", tr.Source.Sheets[i].Rows, len(s))
			}
		}
	})
}
