package mempool

import "math/bits"

// node describes the free granules of a part of the range: the runs at its start and at its end, and the longest one.
type node struct{ first, last, most uint32 }

// tree is a binary tree over segments. It covers a power of two of them; segments beyond the range count as used.
type tree struct {
	nodes   []node // nodes[1] is the root, the leaves are the upper half
	leaves  int
	perLeaf uint32
}

func newTree(leaves int, perLeaf uint32) tree {
	return tree{nodes: make([]node, 2*leaves), leaves: leaves, perLeaf: perLeaf}
}

func (t *tree) leaf(i int) *node { return &t.nodes[t.leaves+i] }

// refresh recomputes the nodes above leaves lo to hi. It stops where nothing changes.
func (t *tree) refresh(lo, hi int) {
	lo, hi = (t.leaves+lo)/2, (t.leaves+hi)/2
	half := t.perLeaf // granules below each child
	for lo > 0 {
		changed := false
		for i := lo; i <= hi; i++ {
			a, b := &t.nodes[2*i], &t.nodes[2*i+1]
			n := node{a.first, b.last, max(a.most, b.most, a.last+b.first)}
			if a.first == half {
				n.first += b.first
			}
			if b.last == half {
				n.last += a.last
			}
			if t.nodes[i] != n {
				t.nodes[i] = n
				changed = true
			}
		}
		if !changed {
			return
		}
		lo, hi, half = lo/2, hi/2, 2*half
	}
}

// find is the lowest place with n free granules in a row. inside is the leaf that holds it if it lies within one and
// the place there is not known, else -1 and start is the first granule.
func (t *tree) find(n uint32) (start uint64, inside int, ok bool) {
	if t.nodes[1].most < n {
		return 0, 0, false
	}
	i := 1
	for i < t.leaves {
		a, b := &t.nodes[2*i], &t.nodes[2*i+1]
		switch {
		case a.most >= n:
			i = 2 * i
		case a.last+b.first >= n:
			// The border between the two children, less the run at the end of the left one.
			below := t.leaves >> (bits.Len(uint(i))) // leaves below a child
			border := (2*i+1)*below - t.leaves
			return uint64(border)*uint64(t.perLeaf) - uint64(a.last), -1, true
		default:
			i = 2*i + 1
		}
	}
	return 0, i - t.leaves, true
}
