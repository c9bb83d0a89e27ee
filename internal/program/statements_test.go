package program

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"npu/internal/sim"
)

// Scenarios whose names begin with the id of the runtime's own; what they expect is in them.
func TestStatements(t *testing.T) {
	for name, text := range map[string]string{
		"G07: an update of a task group": `
stream s
stream u
buffer x device i64[1] = 0
kernel one = vector time 1us add 1
kernel ten = vector time 1us add 10
capture s
captured s is active
taskgroup first on s
  launch one(x) on s
end
launch one(x) on s
graph g from s
captured s is none
execute g on s
sync s
expect x = 2
update first on u
  launch ten(x) on u
end
sync u
execute g on s
sync s
expect x = 13
update first on u expect 107040
  launch ten(x) on u
  launch ten(x) on u
end`,

		"G05: modes of capture": `
stream s
buffer x device i64[1] = 0
buffer h pinned i64[1] = 7
kernel one = vector time 1us add 1
capture s
launch one(x) on s
exchange relaxed
copy x <- h
exchange global
graph g from s
capture s
copy x <- h expect 107030
captured s is invalidated
graph bad from s expect 507903`,

		"G08: if with else, and switch": `
stream s
buffer x device i64[1]
kernel a = vector time 1us set 1
kernel b = vector time 1us set 2
kernel c = vector time 1us set 3
kernel pick0 = vector time 1us set 0
kernel pick1 = vector time 1us set 1
kernel pick2 = vector time 1us set 2
kernel pick9 = vector time 1us set 9
repeat 4 as i
  capture s
  condition w on s
  if w on s
    launch a(x) on s
  else
    launch b(x) on s
  end
  switch w on s
  case
    launch c(x) on s
  case
    launch c(x) on s
    launch a(x) on s
  end
  graph g from s
  write w i on s
  execute g on s
  sync s
  print x
end
capture s
condition v on s = 1
switch v on s
case
  launch a(x) on s
case
  launch b(x) on s
case
  launch c(x) on s
end
graph h from s
execute h on s
sync s
expect x = 2`,

		"G09: external events": `
stream s
stream o
event in
event out
buffer x device i64[1] = 1
buffer y device i64[1] = 0
kernel long = vector time 1ms add 10
kernel one = vector time 1us add 1
record in external on s expect 107029
capture s
wait in external on s
launch one(x) on s
record out external on s
wait in on s expect 107000
graph bad from s expect 507903
capture s
wait in external on s
launch one(x) on s
record out external on s
graph g from s
launch long(x) on o
record in on o
execute g on s
wait out on o
launch one(y) on o
query s is pending
sync o
query s is done
expect x = 12`,

		"G10: a model of five streams": `
stream head persistent
stream two persistent
stream three persistent
stream four persistent
stream five persistent
stream s
buffer one device i64[1] = 1
buffer n device i64[1] = 1
buffer x device i64[4] = fill 0
kernel inc = vector time 1us add 1
model m
bind head to m
bind two to m later
bind three to m later
bind four to m later
bind five to m later
bind two to m expect 107005
branch n != one to two on head
branch n == one to three on head
activate four on head
launch inc(x[0]) on two
endtask m on five
launch inc(x[1]) on three
activate five on three
launch inc(x[2]) on four
endtask m on two expect 507000
build m
execute m on s
sync s
expect x = 0 1 0 0
execute m on s
sync s
expect x = 0 2 0 0
unbind head from m
destroy m`,

		"G11: labels": `
stream b persistent
stream s
buffer i device i32[1]
buffer h pinned i32[1]
buffer x device i64[3] = fill 0
kernel inc = vector time 1us add 1
model m
bind b to m
label zero
label one
label done
jump i to zero one on b
place zero on b
launch inc(x[0]) on b
goto done on b
place one on b
launch inc(x[1]) on b
place done on b
launch inc(x[2]) on b
place done on b expect 107000
endtask m on b
build m
repeat 4 as k
  memset i 0
  set h = 7
  memset i k
  execute m on s
  sync s
end
expect x = 1 3 4`,

		"G12: a loop on the device": `
stream head persistent
stream body persistent
stream again persistent
stream s
buffer n device i64[1]
buffer limit device i64[1] = 1000
buffer x device i64[1] = 0
kernel zero = vector time 1us set 0
kernel inc = vector time 1us add 1
model m
bind head to m
bind body to m later
bind again to m later
launch zero(n) on head
activate body on head
launch inc(x) on body
launch inc(n) on body
branch n < limit to again on body
endtask m on body
activate body on again
build m
execute m on s
sync s
expect x = 1000
expect n = 1000`,

		"C.2: models that are refused": `
stream plain
stream p persistent
stream s
model m
bind plain to m expect 107000
bind p to m
model other
bind p to other expect 107005
build m expect 107000
execute m on s expect 507011`,

		"M16 and M17: a pool in the order of streams": `
stream s
stream t
event e
buffer before device u8[16]
kernel work = vector time 100us set 1
pool p
attribute p threshold is 0
attribute p follow_events = off
attribute p opportunistic = off
attribute p internal_waits = off
allocate a u8[3MiB] from p on s
attribute p used is 4MiB
launch work(a) on s
release a on s
allocate b u8[3MiB] from p on s     # the same stream may have it at once
expect b at a
release b on s
allocate c u8[3MiB] from p on t     # another one may not
attribute p reserved is 8MiB
release c on t
sync s
sync t
attribute p reserved is 0           # all idle memory is above the threshold
attribute p reserved_high is 8MiB
attribute p reserved_high = 0
attribute p used = 1 expect 107000
attribute p threshold = 64MiB
attribute p follow_events = on
allocate d u8[2MiB] from p on s
release d on s
record e on s
wait e on t
allocate f u8[2MiB] from p on t
expect f at d
release f on t
sync t
attribute p reserved is 2MiB
trim p 0B
attribute p reserved is 0
release f on t expect 507000
destroy p
allocate g u8[2MiB] from p on t expect 107017
release before on t
sync t`,

		"R06: limits of kernels": `
stream s
kernel slow = cube time 6s
kernel endless = vector fault hang
launch slow on s
sync s
launch slow on s timeout 1s
sync s expect AICORE_TIMEOUT
limit kernel 1s
launch slow on s
sync s expect 507014
launch slow on s timeout 20s
sync s
launch endless on s
sync s expect VECTOR_CORE_TIMEOUT
limit kernel 0s`,

		"R07: memory that fails, and its repair": `
stream s
buffer x device f32[1024] = fill 1
kernel double = Add(f32[1024], f32[1024])
errors is none
uce is 0
inject ecc at x[100]
uce is 1
launch double(x, x -> x) on s
sync s expect HBM_MULTI_BIT_ECC_ERROR
errors is memory
repair errors expect 107000         # its tasks go on
abort device 0
repair errors
uce is 0
errors is none
launch double(x, x -> x) on s
sync s
inject ecc on s
launch double(x, x -> x) on s
sync s expect 507054
repair memory
uce is 0
launch double(x, x -> x) on s
sync s`,

		"R08: overflow": `
stream s
buffer x device f32[8] = fill 3e38
buffer y device f32[8]
buffer state device u32[16]
kernel double = Add(f32[8], f32[8])
launch double(x, x -> y) on s
sync s
expect y = fill inf
overflow status state on s expect 207000
overflow saturate
overflow watch s
launch double(x, x -> y) on s
overflow status state on s
sync s
expect state[0] = 1
overflow reset on s
overflow status state on s
sync s
expect state[0] = 0
attribute s overflow = on
attribute s overflow is on
launch double(x, x -> y) on s
sync s expect 207016
sync s
expect y = fill 3.4028234663852886e38
buffer p device f16[32x32] = fill 200
kernel square = MatMul(f16[32x32], f16[32x32])
launch square(p, p -> p) on s
sync s expect AICORE_OVER_FLOW
expect p = fill 65504
attribute s overflow = off
overflow watch s off
overflow infnan
launch double(x, x -> y) on s
sync s
expect y = fill inf`,

		"attributes of streams": `
stream s priority 3
attribute s priority is 3
attribute s failure is continue
attribute s tag = 77
attribute s tag is 77
attribute s failure = stop
attribute s failure is stop
attribute s failure = continue expect 207000
abort s
destroy s
attribute s tag expect 107017`,

		"every kind of fault": `
stream s
buffer h pinned f32[1024]
buffer x device f32[1024] = fill 1
kernel double = Add(f32[1024], f32[1024])
inject aicore-oob op double on s
launch double(x, x -> x) on s
sync s expect 507035
inject bus-error at x[512]
launch double(x, x -> x) on s
sync s expect 507035
inject ub-oob nth 2
launch double(x, x -> x) on s
sync s
launch double(x, x -> x) on s
sync s expect 507035
inject div-zero on s again
repeat 2
  launch double(x, x -> x) on s
  sync s expect 507035
end`,

		"every kind of fault, again": `
stream s
stream t
buffer h pinned f32[1024]
buffer x device f32[1024] = fill 1
kernel double = Add(f32[1024], f32[1024])
inject illegal-instr task 1 on t
launch double(x, x -> x) on t
launch double(x, x -> x) on t
sync t expect 507035
inject hang on t
launch double(x, x -> x) on s
sync s
launch double(x, x -> x) on t
sync t expect 507034
inject dma nth 1
copy h <- x on s
sync s expect 507013
inject dma at h[3]
copy x <- h on s
sync s expect 507013
inject bus-error on default after 100us chance 1
launch double(x, x -> x)
sync default expect 507035`,
	} {
		t.Run(name, func(t *testing.T) {
			if res, err := run(t, text); err != nil {
				t.Fatalf("%v\n%s", err, texts(res))
			}
		})
	}
}

