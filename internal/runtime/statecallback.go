package runtime

import (
	"fmt"
	"slices"
	"sync"
)

// StreamState is a moment in the life of a stream that state callbacks hear of.
type StreamState int

// Stream states, numbered as those of aclrtRegStreamStateCallback.
const (
	StreamCreated    StreamState = 1
	StreamDestroying StreamState = 2
)

// DeviceState is a moment of setting or resetting a device that state callbacks hear of.
type DeviceState int

// Device states, numbered as those of aclrtRegDeviceStateCallback.
const (
	DeviceSetting DeviceState = iota
	DeviceSet
	DeviceResetting
	DeviceReset
)

// listener is a function that was registered under a name.
type listener[F any] struct {
	name string
	f    F
}

// listeners is a list of them. The list itself is replaced, never changed.
type listeners[F any] struct {
	mu   sync.Mutex
	list []listener[F]
}

// set registers f under a name that is free or, with remove, takes the name away.
func (l *listeners[F]) set(th *Thread, c call, name string, f F, remove bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.list, func(x listener[F]) bool { return x.name == name })
	switch {
	case !remove && i >= 0:
		return th.fail(InvalidParam, c.name, fmt.Sprintf("name %q is taken", name), "remove it first")
	case remove && i < 0:
		return th.fail(InvalidParam, c.name, fmt.Sprintf("name %q is not registered", name), "")
	case remove:
		l.list = slices.Delete(slices.Clone(l.list), i, i+1)
	default:
		l.list = append(slices.Clone(l.list), listener[F]{name, f})
	}
	return nil
}

// each has every one of them called by call, as a callback on th.
func (l *listeners[F]) each(th *Thread, call func(f F)) {
	l.mu.Lock()
	all := l.list
	l.mu.Unlock()
	for _, x := range all {
		th.run(func() { call(x.f) })
	}
}

// RegisterStreamState has f called, on the thread concerned, after each creation and before each destruction of a
// stream. Names are unique; a nil f removes the name (aclrtRegStreamStateCallback).
func (th *Thread) RegisterStreamState(name string, f func(*Stream, StreamState)) error {
	return th.rt.streamStates.set(th, callStateCallback, name, f, f == nil)
}

// RegisterDeviceState has f called with the device's number, on the thread concerned, before each SetDevice and each
// reset, also those that only count, and after those that were allowed. Names are unique; a nil f removes the name
// (aclrtRegDeviceStateCallback).
func (th *Thread) RegisterDeviceState(name string, f func(device int, s DeviceState)) error {
	return th.rt.deviceStates.set(th, callDeviceState, name, f, f == nil)
}

func (th *Thread) tellState(s *Stream, st StreamState) {
	th.rt.streamStates.each(th, func(f func(*Stream, StreamState)) { f(s, st) })
}

func (th *Thread) tellDevice(d *Device, st DeviceState) {
	th.rt.deviceStates.each(th, func(f func(int, DeviceState)) { f(d.id, st) })
}
