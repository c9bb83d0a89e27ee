package program

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// prelude declares one object of each kind; its lines are 1 to 9.
const prelude = `stream s
event e
notify n
buffer x device f32[4]
buffer h pinned f32[4]
buffer p pageable f32[4]
buffer w device u64[2]
kernel k = vector time 1us
kernel add = Add(f32[4], f32[4])
`

// check parses and checks a program; all mistakes together.
func check(text string) (*Program, []string, error) {
	p, err := Parse("t.stream", []byte(text))
	if err != nil {
		return p, nil, err
	}
	warnings, err := p.Check()
	return p, warnings, err
}

// Each program holds one mistake; it must be found at the given column of the last line, with these words.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"lanch k on s", `:1: "lanch" begins no statement (did you mean: launch`},
		{"42", `:1: "42" begins no statement`},
		{"stream", `:7: the end of the line: expected the name of the stream`},
		{"stream on", `:8: "on" is a word of the language`},
		{"stream t priority", `:18: the end of the line: expected a number`},
		{"stream t priority 2us", `:19: this is a time (10us): expected a plain number`},
		{"event s", `:1: s is a stream already (line 1)`},
		{"buffer y device f32[0]", `:17: f32[0] is no size`},
		{"buffer y device f32[]", `:17: f32[] has no dimension`},
		{"buffer y device f32[2", `:17: the shape of f32 has no end`},
		{"buffer y device f32[2xq]", `:17: dimension "q" of f32[2xq] is no number`},
		{"buffer y device f33[2]", `:17: "f33": expected a type as f32[2x3]`},
		{"buffer y somewhere f32[2]", `:10: "somewhere": expected device, pinned or pageable`},
		{"buffer y device f32[3] = 1 2", `:26: 2 values for 3 elements of y`},
		{"buffer y device u8[2] = 1 256", `:25: 256 is no uint8`},
		{"buffer y device f32[2] = random 1 1", `:26: random from 1 to 1`},
		{"buffer y pinned u8[5GiB]", `:17: y needs 5368709120 bytes`},
		{`buffer y device f32[2] = file "none.npy"`, `:26: stat none.npy`},
		{"copy x <- q", `:11: "q" is not declared: expected a buffer (declare it: buffer q device f32[16])`},
		{"copy x <- s", `:11: s is a stream (line 1): expected a buffer`},
		{"copy x h", `:8: "h": expected "<-"`},
		{"copy x[0:2] <- h", `:1: x has 8 bytes and h has 16`},
		{"copy x[2:9] <- h", `:8: elements 2 to 9 of x, which has 4`},
		{"copy h <- p on s", `:1: both sides are host memory and one is pageable`},
		{"copy x <- h on ss", `:16: "ss" is not declared: expected a stream (did you mean s?)`},
		{"copy x <- h on s now", `:18: "now" is too much here: expected copy TO <- FROM`},
		{"set x = fill 0", `:5: x lies in device memory`},
		{"memset p 0", `:8: p is pageable host memory`},
		{"memset x 256", `:10: byte 256: expected 0 to 255`},
		{"kernel q = Addd(f32[4])", `:12: Addd is no operator of the library`},
		{"kernel q = Add(f32[4], f32[3])", `:12: Add:`},
		{"kernel q = vector", `:12: how long does a block of this kernel take?`},
		{"kernel q = vector time 0us", `:24: time in ns 0: expected 1`},
		{"kernel q = vector time 2s fault bang", `:33: "bang": expected oob, divzero or hang`},
		{"launch add(x, x)", `:8: add takes 2 inputs and 1 results, here are 2 and 0 (launch add(a, b -> c))`},
		{"launch add(x, p -> x)", `:15: p is pageable host memory, which no kernel reaches`},
		{"launch add(x, w -> x)", `:15: w is uint64[2]: add wants float32[4] here`},
		{"launch x", `:8: x is a buffer (line 4): expected a kernel`},
		{"record x on s", `:8: x is a buffer (line 4): expected an event or a notify`},
		{"reset n on s", `:7: n is a notify (line 3): expected an event`},
		{"wait e on s timeout 5", `:21: this is a plain number: expected a time (10us)`},
		{"write x 3", `:7: x holds float32: a word is a u64`},
		{"await w 3", `:9: "3": expected >=, ==, & or ~`},
		{"sync s expect 12", `:15: "12" is no error code of the runtime`},
		{"print x expect 107000", `:16: print calls nothing that could give a code`},
		{"repeat 2\nsync s", `:1: this repeat has no end`},
		{"end", `:1: end without a block`},
		{"repeat 2\nthread t\nend\nend", `:1: a thread inside a block`},
		{"repeat 1us\nend", `:8: this is a time (10us): expected a plain number`},
		{"work i*1us", `:6: "i" is no loop variable here`},
		{"work 1us * 1us", `:10: product of a time (10us) and a time (10us)`},
		{"work 1us + 1", `:10: + of a time (10us) and a plain number`},
		{"work 1.0001us", `:6: 1.0001us is not whole`},
		{"work 2h", `:6: "h" is no unit`},
		{"work 2000000s", `:6: a time of more than an hour`},
		{"thread t\nevent f\nend\nrecord f", `:8: f belongs to thread t and is not known here`},
		{"chip Ascend910B3", `:1: chip stands behind other statements`},
		{"print \"open", `:7: the string has no end`},
		{"print ?", `:7: character '?' has no place here`},
		{"destroy e force", `:9: only streams and contexts are destroyed by force`},
		{"elapsed e", `:10: the end of the line: expected an event`},
	} {
		_, _, err := check(prelude + c.line + "\n")
		var m *Mistakes
		if !errors.As(err, &m) {
			t.Errorf("%q: %v, want a mistake", c.line, err)
			continue
		}
		if got := m.Error(); !strings.Contains(got, c.want) || len(m.List) != 1 {
			t.Errorf("%q: %s (%d mistakes), want %s", c.line, got, len(m.List), c.want)
		}
	}
}

