package smi

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// ask runs "npu-smi info" once. Either result may be nil: a tool that prints half a table and dies gives both.
func ask(ctx context.Context, path string, timeout time.Duration) (*Table, *Fault, error) {
	a, err := call(ctx, path, timeout, "info")
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if err != nil {
		return nil, &Fault{Kind: Refused, Says: "npu-smi cannot be run: " + err.Error(), Try: []string{"check the path and the rights of " + path}}, nil
	}
	t := ParseTable(a.text)
	switch {
	case a.timedOut && len(t.Devices) == 0:
		return nil, silent(timeout.Seconds()), nil
	case a.timedOut:
		return t, silent(timeout.Seconds()), nil
	case len(t.Devices) == 0:
		f := Diagnose(a.text, a.exit)
		if f.Kind == Denied {
			f.Found = Probe()
		}
		return nil, f, nil
	case a.exit != 0:
		f := Diagnose(a.text, a.exit)
		if f.Kind == Garbled || f.Kind == Missing {
			how := fmt.Sprintf("stopped with exit status %d", a.exit)
			if a.exit < 0 {
				how = "was killed"
			}
			many := "s"
			if len(t.Devices) == 1 {
				many = ""
			}
			f = &Fault{Kind: Garbled, Says: fmt.Sprintf("npu-smi %s after %d device%s", how, len(t.Devices), many), Text: f.Text, Try: []string{"run npu-smi info by hand"}}
		}
		return t, f, nil
	}
	return t, nil, nil
}

// detailTypes are asked for the one card that somebody looks at, never for all: each call costs half a second.
var detailTypes = []string{"usages", "common", "health", "ecc", "board"}

// askDetails asks the slow questions about one card. Types that the tool does not know are remembered in refused.
func askDetails(ctx context.Context, path string, timeout time.Duration, npu int, refused map[string]bool) []Block {
	var out []Block
	for _, t := range detailTypes {
		if refused[t] || ctx.Err() != nil {
			continue
		}
		a, err := call(ctx, path, timeout, "info", "-t", t, "-i", strconv.Itoa(npu))
		if err != nil || a.timedOut {
			return out
		}
		blocks := ParseBlocks(a.text)
		if len(blocks) == 0 {
			refused[t] = true
		}
		out = append(out, blocks...)
	}
	return out
}
