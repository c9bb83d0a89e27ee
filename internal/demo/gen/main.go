// Command gen makes the demonstration network of package demo: it draws digits, trains a small network on them and
// writes demo.onnx and the sample images.
//
//	go run ./internal/demo/gen          from the root of the repository; a bit over a minute on one core
//	go run ./internal/demo/gen -check   train again and compare with the files that are there
//
// The files come out the same, byte for byte, each time and on each processor: one goroutine, fixed seeds, a fixed
// order of additions, no function of the standard library whose last bit depends on the machine, and each product is
// converted explicitly before it is added, which forbids the compiler to fuse the two (as it would on arm64).
//
// It is no training library: it has the layers of this one network and nothing else.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"npu/internal/tensor"
)

// goal is the accuracy on the held-out images below which nothing is written.
const goal = 0.97

func main() {
	dir := flag.String("dir", "internal/demo", "folder of package demo")
	steps := flag.Int("steps", trainingSteps, "batches to train on; another number makes other files")
	check := flag.Bool("check", false, "compare with the files in the folder instead of writing them")
	flag.Parse()
	if err := run(os.Stdout, *dir, *steps, *check); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, dir string, steps int, check bool) error {
	begin := time.Now()
	n := newNetwork(batchSize)
	train(w, n, steps)
	exam := examine(n, heldOut, heldOutImages)
	fmt.Fprintln(w, exam)
	if exam.accuracy() < goal {
		return fmt.Errorf("accuracy %.4f on held-out images, want %.2f: nothing written", exam.accuracy(), goal)
	}
	files, err := artefacts(n, exam)
	if err != nil {
		return err
	}
	if check {
		err = compare(dir, files)
	} else {
		err = write(dir, files)
	}
	fmt.Fprintf(w, "%d files, %v\n", len(files), time.Since(begin).Round(time.Second))
	return err
}

// file is one result, with its path in the folder of package demo.
type file struct {
	path string
	data []byte
}

// artefacts are the model and one sample a digit.
func artefacts(n *network, e *result) ([]file, error) {
	model, err := export(n, fmt.Sprintf("%.4f of %d drawn images", e.accuracy(), e.images))
	if err != nil {
		return nil, err
	}
	files := []file{{"demo.onnx", model}}
	for digit, index := range e.sample {
		if index < 0 {
			return nil, fmt.Errorf("no held-out image of %d is read with a probability of %v to %v", digit, sampleFrom, sampleTo)
		}
		im := draw(heldOut, index)
		t, err := tensor.FromFloat32s(tensor.Shape{1, 1, side, side}, im.pixels[:])
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if err := tensor.WriteNPY(&b, t); err != nil {
			return nil, err
		}
		files = append(files, file{fmt.Sprintf("samples/digit-%d-%04d.npy", digit, index), b.Bytes()})
	}
	return files, nil
}

func write(dir string, files []file) error {
	old, err := filepath.Glob(filepath.Join(dir, "samples", "*.npy"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.path), f.data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func compare(dir string, files []file) error {
	var differ []error
	for _, f := range files {
		have, err := os.ReadFile(filepath.Join(dir, f.path))
		switch {
		case err != nil:
			differ = append(differ, err)
		case !bytes.Equal(have, f.data):
			differ = append(differ, fmt.Errorf("%s differs; run go run ./internal/demo/gen and commit what it writes", f.path))
		}
	}
	return errors.Join(differ...)
}
