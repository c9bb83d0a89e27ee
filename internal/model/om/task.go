package om

import (
	"fmt"
	"strconv"
)

// TaskHeader is what TASK_INFO says besides its tasks.
type TaskHeader struct {
	Version                  string
	MemorySize, WeightSize   uint64
	Streams, Events, Batches uint32
	BaseAddr, WeightAddr     uint64
	Attrs                    int
	offset, length           int
}

// TaskType is the kind of a task.
type TaskType uint32

// Task types that this package looks at.
const (
	TaskKernel       TaskType = 0
	TaskEventRecord  TaskType = 1
	TaskEventWait    TaskType = 2
	TaskKernelEx     TaskType = 5
	TaskHCCL         TaskType = 6
	TaskStreamSwitch TaskType = 7
	TaskStreamActive TaskType = 8
	TaskLabelSet     TaskType = 9
	TaskLabelGoto    TaskType = 24
	TaskLabelSwitch  TaskType = 23
	TaskMemcpy       TaskType = 13
	TaskEndGraph     TaskType = 19
	TaskCMO          TaskType = 31
	TaskBarrier      TaskType = 32
)

var taskNames = [...]string{
	"KERNEL", "EVENT_RECORD", "EVENT_WAIT", "FUSION_START", "FUSION_END", "KERNEL_EX", "HCCL", "STREAM_SWITCH", "STREAM_ACTIVE", "LABEL_SET",
	"LABEL_SWITCH", "LABEL_GOTO", "PROFILER_TRACE", "MEMCPY_ASYNC", "NOTIFY_RECORD", "NOTIFY_WAIT", "REDUCE_ASYNC", "RDMA_SEND", "EVENT_RESET",
	"END_GRAPH", "STREAM_SWITCH_N", "RDMA_DB_SEND", "MEMCPY_ADDR_ASYNC", "STREAM_LABEL_SWITCH_BY_INDEX", "STREAM_LABEL_GOTO", "MODEL_EXIT",
	"ALL_KERNEL", "PROFILER_TRACE_EX", "FFTS", "FFTS_PLUS", "DSA", "CMO", "BARRIER", "NPU_GET_FLOAT_STATUS", "NPU_CLEAR_FLOAT_STATUS", "DVPP",
	"NPU_GET_DEBUG_FLOAT_STATUS", "NPU_CLEAR_DEBUG_FLOAT_STATUS", "CMO_ADDR", "VECTOR_KERNEL", "VECTOR_ALL_KERNEL", "UPDATE", "NOP",
	"PREPROCESS_KERNEL", "SUPER_KERNEL", "MEM_EVENT_RECORD", "MEM_EVENT_WAIT", "FUSION_KERNEL", "KERNEL_LAUNCH_V2", "CCU_KERNEL", "CUSTOM_KERNEL",
}

func (t TaskType) String() string {
	if int(t) < len(taskNames) {
		return taskNames[t]
	}
	return "task " + strconv.FormatUint(uint64(t), 10)
}

// Known says whether the type is in the list of the graph engine.
func (t TaskType) Known() bool { return int(t) < len(taskNames) }

// Task is one task of a model.
type Task struct {
	ID      uint32
	Type    TaskType
	Stream  uint32
	Event   uint32
	Notify  uint32
	Label   uint32
	OpIndex int64 // id of the operator; -1: the task belongs to none
	// Kernels only.
	Kernel     string // stub function or kernel name
	KernelType uint32
	BlockDim   uint32
	ArgsSize   uint32
	Args       []byte
	ArgsFormat string
	So         string
	// MEMCPY_ASYNC only.
	Src, Dst, Count uint64
	// HCCL only: the operator of communication.
	Collective string

	offset int
}

