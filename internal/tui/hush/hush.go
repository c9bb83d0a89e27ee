// Package hush keeps Bubble Tea v1 from speaking to the terminal before anybody asked for a screen. Its package
// initialisation asks the terminal for its background colour and waits up to five seconds for the answer: in every
// command of a program that merely contains a screen, swallowing what is typed meanwhile. It does not ask where the
// variable CI is set, so that is set until its initialisation is over.
//
// This rests on the order of initialisation that the language specification gives: of the packages whose imports are
// ready the first by path comes next. This package needs nothing but syscall and sorts before os, which everything that
// could ask needs. TestTop_quiet in cmd/npu watches over it.
package hush

import "syscall"

const variable = "CI"

// before is the variable as it was; set tells whether this package changed it.
var before, had, set = begin()

func begin() (before string, had, set bool) {
	before, had = syscall.Getenv(variable)
	if before != "" {
		return before, had, false
	}
	return before, had, syscall.Setenv(variable, "1") == nil
}

// End gives the variable back. A package that imports Bubble Tea calls it while it is initialised itself, which is after
// Bubble Tea was. It reports whether there was something to give back.
func End() bool {
	switch {
	case !set:
		return false
	case had:
		return syscall.Setenv(variable, before) == nil
	}
	return syscall.Unsetenv(variable) == nil
}
