package kernels

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"npu/internal/tensor"
)

// A mask of integers is added to the scores like the same numbers in float32.
func TestAttention_integerMask(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	in := []*tensor.Tensor{random(r, tensor.Float32, 2, 3, 4, 8), random(r, tensor.Float32, 2, 3, 5, 8), random(r, tensor.Float32, 2, 3, 5, 6)}
	values := newArray(4, 5)
	for i := range values.v {
		values.v[i] = float64(r.IntN(4))
	}
	with := func(mask *tensor.Tensor) []byte {
		return trial{op: "Attention", opset: 23, in: append(in[:3:3], mask)}.run(t)[0].Data
	}
	want := with(toTensor(t, tensor.Float32, values))
	if bytes.Equal(want, with(nil)) {
		t.Fatal("the mask changes nothing")
	}
	for _, dt := range []tensor.DType{tensor.Int8, tensor.Uint8, tensor.Int16, tensor.Int32, tensor.Int64, tensor.Uint64} {
		if got := with(toTensor(t, dt, values)); !bytes.Equal(got, want) {
			t.Errorf("a mask of %v gives another result than one of float32", dt)
		}
	}
}
