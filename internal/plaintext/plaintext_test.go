package plaintext

import (
	"bufio"
	"encoding/binary"
	"io"
	"strings"
	"testing"
	"unicode/utf16"
)

func read(t testing.TB, text string) (string, bool) {
	r := Decoded([]byte(text[:min(len(text), 512)]), bufio.NewReader(strings.NewReader(text)))
	if r == nil {
		return text, false
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), true
}

func wideText(s string, order binary.AppendByteOrder) string {
	b := order.AppendUint16(nil, 0xfeff)
	for _, u := range utf16.Encode([]rune(s)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

func TestDecoded(t *testing.T) {
	const text = "a,é\n𝄞,2\n"
	for name, in := range map[string]string{
		"UTF-16 of little end": wideText(text, binary.LittleEndian), "UTF-16 of big end": wideText(text, binary.BigEndian), "half a character": wideText(text, binary.BigEndian) + "x",
		"CR": strings.ReplaceAll(text, "\n", "\r"),
	} {
		if got, ok := read(t, in); !ok || got != text {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
	for _, in := range []string{"", text, "a\r\nb\r\n", "a\x00b\r", strings.Repeat("x", 600) + "\r\n"} {
		if got, ok := read(t, in); ok {
			t.Errorf("%q became %q", in, got)
		}
	}
}

func FuzzDecoded(f *testing.F) {
	f.Add(wideText("a𝄞", binary.LittleEndian))
	f.Add("\xfe\xff\xd8\x00\xd8")
	f.Add("a\rb\r")
	f.Fuzz(func(t *testing.T, text string) {
		if got, _ := read(t, text); len(got) > 2*len(text) {
			t.Errorf("%d bytes of %d", len(got), len(text))
		}
	})
}
