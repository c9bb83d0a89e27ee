package timeline

import "bytes"

// event is the parts of an event that matter; all are text as it stands in the file.
type event struct {
	name, cat, ph, ts, dur, pid, tid, id, scope, args []byte
	global                                            bool   // the id holds in all processes
	pairs                                             []pair // of args
}

type pair struct{ key, value []byte }

// arg is the value of an argument; nil when it is absent.
func (e *event) arg(key string) []byte {
	for i := range e.pairs {
		if string(e.pairs[i].key) == key {
			return e.pairs[i].value
		}
	}
	return nil
}

// parse takes the object at the start of b apart and gives the place after it; 0 when b ends before, or holds no JSON.
func (e *event) parse(b []byte) int {
	*e = event{pairs: e.pairs[:0]}
	f := newFields(b)
	for {
		key, at, ok := f.key()
		if !ok {
			return f.end()
		}
		end := 0
		if at < len(b) && b[at] == '{' && string(key) == "args" {
			end = e.arguments(b, at)
		} else {
			end = valueEnd(b, at)
		}
		if end <= at {
			return f.end()
		}
		f.at = end
		value := b[at:end]
		switch len(key) {
		case 2:
			switch string(key) {
			case "ph":
				e.ph = bare(value)
			case "ts":
				e.ts = value
			case "id":
				e.id = bare(value)
			}
		case 3:
			switch string(key) {
			case "cat":
				e.cat = bare(value)
			case "dur":
				e.dur = value
			case "pid":
				e.pid = bare(value)
			case "tid":
				e.tid = bare(value)
			case "id2":
				e.id, e.global = value, bytes.Contains(value, []byte(`"global"`))
			}
		case 5:
			if string(key) == "scope" {
				e.scope = bare(value)
			}
		case 4:
			switch string(key) {
			case "name":
				e.name = bare(value)
			case "args":
				if value[0] == '{' {
					e.args = value
				}
			}
		}
	}
}

// arguments takes the object at a place of b apart, and gives the place after it; not behind the place when b ends before it does.
func (e *event) arguments(b []byte, at int) int {
	e.pairs = e.pairs[:0]
	f := fields{b, at + 1}
	for {
		key, value, ok := f.next()
		if !ok {
			break
		}
		e.pairs = append(e.pairs, pair{key, value})
	}
	if n := f.end(); n > 0 {
		return n
	}
	return valueEnd(b, at)
}
