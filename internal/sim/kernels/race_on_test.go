//go:build race

package kernels

// raceEnabled: the race detector makes sync.Pool drop items at random, so counts of allocations mean nothing.
const raceEnabled = true
