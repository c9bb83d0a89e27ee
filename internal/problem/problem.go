// Package problem says of an error what it means for the person at the terminal: wrong usage, unreadable input, or
// work that failed. The command line turns that into the exit code; every other package only marks its errors.
// It imports nothing of this module.
package problem

import (
	"errors"
	"fmt"
)

// Class is what an error means for the caller of the command.
type Class uint8

// Classes with their exit codes.
const (
	Failed  Class = 1 // the work failed: fault, difference, unsupported operator
	Usage   Class = 2 // flag, command, chip, input name, shape or type is wrong
	Damaged Class = 3 // the input is missing, malformed or damaged
)

type marked struct {
	class Class
	err   error
}

func (m *marked) Error() string { return m.err.Error() }
func (m *marked) Unwrap() error { return m.err }

// Mark gives err a class. A nil error stays nil; an inner mark is kept under the new one.
func Mark(c Class, err error) error {
	if err == nil {
		return nil
	}
	return &marked{c, err}
}

// Usagef is a usage error.
func Usagef(format string, args ...any) error { return &marked{Usage, fmt.Errorf(format, args...)} }

// Damagedf is an error about unreadable input.
func Damagedf(format string, args ...any) error { return &marked{Damaged, fmt.Errorf(format, args...)} }

// Failedf is an error about work that failed.
func Failedf(format string, args ...any) error { return &marked{Failed, fmt.Errorf(format, args...)} }

// ClassOf is the class of the outermost mark; Failed for errors without one.
func ClassOf(err error) Class {
	var m *marked
	if errors.As(err, &m) {
		return m.class
	}
	return Failed
}
