// Package runtime is the runtime core in the manner of Huawei's CANN runtime (aclrt*): threads, devices, contexts,
// streams, events, notifies, callbacks, memory, copies, kernels and sunk models over the simulated hardware of package
// sim.
//
// It is not a simulator: it reaches the hardware only through rings, doorbells, page tables and faults. It is not a
// model loader either: that is package model.
//
// # Threads and clocks
//
// The host thread is a value. Go has no thread-local storage, so *Thread carries the clock, the current context and
// the last error; every counterpart of an aclrt call is a method on it. A Thread belongs to one goroutine at a time.
//
// Every call advances the Thread's clock by its modelled host cost (cost.go). What a call creates or observes happens
// on the device's time line at that clock, so the outcome does not depend on how fast the machine is. That holds for
// threads that are ordered by the runtime (streams, events, Go, Wait, Mutex, Chan); where wall time has decided,
// Runtime.WallOrdered says so.
//
// State that several threads share is changed and read in functions given to sim.Port.Call ("under Port.Call" in the
// comments): they run one at a time, in virtual-time order, and need no lock. What the submission path reads is atomic.
//
// # Goroutines
//
// One for each Thread.Go, ended by its function. One for each context that has had a host function and one for the
// exception callbacks (service.go), ended with the context and the runtime. They run user code as Threads whose clock
// the driver sets.
//
// With Config.RunDir one that samples the devices ten times a second, and those of package ipc (ipc_process.go); they
// touch the devices only as their owner, and end with the runtime.
//
// Locks: listeners.mu, library.mu, handles.mu, calls.mu and hostPool.mu guard their tables; none is held across a wait or
// another lock.
package runtime
