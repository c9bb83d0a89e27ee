package svg

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func write(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, text, Options{Title: "a <b>"}); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(bytes.NewReader(b.Bytes()))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return b.String()
		} else if err != nil {
			t.Fatalf("no XML: %v\n%s", err, b.String())
		}
	}
}

func TestWrite(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"ab cd", `<text y="26"><tspan x="12">ab</tspan><tspan x="39">cd</tspan></text>`},
		{"\x1b[1;31ma\x1b[0mb", `<text y="26" fill="#d0524b" font-weight="bold"><tspan x="12">a</tspan></text><text y="26"><tspan x="21">b</tspan></text>`},
		{"\x1b[38;2;1;2;3mx", `fill="#010203"`},
		{"\x1b[38;5;196mx", `fill="#ff0000"`},
		{"\x1b[38;5;244mx", `fill="#808080"`},
		{"\x1b[48;5;21mx", `<rect x="12" y="12" width="9" height="19" fill="#0000ff"/>`},
		{"\x1b[7m \x1b[27mx", `<rect x="12" y="12" width="9" height="19" fill="#d6d9e0"/>`},
		{"中x", `<tspan x="12">中</tspan><tspan x="30">x</tspan>`},
		{"a\nb", `<text y="45"><tspan x="12">b</tspan></text>`},
		{"<&>", "&lt;&amp;&gt;"},
		{"", "<title>a &lt;b&gt;</title>"},
	} {
		if got := write(t, c.text); !strings.Contains(got, c.want) {
			t.Errorf("%q: no %s in\n%s", c.text, c.want, got)
		}
	}
}

func FuzzWrite(f *testing.F) {
	f.Add("\x1b[1;38;5;300mé中\x1b]0;x\x07\x00\xff")
	f.Add("\x1b[38;2m\x1b[48mx")
	f.Fuzz(func(t *testing.T, s string) { write(t, s) })
}
