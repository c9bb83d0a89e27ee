package live

import (
	"fmt"
	"hash/fnv"
	"reflect"
	"sync/atomic"
	"unsafe"

	"npu/internal/trace"
)

const (
	taskBytes = int(unsafe.Sizeof(trace.Task{}))
	spanBytes = int(unsafe.Sizeof(trace.Span{}))
)

// wordsOf sees mapped memory as words for atomic access.
func wordsOf(b []byte) []atomic.Uint64 {
	return unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}

func tasksOf(b []byte) []trace.Task {
	return unsafe.Slice((*trace.Task)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/taskBytes)
}

func spansOf(b []byte) []trace.Span {
	return unsafe.Slice((*trace.Span)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/spanBytes)
}

// layout is a hash of how rows lie in memory.
func layout() uint64 {
	h := fnv.New64a()
	for _, t := range []reflect.Type{reflect.TypeFor[trace.Task](), reflect.TypeFor[trace.Span]()} {
		for i := range t.NumField() {
			f := t.Field(i)
			fmt.Fprintln(h, f.Name, f.Offset, f.Type.Kind(), t.Size())
		}
	}
	return h.Sum64()
}
