package model

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"npu/internal/model/onnx"
	"npu/internal/problem"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// A network in two parts, one a device: what the first sends is what the second one works on.
func TestWorld_stages(t *testing.T) {
	paths := stages(t, 7, 7)
	in, v := wholes(t, 1, tensor.Float32, tensor.Shape{2, 3})
	for _, mode := range []Mode{Sunk, Eager} {
		for _, om := range []bool{false, true} {
			var models []*Model
			for _, p := range paths {
				if om {
					p = compiled(t, p, CompileOptions{})
				}
				models = append(models, opened(t, p))
			}
			res, err := RunRanks(context.Background(), models, RunOptions{Chip: chip(t), Mode: mode, Iterations: 3, RankInputs: in})
			okAll(t, err)
			for i, x := range tensor.View[float32](res.Outputs[0].Data) {
				if want := -max(v[0][i], 0); float64(x) != want {
					t.Fatalf("%s: element %d is %v, want %v", mode, i, x, want)
				}
			}
		}
	}
}

// stages are a model that sends and receives, and one that receives and sends; the tags are those of the way there.
func stages(t testing.TB, sends, receives int64) []string {
	t.Helper()
	return []string{written(t, "first", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "2,3")
		b.Output("back", tensor.Float32, "2,3")
		b.Node("Relu", "x", "h", nil)
		b.Node("npu.HcomSend", "h", "", kernels.Attrs{"dest_rank": int64(1), "sr_tag": sends})
		b.Node("npu.HcomReceive", "", "back", kernels.Attrs{"src_rank": int64(1), "shape": []int64{2, 3}, "dtype": int64(1)})
	}), written(t, "second", func(b *onnx.Builder) {
		b.Output("y", tensor.Float32, "2,3")
		b.Node("npu.HcomReceive", "", "h", kernels.Attrs{"src_rank": int64(0), "sr_tag": receives, "shape": []int64{2, 3}, "dtype": "float32"})
		b.Node("Neg", "h", "y", nil)
		b.Node("npu.HcomSend", "y", "", kernels.Attrs{"dest_rank": int64(0)})
	})}
}

// What cannot work is refused before anything runs, with the ranks and nodes that do not fit.
func TestWorld_refused(t *testing.T) {
	one := func(op string, in, out string, a kernels.Attrs) func(t *testing.T) string {
		return func(t *testing.T) string {
			return written(t, "m", func(b *onnx.Builder) {
				b.Input("x", tensor.Float32, "4,3")
				b.Output("y", tensor.Float32, "4,3")
				b.Node("npu."+op, in, out, a)
				if out == "" {
					b.Node("Neg", "x", "y", nil)
				}
			})
		}
	}
	reduce := one("HcomAllReduce", "x", "y", kernels.Attrs{"reduction": "sum"})
	for _, c := range []struct {
		name   string
		models []func(t *testing.T) string
		want   string
		class  problem.Class
	}{
		{"alone", []func(*testing.T) string{reduce}, "--devices", problem.Usage},
		{"other root", []func(*testing.T) string{one("HcomBroadcast", "x", "y", kernels.Attrs{"root_rank": int64(0)}), one("HcomBroadcast", "x", "y", kernels.Attrs{"root_rank": int64(1)})}, "for ever", problem.Usage},
		{"root beyond", []func(*testing.T) string{one("HcomBroadcast", "x", "y", kernels.Attrs{"root_rank": int64(2)}), one("HcomBroadcast", "x", "y", kernels.Attrs{"root_rank": int64(2)})}, "rank 2 of 2", problem.Usage},
		{"to itself", []func(*testing.T) string{one("HcomSend", "x", "", kernels.Attrs{"dest_rank": int64(0)}), reduce}, "sends to rank 0", problem.Usage},
		{"nobody receives", []func(*testing.T) string{one("HcomSend", "x", "", kernels.Attrs{"dest_rank": int64(1)}), reduce}, "rank 0 comes to HcomSend .* to rank 1.* rank 1 comes to HcomAllReduce", problem.Usage},
		{"other tag", []func(*testing.T) string{func(t *testing.T) string { return stages(t, 1, 2)[0] }, func(t *testing.T) string { return stages(t, 1, 2)[1] }}, "tag 1.*tag 2", problem.Usage},
	} {
		var models []*Model
		for _, f := range c.models {
			models = append(models, opened(t, f(t)))
		}
		for _, mode := range []Mode{Sunk, Eager} {
			_, err := RunRanks(context.Background(), models, RunOptions{Chip: chip(t), Mode: mode})
			if err == nil || problem.ClassOf(err) != c.class || !matches(c.want, err.Error()) {
				t.Errorf("%s, %s: %v", c.name, mode, err)
			}
		}
	}
	for _, c := range []struct {
		name, op string
		a        kernels.Attrs
		class    problem.Class
		want     string
	}{
		{"product", "HcomAllReduce", kernels.Attrs{"reduction": "prod"}, problem.Failed, "HcomAllReduce.*prod"},
		{"no reduction", "HcomAllReduce", nil, problem.Damaged, "reduction is missing"},
		{"no ranks", "HcomAllGather", nil, problem.Damaged, "rank_size"},
		{"uneven", "HcomReduceScatter", kernels.Attrs{"reduction": "sum", "rank_size": int64(3)}, problem.Damaged, "split over 3 ranks"},
		{"no root", "HcomBroadcast", nil, problem.Damaged, "root_rank"},
		{"no shape", "HcomReceive", kernels.Attrs{"src_rank": int64(1)}, problem.Damaged, "1 inputs|shape"},
	} {
		_, err := Open(one(c.op, "x", "y", c.a)(t), Options{})
		if err == nil || problem.ClassOf(err) != c.class || !matches(c.want, err.Error()) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	m := opened(t, one("HcomAllGather", "x", "y", kernels.Attrs{"rank_size": int64(3)})(t))
	if m.Ranks() != 3 {
		t.Errorf("made for %d ranks", m.Ranks())
	}
	if _, err := RunRanks(context.Background(), ranksOf(m, 2), RunOptions{Chip: chip(t), Mode: Sunk}); err == nil || problem.ClassOf(err) != problem.Usage || !strings.Contains(err.Error(), "--devices 3") {
		t.Errorf("2 of 3 ranks: %v", err)
	}
}

func matches(pattern, s string) bool {
	ok, err := regexp.MatchString(pattern, s)
	return err == nil && ok
}
