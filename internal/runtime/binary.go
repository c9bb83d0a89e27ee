package runtime

import "fmt"

// Binary is a kernel image that was loaded into a context: functions by name (aclrtBinHandle).
type Binary struct {
	ctx       *Context
	functions map[string]*Kernel
	unloaded  bool
}

// LoadBinary loads a kernel image into the current context (aclrtBinaryLoad). Names must differ.
func (th *Thread) LoadBinary(functions ...KernelConfig) (*Binary, error) {
	ctx, err := th.context(callLoadKernel)
	if err != nil {
		return nil, err
	}
	b := &Binary{ctx: ctx, functions: map[string]*Kernel{}}
	for _, f := range functions {
		if b.functions[f.Name] != nil {
			return nil, th.fail(InvalidParam, callLoadKernel.name, fmt.Sprintf("function %s stands twice in the image", f.Name), "")
		}
		if b.functions[f.Name], err = th.LoadKernel(f); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// Function looks a function of the image up (aclrtBinaryGetFunction).
func (th *Thread) Function(b *Binary, name string) (*Kernel, error) {
	if b == nil || b.unloaded {
		return nil, th.fail(InvalidHandle, callFindKernel.name, "the binary is unloaded", "load it again")
	}
	k := b.functions[name]
	if k == nil {
		return nil, th.fail(KernelLookup, callFindKernel.name, fmt.Sprintf("no function %s in the image", name), "")
	}
	return k, nil
}

// UnloadBinary takes the image's functions away; a launch of one is an error from now on, and one that is under way
// faults (aclrtBinaryUnLoad).
func (th *Thread) UnloadBinary(b *Binary) error {
	if b == nil || b.unloaded {
		return th.fail(InvalidHandle, callUnloadKernel.name, "the binary is unloaded", "")
	}
	b.unloaded = true
	for _, k := range b.functions {
		if err := th.UnloadKernel(k); err != nil {
			return err
		}
	}
	return nil
}

// UnloadKernel takes one function away.
func (th *Thread) UnloadKernel(k *Kernel) (err error) {
	t := th.begin(callUnloadKernel)
	defer func() { th.end(callUnloadKernel, t, err) }()
	if err = th.forbidden(callUnloadKernel); err != nil {
		return err
	}
	if k == nil || k.open.Load() == nil {
		return th.fail(InvalidHandle, callUnloadKernel.name, "the kernel is unloaded", "")
	}
	err = th.port.Call(func() {
		k.unload()
		c := k.ctx
		for i, x := range c.kernels {
			if x == k {
				c.kernels = append(c.kernels[:i], c.kernels[i+1:]...)
				break
			}
		}
	})
	return th.blocked(callUnloadKernel.name, nil, err)
}

// unload takes the function away from the device. Under Port.Call.
func (k *Kernel) unload() {
	k.open.Store(nil)
	k.ctx.dev.rt.machine.Unload(k.id)
}
