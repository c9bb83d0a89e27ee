package om

import "fmt"

// aippText says in one line what static or dynamic AIPP does to an input, "" where there is none.
func aippText(o *OpDef) string {
	if mode := o.Attrs.Str("_data_related_aipp_mode"); mode != "" && mode != "static_aipp" {
		return mode
	}
	a := aippOf(o)
	if a == nil {
		return ""
	}
	return fmt.Sprintf("static, %s %dx%d", a.formatName(), a.height, a.width)
}

// aipp is the image preprocessing that the compiler put into the first kernel.
type aipp struct {
	format        int64 // 1 YUV420SP, 2 XRGB8888, 3 RGB888, 4 YUV400
	width, height int64
	attrs         Attrs
}

// Image formats of AIPP.
const (
	aippYUV420 = 1
	aippXRGB   = 2
	aippRGB    = 3
	aippGray   = 4
)

func (a *aipp) formatName() string {
	switch a.format {
	case aippYUV420:
		return "YUV420SP"
	case aippXRGB:
		return "XRGB8888"
	case aippRGB:
		return "RGB888"
	case aippGray:
		return "YUV400"
	}
	return fmt.Sprintf("image format %d", a.format)
}

func aippOf(o *OpDef) *aipp {
	x := o.Attrs.Get("aipp")
	if x == nil || x.Func == nil {
		return nil
	}
	a := x.Func.Attrs
	return &aipp{format: a.Int("input_format", 0), width: a.Int("src_image_size_w", 0), height: a.Int("src_image_size_h", 0), attrs: a}
}

// dims is the shape of the image tensor that a program hands over, for n images; described is what the descriptor says.
// Half-resolution chroma makes YUV420SP half as high again.
func (a *aipp) dims(n int64, described []int64) []int64 {
	h, w := a.height, a.width
	if (h <= 0 || w <= 0) && len(described) == 4 {
		h, w = described[1], described[2]
	}
	switch a.format {
	case aippYUV420:
		return []int64{n, h * 3 / 2, w, 1}
	case aippXRGB:
		return []int64{n, h, w, 4}
	case aippGray:
		return []int64{n, h, w, 1}
	}
	return []int64{n, h, w, 3}
}
