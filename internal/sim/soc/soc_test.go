package soc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"npu/internal/problem"
	"npu/internal/tensor"
)

// The derived figures as a published table prints them: cube and vector TFLOPS, memory and L2 GB/s.
var derived = []struct {
	name                  string
	cube, vector, mem, l2 string
}{
	{"Ascend310", "11.1", "0.3", "91", "174"},
	{"Ascend310B1", "10.0", "0.6", "21+21", "313"},
	{"Ascend310B4", "4.1", "0.3", "4+4", "128"},
	{"Ascend310P1", "86.8", "4.8", "180+72", "1208"},
	{"Ascend310P3", "69.5", "4.0", "144+63", "967"},
	{"Ascend910A", "262.1", "8.2", "1024", "3520"},
	{"Ascend910B", "221.2", "6.9", "864", "2970"},
	{"Ascend910ProA", "288.4", "9.0", "1126", "3872"},
	{"Ascend910PremiumA", "319.8", "10.0", "1249", "4294"},
	{"Ascend910B1", "363.7", "22.7", "1421", "4884"},
	{"Ascend910B2", "353.9", "22.1", "1382", "4752"},
	{"Ascend910B3", "294.9", "18.4", "1152", "3960"},
	{"Ascend910B4", "245.8", "15.4", "960", "3300"},
	{"Ascend910_9362", "245.8", "15.4", "960", "3300"},
	{"Ascend910_9382", "353.9", "22.1", "1382", "4752"},
	{"Ascend910_9392", "363.7", "22.7", "1421", "4884"},
	{"Ascend950PR_957b", "378.5", "23.7", "1247", "4620"},
	{"Ascend950PR_9599", "530.8", "33.2", "2009", "6480"},
	{"Ascend950DT_9572", "378.5", "23.7", "3696", "4620"},
	{"Ascend950DT_95A1", "530.8", "33.2", "5184", "6480"},
}

// The same for every part: cube TFLOPS, memory GB/s.
var compact = []struct{ name, cube, mem string }{
	{"Ascend310", "11.1", "91"},
	{"Ascend310B1", "10.0", "42"},
	{"Ascend310B2", "10.0", "42"},
	{"Ascend310B3", "10.0", "42"},
	{"Ascend310B4", "4.1", "8"},
	{"Ascend310P1", "86.8", "252"},
	{"Ascend310P3", "69.5", "207"},
	{"Ascend310P5", "52.4", "172"},
	{"Ascend310P7", "36.0", "138"},
	{"Ascend350_354f", "189.2", "624"},
	{"Ascend350_355e", "216.3", "818"},
	{"Ascend910A", "262.1", "1024"},
	{"Ascend910B", "221.2", "864"},
	{"Ascend910B1", "363.7", "1421"},
	{"Ascend910B2", "353.9", "1382"},
	{"Ascend910B2C", "353.9", "1382"},
	{"Ascend910B3", "294.9", "1152"},
	{"Ascend910B4", "245.8", "960"},
	{"Ascend910B4-1", "245.8", "960"},
	{"Ascend910PremiumA", "319.8", "1249"},
	{"Ascend910ProA", "288.4", "1126"},
	{"Ascend910ProB", "282.6", "1104"},
	{"Ascend910_9362", "245.8", "960"},
	{"Ascend910_9363", "245.8", "960"},
	{"Ascend910_9372", "294.9", "1152"},
	{"Ascend910_9381", "353.9", "1382"},
	{"Ascend910_9382", "353.9", "1382"},
	{"Ascend910_9391", "363.7", "1421"},
	{"Ascend910_9392", "363.7", "1421"},
	{"Ascend950DT_950x", "108.1", "251"},
	{"Ascend950DT_950y", "108.1", "185"},
	{"Ascend950DT_9571", "378.5", "3696"},
	{"Ascend950DT_9572", "378.5", "3696"},
	{"Ascend950DT_9573", "378.5", "3234"},
	{"Ascend950DT_9574", "378.5", "3234"},
	{"Ascend950DT_9575", "378.5", "2818"},
	{"Ascend950DT_9576", "378.5", "2818"},
	{"Ascend950DT_9577", "378.5", "2495"},
	{"Ascend950DT_9578", "378.5", "2495"},
	{"Ascend950DT_9581", "432.5", "4224"},
	{"Ascend950DT_9581x", "432.5", "4224"},
	{"Ascend950DT_9582", "432.5", "4224"},
	{"Ascend950DT_9582x", "432.5", "4224"},
	{"Ascend950DT_9583", "432.5", "3696"},
	{"Ascend950DT_9584", "432.5", "3696"},
	{"Ascend950DT_9585", "432.5", "3221"},
	{"Ascend950DT_9586", "432.5", "3221"},
	{"Ascend950DT_9587", "432.5", "2851"},
	{"Ascend950DT_9588", "432.5", "2851"},
	{"Ascend950DT_9591", "530.8", "5184"},
	{"Ascend950DT_9592", "530.8", "5184"},
	{"Ascend950DT_9595", "530.8", "3953"},
	{"Ascend950DT_9596", "530.8", "3953"},
	{"Ascend950DT_95A1", "530.8", "5184"},
	{"Ascend950DT_95A2", "530.8", "5184"},
	{"Ascend950PR_950z", "54.1", "26"},
	{"Ascend950PR_9579", "378.5", "1432"},
	{"Ascend950PR_957b", "378.5", "1247"},
	{"Ascend950PR_957bx", "378.5", "1247"},
	{"Ascend950PR_957c", "378.5", "1247"},
	{"Ascend950PR_957d", "378.5", "1063"},
	{"Ascend950PR_9589", "432.5", "1637"},
	{"Ascend950PR_958b", "432.5", "1426"},
	{"Ascend950PR_9599", "530.8", "2009"},
}

