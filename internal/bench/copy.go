package bench

import (
	"fmt"

	"npu/internal/runtime"
)

// copyCalls is how many asynchronous copies stand before one synchronise.
const copyCalls = 16

// copySpecs move bytes for real: the device's memory is the host's. A copy's partner is a plain copy of as many bytes.
func copySpecs() []Spec {
	var list []Spec
	for _, size := range []int64{4 << 10, 1 << 20} {
		name := func(what string) string { return fmt.Sprintf("Copy/%s-%dKiB", what, size>>10) }
		partner := name("go-copy")
		add := func(what, about string, set func(r *rig, d *buffers) (func() error, int, error)) {
			list = append(list, Spec{Name: name(what), About: about, Bytes: size, Goal: Goal{Partner: partner}, open: copies(size, set)})
		}
		add("async-h2d", "MemcpyAsync from pinned memory, 16 and a synchronise", func(r *rig, d *buffers) (func() error, int, error) {
			return d.async(r, d.dev, d.host.Addr)
		})
		add("async-d2h", "MemcpyAsync to pinned memory, 16 and a synchronise", func(r *rig, d *buffers) (func() error, int, error) {
			return d.async(r, d.host.Addr, d.dev)
		})
		add("async-d2d", "MemcpyAsync within the device, 16 and a synchronise", func(r *rig, d *buffers) (func() error, int, error) {
			return d.async(r, d.dev, d.other)
		})
		add("sync-h2d", "Memcpy from pageable memory, which goes through pinned memory", func(r *rig, d *buffers) (func() error, int, error) {
			return func() error { return r.th.MemcpyFromHost(d.dev, d.pageable) }, 1, nil
		})
		add("sync-d2h", "Memcpy to pageable memory, which goes through pinned memory", func(r *rig, d *buffers) (func() error, int, error) {
			return func() error { return r.th.MemcpyToHost(d.pageable, d.dev) }, 1, nil
		})
		add("memset", "Memset of device memory", func(r *rig, d *buffers) (func() error, int, error) {
			return func() error { return r.th.Memset(d.dev, 1, size) }, 1, nil
		})
		list = append(list, Spec{Name: partner, About: "copy of as many bytes between two Go slices", Bytes: size, open: plain(func() func(m *meter) error { return goCopy(size) })})
	}
	return list
}

// buffers is memory of all kinds.
type buffers struct {
	size       int64
	dev, other runtime.Ptr
	host       runtime.HostMem
	pageable   []byte
}

// copies makes the probe of a copy; set returns the call and how many copies it makes.
func copies(size int64, set func(r *rig, d *buffers) (func() error, int, error)) func(o *Options) (*probe, error) {
	return with(func(c *runtime.Config) { c.TimingOnly = false }, func(r *rig) (func(m *meter) error, error) {
		d := &buffers{size: size, pageable: make([]byte, size)}
		var err error
		if d.dev, err = r.th.Malloc(size); err != nil {
			return nil, err
		}
		if d.other, err = r.th.Malloc(size); err != nil {
			return nil, err
		}
		if d.host, err = r.th.MallocHost(size); err != nil {
			return nil, err
		}
		f, n, err := set(r, d)
		times := int(max(1, 64<<10/size))
		all := func() error {
			for range times {
				if err := f(); err != nil {
					return err
				}
			}
			return nil
		}
		return func(m *meter) error { return r.clock(m, times*n, all, nil) }, err
	})
}

// async makes asynchronous copies and waits for them.
func (d *buffers) async(r *rig, dst, src runtime.Ptr) (func() error, int, error) {
	s, err := r.stream(false)
	return func() error {
		for range copyCalls {
			if err := r.th.MemcpyAsync(dst, src, d.size, s); err != nil {
				return err
			}
		}
		return r.th.SynchronizeStream(s)
	}, copyCalls, err
}

func goCopy(size int64) func(m *meter) error {
	a, b := make([]byte, size), make([]byte, size)
	times := int(max(16, 1<<20/size))
	f := func() error {
		for range times {
			copy(a, b)
		}
		return nil
	}
	return func(m *meter) error {
		m.ops = times
		return m.run(f)
	}
}
