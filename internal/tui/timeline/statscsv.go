package timeline

import (
	"encoding/csv"
	"io"
	"strconv"
)

// write writes the statistics as CSV: a line for each operator, engine, device and cause of idle time.
func (c *counts) write(w io.Writer, d *Data) error {
	out := csv.NewWriter(w)
	ns := func(v int64) string { return strconv.FormatInt(v, 10) }
	row := func(kind, name, count string, total int64, mean, longest string) {
		_ = out.Write([]string{kind, name, ns(c.From - d.Zero), ns(c.To - d.Zero), count, ns(total), mean, longest}) // kept until Error
	}
	_ = out.Write([]string{"kind", "name", "from_ns", "to_ns", "count", "total_ns", "mean_ns", "max_ns"})
	for _, o := range c.Ops {
		row("operator", o.Name, strconv.Itoa(o.Count), o.Total, ns(o.Total/int64(o.Count)), ns(o.Top))
	}
	for _, e := range c.Engines {
		row("engine busy", d.where(d.Lanes[e.Lane]), "", e.Busy, "", "")
	}
	for _, x := range c.Devices {
		name := d.T.DeviceName(x.Device)
		row("compute", name, "", x.Compute.Ns, "", "")
		row("communication", name, "", x.Comm.Ns, "", "")
		row("exposed communication", name, "", x.exposed(), "", "")
		row("free", name, "", x.Free, "", "")
	}
	for _, p := range c.causes() {
		row("streams idle", p.name, "", p.ns, "", "")
	}
	out.Flush()
	return out.Error()
}
