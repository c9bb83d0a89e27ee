// Package program is stream programs: a small line-oriented text language in which a person writes devices, streams,
// events, buffers, copies and kernels, and runs them on the simulated NPU. It is how a problem is reproduced without
// hardware. The language is described in docs/stream-programs.md; its statements are the table Forms.
//
// Parse reads a program, Check finds what can be found before anything runs (names, kinds, shapes, units), Run executes
// it: each statement is one call of package runtime or a few, so that it meets the same codes as a program in C.
//
// It is not a general programming language: there are no functions, and no values but integers in loops.
//
// A thread block of a program is a host thread of the runtime on a goroutine of its own; Run waits for all of them.
// Names belong to the thread that declares them, so threads share no state of this package but the list of output
// lines, which is under a lock of its own.
package program
