package timeline

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"npu/internal/trace/gen"
	"npu/internal/tui/theme"
)

var benchTasks = flag.Int("tasks", 10_000_000, "tasks of the trace that BenchmarkFrame draws")

// cpu is the processor time of this process so far: what a frame costs however busy the machine is.
func cpu() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// One key and the frame after it, at five levels from the whole trace to a few tasks. The budget is 16 ms.
func BenchmarkFrame(b *testing.B) {
	t := gen.Trace(gen.Options{Tasks: *benchTasks, Devices: 4, Streams: 6})
	d := NewData(t, "big.npt")
	for _, size := range [][2]int{{80, 24}, {200, 60}} {
		m := newModel(still{d}, theme.New(theme.True, false, theme.Braille))
		m.w, m.h = size[0], size[1]
		for level := range 5 {
			b.Run(fmt.Sprintf("%dx%d-%s", size[0], size[1], dur(m.to-m.from)), func(b *testing.B) {
				b.ReportAllocs()
				keys := [2]string{"d", "a"}
				i, before := 0, cpu()
				for b.Loop() {
					list, _ := parseKeys(keys[i%2])
					m.Update(list[0])
					m.View()
					i++
				}
				b.ReportMetric(float64(cpu()-before)/float64(b.N)/1e6, "cpu-ms/op")
			})
			m.cur = m.from + (m.to-m.from)/2
			for range 4 {
				m.zoom(1, 2)
				if level == 2 {
					m.zoom(1, 4)
				}
			}
		}
	}
}

// Indexing what was read.
func BenchmarkNewData(b *testing.B) {
	t := gen.Trace(gen.Options{Tasks: *benchTasks / 10, Devices: 4, Streams: 6})
	for b.Loop() {
		NewData(t, "big.npt")
	}
	b.ReportMetric(float64(t.Tasks.Len()+t.Spans.Len())*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

// From opening the image of a trace to its first frame, at the size of a large terminal. The budget is 0.5 s.
func BenchmarkFirstFrame(b *testing.B) {
	path := filepath.Join(b.TempDir(), "big.image")
	d := Finished(gen.Trace(gen.Options{Tasks: *benchTasks, Devices: 4, Streams: 6}), "big.npt")
	if err := d.save(b.Context(), path); err != nil {
		b.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	index := int64(0)
	for _, l := range d.Lanes {
		if l.index != nil {
			index += l.index.Bytes()
		}
	}
	for b.Loop() {
		src := Open(File{Name: "big.npt", Keep: func() string { return path }})
		m := newModel(src, theme.New(theme.True, false, theme.Braille))
		m.Update(tea.WindowSizeMsg{Width: 200, Height: 60})
		if view := m.View(); !strings.Contains(view, "Stream 1") {
			b.Fatal(view)
		}
		b.StopTimer()
		src.Close()
		b.StartTimer()
	}
	b.ReportMetric(float64(st.Size())/float64(d.T.Tasks.Len()), "file-B/task")
	b.ReportMetric(float64(index)/float64(d.T.Tasks.Len()), "index-B/task")
}
