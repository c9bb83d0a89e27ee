package program

import (
	"fmt"
	"strings"
	"testing"
)

// Four devices compute together, over a ring and over a mesh.
func TestCollectives(t *testing.T) {
	for _, alg := range []string{"", "mesh "} {
		var b strings.Builder
		b.WriteString("devices 4\n")
		list := map[string]string{}
		for d := range 4 {
			fmt.Fprintf(&b, "device %d\nstream s%d\nbuffer x%d device f32[8] = fill %d\nbuffer y%d device f32[8]\nbuffer z%d device f32[32]\n", d, d, d, d+1, d, d)
			for _, n := range []string{"s", "x", "y", "z"} {
				list[n] += fmt.Sprintf(" %s%d", n, d)
			}
		}
		fmt.Fprintf(&b, "group g %s%s\n", alg, list["s"])
		sync := func() {
			for d := range 4 {
				fmt.Fprintf(&b, "device %d\nsync s%d\n", d, d)
			}
		}
		expect := func(n, want string) {
			for d := range 4 {
				fmt.Fprintf(&b, "device %d\nexpect %s%d = %s\n", d, n, d, want)
			}
		}
		fmt.Fprintf(&b, "allreduce g%s ->%s\n", list["x"], list["y"])
		sync()
		expect("y", "fill 10")
		fmt.Fprintf(&b, "allreduce g max%s ->%s\n", list["x"], list["y"])
		sync()
		expect("y", "fill 4")
		fmt.Fprintf(&b, "allgather g%s ->%s\n", list["x"], list["z"])
		sync()
		expect("z[0:8]", "x")
		text := strings.ReplaceAll(b.String(), "z[0:8]0 = x", "z0[8:16] = fill 2")
		for d := 1; d < 4; d++ {
			text = strings.ReplaceAll(text, fmt.Sprintf("z[0:8]%d = x", d), fmt.Sprintf("z%d[24:32] = fill 4", d))
		}
		b.Reset()
		b.WriteString(text)
		fmt.Fprintf(&b, "broadcast g%s root 2\n", list["x"])
		sync()
		expect("x", "fill 3")
		fmt.Fprintf(&b, "reducescatter g%s ->%s\n", list["z"], list["y"])
		sync()
		b.WriteString("device 3\nexpect y3 = fill 16\n")
		fmt.Fprintf(&b, "allgather g%s ->%s expect 107000\nallreduce g x0 -> y0 expect 107000\ndestroy g\n", list["x"], list["y"])
		if _, err := run(t, b.String()); err != nil {
			t.Errorf("%s: %v\n%s", alg, err, b.String())
		}
	}
}
