package diagnose

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"npu/internal/blackbox/plog"
)

// complaint is a line of an error that no rule explains. Where nothing else is found, its own words are the answer.
type complaint struct {
	rank complaintRank
	in   *incident // who wrote it, and the line
	text string
}

type complaintRank uint8

const (
	byTrace     complaintRank = iota // a line of level ERROR that only says which call failed
	byException                      // the last line of a Python traceback
	byError                          // another line of level ERROR
	byCode                           // a message code with words of its own
)

const maxComplaints = 256

// exception is an exception's name and text, behind the prefixes of launchers and loggers.
var exception = regexp.MustCompile(`(?:^|[\])|:] +)((?:(?:\w+\.)*[A-Z]\w*(?:Error|Exception): +\S|Segmentation fault|Fatal Python error:).*)`)

// complain keeps a line that no rule took.
func (a *Analyzer) complain(r *plog.Record) {
	t := bytes.TrimSpace(r.Text)
	rank := byError
	switch {
	case r.Code != "":
		if len(t) == 0 || has(t, "Inner Error") || strings.HasPrefix(r.Code, "W") {
			return
		}
		rank = byCode
		if strings.HasPrefix(r.Code, "ERR") { // of torch_npu: the class of the call that failed
			rank = byTrace
		}
	case r.Cont || r.Level != plog.Error:
		if r.Level == plog.Error && bytes.HasPrefix(t, []byte("[ERROR]")) {
			t = bytes.TrimSpace(t[len("[ERROR]"):])
			break
		}
		t = t[:min(len(t), 400)]
		if !has(t, "Error: ") && !has(t, "Exception: ") && !has(t, "Segmentation fault") && !has(t, "Fatal Python error:") || has(t, "Inner Error") {
			return // before the slower look
		}
		m := exception.FindSubmatch(t)
		if m == nil {
			return
		}
		rank, t = byException, m[1]
	case has(t, "call trace") || len(t) == 0:
		rank = byTrace
	}
	a.unknown++
	if len(a.complaints) >= maxComplaints {
		return
	}
	text := complaintText(t)
	if text == "" {
		rank, text = byTrace, "an error without a word about it"
	}
	if r.Code != "" && !strings.HasPrefix(text, r.Code) {
		text = r.Code + ": " + text
	}
	p := a.proc(r)
	in := &incident{kind: kindUnknown, file: r.File, pid: r.PID, proc: r.Proc, first: r.Time, last: r.Time, line: r.Line, rank: p.rank, device: p.device}
	in.code(r.Code)
	a.cite(in, r)
	a.complaints = append(a.complaints, complaint{rank: rank, in: in, text: text})
}

var (
	threadMarks = regexp.MustCompile(`^(?:\[[\w.:/ -]*\]|\d{3,}(?: |$))+`)
	errNo       = regexp.MustCompile(`^errNo\[\w*\] *`)
	sourceMarks = regexp.MustCompile(`\s*\[(?:FUNC|FILE|LINE|THREAD):[^\]]*\]`)
)

// complaintText is the words of a line, without the marks of threads and sources around them.
func complaintText(t []byte) string {
	if rest := bytes.TrimSpace(threadMarks.ReplaceAll(t, nil)); len(rest) > 0 {
		t = rest
	}
	t = errNo.ReplaceAll(t, nil)
	t = sourceMarks.ReplaceAll(t, nil)
	return strings.TrimRight(excerpt(t[:min(len(t), 300)]), " .;")
}

// unexplained is the incident of a log whose errors no rule knows: the first line of the kind that says most. A log
// with errors is never said to have none.
func (a *Analyzer) unexplained() *incident {
	if len(a.incidents) > 0 || len(a.complaints) == 0 {
		return nil
	}
	best := 0
	for i, c := range a.complaints {
		if c.rank > a.complaints[best].rank {
			best = i
		}
	}
	in := *a.complaints[best].in
	in.said = a.complaints[best].text
	in.evidence = nil
	for _, c := range a.complaints {
		for _, e := range c.in.evidence {
			if len(in.evidence) < maxEvidence {
				in.evidence = append(in.evidence, e)
			}
		}
		for _, code := range c.in.codes {
			in.code(code)
		}
	}
	slices.SortStableFunc(in.evidence, func(x, y Evidence) int { // the line that is the answer comes first
		first := a.complaints[best].in.evidence[0]
		return b2i(y == first) - b2i(x == first)
	})
	in.others = a.unknown - 1
	return &in
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func judgeUnknown(f *Finding, in *incident) {
	f.Cause = in.said
	f.Why = append(f.Why, "no rule explains this error: the words are the log's own")
	if in.others > 0 {
		f.Why = append(f.Why, fmt.Sprintf("%d further line%s of errors that no rule explains", in.others, plural(in.others)))
	}
	f.Advice = append(f.Advice, "read the lines below, and the plog of this process ($HOME/ascend/log/debug/plog), for an earlier error")
	f.Confidence = "low: only what the log says"
}
