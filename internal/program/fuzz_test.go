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
