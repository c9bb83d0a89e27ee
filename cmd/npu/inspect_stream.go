package main

import (
	"fmt"

	"npu/internal/program"
)

// inspectStream checks a stream program and says what is in it; nothing runs.
func inspectStream(o *inspectOptions) error {
	p, err := program.Read(o.file)
	var warnings []string
	if err == nil {
		warnings, err = p.Check()
	}
	if err != nil {
		return showMistakes(o.streams, err)
	}
	c := p.Contents()
	c.Warnings = append(c.Warnings, warnings...)
	if o.json {
		return o.printJSON(c)
	}
	fmt.Fprintf(o.out, "%s: stream program %s\n", o.file, c.Program)
	fmt.Fprintf(o.out, "  %s, %s, %s, %s, %s, %s\n", count(c.Statements, "statement"), count(c.Threads, "thread"), count(c.Streams, "stream"),
		count(c.Events, "event"), count(c.Buffers, "buffer"), count(c.Kernels, "kernel"))
	for _, w := range c.Warnings {
		fmt.Fprintf(o.out, "  note: %s\n", w)
	}
	fmt.Fprintf(o.out, "run it: npu run %s\n", o.file)
	return nil
}
