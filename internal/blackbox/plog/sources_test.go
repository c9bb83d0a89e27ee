package plog

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/klauspost/compress/zstd"

	"npu/internal/problem"
)

const twoLines = "[ERROR] RUNTIME(1,npu):2026-01-01-12:00:00.000.000 [a.cc:1]1 F:é 𝄞 one\n[ERROR] RUNTIME(1,npu):2026-01-01-12:00:00.000.001 [a.cc:2]1 F:two\n"

// bzipped is twoLines as bzip2 -9 packs it.
const bzipped = "425a683931415926535992543a950000375ff48010406771100323960a2a01c6800400000300200800400020007212a83200d001a0d189a05553d29e880d0c4d01b5003b75d4e6d72f7f2e794d720b0c91555822f2495e6093622e41357549a12b1990a608c5c947164e8a2862ad451364209056158a3419db06d4835f46be1f426a3f17724538509092543a95"

func utf16Of(s string, order binary.AppendByteOrder) []byte {
	b := order.AppendUint16(nil, 0xfeff)
	for _, u := range utf16.Encode([]rune(s)) {
		b = order.AppendUint16(b, u)
	}
	return b
}

func zipOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Logs arrive in many wrappings; the text inside is the same.
func TestWalk_wrappings(t *testing.T) {
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := hex.DecodeString(bzipped)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"plain":     []byte(twoLines),
		"utf16 le":  utf16Of(twoLines, binary.LittleEndian),
		"utf16 be":  utf16Of(twoLines, binary.BigEndian),
		"CR":        []byte(strings.ReplaceAll(twoLines, "\n", "\r")),
		"zstd":      enc.EncodeAll([]byte(twoLines), nil),
		"bzip2":     packed,
		"zip":       zipOf(t, map[string]string{"a/plog.log": twoLines}),
		"zst in it": zipOf(t, map[string]string{"a.zst": string(enc.EncodeAll([]byte(twoLines), nil))}),
	} {
		path := filepath.Join(t.TempDir(), "x.log")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		got := ""
		err := Walk([]string{path}, nil, func(_ string, r io.Reader) error {
			text, err := io.ReadAll(r)
			got += string(text)
			return err
		})
		if err != nil || got != twoLines {
			t.Errorf("%s: %v\n%q", name, err, got)
		}
	}
}

// What is cut short is damaged, what cannot be unpacked is said; in a folder such a file is left out.
func TestWalk_damaged(t *testing.T) {
	whole := zipOf(t, map[string]string{"a.log": twoLines})
	dir := t.TempDir()
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"zip":   {whole[:len(whole)/2], "archive damaged"},
		"bzip2": {[]byte("BZh9garbage"), "bzip2"},
		"zstd":  {[]byte("\x28\xb5\x2f\xfd\x04garbage"), ""},
		"xz":    {[]byte("\xfd7zXZ\x00more"), "packed with xz: unpack it first"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, c.b, 0o600); err != nil {
			t.Fatal(err)
		}
		err := Walk([]string{path}, nil, func(_ string, r io.Reader) error { _, err := io.ReadAll(r); return err })
		if err == nil || !strings.Contains(err.Error(), c.want) || problem.ClassOf(err) != problem.Damaged && name != "zstd" {
			t.Errorf("%s: %v, want %q of class Damaged", name, err, c.want)
		}
	}
	if err := Walk([]string{filepath.Join(dir, "xz")}, nil, nil); err == nil {
		t.Error("xz passes")
	}
	if err := os.Remove(filepath.Join(dir, "zip")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "bzip2")), os.Remove(filepath.Join(dir, "zstd"))); err != nil {
		t.Fatal(err)
	}
	if err := Walk([]string{dir}, nil, func(string, io.Reader) error { t.Error("xz is read"); return nil }); err != nil {
		t.Errorf("folder: %v", err)
	}
}
