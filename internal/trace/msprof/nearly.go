package msprof

import "slices"

// sortNearly sorts list stably. Records come nearly in order: a call is written when it ends, after those within it. Moving a
// few of them costs less than sorting all.
func sortNearly[T any](list []T, compare func(a, b *T) int) {
	moves := 8*len(list) + 64
	for i := 1; i < len(list); i++ {
		if compare(&list[i-1], &list[i]) <= 0 {
			continue
		}
		v, k := list[i], i
		for k > 0 && compare(&list[k-1], &v) > 0 && moves > 0 {
			list[k] = list[k-1]
			k--
			moves--
		}
		list[k] = v
		if moves == 0 {
			// The element stands before all that it was moved past, so that equal ones keep their order.
			slices.SortStableFunc(list, func(a, b T) int { return compare(&a, &b) })
			return
		}
	}
}

// groupBy brings the elements of each key together, keys in rising order, and leaves those of a key as they are.
func groupBy[T any](list []T, key func(*T) uint32) []T {
	counts := map[uint32]int{}
	inOrder := true
	for i, n := 0, 0; i < len(list); i = n {
		k := key(&list[i])
		for n = i + 1; n < len(list) && key(&list[n]) == k; n++ {
		}
		counts[k] += n - i
		inOrder = inOrder && (i == 0 || key(&list[i-1]) <= k)
	}
	if inOrder {
		return list
	}
	keys := make([]uint32, 0, len(counts))
	for k := range counts {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	at := 0
	for _, k := range keys {
		n := counts[k]
		counts[k] = at
		at += n
	}
	out := make([]T, len(list))
	for i := range list {
		k := key(&list[i])
		out[counts[k]] = list[i]
		counts[k]++
	}
	return out
}
