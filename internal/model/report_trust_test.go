package model

import (
	"testing"

	"npu/internal/sim/soc"
)

func TestOpTime_trust(t *testing.T) {
	for _, c := range []struct {
		chip, typ         string
		calibrated, known bool
	}{{"910B4", "MatMulV2", true, true}, {"910B3", "MatMulV2", false, true}, {"910B4", "Conv2D", false, false}, {"910B4", "copy H2D", false, false}} {
		chip, err := soc.Lookup(c.chip)
		if err != nil {
			t.Fatal(err)
		}
		x := OpTime{Type: c.typ}
		x.trust(chip)
		if x.Calibrated != c.calibrated || (x.ErrorPercent != nil) != c.known || (x.Reason == "") != c.known {
			t.Errorf("%s on %s: %+v", c.typ, c.chip, x)
		}
	}
}