// Every line is looked at, and the text shows where.
func TestMistakesAll(t *testing.T) {
	_, _, err := check("stream s\n\tlanch k\nevent\n")
	var m *Mistakes
	if !errors.As(err, &m) || len(m.List) != 2 {
		t.Fatalf("%v, want two mistakes", err)
	}
	if show := m.Show(); !strings.Contains(show, "t.stream:2:2: ") || !strings.Contains(show, "\n    \tlanch k\n    \t^\n") {
		t.Errorf("shown as\n%s", show)
	}
}

func TestWarnings(t *testing.T) {
	_, warnings, err := check(prelude + "wait e on s\nlaunch add(x, x -> x) on s\nlaunch k\ncopy x <- h\nset p = fill 1\nwrite w 1\nrecord n\nevent spare\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"line 10: event e is waited for and never recorded", "line 17: event spare is never used"}
	if strings.Join(warnings, "\n") != strings.Join(want, "\n") {
		t.Errorf("warnings %q, want %q", warnings, want)
	}
}

func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		"program x\n": true, "# words\n\n  program \"a b\"\n": true, "stream s\n": false, "programmer x\n": false, "program": false,
		"\xff\xfe\nprogram x\n": false, "": false,
	} {
		if Is([]byte(text)) != want {
			t.Errorf("Is(%q) is %v", text, !want)
		}
	}
}

// Numbers with units, and arithmetic, against values worked out by hand.
func TestExpr(t *testing.T) {
	for text, want := range map[string]int64{
		"10us": 10_000, "1.5ms": 1_500_000, "2s": 2e9, "4KiB": 4096, "1MiB + 1KiB": 1<<20 + 1024, "0x10": 16, "1e3": 1000,
		"2 + 3 * 4": 14, "(2 + 3) * 4": 20, "7 / 2": 3, "7 % 4": 3, "-3 + 1": -2, "10us * 3": 30_000, "10us / 1us": 10, "2 - 3 - 4": -5,
		"0xffffffffffffffff": -1,
	} {
		s := &parser{}
		s.toks, _ = scan(text, 1)
		e := s.expr()
		got, err := eval(e, func(string) (int64, bool) { return 0, false })
		if s.bad != nil || err != nil || got != want {
			t.Errorf("%s = %d (%v, %v), want %d", text, got, s.bad, err, want)
		}
	}
	for _, text := range []string{"1 / 0", "1 % 0", "9223372036854775807 + 1", "9223372036854775807 * 2", "0 - 9223372036854775807 - 2"} {
		s := &parser{}
		s.toks, _ = scan(text, 1)
		if v, err := eval(s.expr(), func(string) (int64, bool) { return 0, false }); err == nil {
			t.Errorf("%s = %d, want an error", text, v)
		}
	}
}

func TestCodeOf(t *testing.T) {
	for text, want := range map[string]int{"507035": 507035, "ACL_ERROR_RT_PARAM_INVALID": 107000, "param_invalid": 107000, "STREAM_SYNC_TIMEOUT": 507046} {
		if n, ok := codeOf(text); !ok || n != want {
			t.Errorf("codeOf(%s) = %d, %v, want %d", text, n, ok, want)
		}
	}
	for _, text := range []string{"1", "999999999", "nothing"} {
		if n, ok := codeOf(text); ok {
			t.Errorf("codeOf(%s) = %d", text, n)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(prelude + "copy x <- h on s\nrepeat 2 as i\nprint x[i] \"t\"\nend\n")
	f.Add("program a\nkernel k = Reshape(f32[2x3], i64[2] = [3 2]) opset 14 allowzero=0\nthread t\nwork 1.5us*2\nend\njoin t expect 107000\n")
	f.Add("buffer b pageable f16[2x2] = values 1 -2e3, inf nan\nexpect b[0:2] = ramp 1 2 tolerance 1e-3 relative 1\n")
	examples, _ := filepath.Glob("../../testdata/streams/*.stream")
	for _, e := range examples {
		if b, err := os.ReadFile(e); err == nil {
			f.Add(string(b))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse("f.stream", []byte(text))
		if err == nil {
			_, err = p.Check()
		}
		var m *Mistakes
		if err == nil {
			return
		}
		if !errors.As(err, &m) || len(m.List) == 0 {
			t.Fatalf("error without a place: %v", err)
		}
		_ = m.Show()
	})
}
