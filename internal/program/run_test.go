package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"npu/internal/tensor"
	"npu/internal/trace/npt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run executes a program that must have no mistakes.
func run(t *testing.T, text string) (*Result, error) {
	t.Helper()
	p, _, err := check(text)
	if err != nil {
		t.Fatal(err)
	}
	return p.Run(context.Background(), Options{})
}

// texts are the lines of output without their times.
func texts(res *Result) string {
	var l []string
	for _, x := range res.Output {
		l = append(l, x.Thread+": "+x.Text)
	}
	return strings.Join(l, "\n")
}

// Programs that must end without a failure: what they expect is in them.
func TestPrograms(t *testing.T) {
	for name, text := range map[string]string{
		"copies in every direction": `
buffer a pinned f32[8] = ramp 0 1
buffer b device f32[8]
buffer c device f32[8] = fill 9
buffer d pinned f32[8]
buffer p pageable f32[8] = fill 3
copy b <- a
copy c[0:4] <- b[4:8]
copy d <- c
expect d = 4 5 6 7 9 9 9 9
copy c <- p
expect c = fill 3
copy p <- b
expect p = ramp 0 1
copy d <- p
expect d = ramp 0 1
memset b 0
expect b = fill 0
copy b <- a bytes 8B
expect b = 0 1 0 0 0 0 0 0
copy b[0:2] <- a bytes 12B expect 107000`,

		"types": `
buffer a pinned f16[4] = 1 0.5 -2 65504
buffer b pinned i8[4] = -128 127 0 1
buffer c pinned u64[2] = 0 9007199254740992
buffer d pinned bool[2] = true false
buffer e pinned bf16[2x2] = fill 1
buffer f pinned float64[2] = nan inf
expect a = 1 0.5 -2 65504
expect b = -128 127 0 1
expect c = 0 9007199254740992
expect d = 1 0
expect f = nan inf
expect e = fill 1.004 tolerance 0.01`,

		"operators": `
kernel add   = Add(f32[2x3], f32[2x3])
kernel turn  = Transpose(f32[2x3]) perm=[1 0]
kernel shape = Reshape(f32[2x3], i64[2] = [3 2])
kernel parts = Split(f32[4]) outputs 2 axis=0 num_outputs=2
kernel clip  = Clip(f32[4], none, f32 = [2])
kernel mul   = MatMul(f32[2x3], f32[3x2])
buffer x device f32[2x3] = 1 2 3 4 5 6
buffer y device f32[2x3]
buffer z device f32[3x2]
buffer m device f32[2x2]
buffer v device f32[4] = 1 2 3 4
buffer a device f32[2]
buffer b device f32[2]
stream s
launch add(x, x -> y) on s
launch turn(x -> z) on s
sync s
expect y = 2 4 6 8 10 12
expect z = 1 4 2 5 3 6
launch shape(x -> z) on s
launch mul(x, z -> m) on s
launch parts(v -> a, b) on s
launch clip(v -> v) on s
sync s
expect z = 1 2 3 4 5 6
expect m = 22 28 49 64
expect a = 1 2
expect b = 3 4
expect v = 1 2 2 2`,

		"S02: a fault is reported once": `
stream s
buffer n device i32[1] = 0
kernel inc = vector time 1us add 1
kernel bad = vector time 1us fault divzero
launch inc(n) on s
launch bad(n) on s
launch inc(n) on s
sync s expect 507035
last 507035 keep
last 507035
last none
sync s
expect n = 2`,

		"S03: stop is for ever": `
stream s
mode s stop
buffer n device i32[1] = 0
kernel inc = vector time 1us add 1
kernel bad = vector time 1us fault oob
launch inc(n) on s
launch bad(n) on s
launch inc(n) on s
sync s expect 507035
sync s expect 507035
launch inc(n) on s expect 507035
expect n = 1`,

		"the other cores": `
stream s
kernel a = cube time 1us fault oob
kernel b = aicpu time 1us fault divzero
kernel c = mix blocks 2 time 1us fault oob
kernel d = vector fault hang
kernel e = cube fault hang
launch a on s
sync s expect AICORE_EXCEPTION
launch b on s
sync s expect AICPU_EXCEPTION
launch c on s
sync s expect 507015
launch d on s
sync s timeout 10ms expect 507046
sync s expect VECTOR_CORE_TIMEOUT
launch e on s
sync s expect AICORE_TIMEOUT`,

		"S13: time-outs": `
stream s
kernel long = vector time 50ms
launch long on s
sync s timeout 10ms expect 507046
sync s timeout 0ms expect 107000
sync s timeout -5ms expect 107000
query s is pending
sync s timeout -1ms
query s is done
sync device timeout 1ms
launch long on s
event e plain
record e on s
sync e timeout 5ms expect 507047
sync e
query e is done`,

		"S16: handles that are gone": `
stream s
destroy s
sync s expect 107017
destroy s expect 107017
event e
destroy e
record e expect 107017
notify n
destroy n
record n expect 107017
kernel k = vector time 1us
destroy k
launch k expect 107017
buffer b device u8[100]
free b
free b expect 507899`,

		"S17: contexts": `
stream s
context other
stream t
kernel k = vector time 1us
launch k on s expect 107003
sync s
launch k on t
push other
pop
use other
destroy other
use other expect 107000
sync t expect 107017
stream u expect 107002
device 0
sync device
device 7 expect 107001`,

		"S18: abort": `
stream s
kernel long = vector time 50ms
buffer n device i32[1] = 0
kernel inc = vector time 1us add 1
launch long on s
repeat 10
  launch inc(n) on s
end
abort s
query s is done
expect n = 0
launch inc(n) on s
sync s
expect n = 1
launch long on s
launch inc(n) on s
destroy s force
expect n = 1`,

		"E: events": `
stream s
stream t
event a plain
event b plain
kernel k = vector time 100us
query a is pending
wait a on t expect 107000
record a on s
launch k on s
record b on s
query b is pending
sync s
query b is done
elapsed a b is 100us within 5us
elapsed b a is -100us within 5us
reset a on s
sync s
query a is pending
event c
query c is done
wait c on t
reset c expect 207000
elapsed a c expect 507000
event d sync
wait d on t timeout 1s
sync t expect 107020
limit wait 2s
wait d on t
sync t expect 107020
limit wait 0s`,

		"N01: a notify does not count": `
stream s
notify n
record n on s
record n on s
wait n on s
wait n on s timeout 1s
sync s expect 107020`,

		"N02: words": `
stream s
stream t
buffer w device u64[4] = 0 0 0 0
event go
await w[1] >= 3 on s
record go on s
write w[1] 1 on t
write w[1] 2 on t
sync t
query go is pending
write w[1] 3 on t
sync s
await w[1] == 3 on s
await w[1] & 2 on s
await w[1] ~ 1 on s
sync s
expect w = 0 3 0 0`,

		"X05, X10: devices": `
devices 2
bare
sync device expect 107002
device 0
buffer a device f32[4] = fill 103
device 1
buffer b device f32[4] = fill 0
stream s
copy b <- a on s expect 507899
peer 0
device 0
peer 1
device 1
copy b <- a on s
sync s
expect b = fill 103
peer 1 expect 107000
reset device 1
reset device 1
reset device 1 expect 507007`,

		"loops": `
buffer a pinned i32[12] = fill 0
repeat 3 as i
  repeat 4 as j
    buffer one pinned i32[1] = 7
    copy a[4*i + j] <- one
  end
end
expect a = fill 7
repeat 0
  copy a <- a expect 107000
end`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := run(t, text); err != nil {
				t.Error(err)
			}
		})
	}
}

