package ipc

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
)

// KeyBytes is the size of the buffer that a key takes: 64 characters and a zero.
const KeyBytes = 65

// Kind is what a key names.
type Kind byte

// Kinds of keys.
const (
	Memory Kind = 'm'
	Event  Kind = 'e'
	Notify Kind = 'n'
)

// Errors of keys.
var (
	ErrBadKey  = errors.New("this is no key")
	ErrNoKey   = errors.New("nothing is exported under this key any more")
	ErrDenied  = errors.New("the exporter does not allow this process")
	ErrTooMany = errors.New("the exporter has too many importers")
	ErrReply   = errors.New("the exporter's answer makes no sense")
)

// key is the parsed form: kind, slot, and what nobody can guess. Its text is 64 hexadecimal digits.
type key [32]byte

func newKey(kind Kind, slot int) (key, error) {
	var k key
	if _, err := rand.Read(k[2:]); err != nil {
		return k, fmt.Errorf("making a key: %w", err)
	}
	k[0], k[1] = byte(kind), byte(slot)
	return k, nil
}

func (k key) String() string { return hex.EncodeToString(k[:]) }

// parseKey reads a key's text; what follows a zero does not count.
func parseKey(text string) (key, error) {
	var k key
	for i := range len(text) {
		if text[i] == 0 {
			text = text[:i]
			break
		}
	}
	if len(text) != KeyBytes-1 {
		return k, fmt.Errorf("%w: %d characters, expected %d", ErrBadKey, len(text), KeyBytes-1)
	}
	if _, err := hex.Decode(k[:], []byte(text)); err != nil {
		return k, fmt.Errorf("%w: %w", ErrBadKey, err)
	}
	if k[1] >= Slots || k[0] != byte(Memory) && k[0] != byte(Event) && k[0] != byte(Notify) {
		return k, fmt.Errorf("%w: its head is 0x%x", ErrBadKey, k[:2])
	}
	return k, nil
}
