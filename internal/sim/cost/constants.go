package cost

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

//go:embed constants.tsv
var constantsTSV string

// constants are the rows of constants.tsv for one family; their units are in the names there.
type constants struct {
	launchCube, launchVector, rampCube, rampVector, dispatch   int64
	cubePercent, cubeFP32Percent, cubeHF32Percent              int64
	runCycles, tileWaste                                       int64
	memoryPercent, l2Percent, l2Gain, coreBandwidth            int64
	tileN, grainCube, grainBytes, grainOps, maxWaves           int64
	icache, scalar, line                                       int64
	aicpuStart, aicpuMHz, aicpuMBs, aicpuGrain                 int64
	copyPCIe, copyDevice, copyHost, copyHostMBs, copyDevicePct int64
}

// fields names each constant as in the table.
func (c *constants) fields() map[string]*int64 {
	return map[string]*int64{
		"launch_cube_ns":      &c.launchCube,
		"launch_vector_ns":    &c.launchVector,
		"ramp_cube_ns":        &c.rampCube,
		"ramp_vector_ns":      &c.rampVector,
		"dispatch_ns":         &c.dispatch,
		"cube_percent":        &c.cubePercent,
		"run_cycles":          &c.runCycles,
		"cube_fp32_percent":   &c.cubeFP32Percent,
		"cube_hf32_percent":   &c.cubeHF32Percent,
		"memory_percent":      &c.memoryPercent,
		"l2_percent":          &c.l2Percent,
		"l2_gain_percent":     &c.l2Gain,
		"core_bandwidth":      &c.coreBandwidth,
		"tile_waste_percent":  &c.tileWaste,
		"tile_n":              &c.tileN,
		"grain_cube":          &c.grainCube,
		"grain_bytes":         &c.grainBytes,
		"grain_ops":           &c.grainOps,
		"max_waves":           &c.maxWaves,
		"icache_cycles":       &c.icache,
		"scalar_cycles":       &c.scalar,
		"line_bytes":          &c.line,
		"aicpu_start_ns":      &c.aicpuStart,
		"aicpu_mhz":           &c.aicpuMHz,
		"aicpu_mbs":           &c.aicpuMBs,
		"aicpu_grain":         &c.aicpuGrain,
		"copy_pcie_ns":        &c.copyPCIe,
		"copy_device_ns":      &c.copyDevice,
		"copy_host_ns":        &c.copyHost,
		"copy_host_mbs":       &c.copyHostMBs,
		"copy_device_percent": &c.copyDevicePct,
	}
}

// families maps a chip's family to its constants; "*" serves the others. It is parsed at the first use.
var families = sync.OnceValue(func() map[string]*constants {
	m, err := parseConstants(constantsTSV)
	if err != nil {
		panic("cost: constants.tsv: " + err.Error()) // the embedded table is broken: no input can cause this
	}
	return m
})

// parseConstants reads the table. The rows of "*" come first and give every constant; later families start from them.
func parseConstants(table string) (map[string]*constants, error) {
	all := &constants{}
	m := map[string]*constants{"*": all}
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 4 || f[3] == "" {
			return nil, fmt.Errorf("%q: expected name, family, value, origin", line)
		}
		c := m[f[1]]
		if c == nil {
			c = &constants{}
			m[f[1]] = c
		}
		v, err := strconv.ParseInt(f[2], 10, 64)
		p := c.fields()[f[0]]
		if err != nil || v <= 0 || p == nil || *p != 0 {
			return nil, fmt.Errorf("%s of %s: unknown, repeated or no positive number", f[0], f[1])
		}
		*p = v
	}
	for family, c := range m {
		defaults := all.fields()
		for name, p := range c.fields() {
			if *p == 0 {
				*p = *defaults[name]
			}
			if *p == 0 {
				return nil, fmt.Errorf("%s of %s is missing", name, family)
			}
		}
	}
	return m, nil
}

func constantsOf(family string) *constants {
	m := families()
	if c, ok := m[family]; ok {
		return c
	}
	return m["*"]
}
