package runtime

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"npu/internal/sim"
	"npu/internal/sim/cost"
	"npu/internal/tensor"
	"npu/internal/trace"
)

// group is n devices with a stream and two buffers each.
type group struct {
	*rig
	c          *Comm
	streams    []*Stream
	send, recv []Ptr
	n          int
}

func newGroup(t testing.TB, n int, alg Algorithm, bytes int64, timing bool) *group {
	t.Helper()
	rec := trace.NewRecorder()
	rt, th := open(t, Config{Devices: n, TimingOnly: timing, Recorder: rec, MemoryBytes: 8<<20 + 4*bytes})
	g := &group{rig: &rig{t: t, rt: rt, Thread: th, rec: rec}, n: n}
	for d := range n {
		g.ok(g.SetDevice(d))
		g.streams = append(g.streams, g.stream())
		g.send = append(g.send, must[Ptr](t)(g.Malloc(bytes)))
		g.recv = append(g.recv, must[Ptr](t)(g.Malloc(bytes)))
	}
	g.ok(g.SetDevice(0))
	g.c = must[*Comm](t)(g.NewComm(alg, g.streams...))
	return g
}

// on runs f with device d current.
func (g *group) on(d int, f func()) {
	g.t.Helper()
	old := g.ctx
	g.setContext(g.streams[d].ctx)
	f()
	g.setContext(old)
}

func (g *group) wait() {
	g.t.Helper()
	for d, s := range g.streams {
		g.on(d, func() { g.ok(g.SynchronizeStream(s)) })
	}
}

func (g *group) read(d int, p Ptr, n int64) []byte {
	g.t.Helper()
	b := make([]byte, n)
	g.on(d, func() { g.ok(g.MemcpyToHost(b, p)) })
	return b
}

// fill gives every rank random elements and returns them as float64.
func (g *group) fill(count int, t tensor.DType) [][]float64 {
	g.t.Helper()
	rng := rand.New(rand.NewPCG(uint64(g.n), uint64(count)))
	all := make([][]float64, g.n)
	for d := range all {
		v := make([]float64, count)
		for i := range v {
			v[i] = float64(rng.IntN(2001) - 1000)
			if t.Float() {
				v[i] /= 64
			}
		}
		b := make([]byte, count*t.Bits()/8)
		g.ok(tensor.EncodeFloats(b, t, 0, v), tensor.DecodeFloats(v, t, b, 0))
		g.on(d, func() { g.ok(g.MemcpyFromHost(g.send[d], b)) })
		all[d] = v
	}
	return all
}

// near says whether b holds the wanted elements: exactly for integers, within the rounding of n sums for floats.
func (g *group) near(what string, b []byte, t tensor.DType, want []float64) {
	g.t.Helper()
	got := make([]float64, len(want))
	g.ok(tensor.DecodeFloats(got, t, b, 0))
	tol := map[tensor.DType]float64{tensor.Float32: 1e-6, tensor.Float16: 1e-3, tensor.BFloat16: 8e-3}[t]
	for i := range want {
		if d := math.Abs(got[i] - want[i]); d > tol*float64(g.n)*max(1, math.Abs(want[i])) && d > tol*float64(g.n)*16 || tol == 0 && d != 0 {
			g.t.Fatalf("%s, %d ranks, %v: element %d is %v, want %v", what, g.n, t, i, got[i], want[i])
		}
	}
}

