package widget

import (
	"strings"
	"unicode"
)

// Edit is a line of text being typed. The zero value is empty.
type Edit struct {
	text []rune
	at   int
}

// maxEdit bounds what a paste can put into a line.
const maxEdit = 256

// Set replaces the text and puts the cursor behind it.
func (e *Edit) Set(s string) {
	e.text = nil
	e.at = 0
	e.Insert(s)
}

// String is the text; Cursor the number of characters before the cursor.
func (e *Edit) String() string { return string(e.text) }

// Cursor is the number of characters before the cursor.
func (e *Edit) Cursor() int { return e.at }

// Insert puts printable characters at the cursor; a paste may hold others, which are dropped.
func (e *Edit) Insert(s string) {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
	in := []rune(s)
	in = in[:min(len(in), maxEdit-len(e.text))]
	e.text = append(e.text[:e.at:e.at], append(in, e.text[e.at:]...)...)
	e.at += len(in)
}

// Move shifts the cursor by n characters.
func (e *Edit) Move(n int) { e.at = min(max(e.at+n, 0), len(e.text)) }

// Home and End move to the ends.
func (e *Edit) Home() { e.at = 0 }

// End moves behind the last character.
func (e *Edit) End() { e.at = len(e.text) }

// Back deletes the character before the cursor, Delete the one at it.
func (e *Edit) Back() {
	if e.at > 0 {
		e.text = append(e.text[:e.at-1:e.at-1], e.text[e.at:]...)
		e.at--
	}
}

// Delete deletes the character at the cursor.
func (e *Edit) Delete() {
	if e.at < len(e.text) {
		e.text = append(e.text[:e.at:e.at], e.text[e.at+1:]...)
	}
}

// BackWord deletes the word before the cursor, BackAll everything before it.
func (e *Edit) BackWord() {
	i := e.at
	for i > 0 && e.text[i-1] == ' ' {
		i--
	}
	for i > 0 && e.text[i-1] != ' ' {
		i--
	}
	e.text, e.at = append(e.text[:i:i], e.text[e.at:]...), i
}

// BackAll deletes everything before the cursor.
func (e *Edit) BackAll() { e.text, e.at = e.text[e.at:], 0 }
