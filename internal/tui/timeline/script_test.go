package timeline

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"npu/internal/trace"
	"npu/internal/trace/gen"
	"npu/internal/tui/theme"
)

var watch = flag.Duration("watch", 0, "show the frames of the scripts on this terminal, so far apart (go test -run TestScripts -watch 500ms)")

// ranks is a job of three devices that add up their gradients; rank 1 computes longer, and the others wait for it.
func ranks() *trace.Trace {
	r := trace.NewRecorder()
	src := trace.Source{Format: "made up", Ranks: 3}
	for rank := range 3 {
		src.Devices = append(src.Devices, trace.SourceDevice{ID: uint16(rank), Rank: rank, Device: rank})
	}
	r.SetSource(src)
	for step := range int64(5) {
		for d := range uint16(3) {
			at, compute := 1000+step*100_000, int64(40_000)
			if d == 1 {
				compute = 70_000
			}
			end := at + 80_000
			r.Tasks([]trace.Task{
				{Submit: at, Ready: at, Start: at, End: at + compute, Device: d, Stream: 1, Task: uint32(step), Kind: trace.KernelAICore, Engine: trace.EngineCube, Op: r.Intern("MatMulV2"), Name: r.Intern("grad")},
				{Submit: at, Ready: at + compute, Start: at + compute, End: end, Device: d, Stream: 2, Task: uint32(step), Kind: trace.Communication, Op: r.Intern("hcom_allReduce_"), Name: r.Intern("allReduce")},
			})
		}
	}
	return r.Finish()
}

// scripted is the trace that a script asks for.
func scripted(t *testing.T, what string) *Data {
	t.Helper()
	words := strings.Fields(what)
	switch words[0] {
	case "gen":
		n := make([]int, 3)
		for i, w := range words[1:] {
			n[i], _ = strconv.Atoi(w)
		}
		return Finished(gen.Trace(gen.Options{Tasks: n[0], Devices: n[1], Streams: n[2], Seed: 1}), "run.npt")
	case "pair":
		return pairOf(t)
	case "ranks":
		return Finished(ranks(), "job")
	}
	t.Fatalf("no trace %q", what)
	return nil
}

// The scripts of testdata/scripts, each a way through the screen: press keys, see texts (alternatives by |). "keys N" bounds
// how many keys it takes. With -watch one sees what they see.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/scripts/*.txt")
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var m *model
			pressed, most := 0, 1<<30
			for n, line := range strings.Split(string(b), "\n") {
				word, arg, _ := strings.Cut(line, " ")
				switch word {
				case "", "#":
				case "trace":
					profile := theme.None
					if *watch > 0 {
						profile = theme.True
					}
					m = newModel(still{scripted(t, arg)}, theme.New(profile, false, theme.Braille))
					m.inline = true
				case "size":
					if _, err := fmt.Sscanf(arg, "%dx%d", &m.w, &m.h); err != nil {
						t.Fatal(err)
					}
					m.resolve()
					m.settle()
				case "keys":
					most, _ = strconv.Atoi(arg)
				case "press":
					keys, err := parseKeys(arg)
					if err != nil {
						t.Fatal(err)
					}
					for _, k := range keys {
						m.Update(k)
						m.settle()
						shown(m, filepath.Base(file)+": "+k.String())
						pressed++
					}
				case "see":
					if view := m.View(); !regexp.MustCompile(arg).MatchString(view) {
						t.Fatalf("line %d: %q is not seen:\n%s", n+1, arg, view)
					}
				default:
					t.Fatalf("line %d: %q", n+1, line)
				}
				if m != nil && m.w > 0 {
					fits(t, m.View(), m.w, m.h)
				}
			}
			if pressed > most {
				t.Errorf("%d keys, at most %d are allowed", pressed, most)
			}
		})
	}
}

// shown shows a frame to who watches.
func shown(m *model, what string) {
	if *watch <= 0 {
		return
	}
	tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer tty.Close()
	fmt.Fprintf(tty, "\x1b[H\x1b[2J%s\n\x1b[7m %s \x1b[0m", strings.ReplaceAll(m.View(), "\n", "\r\n"), what)
	time.Sleep(*watch)
}