// Collectives of 2 to 8 devices against sums on the host, in both algorithms, for lengths that do and do not divide.
func TestCollectives(t *testing.T) {
	types := []tensor.DType{tensor.Float32, tensor.Float16, tensor.Int32}
	for _, alg := range []Algorithm{Ring, Mesh} {
		for n := 2; n <= 8; n++ {
			for _, count := range []int{1, n, 1000, 4099} {
				dt := types[(n+count)%3]
				if count == 1000 && alg == Ring {
					dt = types[n%3]
				}
				size := int64(dt.Bits() / 8)
				g := newGroup(t, n, alg, int64(count*n)*4+64, false)
				name := fmt.Sprintf("%v, count %d", alg, count)
				in := g.fill(count*n, dt)
				sum, top := make([]float64, count*n), make([]float64, count*n)
				for i := range sum {
					top[i] = math.Inf(-1)
					for d := range n {
						sum[i] += in[d][i]
						top[i] = max(top[i], in[d][i])
					}
				}
				for round := range 2 { // the second one finds the notifies as the first one did
					g.ok(g.AllReduce(g.c, g.send, g.recv, int64(count), dt, sim.ReduceSum))
					g.wait()
					var first []byte
					for d := range n {
						b := g.read(d, g.recv[d], int64(count)*size)
						g.near(fmt.Sprintf("all-reduce %d, %s", round, name), b, dt, sum[:count])
						if first == nil {
							first = b
						}
						if !bytes.Equal(b, first) {
							t.Fatalf("%s: ranks 0 and %d have different sums", name, d)
						}
					}
				}
				g.ok(g.AllReduce(g.c, g.send, g.recv, int64(count), dt, sim.ReduceMax))
				g.wait()
				g.near("maximum, "+name, g.read(n-1, g.recv[n-1], int64(count)*size), dt, top[:count])

				g.ok(g.ReduceScatter(g.c, g.send, g.recv, int64(count), dt, sim.ReduceSum))
				g.wait()
				for d := range n {
					g.near("reduce-scatter, "+name, g.read(d, g.recv[d], int64(count)*size), dt, sum[d*count:(d+1)*count])
				}
				g.ok(g.AllGather(g.c, g.send, g.recv, int64(count), dt))
				g.wait()
				for d := range n {
					for e := range n {
						g.near("all-gather, "+name, g.read(d, g.recv[d]+Ptr(int64(e*count)*size), int64(count)*size), dt, in[e][:count])
					}
				}
				root := n / 2
				g.ok(g.Broadcast(g.c, g.send, int64(count), dt, root))
				g.wait()
				for d := range n {
					g.near("broadcast, "+name, g.read(d, g.send[d], int64(count)*size), dt, in[root][:count])
				}
				g.ok(g.SendReceive(g.c, n-1, 0, g.send[n-1], g.recv[0], int64(count)*size))
				g.wait()
				g.near("send, "+name, g.read(0, g.recv[0], int64(count)*size), dt, in[root][:count])
				g.ok(g.DestroyComm(g.c))
				if _, _, notifies, _ := g.resources(); notifies != 0 {
					t.Errorf("%d notifies left", notifies)
				}
				closeOnce(t, g.rt, g.Thread)
			}
		}
	}
}

// Collectives one behind the other without waiting, in place, with unequal starts: the order is that of one at a time.
func TestCollectives_backToBack(t *testing.T) {
	const n, count = 4, 3000
	for _, alg := range []Algorithm{Ring, Mesh} {
		g := newGroup(t, n, alg, count*4, false)
		in := g.fill(count, tensor.Int32)
		want := make([]float64, count)
		for i := range want {
			for d := range n {
				want[i] += in[d][i]
			}
			want[i] *= n * n
		}
		slow := make([]*Kernel, n)
		for d := range n {
			g.on(d, func() {
				slow[d] = must[*Kernel](t)(g.NewKernel("slow", trace.KernelAICore, 1, int64(1+d*7)*10_000, nil))
			})
		}
		for range 3 {
			for d := range n {
				g.on(d, func() { g.ok(g.LaunchKernel(slow[d], nil, g.streams[d])) })
			}
			g.ok(g.AllReduce(g.c, g.send, g.send, count, tensor.Int32, sim.ReduceSum))
		}
		g.wait()
		for d := range n {
			g.near(alg.String()+" in place", g.read(d, g.send[d], count*4), tensor.Int32, want)
		}
	}
}

