package main

import "golang.org/x/sys/unix"

// raw says whether the terminal gives keys to the program as they are, without showing them.
func (tm *terminal) raw() bool {
	t, err := unix.IoctlGetTermios(int(tm.pty.Fd()), unix.TCGETS)
	if err != nil {
		tm.t.Fatal(err)
	}
	return t.Lflag&unix.ECHO == 0 && t.Lflag&unix.ICANON == 0
}
