package main

import (
	"context"
	"fmt"

	"npu/internal/bench/replay"
	"npu/internal/sim/soc"
)

// replays says whether allocations are replayed instead of calls measured.
func (o *benchOptions) replays() bool { return len(o.replay) > 0 || o.drawMap }

// runReplay replays traces through the pool and through the policy that it is compared with.
func (o *benchOptions) runReplay(ctx context.Context, chip *soc.Chip) error {
	var list []replay.Result
	run := func(t *replay.Trace) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := replay.Pool(t, chip, o.drawMap)
		if err != nil {
			return err
		}
		thread, err := replay.Thread(t, chip)
		if err == nil {
			list = append(list, r, thread, replay.Torch(t, chip))
		}
		return err
	}
	var first error
	for _, path := range o.replay {
		traces, err := replay.Open(path)
		if first == nil {
			first = err
		}
		for _, t := range traces {
			if err := run(t); err != nil {
				return cmpErr(o.printReplay(list), err)
			}
		}
	}
	if len(o.replay) == 0 {
		if err := run(replay.Mixed()); err != nil {
			return err
		}
	}
	return cmpErr(o.printReplay(list), first)
}

func (o *benchOptions) printReplay(list []replay.Result) error {
	if o.json {
		if list == nil {
			list = []replay.Result{}
		}
		return o.printJSON(list)
	}
	if len(list) == 0 {
		return nil
	}
	err := o.table("trace\tpolicy\tops\tstreams\tpeak in use MiB\tpeak reserved MiB\treserved/in use\tns/op", func(row func(cells ...any)) {
		for _, r := range list {
			row(r.Trace, r.Policy, r.Ops, r.Streams, fmt.Sprintf("%.1f", float64(r.PeakBytes)/(1<<20)), fmt.Sprintf("%.1f", float64(r.PeakReserved)/(1<<20)), fmt.Sprintf("%.4f", r.Ratio), o.number(r.NsPerOp))
		}
	})
	if err == nil {
		err = o.notesOnce(replayNotes(list))
	}
	for _, r := range list {
		if err != nil || r.AtPeak == nil {
			continue
		}
		if _, err = fmt.Fprintf(o.out, "\n%s at its peak: %s\n", r.Trace, replay.Summary(r.AtPeak)); err != nil {
			return err
		}
		for _, line := range replay.Picture(r.AtPeak, 64, 16) {
			if _, err = fmt.Fprintln(o.out, line); err != nil {
				return err
			}
		}
	}
	return err
}

// replayNotes say what of the traces was left out.
func replayNotes(list []replay.Result) (notes []string) {
	for _, r := range list {
		if r.Unmatched > 0 {
			notes = append(notes, fmt.Sprintf("%s: %d frees of blocks that were allocated before the trace begins are left out", r.Trace, r.Unmatched))
		}
		if r.Strange > 0 {
			notes = append(notes, fmt.Sprintf("%s: %d events without a known action or size are left out", r.Trace, r.Strange))
		}
	}
	return notes
}
