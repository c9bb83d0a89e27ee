package runtime

import "fmt"

// SysParam is an option of the whole process or of a context, numbered as aclSysParamOpt. They are kept and returned,
// and change nothing here: the cores' order never shows in a result, kernels check each access in any case, and device
// memory is sequentially consistent. What the options ask for always holds.
type SysParam int

// Options. Their values are 0 (off) and 1 (on).
const (
	Deterministic     SysParam = iota // results do not depend on the order of the cores
	DebugKernel                       // kernels check what they do
	StrongConsistency                 // memory is consistent between cores
	sysParams
)

// sysParam is an option's value.
type sysParam struct {
	value int64
	set   bool
}

// SetSysParam sets an option of the process (aclrtSetSysParamOpt).
func (th *Thread) SetSysParam(p SysParam, v int64) error {
	return th.setSysParam(nil, p, v, callSetSysParam)
}

// SysParam is an option of the process; one that was never set is 107021 (aclrtGetSysParamOpt).
func (th *Thread) SysParam(p SysParam) (int64, error) {
	return th.sysParam(nil, p, callSetSysParam)
}

// SetContextSysParam sets an option of the current context (aclrtCtxSetSysParamOpt).
func (th *Thread) SetContextSysParam(p SysParam, v int64) error {
	ctx, err := th.context(callCtxSysParam)
	if err != nil {
		return err
	}
	return th.setSysParam(ctx, p, v, callCtxSysParam)
}

// ContextSysParam is an option of the current context; one that was never set there is 107021
// (aclrtCtxGetSysParamOpt).
func (th *Thread) ContextSysParam(p SysParam) (int64, error) {
	ctx, err := th.context(callCtxSysParam)
	if err != nil {
		return 0, err
	}
	return th.sysParam(ctx, p, callCtxSysParam)
}

// paramsOf are the options of a context, nil for the process. Under Port.Call.
func (th *Thread) paramsOf(c *Context) *[sysParams]sysParam {
	if c == nil {
		return &th.rt.params
	}
	return &c.params
}

func (th *Thread) setSysParam(ctx *Context, p SysParam, v int64, c call) (err error) {
	t := th.begin(c)
	defer func() { th.end(c, t, err) }()
	if p < 0 || p >= sysParams {
		return th.fail(InvalidParam, c.name, fmt.Sprintf("option %d", p), fmt.Sprintf("the range is [0, %d)", sysParams))
	}
	if v != 0 && v != 1 {
		return th.fail(InvalidParam, c.name, fmt.Sprintf("value %d of option %d", v, p), "give 0 or 1")
	}
	return th.blocked(c.name, nil, th.port.Call(func() { th.paramsOf(ctx)[p] = sysParam{v, true} }))
}

func (th *Thread) sysParam(ctx *Context, p SysParam, c call) (v int64, err error) {
	t := th.begin(c)
	defer func() { th.end(c, t, err) }()
	if p < 0 || p >= sysParams {
		return 0, th.fail(InvalidParam, c.name, fmt.Sprintf("option %d", p), fmt.Sprintf("the range is [0, %d)", sysParams))
	}
	var x sysParam
	if err = th.port.Call(func() { x = th.paramsOf(ctx)[p] }); err != nil {
		return 0, th.blocked(c.name, nil, err)
	}
	if !x.set {
		return 0, th.fail(OptionNotSet, c.name, fmt.Sprintf("option %d was never set", p), "set it first")
	}
	return x.value, nil
}
