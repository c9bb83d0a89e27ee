package runtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
)

// library is what aclInit has set up for the whole process. Open has made the runtime already, so that a program that
// never calls Init works too.
type library struct {
	device atomic.Int32 // default device plus 1, 0 for none
	shared atomic.Bool  // recent error messages are those of all threads

	mu     sync.Mutex
	recent []sharedError

	refs int // under Port.Call
}

// sharedError is an error of some thread, with the thread's clock.
type sharedError struct {
	*Error
	clock  int64
	thread uint16
}

// initFile is the configuration that aclInit reads. What is not listed here is ignored.
type initFile struct {
	DefaultDevice struct {
		Device flexible `json:"default_device"`
	} `json:"defaultDevice"`
	ErrMsgMode flexible `json:"err_msg_mode"`
	Dump       struct {
		Scene string `json:"dump_scene"`
		Path  string `json:"dump_path"`
	} `json:"dump"`
	Profiler struct {
		Switch string `json:"switch"`
	} `json:"profiler"`
}

// flexible is a number that may stand in quotation marks.
type flexible string

// UnmarshalJSON takes "1" and 1.
func (f *flexible) UnmarshalJSON(b []byte) error {
	if s, err := strconv.Unquote(string(b)); err == nil {
		*f = flexible(s)
		return nil
	}
	*f = flexible(b)
	return nil
}

// Init counts a user of the library, the first time with the settings of a JSON file, "" for none (aclInit):
//
//	defaultDevice.default_device   what a thread without a context sets with its first call that needs one
//	err_msg_mode                   "1": RecentErrorMessage is the thread's own, "0": the process's
//	dump.dump_scene, dump_path     failing tasks leave dumps, as with DumpExceptions
//	profiler.switch                "on": profiling runs until Finalize, and aclprof calls are refused
//
// A second Init returns 100002 and counts all the same.
func (th *Thread) Init(path string) (err error) {
	t := th.begin(callInit)
	defer func() { th.end(callInit, t, err) }()
	if err = th.forbidden(callInit); err != nil {
		return err
	}
	again := false
	err = th.port.Call(func() {
		l := &th.rt.acl
		again = l.refs > 0
		l.refs++
	})
	switch {
	case err != nil:
		return th.blocked(callInit.name, nil, err)
	case again:
		return th.fail(RepeatInit, callInit.name, "the library is initialised already", "this does no harm; pair each call with aclFinalizeReference")
	case path == "":
		return nil
	}
	if err = th.configure(path); err != nil {
		return errors.Join(err, th.endLibrary(0)) // it is not initialised
	}
	return nil
}

// configure applies an initFile.
func (th *Thread) configure(path string) error {
	var f initFile
	b, err := os.ReadFile(path)
	if err != nil {
		return th.fail(InvalidFile, callInit.name, err.Error(), "")
	}
	if err = json.Unmarshal(b, &f); err != nil {
		return th.fail(ParseFile, callInit.name, fmt.Sprintf("%s: %v", path, err), "give a JSON object")
	}
	l := &th.rt.acl
	if d := f.DefaultDevice.Device; d != "" {
		n, err := strconv.Atoi(string(d))
		if err != nil || n < 0 || n >= len(th.rt.devices) {
			return th.fail(FileAttr, callInit.name, fmt.Sprintf("%s: default_device is %s", path, d), fmt.Sprintf("the range is [0, %d)", len(th.rt.devices)))
		}
		l.device.Store(int32(n) + 1)
	}
	switch f.ErrMsgMode {
	case "0":
		l.shared.Store(true)
	case "1", "":
	default:
		return th.fail(FileAttr, callInit.name, fmt.Sprintf("%s: err_msg_mode is %s", path, f.ErrMsgMode), `give "0" (process) or "1" (thread)`)
	}
	switch f.Profiler.Switch {
	case "on":
		if err := th.profileByFile(); err != nil {
			return err
		}
	case "off", "":
	default:
		return th.fail(ProfilingConfig, callInit.name, fmt.Sprintf("%s: profiler switch is %q", path, f.Profiler.Switch), "give on or off")
	}
	switch f.Dump.Scene {
	case "":
		return nil
	case "aic_err_brief_dump", "aic_err_norm_dump", "aic_err_detail_dump", "lite_exception":
	default:
		return th.fail(DumpConfig, callInit.name, fmt.Sprintf("%s: dump_scene is %q", path, f.Dump.Scene), "give aic_err_brief_dump, aic_err_norm_dump, aic_err_detail_dump or lite_exception")
	}
	for _, dir := range []string{os.Getenv("NPU_COLLECT_PATH"), os.Getenv("ASCEND_WORK_PATH"), f.Dump.Path, "."} {
		if dir != "" {
			return th.DumpExceptions(dir)
		}
	}
	return nil
}

// Finalize ends what Init began, however often it was called (aclFinalize). The devices stay as they are: reset them
// before. Without an Init it returns 100037.
func (th *Thread) Finalize() (err error) {
	t := th.begin(callFinalize)
	defer func() { th.end(callFinalize, t, err) }()
	if err = th.forbidden(callFinalize); err != nil {
		return err
	}
	return th.endLibrary(0)
}

// FinalizeReference takes back one Init and returns how many are left; with the last one the library ends
// (aclFinalizeReference).
func (th *Thread) FinalizeReference() (left int, err error) {
	t := th.begin(callFinalize)
	defer func() { th.end(callFinalize, t, err) }()
	if err = th.forbidden(callFinalize); err != nil {
		return 0, err
	}
	if err = th.port.Call(func() { left = th.rt.acl.refs - 1 }); err != nil {
		return 0, th.blocked(callFinalize.name, nil, err)
	}
	return max(0, left), th.endLibrary(left)
}

// endLibrary sets the number of users; the settings end with the last one.
func (th *Thread) endLibrary(left int) error {
	l := &th.rt.acl
	never := false
	err := th.port.Call(func() {
		if never = l.refs == 0; !never {
			l.refs = left
		}
		if p := &th.rt.profiling; left == 0 && p.byFile {
			p.end()
		}
	})
	switch {
	case err != nil:
		return th.blocked(callFinalize.name, nil, err)
	case never:
		return th.fail(RepeatFinalize, callFinalize.name, "the library is not initialised", "pair each call with aclInit")
	case left == 0:
		l.device.Store(0)
		l.shared.Store(false)
	}
	return nil
}

// keepShared remembers an error for whichever thread asks.
func (th *Thread) keepShared(e *Error) {
	l := &th.rt.acl
	l.mu.Lock()
	l.recent = append(l.recent, sharedError{e, th.Clock(), th.ID()})
	if len(l.recent) > recentMax {
		l.recent = slices.Delete(l.recent, 0, 1)
	}
	l.mu.Unlock()
}

// takeShared is all that keepShared has kept, oldest first in device time.
func (l *library) takeShared() []*Error {
	l.mu.Lock()
	all := l.recent
	l.recent = nil
	l.mu.Unlock()
	slices.SortStableFunc(all, func(a, b sharedError) int {
		if a.clock != b.clock {
			return int(a.clock - b.clock)
		}
		return int(a.thread) - int(b.thread)
	})
	out := make([]*Error, len(all))
	for i, e := range all {
		out[i] = e.Error
	}
	return out
}
