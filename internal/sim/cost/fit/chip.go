package fit

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"npu/internal/problem"
	"npu/internal/sim/cost/measured"
	"npu/internal/sim/soc"
)

// Guess finds the chip that a file was measured on from its numbers of cores, its clock and the bandwidth it reached,
// and says why.
func Guess(f *measured.File) (*soc.Chip, string, error) {
	if f.CubeBlocks == 0 && f.VectorBlocks == 0 {
		return nil, "", problem.Usagef("%s: no block dims from which to tell the chip: give it with --soc NAME", f.Path)
	}
	var best *soc.Chip
	least := math.Inf(1)
	for _, c := range soc.All() {
		if d := unlike(f, c); d < least {
			best, least = c, d
		}
	}
	why := fmt.Sprintf("up to %d cube and %d vector blocks", f.CubeBlocks, f.VectorBlocks)
	if f.MHz > 0 {
		why += fmt.Sprintf(", %d MHz", f.MHz)
	}
	if f.BytesPerSecond > 0 {
		why += fmt.Sprintf(", %.0f GB/s", float64(f.BytesPerSecond)/1e9)
	}
	return best, why, nil
}

// unlike is how badly a chip fits: kernels ask for all cores or fewer, clock and bandwidth lie near the table's.
func unlike(f *measured.File, c *soc.Chip) (d float64) {
	far := func(have, want float64) float64 { return math.Abs(math.Log(have / want)) }
	cores := func(blocks, units int) float64 {
		switch {
		case blocks == 0 || units == 0:
			return 0
		case blocks > units: // more blocks than cores run in waves
			return 2 * far(float64(blocks), float64(units))
		}
		return 4 * far(float64(blocks), float64(units))
	}
	d = cores(f.CubeBlocks, c.CubeUnits()) + cores(f.VectorBlocks, c.VectorUnits())
	if f.MHz > 0 {
		d += far(float64(f.MHz), float64(c.CubeMHz))
	}
	if f.BytesPerSecond > 0 {
		d += 0.5 * far(float64(f.BytesPerSecond), float64(c.BandwidthBytes()))
	}
	if c.Short != "Ascend910B" { // by far the most common in public files
		d += 0.02
	}
	if c.Like != "" { // a variant: its main form is as likely
		d += 0.01
	}
	return d
}

// Load reads a file, named as NAME=FILE with its chip or as FILE, and finds its chip: the one named, else soc, else a
// guess. why is empty unless it is a guess.
func Load(arg, name string) (f *measured.File, chip *soc.Chip, why string, err error) {
	path := arg
	if n, p, ok := strings.Cut(arg, "="); ok && filepath.Base(n) == n {
		if c, err := soc.Lookup(n); err == nil {
			chip, path = c, p
		}
	}
	if chip == nil && name != "" {
		if chip, err = soc.Lookup(name); err != nil {
			return nil, nil, "", err
		}
	}
	if f, err = measured.Open(path); err != nil {
		return nil, nil, "", err
	}
	if chip == nil {
		chip, why, err = Guess(f)
	}
	return f, chip, why, err
}
