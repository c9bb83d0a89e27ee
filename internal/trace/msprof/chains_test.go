package msprof

import (
	"math/rand/v2"
	"testing"
)

// The oracle is a search through all rows.
func TestChain(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 3000
	c := newChain(n)
	keys, times := make([]uint64, n), make([]int, n)
	at := 0
	for i := range n {
		keys[i] = rowKey(uint16(rng.IntN(2)), uint32(rng.IntN(3)), uint32(rng.IntN(100)))
		at += rng.IntN(3)
		times[i] = at
		c.add(keys[i], int32(i))
	}
	for range 5000 {
		key, limit := keys[rng.IntN(n)], rng.IntN(at+2)-1
		want := int32(-1)
		for i := range n {
			if keys[i] == key && times[i] <= limit {
				want = int32(i)
			}
		}
		if got := c.latest(key, func(row int32) bool { return times[row] <= limit }); got != want {
			t.Fatalf("key %#x up to %d: row %d, want %d", key, limit, got, want)
		}
	}
	want := map[uint64][]int32{}
	for i, key := range keys {
		want[key] = append(want[key], int32(i))
	}
	again := newChain(n)
	for i, key := range keys {
		again.add(key, int32(i))
	}
	for key, rows := range want {
		for _, row := range append(rows, -1, -1) {
			if got := again.following(key); got != row {
				t.Fatalf("key %#x: row %d follows, want %d", key, got, row)
			}
		}
		if got := again.latest(key, func(int32) bool { return true }); got != rows[len(rows)-1] {
			t.Errorf("key %#x: the last is %d, want %d", key, got, rows[len(rows)-1])
		}
	}
	if c.following(rowKey(9, 9, 9)) != -1 || c.latest(rowKey(9, 9, 9), nil) != -1 {
		t.Error("a key that is not there has rows")
	}
}