// What programs print, and in which order.
func TestOutput(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"print", "buffer x device f32[10] = ramp 0 0.5\nprint \"x is\" x\nprint x[2] x[8:10] \"end\"",
			"main: x is 0 0.5 1 1.5 2 2.5 3 3.5 … (10 elements)\nmain: 1 4 4.5 end"},
		{"query and elapsed", "stream s\nevent a\nevent b\nkernel k = vector time 1ms\nrecord a on s\nlaunch k on s\nrecord b on s\nquery s\nsync s\nquery s\nquery b",
			"main: s is pending\nmain: s is done\nmain: b is done"},
		{"C03: host functions hold the stream", `
stream s
event a
event b
kernel k = vector time 10us
record a on s
host "first" on s time 100us
launch k on s
host "second" on s
record b on s
sync s
elapsed a b is 110us within 15us`,
			"main host: first\nmain host: second"},
		{"C01: callbacks", `
stream s
kernel k = vector time 10us
callback "nobody" on s expect 107015
subscribe s
callback "before" on s
launch k on s
callback "one" on s
callback "two" on s noblock time 100us
callback "three" on s
sync s
print "all done"
subscribe s expect 107011
unsubscribe s
unsubscribe s expect 107012`,
			"main callback: before\nmain callback: one\nmain callback: two\nmain callback: three\nmain: all done"},
		{"R02: exception callbacks", "stream s\nwatch faults\nkernel bad = cube time 1us fault divzero\nlaunch bad on s\nsync s expect 507015\nprint \"after\"",
			"main exception: ACL_ERROR_RT_AICORE_EXCEPTION (507015): device 0, stream s, task 0, kernel bad on AIC 0, submitted by thread 1: integer division by zero\nmain: after"},
		{"threads and a lock", `
mutex m
thread a
  lock m
  print "a has it"
  work 100us
  unlock m
end
thread b
  work 10us
  lock m
  print "b has it"
  unlock m
end
join a b
join
print "end"`, "a: a has it\nb: b has it\nmain: end"},
		{"a report thread that is left alone", "stream s\nsubscribe s\ncallback \"hello\" on s\nsync s", "main callback: hello"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, err := run(t, c.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := texts(res); got != c.want {
				t.Errorf("output\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// What is said of a statement that fails.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		text string
		line int
		code int
		want string
	}{
		{"stream s\ndestroy s\nsync s   # gone\nprint \"not reached\"", 3, 107017, "t.stream:3: sync s: aclrtSynchronizeStream: ACL_ERROR_RT_INVALID_HANDLE (107017)"},
		{"stream s\nsync s expect 507035", 2, 0, "succeeded, expected 507035"},
		{"device 3 expect 107000", 1, 107001, "expected 107000 ACL_ERROR_RT_PARAM_INVALID: aclrtSetDevice: ACL_ERROR_RT_INVALID_DEVICEID (107001)"},
		{"buffer x pinned f32[3] = 1 2 3\nexpect x = 1 2 4", 2, 0, "1 of 3 elements differ, the worst is [2]: 3, expected 4"},
		{"last 107000", 1, 0, "the last error is none, expected 107000"},
		{"stream s\nquery s is pending", 2, 0, "s is done, expected pending"},
		{"buffer x pinned f32[3]\nrepeat 4 as i\nprint x[i]\nend", 3, 0, "elements 3 to 4 of x, which has 3"},
		{"repeat 0\nstream s\nend\nsync s", 4, 0, "s does not exist: its declaration has not run"},
		{"thread t\ndevice 3\nend\njoin\nprint \"reached\"", 2, 107001, "device 3"},
		{"kernel bad = vector time 1us fault oob\nlaunch bad", 0, 507035, "no statement waited for this stream"},
		{"stream s\nevent e sync\nwait e on s\nsync s", 4, 507001, "stream 1 (s) stands at task 0"},
		{"repeat 2 as i\nwork 1us / i\nend", 2, 0, "division by zero"},
	} {
		res, err := run(t, c.text)
		var f *Failure
		if !errors.As(err, &f) {
			t.Errorf("%q: %v, want a failure", c.text, err)
			continue
		}
		if f.Line != c.line || f.Code != c.code || !strings.Contains(f.Error(), c.want) {
			t.Errorf("%q: line %d, code %d: %v\nwant line %d, code %d, %s", c.text, f.Line, f.Code, f, c.line, c.code, c.want)
		}
		if out := texts(res); strings.Contains(out, "not reached") || strings.Contains(c.text, `"reached"`) != strings.Contains(out, "reached") {
			t.Errorf("%q: output %q", c.text, out)
		}
	}
}

// busy is a program in which several threads, streams and priorities meet.
const busy = `
stream a priority 1
stream b priority 5
event ready sync
notify n
mutex m
buffer x device f32[4096] = random -1 1 seed 3
buffer y device f32[4096]
buffer w device u64[1] = 0
kernel add  = Add(f32[4096], f32[4096])
kernel fill = vector blocks 64 time 7us add 1
thread one
  repeat 20 as i
    lock m
    launch fill(x) on a
    unlock m
    record n on a
    work 3us * i
  end
  write w 1 on a
  sync a
  print "one" x
end
thread two
  repeat 20 as i
    wait n on b
    lock m
    launch add(x, x -> y) on b
    unlock m
    host "between" on b time 2us
  end
  await w >= 1 on b
  sync b
  print "two" y
end
repeat 30
  launch fill(y)
  query default
end
join
sync device
print y`

// The same program gives the same output and the same trace, byte by byte.
func TestDeterministic(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	var first string
	for i := range 15 {
		res, err := run(t, busy)
		if err != nil {
			t.Fatal(err)
		}
		if res.Trace.Meta.WallOrdered {
			t.Fatal("ordered by wall time:", res.Warnings)
		}
		var b strings.Builder
		fmt.Fprintln(&b, texts(res))
		if err := npt.Write(&b, res.Trace); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = b.String()
		} else if b.String() != first {
			t.Fatalf("run %d differs", i)
		}
	}
}

func TestDataFile(t *testing.T) {
	dir := t.TempDir()
	v, err := tensor.FromInt64s(tensor.Shape{3}, []int64{1, 1<<60 + 1, -5})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "v.npy"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(tensor.WriteNPY(f, v), f.Close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "p.stream")
	text := "buffer x device i64[3] = file \"v.npy\"\nbuffer y pinned f32[3] = file \"v.npy\"\nexpect x = file \"v.npy\"\nexpect y[2] = -5\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Check(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(context.Background(), Options{}); err != nil {
		t.Fatal(err)
	}
}

// A program that would run for hours ends when it is told to.
func TestInterrupt(t *testing.T) {
	p, _, err := check("stream s\nkernel k = vector time 1us\nrepeat 1000000000\nlaunch k on s\nsync s\nend")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { _, err := p.Run(ctx, Options{}); done <- err }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}
