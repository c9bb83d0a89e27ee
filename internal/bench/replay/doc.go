// Package replay runs traces of allocations through allocation policies and counts what they reserve: the runtime's own
// pool, and beside it a small model of the caching allocator of PyTorch, with the sizes that torch_npu makes of requests.
//
// Traces are CSV files (`op,id,size,stream`, op being a, f or s for allocate, free, synchronise all), or the event lists
// of PyTorch's memory snapshots in JSON. A replay has no tasks: a free takes effect when it is called, as if the tasks
// before it had passed.
package replay