// The branches that if, else and switch took.
func TestStatements_branches(t *testing.T) {
	res, err := run(t, `
stream s
buffer x device i64[1]
buffer h pinned i64[1]
kernel a = vector time 1us add 1
kernel b = vector time 1us add 10
kernel c = vector time 1us add 100
kernel d = vector time 1us add 1000
buffer n device i64[1]
kernel up = vector time 1us add 1
kernel take = Add(i64[1], i64[1])
buffer zero device i64[1] = 0
memset n 0
repeat 4 as i
  memset x 0
  capture s
  condition w on s
  launch take(n, zero -> w) on s
  if w on s
    launch a(x) on s
  else
    launch b(x) on s
  end
  switch w on s
  case
    launch c(x) on s
  case
  case
    launch d(x) on s
  end
  graph g from s
  execute g on s
  launch up(n) on s
  sync s
  print x
end
`)
	if err != nil {
		t.Fatalf("%v\n%s", err, texts(res))
	}
	if got, want := texts(res), "main: 110\nmain: 1\nmain: 1001\nmain: 1"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// What statements print.
func TestStatements_output(t *testing.T) {
	res, err := run(t, `
stream s priority 2
buffer x device f32[8] = fill 0
kernel wild = vector time 1us fault oob
kernel touch = vector time 1us add 1
pool p
attribute s priority
attribute s failure
attribute p threshold
attribute p opportunistic
errors
uce
captured s
inject ecc at x[0]
uce
watch faults
launch touch(x) on s
sync s expect 507054
errors
abort device 0
repair errors
launch wild(x) on s
sync s expect 507035
errors
capture s
launch wild(x) on s
graph g from s
show g dot
`)
	if err != nil {
		t.Fatalf("%v\n%s", err, texts(res))
	}
	got := texts(res)
	for _, want := range []string{"s priority: 2", "s failure: continue", "p threshold: 0", "p opportunistic: on", "latest error: none", "all memory is sound", "the capture of s is none",
		"uncorrectable: 0x124000", "latest error: memory, can be repaired", "latest error: aicore, cause: software", "wild on AIV 0", "digraph"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

// Mistakes in these statements are found before anything runs, each at its place.
func TestStatements_mistakes(t *testing.T) {
	const head = "stream s\nbuffer x device f32[4]\nbuffer p pageable f32[4]\nbuffer w device i64[2]\nbuffer i device i32[2]\nkernel k = vector time 1us\nlabel l\npool o\nmodel m\n"
	for _, c := range []struct{ line, want string }{
		{"inject ecc-oob", `:8: "ecc-oob" is no fault: expected aicore-oob`},
		{"inject dma op k", `:15: dma is a fault of copies`},
		{"inject hang op q", `:16: "q" is not declared: expected a kernel`},
		{"inject hang chance 2", `:20: a chance lies above 0`},
		{"inject hang after 3", `:19: this is a plain number: expected a time`},
		{"inject hang nth 0", `:17: nth 0: expected 1`},
		{"inject ecc at p[0]", `:15: p is pageable`},
		{"inject hang op k now", `:18: "now" is too much here: expected inject aicore-oob`},
		{"overflow often", `:10: "often": expected saturate, infnan, watch, status or reset`},
		{"overflow status x", `:17: the status has 64 bytes, x has 16`},
		{"errors is bad", `:11: "bad": expected none`},
		{"repair all", `:8: "all": expected memory or errors`},
		{"attribute s speed", `:13: a stream has no attribute speed: expected failure`},
		{"attribute s failure = 1", `:13: failure is continue or stop`},
		{"attribute s failure = on", `:13: failure is continue or stop, not on`},
		{"attribute s tag is stop", `:13: tag is a number, not stop`},
		{"attribute s priority = 3", `:13: the priority of a stream is given when it is made`},
		{"attribute o tag = 3", `:13: a pool has no attribute tag`},
		{"attribute k tag = 3", `:11: k is a kernel (line 6): expected a stream or a pool`},
		{"allocate y f32[4] of o", `:19: "of": expected from`},
		{"allocate y f32[4] from s", `:24: s is a stream (line 1): expected a pool`},
		{"release p", `:9: p is host memory`},
		{"trim o 5s", `:8: this is a time (10us): expected a size`},
		{"trim x 5", `:6: x is a buffer (line 2): expected a pool`},
		{"bind s m", `:8: "m": expected to`},
		{"unbind s to m", `:10: "to": expected from`},
		{"branch w[0] = w[1] to s on s", `:13: "=": expected ==`},
		{"branch w[0] < i[1] to s on s", `:15: w is int64 and i int32: both words have one width`},
		{"branch x[0] < w[1] to s on s", `:8: x holds float32: a word here is int64`},
		{"branch w < w to s", `:18: the end of the line: expected on STREAM`},
		{"jump w[0] to l on s", `:6: w holds int64: a word here is int32`},
		{"jump i[0] to on s", `:1: a jump without labels`},
		{"place s on s", `:7: s is a stream (line 1): expected a label`},
		{"goto l", `:7: the end of the line: expected on STREAM`},
		{"else", `:1: else without an if`},
		{"case", `:1: case without a switch`},
		{"switch w on s\nend", `:1: a switch without a case`},
		{"switch w on s\nlaunch k on s\ncase\nend", `:1: a statement before the first case`},
		{"if w on s\nelse\nelse\nend", `:1: else without an if`},
		{"while w on s\nelse\nend", `:1: else without an if`},
		{"taskgroup t\nend", `:12: the end of the line: expected on STREAM`},
		{"update s on s\nend", `:8: s is a stream (line 1): expected a taskgroup`},
		{"wait s external on s", `:6: s is a stream (line 1): expected an event`},
		{"launch k on s timeout 3", `:23: this is a plain number: expected a time`},
		{"limit wait 1500ms", `:12: this limit counts whole seconds`},
		{"show k dot", `:6: k is a kernel (line 6): expected a graph`},
		{"show m svg", `:8: "svg": expected json or dot`},
		{"expect x at q", `:13: "q" is not declared: expected a buffer`},
		{"abort device", `:13: the end of the line: expected a number`},
	} {
		_, _, err := check(head + c.line + "\n")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.line, err, c.want)
		}
	}
}

// An injection that nothing met is a failure at its line; one by chance is none.
func TestInject_unmet(t *testing.T) {
	_, err := run(t, "stream s\ninject hang on s\ninject dma chance 0.001\nsync s\n")
	if err == nil || !strings.Contains(err.Error(), "t.stream:2: inject hang on s: no task met these conditions") {
		t.Errorf("error %v", err)
	}
}

// Chances come from the seed: the same program has the same faults, another seed others.
func TestInject_chance(t *testing.T) {
	faults := func(seed string) string {
		res, err := run(t, `
stream s
kernel k = vector time 1us
watch faults
inject illegal-instr op k chance 0.1 seed `+seed+`
repeat 200
  launch k on s
end
sync s expect 507035
`)
		if err != nil {
			t.Fatalf("%v\n%s", err, texts(res))
		}
		return texts(res)
	}
	a, b, c := faults("1"), faults("1"), faults("2")
	if n := strings.Count(a, "exception"); a != b || a == c || n < 5 || n > 40 {
		t.Errorf("%d faults of 200; the same seed gives the same: %v, another one the same: %v", n, a == b, a == c)
	}
}

// A program that injects leaves dumps as a run does.
func TestInject_dumps(t *testing.T) {
	p, _, err := check("stream s\nbuffer x device f32[4096]\nkernel double = Add(f32[4096], f32[4096])\ninject bus-error at x[4000]\nlaunch double(x, x -> x) on s\nsync s expect 507035\n")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	res, err := p.Run(context.Background(), Options{DumpDir: dir})
	if err != nil || len(res.Dumps) != 3 {
		t.Fatalf("%v, dumps %v", err, res.Dumps)
	}
	boxes, _ := filepath.Glob(filepath.Join(dir, "black-box", "*", "*.bbox"))
	if len(boxes) != 1 {
		t.Fatalf("black boxes %v", boxes)
	}
	if b, err := os.ReadFile(boxes[0]); err != nil || !strings.Contains(string(b), "fits input 0 at +0x") {
		t.Errorf("%v: the black box does not name the input", err)
	}
}

// The kinds of faults that the language takes are those of the device.
func TestInject_kinds(t *testing.T) {
	for _, f := range Forms() {
		for _, k := range sim.InjectKinds() {
			if f.Verb == "inject" && !strings.Contains(f.Usage, string(k)) {
				t.Errorf("the usage does not name %s", k)
			}
		}
	}
}

// A model that goes round for ever ends with a fault: jumps, and streams that start each other.
func TestStatements_endless(t *testing.T) {
	for _, text := range []string{
		"stream a persistent\nstream s\nbuffer i device i32[1]\nmodel m\nbind a to m\nlabel l\nplace l on a\njump i to l on a\nendtask m on a\nbuild m\nexecute m on s\nsync s expect 107020\n",
		"stream a persistent\nstream s\nmodel m\nbind a to m\nlabel l\nplace l on a\ngoto l on a\nendtask m on a\nbuild m\nexecute m on s\nsync s expect 107020\n",
		"stream a persistent\nstream b persistent\nstream s\nbuffer i device i64[1]\nmodel m\nbind a to m\nbind b to m later\nbranch i == i to b on a\nendtask m on a\nactivate a on b\nbuild m\nexecute m on s\nsync s expect 507001\nabort m\nsync s expect 507023\n", // the end is in a, which does not start again
		"stream a persistent\nstream s\nbuffer i device i64[1]\nmodel m\nbind a to m\nbranch i == i to a on a\nendtask m on a\nbuild m\nexecute m on s\nsync s expect 107020\n",
	} {
		if _, err := run(t, text); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}
