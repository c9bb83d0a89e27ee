// Package telemetry is what a process tells others about its devices: a page of fixed size that it rewrites a few times
// a second and that any process of the same user may read at any moment. Counters only grow; rates are the reader's.
//
// A page is guarded by a sequence lock: the number in its second word is odd while the page is being written. Writing
// it is stores to mapped memory and no system call; a reader that meets a write tries again. What a reader finds may be
// damaged, old, or of another version: Decode never panics, and says at which offset it stopped.
//
// It is not a place for events (package trace), it knows no run directory (package ipc), and it starts no goroutine.
package telemetry
