package timeline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// maxEvent bounds one event: longer ones are no events.
const maxEvent = 16 << 20

// scanner finds the events of a file: the objects in the outermost array, or in the array traceEvents of the outermost
// object, or one after the other in no array. It forgives what exporters and crashes leave: trailing commas, a missing end, control characters in strings.
type scanner struct {
	in     io.Reader
	b      []byte // read and not yet used: b[at:end]
	at     int
	end    int
	offset int64 // in the file, of b[0]
	err    error // why in gave no more
	inside bool  // the array of events was entered
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

// next takes the next event apart; more is false at the end of the array or, without an error, at a clean end of the file.
// The text of e is good until the next call.
func (s *scanner) next(e *event) (more bool, err error) {
	if !s.inside {
		if err := s.enter(); err != nil {
			return false, err
		}
	}
	for {
		c, ok := s.skip()
		switch {
		case !ok && (s.err == nil || errors.Is(s.err, io.EOF)):
			return false, nil
		case !ok:
			return false, s.err
		case c == '{':
			if n := e.parse(s.b[s.at:s.end]); n > 0 {
				s.at += n
				return true, nil
			}
			n, err := s.extent() // the buffer ends within the event, or it is no JSON
			if err != nil {
				return false, err
			}
			whole := e.parse(s.b[s.at : s.at+n])
			if s.at += n; whole == n {
				return true, nil
			}
			s.bad++
		case c == ']':
			s.at++
			return false, nil
		case c == ',':
			s.at++
		default:
			s.bad++
			if err := s.pass(); err != nil {
				return false, err
			}
		}
	}
}

// margin is more than the longest event of metadata.
const margin = 1 << 16

// metadata gives the events whose phase is M to take, in any part of the file. It does not take the others apart: it looks
// for the phase, and goes back from there to the object around it.
func (s *scanner) metadata(take func(e *event)) error {
	if err := s.enter(); err != nil {
		return err
	}
	s.b = append(s.b, make([]byte, 1<<20-len(s.b))...)
	phase := []byte(`"M"`)
	var e event
	for {
		more := s.fill()
		window := s.b[s.at:s.end]
		last := len(window) // hits from here on wait for the next window
		if more {
			last = max(last-margin, 0)
		}
		done := 0
		for done < last { // an event may reach beyond
			hit := bytes.Index(window[done:last], phase)
			if hit < 0 {
				break
			}
			hit += done
			if n := e.around(window[done:], hit-done); n > 0 && string(e.ph) == "M" {
				take(&e)
				done += n
			} else {
				done = hit + len(phase)
			}
		}
		if !more {
			if s.err != nil && !errors.Is(s.err, io.EOF) {
				return s.err
			}
			return nil
		}
		s.at += max(done, last-margin, 0)
	}
}

// around takes the object around place hit of b apart and gives the place after it; 0 when there is none.
func (e *event) around(b []byte, hit int) int {
	start := hit
	for range 8 {
		if start = bytes.LastIndexByte(b[:start], '{'); start < 0 {
			return 0
		}
		if n := e.parse(b[start:]); start+n > hit {
			return start + n
		}
	}
	return 0
}

// extent is the length of the object at the place at hand.
func (s *scanner) extent() (int, error) {
	depth, i := 0, s.at
	for {
		for i < s.end {
			switch s.b[i] {
			case '"':
				n := textEnd(s.b[:s.end], i)
				if n < 0 {
					goto more
				}
				i = n
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
			if n := textEnd(s.b[:s.end], s.at); n >= 0 {
				s.at = n
				return nil
			}
			if !s.fill() {
				return errEnd
			}
		}
	}
	s.at++ // also past what cannot start a value
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
	var e event
	if e.parse(s.b[s.at:s.end]) > 0 && len(e.ph) == 1 { // an event a line, in no array
		s.inside = true
		return nil
	}
	s.at++
	var keys []string
	for {
		c, ok := s.skip()
		switch {
		case !ok:
			return errEnd
		case c == ',':
			s.at++
			continue
		case c != '"':
			return noEvents(keys)
		}
		key, err := s.key()
		if err != nil {
			return err
		}
		if len(keys) < 64 {
			keys = append(keys, key)
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

// noEvents says what an object with these keys is, where that is known, and that it is no trace.
func noEvents(keys []string) error {
	is, do := "", "a trace is an array of events, or an object with the key traceEvents"
	has := func(all ...string) bool {
		return !slices.ContainsFunc(all, func(k string) bool { return !slices.Contains(keys, k) })
	}
	switch {
	case has("nodes", "startTime"):
		is, do = ": it is a CPU profile of V8", "record a trace instead, in the panel Performance or with --trace-events-enabled"
	case has("meta", "threads"):
		is, do = ": it is a profile of samples for profiler.firefox.com", ""
	case has("profiles", "shared"):
		is, do = ": it is a profile for speedscope", ""
	case len(keys) > 0:
		const most = 8
		is = ": its keys are "
		for i, k := range keys[:min(len(keys), most)] {
			if i > 0 {
				is += ", "
			}
			is += strconv.Quote(k)
		}
		if len(keys) > most {
			is += ", ..."
		}
	}
	if do != "" {
		is += "; " + do
	}
	return errors.New("no traceEvents in the outermost object" + is)
}

// key takes a short string and the colon after it.
func (s *scanner) key() (string, error) {
	for {
		if n := textEnd(s.b[:s.end], s.at); n >= 0 {
			key := string(s.b[s.at+1 : n-1])
			s.at = n
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
