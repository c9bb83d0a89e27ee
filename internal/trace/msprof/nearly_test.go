package msprof

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

type keyed struct{ key, sub, at int }

func TestSortNearly(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for n := range 300 {
		list := make([]keyed, n)
		for i := range list {
			list[i] = keyed{i/3 + rng.IntN(1+rng.IntN(1+n/4)), 0, i}
		}
		if n%3 == 0 {
			slices.Reverse(list)
		}
		for i := range list {
			list[i].at = i
		}
		want := slices.Clone(list)
		byKey := func(a, b *keyed) int { return cmp.Compare(a.key, b.key) }
		slices.SortStableFunc(want, func(a, b keyed) int { return byKey(&a, &b) })
		if sortNearly(list, byKey); !slices.Equal(list, want) {
			t.Fatalf("%d elements: %v, want %v", n, list, want)
		}
	}
}

func TestGroupBy(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for n := range 200 {
		list := make([]keyed, n)
		for i := range list {
			list[i] = keyed{rng.IntN(1 + n/10), rng.IntN(9), i}
		}
		want := slices.Clone(list)
		slices.SortStableFunc(want, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
		if got := groupBy(list, func(k *keyed) uint32 { return uint32(k.key) }); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}
