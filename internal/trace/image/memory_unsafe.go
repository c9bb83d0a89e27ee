package image

import "unsafe"

func sizeOf[T any]() int { var v T; return int(unsafe.Sizeof(v)) }

// bytesOf is the memory of rows.
func bytesOf[T any](rows []T) []byte {
	if len(rows) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(rows))), len(rows)*sizeOf[T]())
}

// rowsOf is the n rows that lie in b, which is aligned and long enough.
func rowsOf[T any](b []byte, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// stringOf is b as text; b must not change any more.
func stringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
