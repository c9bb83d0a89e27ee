//go:build !amd64

package kernels

func fastMicros(order) []micro { return nil }
