package conform

import (
	"fmt"
	"slices"
	"strings"

	"npu/internal/model/graph"
	"npu/internal/sim/kernels"
)

// Report is what became of the cases of some suites.
type Report struct {
	Suites    []Count    `json:"suites"`    // by file
	Operators []Operator `json:"operators"` // by operator; a case counts for each operator that it uses
	Cases     []Result   `json:"cases"`
}

// Count is how many cases of a suite or operator came out how.
type Count struct {
	Name        string `json:"name"`
	Cases       int    `json:"cases"`
	Passed      int    `json:"passed"`
	Failed      int    `json:"failed"`
	Unsupported int    `json:"unsupported"`
}

// Operator is one row by operator. Since is 0 for an operator that is not computed.
type Operator struct {
	Count
	Since   int    `json:"since_opset"`
	Types   string `json:"types"`
	Stepped bool   `json:"stepped"` // it runs step by step from the host, unless it can be unrolled
}

func (c *Count) add(s Status) {
	c.Cases++
	switch s {
	case Passed:
		c.Passed++
	case Failed:
		c.Failed++
	default:
		c.Unsupported++
	}
}

// Add counts a case of a suite.
func (r *Report) Add(suite string, c Result) {
	if len(r.Suites) == 0 || r.Suites[len(r.Suites)-1].Name != suite {
		r.Suites = append(r.Suites, Count{Name: suite})
	}
	r.Suites[len(r.Suites)-1].add(c.Status)
	r.Cases = append(r.Cases, c)
}

// Total sums the suites.
func (r *Report) Total() Count {
	t := Count{Name: "all"}
	for _, s := range r.Suites {
		t.Cases += s.Cases
		t.Passed += s.Passed
		t.Failed += s.Failed
		t.Unsupported += s.Unsupported
	}
	return t
}

// Finish makes the rows by operator: every operator of the registry, then those that only cases name.
func (r *Report) Finish() {
	at := map[string]int{}
	for _, e := range kernels.Registry() {
		at[e.Op] = len(r.Operators)
		r.Operators = append(r.Operators, Operator{Count: Count{Name: e.Op}, Since: e.Since, Types: e.Types, Stepped: graph.IsStepped(e.Op)})
	}
	known := len(r.Operators)
	for _, c := range r.Cases {
		for _, op := range c.Operators {
			i, ok := at[op]
			if !ok {
				i = len(r.Operators)
				at[op] = i
				r.Operators = append(r.Operators, Operator{Count: Count{Name: op}})
			}
			r.Operators[i].add(c.Status)
		}
	}
	slices.SortFunc(r.Operators[known:], func(a, b Operator) int { return strings.Compare(a.Name, b.Name) })
}

// Markdown is the page docs/operators.md.
func (r *Report) Markdown() string {
	var b strings.Builder
	b.WriteString(head)
	b.WriteString("\n## Cases of the ONNX project\n\n| suite | cases | passed | failed | unsupported |\n| --- | ---: | ---: | ---: | ---: |\n")
	for _, s := range append(slices.Clone(r.Suites), r.Total()) {
		fmt.Fprintf(&b, "| %s | %d | %d (%.1f %%) | %d | %d |\n", s.Name, s.Cases, s.Passed, 100*float64(s.Passed)/float64(max(1, s.Cases)), s.Failed, s.Unsupported)
	}
	fmt.Fprintf(&b, "\n## Operators that are computed\n\nSince is the opset that introduced the operator; every version from there to opset %d is taken. Types are those of the first\noperand: *any* is all but strings, *bytes* all of whole bytes, *floating* float32, float16, bfloat16 and float64, *integer* 8 to 64\nbits with and without sign. An operator marked ¹ runs step by step from the host, a Loop or Scan\nonly where it is not known how often it turns (up to 64 turns are unrolled).\n\n", kernels.NewestOpset)
	b.WriteString("| operator | since | types | cases | passed |\n| --- | ---: | --- | ---: | ---: |\n")
	var missing []Operator
	for _, o := range r.Operators {
		if o.Since == 0 {
			missing = append(missing, o)
			continue
		}
		mark := ""
		if o.Stepped {
			mark = " ¹"
		}
		fmt.Fprintf(&b, "| %s%s | %d | %s | %d | %d |\n", o.Name, mark, o.Since, o.Types, o.Cases, o.Passed)
	}
	b.WriteString("\n## Operators of ONNX Runtime\n\nIts optimiser and its quantiser write operators of the domain com.microsoft. These are replaced by the few ONNX operators that they\nstand for: " + strings.Join(graph.ContribOps(), ", ") + ".\n")
	b.WriteString(quantised)
	b.WriteString("\n## Operators that are refused\n\nBy name, before anything runs (exit code 1). They handle strings, images in files or training.\n\n| operator | cases |\n| --- | ---: |\n")
	for _, o := range missing {
		fmt.Fprintf(&b, "| %s | %d |\n", o.Name, o.Unsupported)
	}
	b.WriteString("\nForms of a computed operator that are refused in the same way:\n\n")
	seen := map[string]bool{}
	for _, c := range r.Cases {
		if c.Status != Unsupported || slices.ContainsFunc(c.Operators, func(op string) bool { return !graph.Computes(op) }) {
			continue
		}
		text := form(c.Reason)
		if !seen[text] {
			seen[text] = true
			b.WriteString("* " + text + "\n")
		}
	}
	return b.String()
}

// form is what a reason says of the operator's form, without the names of this case.
func form(reason string) string {
	parts := strings.Split(reason, ": ")
	var kept []string
	for _, p := range parts {
		if p == "not supported" || strings.HasPrefix(p, "test_") || strings.HasPrefix(p, "node ") || strings.HasPrefix(p, "execution ") || strings.HasPrefix(p, "operator ") {
			continue
		}
		kept = append(kept, p)
	}
	return strings.Join(kept, ": ")
}

const head = `# Operators

Which ONNX operators a model may use, and how many of the ONNX project's own test cases that use them give the stored outputs.
This page is printed by

` + "```" + `
npu bench conformance --markdown node.zip simple.zip pytorch-converted.zip pytorch-operator.zip light.zip
` + "```" + `

from the registry of operators and the cases of onnx/onnx, folder onnx/backend/test/data. A case goes the whole way of a model: file,
shapes, passes, plan, kernels on a simulated device. It passes when type, shape and every value of every output agree within the
suite's tolerance (rtol 1e-3, atol 1e-7; half-width floats by their own step, and 1e-6 where a Fourier transform cancels to
zero). Of operators that draw random numbers only type and shape are compared.

A model with an operator whose result has a size that depends on data, with a loop, or with sequences or optionals runs in
two parts: what can be compiled is compiled and, in graph mode, sunk; the rest runs step by step from the host, which waits and
reads back where a size or a decision depends on data. ` + "`npu run`" + ` says which nodes these are. An If whose branches make the same
shapes is a switch on the device; a Loop or Scan that turns a known number of times, up to 64, becomes that many copies of its
body.
`

// quantised is what the page says of models of 8-bit integers.
const quantised = `
## Quantised models

QLinearConv, QLinearMatMul, ConvInteger and MatMulInteger multiply 8-bit integers and sum in int32. A model in the form
QuantizeLinear, DequantizeLinear around a Conv, MatMul or Gemm is computed as it is written: weights are dequantised once, when
the model is loaded, the product runs in the floating type, and each remaining QuantizeLinear and DequantizeLinear is a task
of its own. Such pairs are not fused to integer products, so that a quantised model is no faster than its floating original.
`