// Large all-reduces in place take what the algorithm's formula says: 2(n-1)/n of the bytes over a link of the ring; twice
// 1/n of them over each link of the mesh, as many at once as there are DMA engines, and between the two the combining in
// memory. On a mesh the rank's own part takes an engine too.
func TestCollectives_bandwidth(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: takes 2 GiB of memory to simulate the bandwidth of up to 8 devices; go test runs it")
	}
	const bytes = 64 << 20 // less, and the latency of the tasks counts
	for _, n := range []int{2, 3, 5, 8} {
		for _, alg := range []Algorithm{Ring, Mesh} {
			g := newGroup(t, n, alg, bytes+1024, true)
			chip := g.rt.Chip()
			for d := range n { // a late start, so that everything is submitted before it begins
				g.on(d, func() {
					k := must[*Kernel](t)(g.NewKernel("gate", trace.KernelAICore, 1, 50*ms-g.Clock(), nil))
					g.ok(g.LaunchKernel(k, nil, g.streams[d]))
				})
			}
			g.ok(g.AllReduce(g.c, g.send, g.send, bytes/4, tensor.Float32, sim.ReduceSum))
			g.wait()
			c := must[Counters](t)(g.Counters())
			piece := int64(bytes / n)
			want := int64(2*(n-1)) * cost.LinkNs(chip, chip.HCCS, piece)
			if alg == Mesh {
				rounds := int64((n - 2 + chip.DMAEngines) / chip.DMAEngines)
				want = 2*rounds*cost.LinkNs(chip, chip.HCCS, piece) + int64(n-1)*cost.CopyNs(chip, cost.DeviceToDevice, piece)
				if (n-1)%chip.DMAEngines == 0 {
					want += cost.CopyNs(chip, cost.DeviceToDevice, piece)
				}
			}
			var from int64
			for _, x := range rowsOf(g.trace(), "gate") {
				from = max(from, x.End)
			}
			got := c.DeviceTime - from
			if f := AllReduceNs(chip, alg, n, bytes); f != want {
				t.Errorf("%v, %d ranks: AllReduceNs is %d, want %d", alg, n, f, want)
			}
			if r := float64(got) / float64(want); r < 0.95 || r > 1.05 {
				t.Errorf("%v, %d ranks: %d ns, the formula gives %d (%.3f)", alg, n, got, want, r)
			}
		}
	}
}

func TestCollectives_wrongUse(t *testing.T) {
	g := newGroup(t, 2, Ring, 1024, false)
	_, err := g.NewComm(Ring, g.streams[0])
	g.code("one rank", err, InvalidParam)
	_, err = g.NewComm(Ring, g.streams[0], g.streams[0])
	g.code("one device twice", err, InvalidParam)
	g.code("one buffer", g.AllReduce(g.c, g.send[:1], g.recv, 8, tensor.Float32, sim.ReduceSum), InvalidParam)
	g.code("a type that no DMA engine adds", g.AllReduce(g.c, g.send, g.recv, 8, tensor.Float64, sim.ReduceSum), NotSupported)
	g.code("a root that is no rank", g.Broadcast(g.c, g.send, 8, tensor.Float32, 2), InvalidParam)
	g.code("a send to itself", g.SendReceive(g.c, 1, 1, g.send[0], g.recv[0], 8), InvalidParam)
}

// Collectives that are captured on every rank, or built into models, compute in each execution what they compute as
// tasks of streams: ring and mesh, the second execution finds everything as the first one did.
func TestCollectives_captured(t *testing.T) {
	const n, count = 4, 1000
	for _, alg := range []Algorithm{Ring, Mesh} {
		g := newGroup(t, n, alg, count*4, false)
		for d := range n {
			g.on(d, func() { g.ok(g.CaptureBegin(g.streams[d], CaptureRelaxed)) })
		}
		g.ok(g.AllReduce(g.c, g.send, g.recv, count, tensor.Int32, sim.ReduceSum))
		g.ok(g.ReduceScatter(g.c, g.recv, g.send, count/n, tensor.Int32, sim.ReduceMax)) // all parts are equal
		models := make([]*Model, n)
		for d := range n {
			g.on(d, func() { models[d] = must[*Model](t)(g.CaptureEnd(g.streams[d])) })
		}
		in := g.fill(count, tensor.Int32)
		sum := make([]float64, count)
		for i := range sum {
			for d := range n {
				sum[i] += in[d][i]
			}
		}
		for round := range 3 {
			if round > 0 {
				g.fill(count, tensor.Int32)
			}
			for d := range n {
				g.on(d, func() { g.ok(g.ExecuteModel(models[d], g.streams[d])) })
			}
			g.wait()
			for d := range n {
				g.near(fmt.Sprintf("captured %v, round %d", alg, round), g.read(d, g.recv[d], count*4), tensor.Int32, sum)
				g.near("its parts", g.read(d, g.send[d], count/n*4), tensor.Int32, sum[d*count/n:(d+1)*count/n])
			}
		}
		for d := range n {
			g.on(d, func() { g.ok(g.DestroyModel(models[d])) })
		}
		g.ok(g.DestroyComm(g.c))
		if _, events, notifies, _ := g.resources(); notifies != 0 || events != 0 {
			t.Errorf("%d notifies and %d events left", notifies, events)
		}
		closeOnce(t, g.rt, g.Thread)
	}
}
