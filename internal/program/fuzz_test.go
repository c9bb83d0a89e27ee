package program

import (
	"context"
	"strings"
	"testing"
	"time"
)

// No program makes the interpreter panic or keeps it from ending when it is told to.
func FuzzRun(f *testing.F) {
	f.Add(prelude + "copy x <- h on s\nrepeat 2 as i\nprint x[i] \"t\"\nend\nlaunch add(x, x -> x) on s\nsync s\n")
	f.Add("stream s\nsubscribe s\nevent e sync\nthread a\nwait e on s\nsync s\nend\nmode s stop\ncallback \"x\" on s\nabort s\ndestroy s force\n")
	f.Add("devices 2\nbare\ndevice 1\ncontext c isolated\nbuffer x device u64[2] = 1 2\nawait x[1] == 3\nhost \"a\" time 1us\nkernel k = cube fault oob\nlaunch k(x)\nreset device 1 force\nuse c\nlast none keep\n")
	f.Add("notify n\nrecord n\nwait n timeout 1s\nkernel k = vector blocks 3 time 1us add 2\nbuffer b pinned i8[3]\nlaunch k(b)\nfree b\nprint b\nquery default\nwatch faults\nunsubscribe default\n")
	f.Add(prelude + "inject ecc at x[1]\ninject hang on s chance 0.5\nlaunch add(x, x -> x) on s timeout 1s\nsync s\nuce\nerrors\nabort device 0\nrepair errors\nrepair memory\noverflow saturate\noverflow watch s\n")
	f.Add(prelude + "pool o\nallocate a f32[4] from o on s\nlaunch k(a) on s\nrelease a on s\nattribute o used\nattribute s failure = stop\ntrim o 0\ndestroy o\nexpect x at x\n")
	f.Add("stream a persistent\nstream s\nbuffer i device i32[1]\nmodel m\nbind a to m\nlabel l\nplace l on a\njump i to l on a\nbranch i < i to a on a\nactivate a on a\nendtask m on a\nbuild m\nexecute m on s\nabort m\nunbind a from m\ndestroy m\n")
	f.Add(prelude + "capture s\ncondition c on s = 1\nif c on s\nlaunch k on s\nelse\nend\nswitch c on s\ncase\ncase\nlaunch k on s\nend\ntaskgroup t on s\nlaunch k on s\nend\nwait e external on s\ngraph g from s\nshow g dot\nexecute g on s\nupdate t on s\nlaunch k on s\nend\ncaptured s\nexchange local\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "iB") || strings.Contains(text, "memory") || len(text) > 4<<10 {
			return // no large memory here
		}
		p, _, err := check(text)
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		done := make(chan error, 1)
		go func() { _, err := p.Run(ctx, Options{}); done <- err }()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatal("does not end")
		}
	})
}
