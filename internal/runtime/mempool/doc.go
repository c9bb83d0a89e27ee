// Package mempool does the bookkeeping of a range of device addresses: which parts are free. It never touches the
// memory. A Pool is not safe for concurrent use; its owner serialises.
//
// The range is cut into segments of 2 MiB, the pages of the device. Small blocks come from slabs of equal slots, with a
// bitmap each. Slabs and large blocks are runs of granules (2 KiB); a binary tree over the segments knows for each of
// its nodes the longest free run in it, at its start and at its end, and so finds the lowest address with room in the
// depth of the tree. A large block carves what it needs out of the segments: what is left of its last one goes to
// others. The tree grows with the memory that is used, so that a large range costs nothing.
//
// A segment is reserved (mapped) from its first block on. An idle one is given back at once, unless the release
// threshold keeps it for the next block.
package mempool
