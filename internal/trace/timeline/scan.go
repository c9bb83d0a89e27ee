package timeline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxEvent bounds one event: longer ones are no events.
const maxEvent = 16 << 20

// scanner finds the events of a file: the objects in the outermost array, or in the array traceEvents of the outermost
// object. It forgives what exporters and crashes leave: trailing commas, a missing end, control characters in strings.
type scanner struct {
	in     io.Reader
	b      []byte // read and not yet used: b[at:end]
	at     int
	end    int
	offset int64 // in the file, of b[0]
	err    error // why in gave no more
	object bool  // the outermost value is an object
	inside bool  // the array of events was entered
	depth  int   // of values before and after the events
	bad    int64 // pieces between events that are no objects
	other  []byte
}

func newScanner(in io.Reader) *scanner { return &scanner{in: in, b: make([]byte, 1<<18)} }

// fill reads more after b[at:end], which moves to the front. It says whether there is more.
func (s *scanner) fill() bool {
	if s.err != nil {
		return false
	}
	if s.at > 0 {
		copy(s.b, s.b[s.at:s.end])
		s.offset += int64(s.at)
		s.end -= s.at
		s.at = 0
	}
	if s.end == len(s.b) {
		if len(s.b) >= maxEvent {
			s.err = fmt.Errorf("an event is longer than %d bytes", maxEvent)
			return false
		}
		s.b = append(s.b, make([]byte, len(s.b))...)
	}
	for {
		n, err := s.in.Read(s.b[s.end:])
		s.end += n
		if err != nil {
			s.err = err
		}
		if n > 0 || err != nil {
			return n > 0
		}
	}
}

// skip moves to the next byte that is no blank; ok is false at the end.
func (s *scanner) skip() (c byte, ok bool) {
	for {
		for ; s.at < s.end; s.at++ {
			switch c := s.b[s.at]; c {
			case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF:
			default:
				return c, true
			}
		}
		if !s.fill() {
			return 0, false
		}
	}
}

var errEnd = errors.New("the file ends within the events")

// next is the next event, an object as text, which is good until the next call; nil at the end of the array or, without an
// error, at a clean end of the file.
func (s *scanner) next() ([]byte, error) {
	if !s.inside {
		if err := s.enter(); err != nil {
			return nil, err
		}
	}
	for {
		c, ok := s.skip()
		switch {
		case !ok && (s.err == nil || errors.Is(s.err, io.EOF)):
			return nil, nil
		case !ok:
			return nil, s.err
		case c == '{':
			n, err := s.extent()
			if err != nil {
				return nil, err
			}
			event := s.b[s.at : s.at+n]
			s.at += n
			return event, nil
		case c == ']':
			s.at++
			return nil, nil
		case c == ',':
			s.at++
		default:
			s.bad++
			if err := s.pass(); err != nil {
				return nil, err
			}
		}
	}
}

// extent is the length of the object at the place at hand.
func (s *scanner) extent() (int, error) {
	depth, i := 0, s.at
	for {
		for i < s.end {
			switch s.b[i] {
			case '"':
				n, ok := text(s.b[i:s.end])
				if !ok {
					goto more
				}
				i += n
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1 - s.at, nil
				}
			}
			i++
		}
	more:
		i -= s.at
		if !s.fill() {
			if errors.Is(s.err, io.EOF) {
				return 0, errEnd
			}
			return 0, s.err
		}
		i += s.at
	}
}

// text is the length of the string at the start of b, with its quotes; ok is false when b ends before it does.
func text(b []byte) (n int, ok bool) {
	for i := 1; i < len(b); {
		k := bytes.IndexByte(b[i:], '"')
		if k < 0 {
			return 0, false
		}
		i += k
		slashes := 0
		for i-1-slashes > 0 && b[i-1-slashes] == '\\' {
			slashes++
		}
		i++
		if slashes%2 == 0 {
			return i, true
		}
	}
	return 0, false
}

// pass skips one value that is no object.
func (s *scanner) pass() error {
	c, ok := s.skip()
	if !ok {
		return errEnd
	}
	switch c {
	case '{', '[':
		return s.passNested()
	case '"':
		for {
			if n, ok := text(s.b[s.at:s.end]); ok {
				s.at += n
				return nil
			}
			if !s.fill() {
				return errEnd
			}
		}
	}
	for {
		for ; s.at < s.end; s.at++ {
			switch s.b[s.at] {
			case ',', ']', '}', ' ', '\n', '\r', '\t':
				return nil
			}
		}
		if !s.fill() {
			return nil
		}
	}
}

// passNested skips an object or array of any size.
func (s *scanner) passNested() error {
	depth := 0
	for {
		for s.at < s.end {
			switch s.b[s.at] {
			case '"':
				if err := s.pass(); err != nil {
					return err
				}
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					s.at++
					return nil
				}
			}
			s.at++
		}
		if !s.fill() {
			return errEnd
		}
	}
}

// enter moves into the array of events, and keeps the object otherData on the way.
func (s *scanner) enter() error {
	c, ok := s.skip()
	switch {
	case !ok && s.err != nil && !errors.Is(s.err, io.EOF):
		return s.err
	case !ok:
		return errors.New("the file is empty")
	case c == '[':
		s.at++
		s.inside = true
		return nil
	case c != '{':
		return fmt.Errorf("no JSON array or object, but %q", string(rune(c)))
	}
	s.at++
	s.object = true
	for {
		c, ok := s.skip()
		switch {
		case !ok:
			return errEnd
		case c == ',':
			s.at++
			continue
		case c != '"':
			return errors.New("no traceEvents in the outermost object")
		}
		key, err := s.key()
		if err != nil {
			return err
		}
		if c, ok = s.skip(); !ok {
			return errEnd
		}
		switch {
		case key == "traceEvents" && c == '[':
			s.at++
			s.inside = true
			return nil
		case key == "otherData" && c == '{':
			n, err := s.extent()
			if err != nil {
				return err
			}
			s.other = append([]byte(nil), s.b[s.at:s.at+n]...)
			s.at += n
		default:
			if err := s.pass(); err != nil {
				return err
			}
		}
	}
}

// key takes a short string and the colon after it.
func (s *scanner) key() (string, error) {
	for {
		if n, ok := text(s.b[s.at:s.end]); ok {
			key := string(s.b[s.at+1 : s.at+n-1])
			s.at += n
			if c, ok := s.skip(); !ok || c != ':' {
				return "", fmt.Errorf("no value for %.40q", key)
			}
			s.at++
			return key, nil
		}
		if !s.fill() {
			return "", errEnd
		}
	}
}
