package timeline

import "npu/internal/trace/flow"

// link finds the arrows, which takes longest of all: it is done when the screen is there already.
func (d *Data) link() { d.found.Store(flow.New(d.T)) }

// linked says whether the arrows are known.
func (d *Data) linked() bool { return d.found.Load() != nil }

// record is the row of the record that released the task in row; -1 for none, or none yet.
func (d *Data) record(row int) int {
	if a := d.found.Load(); a != nil {
		return int(a.Records[row])
	}
	return -1
}

// caller is the call that submitted the task in row; -1 for none.
func (d *Data) caller(row int) int {
	if a := d.found.Load(); a != nil {
		return int(a.Callers[row])
	}
	return -1
}

// submitted is the task that a call submitted; -1 for none.
func (d *Data) submitted(call int) int {
	if a := d.found.Load(); a != nil {
		return int(a.Submits[call])
	}
	return -1
}

// released is the waits that the record in row released.
func (d *Data) released(row int) []flow.Release {
	if a := d.found.Load(); a != nil {
		return a.Released(row)
	}
	return nil
}
