package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

// pointerHint says which of the arguments names a Git LFS pointer: a clone without LFS has these in place of models and
// traces, and no reader can say more of one than that it is none of its files.
func pointerHint(args []string) string {
	for _, a := range args {
		for _, name := range []string{a, a[strings.IndexByte(a, '=')+1:]} {
			if size := pointerSize(name); size != "" {
				return fmt.Sprintf("%s is a Git LFS pointer, the file itself has %s bytes: fetch it with git lfs pull", name, size)
			}
		}
	}
	return ""
}

// pointerSize is the size that the Git LFS pointer of this name states, "" where the file is none.
func pointerSize(name string) string {
	if st, err := os.Stat(name); err != nil || !st.Mode().IsRegular() || st.Size() > 1024 { // the format's limit
		return ""
	}
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1024))
	if err != nil || !bytes.HasPrefix(b, []byte("version https://git-lfs.github.com/spec/")) {
		return ""
	}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		if size, ok := strings.CutPrefix(s.Text(), "size "); ok {
			return size
		}
	}
	return ""
}