func TestDerivedFigures(t *testing.T) {
	for _, d := range derived {
		c, err := Lookup(d.name)
		if err != nil {
			t.Fatal(err)
		}
		mem := fmt.Sprintf("%.0f", c.MemoryGBs())
		if strings.Contains(d.mem, "+") {
			own := float64(c.Rates.DDRRead*c.AICores*c.CubeMHz) / 1e3
			mem = fmt.Sprintf("%.0f+%.0f", own, c.MemoryGBs()-own)
		}
		got := []string{fmt.Sprintf("%.1f", c.CubeTFLOPS(tensor.Float16)), fmt.Sprintf("%.1f", c.VectorTFLOPS()), mem,
			fmt.Sprintf("%.0f", c.L2GBs())}
		if want := []string{d.cube, d.vector, d.mem, d.l2}; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", d.name, got, want)
		}
	}
	if len(All()) != len(compact) {
		t.Errorf("%d chips, want %d", len(All()), len(compact))
	}
	for _, d := range compact {
		c, err := Lookup(d.name)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{fmt.Sprintf("%.1f", c.CubeTFLOPS(tensor.BFloat16)), fmt.Sprintf("%.0f", c.MemoryGBs())}
		if want := []string{d.cube, d.mem}; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", d.name, got, want)
		}
	}
}

