package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"npu/internal/bench"
	"npu/internal/sim/soc"
)

const benchSample = "../../docs/benchmarks/sample.txt"

// The tables and pictures of docs/benchmarks.md are what the command prints for the committed sample.
func TestBenchmarkDocs(t *testing.T) {
	const doc = "../../docs/benchmarks.md"
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(benchSample)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, conditions, err := bench.ReadGo(f, benchSample)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	shown := 0
	parts := strings.Split(string(text), "```text\n$ npu bench ")
	out.WriteString(parts[0])
	for _, p := range parts[1:] {
		args, rest, _ := strings.Cut(p, "\n")
		_, rest, _ = strings.Cut("\n"+rest, "\n```\n")
		family, plot := strings.CutSuffix(args, " --plot")
		block, n := benchBlock(t, list, conditions, family, plot)
		shown += n
		fmt.Fprintf(&out, "```text\n$ npu bench %s\n%s```\n%s", args, block, rest)
	}
	golden(t, doc, out.String())
	if shown < len(list) {
		t.Errorf("the page shows %d of the sample's %d benchmarks", shown, len(list))
	}
}

// benchBlock is what the command prints on a terminal for a family of the sample, and how many benchmarks that shows.
func benchBlock(t *testing.T, list []bench.Series, conditions []bench.Condition, family string, plot bool) (string, int) {
	t.Helper()
	families, err := bench.Select([]string{family})
	if err != nil {
		t.Fatal(err)
	}
	var some []bench.Series
	for _, s := range families[0].Specs {
		for _, x := range list {
			if x.Name == s.Name {
				some = append(some, x)
			}
		}
	}
	if len(some) != len(families[0].Specs) {
		t.Fatalf("%s has %d of the %d benchmarks %q: measure anew", benchSample, len(some), len(families[0].Specs), family)
	}
	var b bytes.Buffer
	s := &streams{out: &b, outTTY: true}
	if plot {
		chip, err := soc.Lookup("Ascend910B3")
		if err != nil {
			t.Fatal(err)
		}
		o := &benchOptions{app: &app{streams: s}}
		if err := o.plots(families, some, bench.Options{Chip: chip, Count: 1, Duration: time.Second}); err != nil {
			t.Fatal(err)
		}
		return b.String(), 0
	}
	if err := s.benchTable(bench.Results(some)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, "\n%s\n", conditionText(conditions, len(some[0].Samples)))
	return b.String(), len(some)
}
