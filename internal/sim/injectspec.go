package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"npu/internal/problem"
)

// ParseInjection reads KIND@KEY=VALUE,…: the kind of a fault and the task that it meets. Errors are of class Usage.
//
//	op=NAME task=N stream=N nth=N copy=N addr=0x… after=20us p=0.01 seed=7 again
func ParseInjection(spec string) (*Injection, error) {
	i := &Injection{Task: -1, Stream: -1, Seed: 1, Spec: "--inject " + spec}
	kind, conditions, _ := strings.Cut(spec, "@")
	i.Kind = InjectKind(kind)
	if !slices.Contains(InjectKinds(), i.Kind) {
		return nil, problem.Usagef("--inject %q: no fault %q, expected %s", spec, kind, kindsText())
	}
	for _, c := range strings.Split(conditions, ",") {
		if c == "" {
			continue
		}
		if err := i.condition(c); err != nil {
			return nil, problem.Usagef("--inject %q: %w", spec, err)
		}
	}
	return i, nil
}

func (i *Injection) condition(c string) (err error) {
	key, value, _ := strings.Cut(c, "=")
	number := func(to *int64, least int64) error {
		n, err := strconv.ParseInt(value, 0, 64)
		if err != nil || n < least {
			return fmt.Errorf("%s=%q: expected a number from %d", key, value, least)
		}
		*to = n
		return nil
	}
	switch key {
	case "op":
		if i.Op = value; value == "" {
			return fmt.Errorf("op needs the name of a kernel")
		}
	case "task":
		return number(&i.Task, 0)
	case "stream":
		return number(&i.Stream, 0)
	case "nth":
		return number(&i.Nth, 1)
	case "copy":
		if i.Kind != InjectDMA {
			return fmt.Errorf("copy is for dma only")
		}
		return number(&i.Nth, 1)
	case "addr":
		if i.Addr, err = strconv.ParseUint(value, 0, 64); err != nil || i.Addr == 0 {
			return fmt.Errorf("addr=%q: expected an address of the device, as 0x124000000000", value)
		}
	case "after":
		d, err := time.ParseDuration(value)
		if err != nil || d < 0 {
			return fmt.Errorf("after=%q: expected a time, as 20us", value)
		}
		i.After = int64(d)
	case "p":
		if i.Chance, err = strconv.ParseFloat(value, 64); err != nil || !(i.Chance > 0 && i.Chance <= 1) {
			return fmt.Errorf("p=%q: expected a probability above 0, up to 1", value)
		}
		i.Again = true
	case "seed":
		if i.Seed, err = strconv.ParseUint(value, 0, 64); err != nil {
			return fmt.Errorf("seed=%q: expected a number", value)
		}
	case "again":
		i.Again = true
	default:
		return fmt.Errorf("no condition %q, expected op, task, stream, nth, copy, addr, after, p, seed or again", key)
	}
	return nil
}

func kindsText() string {
	var names []string
	for _, k := range InjectKinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}
