package demo_test

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"npu/internal/demo"
	"npu/internal/tensor"
)

// picture makes a tensor of rows of digits, 9 being full ink.
func picture(t *testing.T, rows ...string) *tensor.Tensor {
	t.Helper()
	var v []float32
	for _, row := range rows {
		for _, c := range row {
			v = append(v, float32(c-'0')/9)
		}
	}
	im, err := tensor.FromFloat32s(tensor.Shape{1, 1, len(rows), len(rows[0])}, v)
	if err != nil {
		t.Fatal(err)
	}
	return im
}

func TestRender(t *testing.T) {
	for _, c := range []struct {
		name string
		rows []string
		look demo.Look
		want string
	}{
		{"half blocks", []string{"00990", "09090"}, demo.Unicode, " ▄▀█\n"},
		{"an odd last row", []string{"0000", "0000", "0990"}, demo.Unicode, "\n ▀▀\n"},
		{"shades", []string{"0030409", "0030409"}, demo.Unicode, "  ░ ▒ █\n"},
		{"letters", []string{"0000019", "0000019"}, demo.ASCII, "     .@\n"},
		{"raised contrast", []string{"33363", "33333"}, demo.ASCII, "   +\n"},
		{"no contrast", []string{"999", "999"}, demo.ASCII, "@@@\n"},
		{"colours", []string{"0990", "0990"}, demo.Color, "\x1b[38;5;255;48;5;255m▀\x1b[38;5;232;48;5;232m▀▀\x1b[38;5;255;48;5;255m▀\x1b[0m\n"},
	} {
		if got := demo.Render(picture(t, c.rows...), c.look); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestRender_samples(t *testing.T) {
	for _, s := range demo.Samples() {
		for _, look := range []demo.Look{demo.ASCII, demo.Unicode, demo.Color} {
			lines := strings.SplitAfter(demo.Render(s.Image, look), "\n")
			if len(lines) != 15 || lines[14] != "" {
				t.Fatalf("%s: %d lines, want 14", s.Name, len(lines)-1)
			}
			for _, line := range lines[:14] {
				n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))
				if look != demo.Color && n > 28 {
					t.Errorf("%s: a line of %d columns", s.Name, n)
				}
				if look == demo.Color && strings.Count(line, "▀") != 28 {
					t.Errorf("%s: %d coloured columns, want 28", s.Name, strings.Count(line, "▀"))
				}
				if look == demo.ASCII && len(line) != n+1 {
					t.Errorf("%s: %q is not ASCII", s.Name, line)
				}
			}
		}
	}
}

func TestRender_refuses(t *testing.T) {
	for _, im := range []*tensor.Tensor{
		nil,
		{DType: tensor.Float32, Shape: tensor.Shape{4}, Data: make([]byte, 16)},
		{DType: tensor.Float32, Shape: tensor.Shape{2, 2}, Data: make([]byte, 12)},
		{DType: tensor.Float32, Shape: tensor.Shape{-1, 2}, Data: make([]byte, 16)},
		{DType: tensor.Float32, Shape: tensor.Shape{2, 0}},
		{DType: tensor.Uint8, Shape: tensor.Shape{2, 2}, Data: make([]byte, 4)},
	} {
		if got := demo.Render(im, demo.Unicode); got != "" {
			t.Errorf("%v: got %q", im, got)
		}
	}
}

// Numbers beyond 0 to 1 and no numbers at all are drawn somehow, with whole lines.
func TestRender_oddNumbers(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	im, err := tensor.FromFloat32s(tensor.Shape{2, 4}, []float32{nan, inf, -inf, 7, -7, 0.5, nan, inf})
	if err != nil {
		t.Fatal(err)
	}
	for _, look := range []demo.Look{demo.ASCII, demo.Unicode, demo.Color} {
		if got := demo.Render(im, look); strings.Count(got, "\n") != 1 || !utf8.ValidString(got) {
			t.Errorf("look %d: got %q", look, got)
		}
	}
}
