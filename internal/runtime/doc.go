// Package runtime is the runtime core in the manner of Huawei's CANN runtime (aclrt*): threads, devices, contexts,
// streams, events, memory, copies, kernels and sunk models over the simulated hardware of package sim.
//
// It is not a simulator: it reaches the hardware only through rings, doorbells, page tables and faults. It is not a
// model loader either: that is package model.
//
// The host thread is a value. Go has no thread-local storage, so *Thread carries the clock, the current context and
// the last error; every counterpart of an aclrt call is a method on it. A Thread belongs to one goroutine at a time.
//
// Every call advances the Thread's clock by its modelled host cost (cost table in cost.go). What a call creates or
// observes happens on the device's time line at that clock, so the outcome does not depend on how fast the machine is.
//
// The package starts one goroutine for each Thread.Go, ended by its function; nothing else.
package runtime
