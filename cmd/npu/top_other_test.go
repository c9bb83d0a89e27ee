//go:build !linux

package main

// raw is not known here.
func (tm *terminal) raw() bool { return false }
