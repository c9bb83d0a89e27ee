package demo

import (
	"fmt"
	"slices"
	"strings"

	"npu/internal/tensor"
)

// Look is what a terminal can show.
type Look uint8

// Looks, from the least able terminal to the most.
const (
	ASCII   Look = iota // letters and punctuation of different darkness
	Unicode             // half blocks and shades
	Color               // half blocks in 24 greys of the 256-colour palette
)

// Render is a picture of the last two dimensions of a float32 image, 0 light and 1 dark: a column of text a pixel and
// a line for two rows, so 28 columns and 14 lines for the demo's images. Of several images or channels it shows the
// first. Anything else gives "".
//
// Color shows dark ink on light paper. The other looks are drawn in the terminal's own two colours, with the contrast
// raised because they have few greys; their lines end without blanks.
func Render(image *tensor.Tensor, look Look) string {
	if image == nil || image.DType != tensor.Float32 || len(image.Shape) < 2 {
		return ""
	}
	h, w := image.Shape[len(image.Shape)-2], image.Shape[len(image.Shape)-1]
	pixels := tensor.View[float32](image.Data)
	if h <= 0 || w <= 0 || len(pixels)/w < h {
		return ""
	}
	pixels = pixels[:h*w]
	if look != Color {
		pixels = stretch(pixels)
	}
	var b strings.Builder
	for y := 0; y < h; y += 2 {
		upper := pixels[y*w:][:w]
		lower := make([]float32, w) // paper below an odd last row
		if y+1 < h {
			lower = pixels[(y+1)*w:][:w]
		}
		b.WriteString(line(upper, lower, look))
		b.WriteByte('\n')
	}
	return b.String()
}

func line(upper, lower []float32, look Look) string {
	var b strings.Builder
	switch look {
	case Color:
		last := [2]int{-1, -1}
		for x := range upper {
			if c := [2]int{grey(upper[x]), grey(lower[x])}; c != last {
				fmt.Fprintf(&b, "\x1b[38;5;%d;48;5;%dm", c[0], c[1])
				last = c
			}
			b.WriteRune('▀')
		}
		b.WriteString("\x1b[0m")
		return b.String()
	case Unicode:
		for x := range upper {
			b.WriteRune(block(upper[x], lower[x]))
		}
	default:
		for x := range upper {
			b.WriteByte(pick(" .:-=+*#%@", (upper[x]+lower[x])/2))
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// stretch maps the grey of the paper to 0 and that of the ink to 1: the middle of all pixels, and the level that one
// pixel in twenty passes, since a drawing is mostly paper and has a few specks that are darker than its ink. A picture
// without such a difference stays as it is.
func stretch(pixels []float32) []float32 {
	sorted := slices.Sorted(slices.Values(pixels))
	paper, ink := sorted[len(sorted)/2], sorted[len(sorted)*19/20]
	if !(ink > paper) {
		return pixels
	}
	out := make([]float32, len(pixels))
	for i, v := range pixels {
		out[i] = (v - paper) / (ink - paper)
	}
	return out
}

// grey is a colour of the palette's ramp, 232 black to 255 nearly white.
func grey(v float32) int { return 232 + int(scale(1-v, 23)+0.5) }

// block is a half block where the edge of a line runs between the two pixels, else a shade of both.
func block(upper, lower float32) rune {
	const ink = 0.5
	switch {
	case upper >= ink && lower < ink:
		return '▀'
	case lower >= ink && upper < ink:
		return '▄'
	case upper >= ink:
		return '█'
	case upper+lower < ink:
		return ' '
	case upper+lower < 1.5*ink:
		return '░'
	}
	return '▒'
}

// pick is the character of a ramp for v.
func pick(ramp string, v float32) byte { return ramp[int(scale(v, float32(len(ramp)-1))+0.5)] }

// scale is v·top with v held between 0 and 1; NaN is 0.
func scale(v, top float32) float32 {
	if !(v > 0) {
		return 0
	}
	return min(v, 1) * top
}
