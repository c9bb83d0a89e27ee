package bench

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"

	"npu/internal/problem"
)

// deviceUnit is the unit of simulated time in the Go benchmark format.
const deviceUnit = "device-ns/op"

// formulaUnit is that of the time which a formula gives for it.
const formulaUnit = "formula-ns/op"

// pagesUnit is that of new pages.
const pagesUnit = "new-pages/op"

// Condition is a fact that a run's figures depend on.
type Condition struct{ Key, Value string }

// Conditions are those of this process, named as `go test -bench` does where it has them.
func Conditions(o Options) []Condition {
	return []Condition{
		{"goos", runtime.GOOS}, {"goarch", runtime.GOARCH}, {"pkg", "npu/internal/bench"}, {"go", strings.TrimPrefix(runtime.Version(), "go")},
		{"cores", strconv.Itoa(runtime.GOMAXPROCS(0))}, {"soc", o.Chip.Name}, {"round", o.Duration.String()},
	}
}

// WriteGo writes the samples in the standard Go benchmark format, a line each.
func WriteGo(w io.Writer, list []Series, conditions []Condition) error {
	out := benchfmt.NewWriter(w)
	var config []benchfmt.Config
	for _, c := range conditions {
		config = append(config, benchfmt.Config{Key: c.Key, Value: []byte(c.Value), File: true})
	}
	for _, s := range list {
		for _, x := range s.Samples {
			r := &benchfmt.Result{
				Config: config, Name: benchfmt.Name(fmt.Sprintf("%s-%d", s.Name, runtime.GOMAXPROCS(0))), Iters: int(x.N),
				Values: []benchfmt.Value{{Value: x.Ns, Unit: "ns/op"}, {Value: x.Bytes, Unit: "B/op"}, {Value: x.Allocs, Unit: "allocs/op"}},
			}
			if !math.IsNaN(x.DeviceNs) {
				r.Values = append(r.Values, benchfmt.Value{Value: x.DeviceNs, Unit: deviceUnit})
			}
			if x.Formula > 0 {
				r.Values = append(r.Values, benchfmt.Value{Value: x.Formula, Unit: formulaUnit})
			}
			if s.Pages {
				r.Values = append(r.Values, benchfmt.Value{Value: x.Pages, Unit: pagesUnit})
			}
			if s.Bytes > 0 {
				r.Values = append(r.Values, benchfmt.Value{Value: 1e3 * float64(s.Bytes) / x.Ns, Unit: "MB/s"})
			}
			if s.Rate != "" {
				r.Values = append(r.Values, benchfmt.Value{Value: 1e9 / x.Ns, Unit: strings.ReplaceAll(s.Rate, "_per_", "/")})
			}
			if err := out.Write(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxBadLines is how many bad lines of a benchmark file are named.
const maxBadLines = 3

// ReadGo reads what WriteGo has written, or any other file in the Go benchmark format, as far as it goes: a line that
// is no benchmark line is skipped, a malformed one is an error that is returned with the rest. name is the file's.
func ReadGo(in io.Reader, name string) (list []Series, conditions []Condition, err error) {
	at := map[string]int{}
	var bad []string
	r := benchfmt.NewReader(in, name)
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.SyntaxError:
			_, line := rec.Pos()
			bad = append(bad, fmt.Sprintf("line %d: %s", line, rec.Msg))
		case *benchfmt.Result:
			s, ok := fromGo(rec)
			if !ok {
				_, line := rec.Pos()
				bad = append(bad, fmt.Sprintf("line %d: no ns/op", line))
				continue
			}
			n := trimProcs(string(rec.Name))
			i, known := at[n]
			if !known {
				sp, ok := spec(n)
				if !ok {
					sp = Spec{Name: n}
				}
				i = len(list)
				at[n] = i
				list = append(list, Series{Spec: sp})
			}
			list[i].Samples = append(list[i].Samples, s)
			if conditions == nil {
				for _, c := range rec.Config {
					conditions = append(conditions, Condition{c.Key, string(c.Value)})
				}
			}
		}
	}
	switch {
	case r.Err() != nil:
		err = problem.Damagedf("%s: %w", name, r.Err())
	case len(bad) > 0:
		more := ""
		if len(bad) > maxBadLines {
			more = fmt.Sprintf("; and %d more", len(bad)-maxBadLines)
			bad = bad[:maxBadLines]
		}
		err = problem.Damagedf("%s: malformed benchmark lines: %s%s", name, strings.Join(bad, "; "), more)
	case len(list) == 0:
		err = problem.Damagedf("%s: no benchmark lines; expected what 'npu bench --format bench' prints", name)
	}
	return list, conditions, err
}

// fromGo turns the values of a line into a sample.
func fromGo(r *benchfmt.Result) (s Sample, ok bool) {
	s = Sample{N: int64(r.Iters), DeviceNs: math.NaN()}
	for _, v := range r.Values {
		value, unit := v.Value, v.Unit
		if v.OrigUnit != "" {
			value, unit = v.OrigValue, v.OrigUnit
		}
		switch unit {
		case "ns/op":
			s.Ns, ok = value, value > 0 && !math.IsInf(value, 0)
		case "B/op":
			s.Bytes = value
		case "allocs/op":
			s.Allocs = value
		case pagesUnit:
			s.Pages = value
		case deviceUnit:
			s.DeviceNs = value
		case formulaUnit:
			s.Formula = value
		}
	}
	return s, ok
}

// trimProcs takes the number of cores from the end of a benchmark's name.
func trimProcs(name string) string {
	i := strings.LastIndexByte(name, '-')
	if i < 0 {
		return name
	}
	if _, err := strconv.ParseUint(name[i+1:], 10, 32); err != nil {
		return name
	}
	return name[:i]
}
