//go:build race

package runtime

// raceEnabled: the race detector makes runs ten times slower.
const raceEnabled = true
