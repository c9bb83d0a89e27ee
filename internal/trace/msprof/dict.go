package msprof

import (
	"context"
	"strconv"
	"strings"
)

// dictionaryLimit bounds the text of a dictionary.
const dictionaryLimit = 256 << 20

// dictionary holds the strings that records name by number.
type dictionary struct {
	hash  map[uint64]string
	types map[[2]uint32]string // by level and type
}

// readDictionaries reads hash_dic and type_info_dic; lines that are none are counted in bad.
func readDictionaries(ctx context.Context, f *folder, bad *int64) (dictionary, error) {
	d := dictionary{map[uint64]string{}, map[[2]uint32]string{}}
	text, err := f.text(ctx, "hash_dic", dictionaryLimit)
	if err != nil {
		return d, err
	}
	for line := range strings.Lines(text) {
		number, name, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		id, err := strconv.ParseUint(number, 10, 64)
		if !ok || err != nil {
			*bad++
			continue
		}
		d.hash[id] = name
	}
	text, err = f.text(ctx, "type_info_dic", dictionaryLimit)
	if err != nil {
		return d, err
	}
	for line := range strings.Lines(text) {
		number, name, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		level, kind, also := strings.Cut(number, "_")
		l, err1 := strconv.ParseUint(level, 10, 32)
		k, err2 := strconv.ParseUint(kind, 10, 32)
		if !ok || !also || err1 != nil || err2 != nil {
			*bad++
			continue
		}
		d.types[[2]uint32{uint32(l), uint32(k)}] = name
	}
	return d, nil
}

// name is the text of a hash: the number itself where its line was lost, nothing for 0.
func (d *dictionary) name(hash uint64) string {
	if hash == 0 {
		return ""
	}
	if s, ok := d.hash[hash]; ok {
		return s
	}
	return strconv.FormatUint(hash, 10)
}

// Hash is the number that the collector gives a string: two rolling sums over its bytes, taken as signed.
func Hash(s string) uint64 {
	var high, low uint32
	for _, c := range []byte(s) {
		high = high*29 + uint32(int32(int8(c)))
		low = low*131 + uint32(int32(int8(c)))
	}
	return uint64(high)<<32 | uint64(low)
}

// taskType names a task type of task_track. The dictionary decides; the list is for data without one.
func (d *dictionary) taskType(kind uint32) string {
	if s, ok := d.types[[2]uint32{levelRuntime, kind}]; ok {
		return s
	}
	names := map[uint32]string{
		0: "KERNEL_AICORE", 1: "KERNEL_AICPU", 2: "EVENT_RECORD", 3: "EVENT_WAIT", 4: "KERNEL_FUSION", 5: "MEMCPY_ASYNC", 6: "MAINTENANCE",
		7: "CREATE_STREAM", 9: "REMOTE_EVENT_WAIT", 12: "MODEL_MAINTAINCE", 13: "MODEL_EXECUTE", 14: "NOTIFY_WAIT", 15: "NOTIFY_RECORD",
		16: "RDMA_SEND", 18: "STREAM_SWITCH", 19: "STREAM_ACTIVE", 20: "LABEL_SET", 21: "LABEL_SWITCH", 22: "LABEL_GOTO", 24: "EVENT_RESET",
		25: "RDMA_DB_SEND", 26: "PROFILER_TRACE_EX", 30: "CCU_LAUNCH", 50: "STARS_COMMON", 52: "FFTS_PLUS", 53: "CMO", 54: "BARRIER",
		55: "WRITE_VALUE", 64: "PROFILING_ENABLE", 65: "PROFILING_DISABLE", 66: "KERNEL_AIVEC", 67: "MODEL_END_GRAPH", 68: "MODEL_TO_AICPU",
		69: "ACTIVE_AICPU_STREAM", 72: "HOSTFUNC_CALLBACK", 86: "TASK_TIMEOUT_SET", 92: "REDUCE_ASYNC_V2", 98: "FLIP_TASK", 101: "MODEL_TASK_UPDATE",
		103: "NOP", 107: "KERNEL_FUSION", 108: "KERNEL_MIX_AIC", 109: "KERNEL_MIX_AIV", 110: "DAVID_EVENT_RECORD", 111: "DAVID_EVENT_WAIT",
		112: "DAVID_EVENT_RESET", 113: "MEM_WRITE_VALUE", 114: "MEM_WAIT_VALUE", 126: "CAPTURE_RECORD", 127: "CAPTURE_WAIT",
		129: "IPC_EVENT_RECORD", 130: "IPC_EVENT_WAIT",
	}
	if s, ok := names[kind]; ok {
		return s
	}
	return "TASK_TYPE_" + strconv.FormatUint(uint64(kind), 10)
}

// api names an API event as the vendor's timelines do.
func (d *dictionary) api(level, kind uint32) string {
	name := d.types[[2]uint32{level, kind}]
	if name == "" {
		name = strconv.FormatUint(uint64(kind), 10)
	}
	return levelName(level) + "@" + name
}

// Levels of host records.
const (
	levelACL     = 20000
	levelModel   = 15000
	levelNode    = 10000
	levelComm    = 5500
	levelRuntime = 5000
)

func levelName(level uint32) string {
	switch level {
	case 30000:
		return "pytorch"
	case 25000:
		return "PTA"
	case 20500:
		return "mstx"
	case levelACL:
		return "AscendCL"
	case levelModel:
		return "Model"
	case levelNode:
		return "Node"
	case 6000:
		return "AI CPU"
	case levelComm:
		return "Communication"
	case levelRuntime:
		return "Runtime"
	}
	return "level " + strconv.FormatUint(uint64(level), 10)
}
