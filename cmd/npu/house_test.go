package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite generated and golden files")

// rooms are the folders of docs/architecture.md with what each may import of this module. A room is its folder and
// everything below; the longest match wins. Every room may import problem, outfile and plaintext, which are leaves.
var rooms = map[string][]string{
	"cmd/npu":                    {"*"},
	"internal/tui":               {"internal/trace", "internal/blackbox", "internal/runtime/telemetry", "internal/smi"},
	"internal/bench":             {"internal/runtime", "internal/model", "internal/sim", "internal/trace", "internal/tensor"},
	"internal/program":           {"internal/runtime", "internal/sim", "internal/trace", "internal/tensor"},
	"internal/model":             {"internal/runtime", "internal/sim", "internal/trace", "internal/tensor"},
	"internal/model/onnx":        {"internal/model/graph", "internal/sim/kernels", "internal/tensor"},
	"internal/model/om":          {"internal/model/graph", "internal/model/plan", "internal/sim/kernels", "internal/sim/cost", "internal/sim/soc", "internal/tensor"},
	"internal/model/graph":       {"internal/sim/kernels", "internal/tensor"},
	"internal/model/plan":        {"internal/model/graph", "internal/sim/kernels", "internal/sim/cost", "internal/tensor"},
	"internal/runtime":           {"internal/sim", "internal/trace", "internal/blackbox", "internal/tensor"},
	"internal/runtime/mempool":   {},
	"internal/runtime/telemetry": {},
	"internal/sim":               {"internal/trace", "internal/blackbox", "internal/tensor"},
	"internal/sim/soc":           {"internal/tensor"},
	"internal/sim/cost":          {"internal/sim/soc", "internal/tensor"},
	"internal/sim/kernels":       {"internal/sim/cost", "internal/tensor"},
	"internal/smi":               {},
	"internal/trace":             {"internal/tensor"},
	"internal/blackbox":          {"internal/tensor"},
	"internal/demo":              {"internal/tensor"},
	"internal/demo/gen":          {"internal/demo", "internal/model", "internal/sim/kernels", "internal/tensor"},
	"internal/tensor":            {},
	"internal/problem":           {},
	"internal/outfile":           {},
	"internal/plaintext":         {},
}

var leaves = []string{"internal/problem", "internal/outfile", "internal/plaintext"}

type listed struct {
	ImportPath string
	Imports    []string
	Module     *struct{ Path, Version, Dir string }
	Standard   bool
}

func goList(t *testing.T, args ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Module,Standard"}, args...)...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("no go command to list packages with: %v", err)
	}
	var list []listed
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p listed
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

// roomOf finds the room of a package of this module.
func roomOf(path string) (string, bool) {
	path = strings.TrimPrefix(path, "npu/")
	best := ""
	for r := range rooms {
		if (path == r || strings.HasPrefix(path, r+"/")) && len(r) > len(best) {
			best = r
		}
	}
	return best, best != ""
}

// Imports run only in the directions of docs/architecture.md.
func TestImportDirections(t *testing.T) {
	for _, p := range goList(t, "./...") {
		room, ok := roomOf(p.ImportPath)
		if !ok {
			t.Errorf("%s lies in no room of docs/architecture.md", p.ImportPath)
			continue
		}
		for _, imp := range p.Imports {
			if !strings.HasPrefix(imp, "npu/") {
				continue
			}
			to, _ := roomOf(imp)
			if !allowed(room, strings.TrimPrefix(imp, "npu/"), to) {
				t.Errorf("%s (room %s) imports %s (room %s)", p.ImportPath, room, imp, to)
			}
		}
	}
}

func allowed(from, path, to string) bool {
	if from == to || slices.Contains(leaves, to) || strings.HasPrefix(to, from+"/") {
		return true
	}
	for _, a := range rooms[from] {
		if a == "*" || path == a || strings.HasPrefix(path, a+"/") {
			return true
		}
	}
	return false
}

// The modules that the program is built from are those of docs/third-party.tsv, with their licences.
func TestThirdParty(t *testing.T) {
	licences := map[string]string{}
	for _, p := range goList(t, "-deps", "./cmd/npu") {
		if m := p.Module; m != nil && m.Path != "npu" {
			licences[m.Path+"\t"+m.Version] = licence(m.Dir)
		}
	}
	var b strings.Builder
	b.WriteString("module\tversion\tlicence\n")
	for _, k := range slices.Sorted(func(yield func(string) bool) {
		for k := range licences {
			if !yield(k) {
				return
			}
		}
	}) {
		fmt.Fprintf(&b, "%s\t%s\n", k, licences[k])
	}
	golden(t, "../../docs/third-party.tsv", b.String())
}

// licence names a module's licence from the words of its text.
func licence(dir string) string {
	names, _ := filepath.Glob(filepath.Join(dir, "LICEN[CS]E*"))
	if len(names) == 0 {
		return "unknown"
	}
	b, err := os.ReadFile(names[0])
	if err != nil {
		return "unknown"
	}
	text := strings.Join(strings.Fields(string(b)), " ")
	for _, l := range []struct{ words, name string }{
		{"Apache License Version 2.0", "Apache-2.0"}, {"Mozilla Public License", "MPL-2.0"},
		{"Permission is hereby granted, free of charge", "MIT"}, {"Permission to use, copy, modify, and/or distribute", "ISC"},
		{"Neither the name", "BSD-3-Clause"}, {"Redistribution and use in source and binary forms", "BSD-2-Clause"},
	} {
		if strings.Contains(text, l.words) {
			return l.name
		}
	}
	return "unknown"
}

// golden compares text with a committed file, or writes it with -update.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (make it with: go test ./cmd/npu -run %s -update)", err, t.Name())
	}
	if got != string(want) {
		t.Errorf("%s is stale: make it anew with go test ./cmd/npu -run %s -update\n--- have\n%s\n--- want\n%s", path, t.Name(), want, got)
	}
}
