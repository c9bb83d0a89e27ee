package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"npu/internal/runtime/ipc"
	"npu/internal/runtime/telemetry"
)

func newPsCmd(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "ps",
		Short: "List the runs of this tool that use a simulated device",
		Long: `Lists the processes of this user that use a simulated device now: what they run, how much device memory they hold, how
many streams they have. A process is listed as long as it lives, a stopped one too; one that was killed is gone at once.

They find each other in the run directory: $NPU_RUN_DIR, else $XDG_RUNTIME_DIR/npu, else npu-UID in the folder for
temporary files. NPU_RUN_DIR=off makes a run work alone, and unseen. Processes on real devices: npu top.`,
		Example: `  npu ps
  npu ps --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return runPs(a, asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// processes are the live runs of this user. A run directory that does not exist holds none.
func processes() ([]ipc.Process, error) {
	path := ipc.Path(os.Getenv)
	if path == "" {
		return nil, nil
	}
	d, err := ipc.Look(path)
	if d == nil {
		return nil, err
	}
	defer d.Close()
	return d.Processes(), nil
}

// listRuns is what npu top asks for.
func listRuns() ([]*telemetry.Snapshot, error) {
	list, err := processes()
	var out []*telemetry.Snapshot
	for _, p := range list {
		if p.Snapshot != nil { // else it has just begun, or died while it wrote
			out = append(out, p.Snapshot)
		}
	}
	return out, err
}

// psRow is a process on a device.
type psRow struct {
	PID     int     `json:"pid"`
	Device  int     `json:"npu"`
	Chip    string  `json:"chip"`
	Mem     float64 `json:"mem_mb"`
	Streams int     `json:"streams"`
	Tasks   uint64  `json:"tasks"`
	Faults  uint64  `json:"faults"`
	Ns      int64   `json:"device_time_ns"`
	Age     float64 `json:"age_s"`
	Program string  `json:"program"`
	Note    string  `json:"note,omitempty"`
}

func runPs(a *app, asJSON bool) error {
	list, err := processes()
	if err != nil {
		return err
	}
	rows := []psRow{}
	for _, p := range list {
		rows = append(rows, psRows(p, time.Now())...)
	}
	slices.SortStableFunc(rows, func(a, b psRow) int { return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.PID, b.PID)) })
	if asJSON {
		return a.printJSON(rows)
	}
	if len(rows) == 0 {
		fmt.Fprintln(a.err, "no run uses a simulated device now")
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "NPU\tCHIP\tPID\tMEM_MB\tSTREAMS\tTASKS\tFAULTS\tAGE_S\tPROGRAM")
	for _, r := range rows {
		fmt.Fprintf(w, "%d\t%s\t%d\t%.0f\t%d\t%d\t%d\t%.0f\t%s\n", r.Device, cmp.Or(r.Chip, "-"), r.PID, r.Mem, r.Streams, r.Tasks, r.Faults, r.Age, cmp.Or(r.Program, r.Note, "-"))
	}
	return w.Flush()
}

func psRows(p ipc.Process, now time.Time) []psRow {
	s := p.Snapshot
	if s == nil {
		return []psRow{{PID: p.PID, Note: p.Err.Error()}}
	}
	var out []psRow
	for _, d := range s.Devices {
		r := psRow{PID: p.PID, Device: d.ID, Chip: d.Chip, Mem: float64(d.InUse) / (1 << 20), Tasks: d.Tasks, Faults: d.Faults, Ns: d.Ns,
			Age: now.Sub(time.Unix(0, s.Started)).Seconds(), Program: strings.TrimSpace(s.Program)}
		for _, st := range s.Streams {
			if st.Device == d.ID {
				r.Streams++
			}
		}
		out = append(out, r)
	}
	return out
}
