package perfetto

import (
	"google.golang.org/protobuf/encoding/protowire"

	"npu/internal/trace"
)

// Categories of slices, as in package chrome.
const (
	catTask = iota + 1
	catEngine
	catHost
	catFlow
)

var categories = [...]string{catTask: "task", catEngine: "engine", catHost: "host", catFlow: "flow"}

// Names of debug annotations, as in package chrome.
const (
	keyDevice = iota + 1
	keyStream
	keyTask
	keyCode
	keyKind
	keyOp
	keyDirection
	keyBlocks
	keyBytes
	keyQueued
	keyEngineWait
	keyEvent
	keyGen
	keyModel
	keyIter
	keyCycles
)

var keys = [...]string{
	keyDevice: "device", keyStream: "stream", keyTask: "task", keyCode: "code", keyKind: "kind", keyOp: "op_type", keyDirection: "direction",
	keyBlocks: "block_dim", keyBytes: "bytes", keyQueued: "queued_ns", keyEngineWait: "engine_wait_ns", keyEvent: "event", keyGen: "generation",
	keyModel: "model", keyIter: "iteration", keyCycles: "cycles",
}

// table is a table of interned strings.
type table struct {
	field protowire.Number
	known []bool // by id: the reader has it
}

// use makes sure that the reader knows the entry id.
func (c *writer) use(t *table, id uint64, s string) {
	if t.known[id] {
		return
	}
	t.known[id] = true
	c.part = text(number(c.part[:0], internedIID, id), internedText, s)
	c.names = field(c.names, t.field, c.part)
}

func (c *writer) category(cat uint64) {
	c.use(&c.categories, cat, categories[cat])
	c.event = number(c.event, eventCategoryIIDs, cat)
}

// Ids of interned strings: those of the trace as they are, then words of our own, named by what is left.
func (c *writer) word(id trace.StringID, other string, others uint64) (uint64, string) {
	if id != 0 && int(id) < len(c.t.Strings) {
		return uint64(id), c.t.Strings[id]
	}
	return uint64(len(c.t.Strings)) + others, other
}

const (
	wordDir      = 512 // kinds are below
	wordCall     = 1024
	wordReleased = 1025
	words        = 1026
)

func (c *writer) name(id trace.StringID, other string, others uint64) {
	iid, s := c.word(id, other, others)
	c.use(&c.labels, iid, s)
	c.event = number(c.event, eventNameIID, iid)
}

func (c *writer) label(k *trace.Task) {
	id := k.Name
	if id == 0 {
		id = k.Op
	}
	iid, s := c.word(id, k.Kind.String(), uint64(k.Kind))
	c.use(&c.labels, iid, s)
	c.event = number(c.event, eventNameIID, iid)
}

func (c *writer) number(key uint64, v int64) {
	c.use(&c.keys, key, keys[key])
	c.part = number(number(c.part[:0], annotationNameIID, key), annotationInt, uint64(v))
	c.event = field(c.event, eventAnnotations, c.part)
}

// some adds a number that is worth showing.
func (c *writer) some(key uint64, v int64) {
	if v != 0 {
		c.number(key, v)
	}
}

func (c *writer) string(key uint64, id trace.StringID, other string, others uint64) {
	iid, s := c.word(id, other, others)
	c.use(&c.keys, key, keys[key])
	c.use(&c.values, iid, s)
	c.part = number(number(c.part[:0], annotationNameIID, key), annotationStringIID, iid)
	c.event = field(c.event, eventAnnotations, c.part)
}

func (c *writer) args(k *trace.Task) {
	c.string(keyKind, 0, k.Kind.String(), uint64(k.Kind))
	c.number(keyTask, int64(k.Task))
	if k.Op != 0 {
		c.string(keyOp, k.Op, "", 0)
	}
	if k.Kind == trace.Memcpy {
		c.string(keyDirection, 0, k.Dir.String(), wordDir+uint64(k.Dir))
	}
	c.some(keyBlocks, int64(k.Blocks))
	c.some(keyBytes, k.Bytes)
	c.some(keyQueued, k.Ready-k.Submit)
	c.some(keyEngineWait, k.Start-k.Ready)
	c.some(keyEvent, int64(k.Event))
	c.some(keyGen, int64(k.Gen))
	if k.Model != 0 {
		c.number(keyModel, int64(k.Model))
		c.number(keyIter, int64(k.Iter))
	}
	if k.Acct != 0 {
		c.number(keyCycles, c.t.Account(k.Acct).Total)
	}
	c.some(keyCode, int64(k.Code))
}
