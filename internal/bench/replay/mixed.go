package replay

// Mixed is a built-in trace: blocks of all sizes from 64 bytes to 8 MiB whose lives are short and long, on four streams.
func Mixed() *Trace {
	b := newBuilder("mixed")
	x := uint64(7)
	next := func(n uint64) uint64 {
		x = x*6364136223846793005 + 1442695040888963407
		return (x >> 33) % n
	}
	type live struct {
		key    uint64
		stream uint32
	}
	var list []live
	for key := range uint64(60000) {
		if len(list) > 2000 || len(list) > 0 && next(100) < 45 {
			i := len(list) - 1 - int(min(next(uint64(len(list))), next(uint64(len(list)))))
			b.free(list[i].key, list[i].stream)
			list[i] = list[len(list)-1]
			list = list[:len(list)-1]
			continue
		}
		s := uint32(next(4))
		b.alloc(key, 64<<min(next(18), next(18))+4*next(32), s)
		list = append(list, live{key, s})
	}
	return b.t
}