func TestChip_sane(t *testing.T) {
	for _, c := range All() {
		for what, n := range map[string]int64{
			"cores": int64(c.AICores), "AI CPUs": int64(c.AICPUs), "clock": int64(c.CubeMHz), "memory": c.MemoryBytes, "L2": c.L2Bytes,
			"lanes": int64(c.VecLanes), "UB": int64(c.UB), "L0C": int64(c.L0C), "L1": int64(c.L1), "rings": int64(c.StreamMax),
			"ring": int64(c.RingDepth), "usable": int64(c.RingUsable), "events": int64(c.EventMax), "notifies": int64(c.NotifyMax),
			"task ids": int64(c.TaskIDs), "event clock": c.EventClockHz, "DMA": int64(c.DMAEngines), "PCIe": c.PCIe.BytesPerSecond,
			"ddr": int64(c.Rates.DDRRead), "ddr write": int64(c.Rates.DDRWrite), "l2": int64(c.Rates.L2Read), "fixpipe": int64(c.Rates.L0CToUB),
			"mte1": int64(c.Rates.L1ToL0A), "mte3": int64(c.Rates.UBToDDR), "k": int64(c.MKN(tensor.Float16).K),
		} {
			if n <= 0 {
				t.Errorf("%s: %s is %d", c.Name, what, n)
			}
		}
		if c.Split && (c.VectorCores != 2*c.CubeCores || c.Rates.VecDDR == 0 || c.Rates.VecUBToDDR == 0) {
			t.Errorf("%s: %d cube cores, %d vector cores, rates %+v", c.Name, c.CubeCores, c.VectorCores, c.Rates)
		}
		if k, k8 := c.MKN(tensor.Float16).K, c.MKN(tensor.Int8).K; k8 != 2*k {
			t.Errorf("%s: int8 depth %d", c.Name, k8)
		}
		if c.Like != "" {
			if _, err := Lookup(c.Like); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
		if pad := map[bool]int{true: 0, false: 32}[c.Short == "Ascend950" || c.Short == "Ascend350"]; c.PaddingSize != pad {
			t.Errorf("%s: padding %d", c.Name, c.PaddingSize)
		}
		if b := float64(c.BandwidthBytes()) / 1e9; b > c.MemoryGBs()*1.001 || c.NominalMBs > 0 && b > float64(c.NominalMBs)/1e3 {
			t.Errorf("%s: bandwidth %.0f GB/s", c.Name, b)
		}
	}
	b4, _ := Lookup("910B4")
	if got := b4.BandwidthBytes(); got != 879609e6 {
		t.Errorf("910B4 is not held at its nominal bandwidth: %d", got)
	}
	pr, _ := Lookup("950PR_957b")
	if pr.MKN(tensor.Float32) != (MKN{16, 8, 16}) || pr.MKN(tensor.Float8E4M3).K != 32 || pr.VecPipes != 2 || !pr.BF16 {
		t.Errorf("950PR: %+v", pr)
	}
}

func TestLookup(t *testing.T) {
	for _, name := range []string{"Ascend910B3", "910b3", "ASCEND910B3", " ascend910b3 "} {
		if c, err := Lookup(name); err != nil || c.Name != Default {
			t.Errorf("%q: %v, %v", name, c, err)
		}
	}
	for name, near := range map[string]string{"910B5": "Ascend910B1", "950PR": "Ascend950PR_950z", "Ascend310p2": "Ascend310P1", "h100": "", "": ""} {
		_, err := Lookup(name)
		if err == nil || problem.ClassOf(err) != problem.Usage || !strings.Contains(err.Error(), near) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := Lookup(strings.Repeat("9", 1<<16)); err == nil {
		t.Error("no error for a very long name")
	}
}

func TestParse_refuses(t *testing.T) {
	head, rest, _ := strings.Cut(chipsTSV[strings.Index(chipsTSV, "name\t"):], "\n")
	first, _, _ := strings.Cut(rest, "\n")
	for _, bad := range []string{
		head + "\n" + first + "\textra\n",
		head + "\n" + strings.Replace(first, "\t680\t", "\tfast\t", 1),
		head + "\n" + strings.Replace(first, "\t16,32,16\t", "\t16,32\t", 1),
		head + "\n" + strings.Replace(first, "\tAscend310\t", "\tAscend7\t", 1),
		strings.Replace(head, "l2_size", "l3_size", 1) + "\n" + first,
	} {
		if _, err := parse(bad, familiesTSV); err == nil {
			t.Errorf("no error for %.80q", bad)
		}
	}
}
