// Package sim is the hardware: the simulated NPUs of one process. Its face is what a driver sees of a real device:
// 64-byte task descriptors in rings, doorbells, events, page tables, memory, and faults that come back as interrupts.
// Above it package runtime makes streams, events and contexts; beside it soc holds the chips, cost the time of an
// operator and kernels the arithmetic.
//
// It is not a runtime: it knows no handles, no contexts, no ACL codes.
//
// # Time
//
// Device time is virtual, in integer nanoseconds. Each host thread has a Port, and a Port is a clock. The device
// simulates no event later than the earliest running clock plus the doorbell latency (the horizon), so that nothing
// a host thread still may do can come too late. Everything a host asks for reaches the device as an event at its
// clock plus that latency and is answered from the state of that instant, never from the present state.
// Events order by (time, kind, queue): outcomes do not depend on how fast the machine is.
//
// # Who drives
//
// All devices of a Machine share one event queue with one owner at a time (Machine.owner).
// A Port that waits takes ownership and drives until it is satisfied or stalled at the horizon, then parks. Whoever
// publishes something afterwards wakes one parked Port. Device state needs no lock: it belongs to the owner.
// A timer goroutine looks for blocked threads only while a Port is parked or a service waits. Where kernels compute for
// long, a goroutine that comes and goes drives beside the Ports (background.go).
//
// A queue that several Ports fill is described in lanes.go.
//
// # User code
//
// The driver never runs user code. A task that asks for a host function, and a fault that is to be reported, leave a
// call in a Mailbox; a Port that takes it has its clock set to that instant and holds the horizon until Done. A Port
// that only serves mailboxes is a service (Port.Serve): it wakes for work, does not drive unless nobody else would,
// and does not count when the program is checked for deadlock.
//
// # Failures
//
// A fault belongs to its task until the task ends, then to the queue until a wait reports it, or under STOP to the
// Domain for good. What an effect had written stays written: abort, time-out and fault change times and later tasks.
//
// A Link ties the clock to those of other processes: while something waits for their records, they hold the horizon
// too (link.go). Its words lie in memory that the processes share.
//
// Lock order: lanes.mu (of a shared queue) → Machine.owner → Machine.parkMu.
package sim
