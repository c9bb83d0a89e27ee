// Package demo holds the network that `npu run` runs when no model is given, with some inputs for it: a reader of
// drawn digits. Both are made by the command in folder gen, from nothing but its code: it draws the digits, trains the
// network and writes the files that are embedded here.
//
// The package knows no model format and runs nothing; a caller parses Model, feeds it an image and shows the answer.
//
// The network takes Input, float32 1x1x28x28 from 0 (paper) to 1 (ink), and gives Output, float32 1x10: a probability
// for each of Classes. It is made of a convolution with batch normalisation and pooling, a depthwise separable block
// with hard swish, a convolution with stride 2, a second separable block with a residual connection, the mean over the
// image, and a Gemm with Softmax.
package demo

import (
	"bytes"
	"embed"
	"fmt"
	"path"

	"npu/internal/tensor"
)

//go:generate sh -c "cd ../.. && go run ./internal/demo/gen"

// Names of the network's input and output.
const (
	Input  = "image"
	Output = "probabilities"
)

//go:embed demo.onnx
var model string

//go:embed samples/*.npy
var samples embed.FS

// Model is the network as an ONNX file, a fresh copy each time: a reader may keep and change it.
func Model() []byte { return []byte(model) }

// Classes names what the network tells apart, in the order of its output.
func Classes() []string { return []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"} }

// Sample is an input with its right answer.
type Sample struct {
	Name  string         // digit-D-NNNN: the digit and the number of the image among those held out of training
	Image *tensor.Tensor // a fresh float32 tensor 1x1x28x28
	Label int            // index into Classes
}

// Samples are images that the network was not trained on, one a class, in the order of the classes. They were chosen
// among those that it reads right but not without doubt.
func Samples() []Sample {
	entries, err := samples.ReadDir("samples")
	if err != nil {
		panic(fmt.Errorf("embedded samples: %w", err)) // the build put them there
	}
	list := make([]Sample, 0, len(entries))
	for _, e := range entries {
		s, err := sample(e.Name())
		if err != nil {
			panic(fmt.Errorf("embedded sample %s: %w", e.Name(), err))
		}
		list = append(list, s)
	}
	return list
}

func sample(file string) (Sample, error) {
	data, err := samples.ReadFile(path.Join("samples", file))
	if err != nil {
		return Sample{}, err
	}
	s := Sample{Name: file[:len(file)-len(path.Ext(file))]}
	var index int
	if _, err := fmt.Sscanf(s.Name, "digit-%d-%d", &s.Label, &index); err != nil {
		return Sample{}, err
	}
	s.Image, err = tensor.ReadNPY(bytes.NewReader(data), int64(len(data)))
	return s, err
}

// Answer is the class with the greatest probability in an output of the network. Anything but float32 with an element
// a class is an error.
func Answer(probabilities *tensor.Tensor) (label int, p float32, err error) {
	v := tensor.View[float32](probabilities.Data)
	if probabilities.DType != tensor.Float32 || len(v) != len(Classes()) {
		return 0, 0, fmt.Errorf("output is %v, want %d float32 probabilities", probabilities, len(Classes()))
	}
	for i := range v {
		if v[i] > v[label] {
			label = i
		}
	}
	return label, v[label], nil
}
