package program

import (
	"strings"
	"testing"
)

// A graph with a fork, a loop of the device and an if inside it, executed twice; what captures forbid.
func TestGraphs(t *testing.T) {
	res, err := run(t, `
stream s
stream t
event fork
event join
buffer x device f32[4] = fill 0
buffer y device f32[4] = fill 0
buffer h pinned f32[4] = fill 0
kernel inc = vector time 2us add 1
kernel ten = vector time 2us add 10
kernel dec = vector time 1us add -1

capture s
condition turns on s = 5
condition once on s = 1
while turns on s
  launch inc(x) on s
  launch dec(turns) on s
  if once on s
    launch ten(x) on s
    launch dec(once) on s
  end
end
record fork on s
wait fork on t
launch inc(y) on t
record join on t
launch inc(x) on s
wait join on s
copy h <- x on s
graph g from s
expect x = fill 0

execute g on s
execute g on t
launch inc(x) on t
sync t
expect x = fill 33
expect y = fill 2
expect h = fill 32
destroy g

capture s
launch inc(x) on s
sync s expect 107027
graph bad from s expect 507903
capture s
copy y <- x expect 107030
graph bad from s expect 507903
capture s relaxed
capture s expect 107027
launch inc(y) on s
copy y <- x
launch inc(y) expect 107031
graph bad from s expect 507903
graph bad from t expect 107029
launch inc(x) on s
sync s
expect x = fill 34
`)
	if err != nil {
		t.Fatalf("%v\n%s", err, texts(res))
	}
}

func TestGraphs_mistakes(t *testing.T) {
	for text, want := range map[string]string{
		"stream s\nexecute s on s":                       "expected a graph",
		"stream s\ncapture t":                            "not declared",
		"stream s\nif c on s\nend":                       "not declared",
		"stream s\nbuffer c device i64[1]\nif c\nend":    "expected on STREAM",
		"stream s\ngraph g of s":                         "expected from",
		"stream s\nbuffer c device i64[1]\nwhile c on s": "has no end",
	} {
		_, _, err := check(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// A loop whose word nobody clears ends with a fault instead of never.
func TestGraphs_endless(t *testing.T) {
	_, err := run(t, `
stream s
kernel k = vector time 1us
capture s
condition c on s = 1
while c on s
end
graph g from s
execute g on s
sync s expect 107020
`)
	if err != nil {
		t.Fatal(err)
	}
}
