package lod

import (
	"sort"

	"npu/internal/trace"
)

// Series is the index of a counter: the highest value of any span of time.
type Series struct {
	times  []int64
	levels [][]float64 // level 0 is the values; each value of a level is the highest of 16 of the one below
	Max    float64
	Min    float64
}

// Values indexes rows of t.Counters, by time, of one name and device.
func Values(t *trace.Trace, rows []int32) *Series {
	s := &Series{}
	level := make([]float64, len(rows))
	for i, row := range rows {
		c := t.Counters.At(int(row))
		s.times = append(s.times, c.Time)
		level[i] = c.Value
		if i == 0 {
			s.Max, s.Min = c.Value, c.Value
		}
		s.Max, s.Min = max(s.Max, c.Value), min(s.Min, c.Value)
	}
	s.levels = append(s.levels, level)
	for len(level) >= fan {
		next := make([]float64, len(level)/fan)
		for b := range next {
			next[b] = level[b*fan]
			for _, v := range level[b*fan : (b+1)*fan] {
				next[b] = max(next[b], v)
			}
		}
		level = next
		s.levels = append(s.levels, level)
	}
	return s
}

// Len is the number of values.
func (s *Series) Len() int { return len(s.times) }

// Bounds is the times of the first and the last value.
func (s *Series) Bounds() (from, to int64, ok bool) {
	if len(s.times) == 0 {
		return 0, 0, false
	}
	return s.times[0], s.times[len(s.times)-1], true
}

// At is the value that holds at a time; not known before the first.
func (s *Series) At(at int64) (v float64, known bool) {
	i := s.after(at)
	if i == 0 {
		return 0, false
	}
	return s.levels[0][i-1], true
}

// Highest is the highest value that holds between from and to; not known before the first.
func (s *Series) Highest(from, to int64) (v float64, known bool) {
	v, known = s.At(from)
	i, j := s.after(from), s.after(to-1)
	take := func(x float64) {
		if !known || x > v {
			v, known = x, true
		}
	}
	for k := 0; i < j; k++ {
		level, top := s.levels[k], k == len(s.levels)-1
		for ; i < j && (top || i%fan != 0); i++ {
			take(level[i])
		}
		for ; j > i && j%fan != 0; j-- {
			take(level[j-1])
		}
		i, j = i/fan, j/fan
	}
	return v, known
}

// after is the number of values up to and at a time.
func (s *Series) after(at int64) int {
	return sort.Search(len(s.times), func(i int) bool { return s.times[i] > at })
}