func decodeTasks(w wire, limit int) (TaskHeader, []Task, error) {
	h := TaskHeader{offset: w.off, length: len(w.b)}
	var tasks []Task
	err := w.each(func(x *field) error {
		switch x.num {
		case 1:
			return x.str(&h.Version)
		case 9:
			h.Attrs++
		case 10:
			if len(tasks) >= limit {
				return fmt.Errorf("offset %#x: more tasks than the size of the partition allows", x.off)
			}
			t, err := decodeTask(x)
			if err != nil {
				return fmt.Errorf("task %d: %w", len(tasks), err)
			}
			tasks = append(tasks, t)
		case 11:
			return x.uint(&h.MemorySize)
		case 12:
			return x.u32(&h.Streams)
		case 13:
			return x.u32(&h.Events)
		case 14:
			return x.uint(&h.WeightSize)
		case 16:
			return x.uint(&h.BaseAddr)
		case 17:
			return x.uint(&h.WeightAddr)
		case 18:
			return x.u32(&h.Batches)
		}
		return nil
	})
	return h, tasks, err
}

// opIndexField is where the sub-message of a task keeps the operator it belongs to.
var opIndexField = map[int32]int32{
	21: 4, 26: 1, 31: 6, 32: 1, 33: 1, 36: 1, 37: 1, 38: 1, 39: 1, 42: 1, 48: 1, 52: 1, 53: 1,
}

func decodeTask(f *field) (Task, error) {
	t := Task{OpIndex: -1, offset: f.off}
	w, err := f.message(1)
	if err != nil {
		return t, err
	}
	err = w.each(func(x *field) error {
		switch x.num {
		case 1:
			return x.u32(&t.ID)
		case 2:
			var n uint32
			err := x.u32(&n)
			t.Type = TaskType(n)
			return err
		case 10:
			return x.u32(&t.Stream)
		case 11:
			return x.u32(&t.Event)
		case 12:
			return x.u32(&t.Notify)
		case 30:
			return x.u32(&t.Label)
		case 20, 40:
			return t.kernel(x)
		case 25:
			return t.collective(x)
		case 31:
			return t.memcpy(x)
		}
		if n := opIndexField[int32(x.num)]; n != 0 && len(x.b) > 0 {
			return t.owner(x, n)
		}
		return nil
	})
	return t, err
}

// kernel reads KernelDef (20) and KernelDefWithHandle (40), whose fields differ in their numbers.
func (t *Task) kernel(f *field) error {
	w, err := f.message(1)
	if err != nil {
		return err
	}
	t.OpIndex = max(t.OpIndex, 0)
	plain := f.num == 20
	return w.each(func(x *field) error {
		switch {
		case x.num == 1:
			return t.context(x)
		case x.num == 10 && plain, x.num == 16 && !plain:
			return x.str(&t.Kernel)
		case x.num == 11 && plain, x.num == 12 && !plain:
			return x.u32(&t.BlockDim)
		case x.num == 12 && plain, x.num == 13 && !plain:
			return x.u32(&t.ArgsSize)
		case x.num == 13 && plain, x.num == 14 && !plain:
			return x.bytes(&t.Args)
		case x.num == 16 && plain:
			return x.str(&t.So)
		case x.num == 17 && plain:
			var s string
			err := x.str(&s)
			if t.Kernel == "" {
				t.Kernel = s
			}
			return err
		}
		return nil
	})
}

func (t *Task) context(f *field) error {
	w, err := f.message(1)
	if err != nil {
		return err
	}
	return w.each(func(x *field) error {
		switch x.num {
		case 1:
			return x.u32(&t.KernelType)
		case 4:
			return x.int(&t.OpIndex)
		case 10:
			return x.str(&t.ArgsFormat)
		}
		return nil
	})
}

func (t *Task) memcpy(f *field) error {
	w, err := f.message(1)
	if err != nil {
		return err
	}
	t.OpIndex = max(t.OpIndex, 0)
	return w.each(func(x *field) error {
		switch x.num {
		case 1:
			return x.uint(&t.Dst)
		case 3:
			return x.uint(&t.Src)
		case 4:
			return x.uint(&t.Count)
		case 6:
			return x.int(&t.OpIndex)
		}
		return nil
	})
}

// owner reads only the operator's index.
func (t *Task) owner(f *field, num int32) error {
	w, err := f.message(1)
	if err != nil {
		return err
	}
	t.OpIndex = max(t.OpIndex, 0)
	return w.each(func(x *field) error {
		if int32(x.num) == num {
			return x.int(&t.OpIndex)
		}
		return nil
	})
}
