package cost

import (
	"sync"

	"npu/internal/sim/soc"
)

// Trust says how far the estimated time of an operator type can be off on a chip: the median error that was found for
// kernels kept out of the fit. calibrated means that this type was measured on this chip. If not, the error is that
// of the type when carried over from another chip, or of a type that was never measured in its class; 0 where not even
// that is known.
func Trust(chip *soc.Chip, typ string) (medianErrorPercent int, calibrated bool) {
	rows := trust()
	name, class := Canonical(typ), LookupOperator(typ).Class.Scope()
	if e, ok := rows[Scope{chip.Name, name}]; ok {
		return e, true
	}
	for _, s := range [...]Scope{{"*", name}, {"*", class}} {
		if e := rows[s]; e > 0 {
			return e, false
		}
	}
	return 0, false
}

var trust = sync.OnceValue(func() map[Scope]int {
	m := map[Scope]int{}
	for _, r := range fittedRows() {
		m[r.Scope] = r.ErrorPercent
	}
	return m
})
