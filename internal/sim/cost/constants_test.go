package cost

import (
	"strings"
	"testing"
)

func TestParseConstants(t *testing.T) {
	m, err := parseConstants(constantsTSV)
	if err != nil {
		t.Fatal(err)
	}
	if m["*"].cubeFP32Percent != 25 || m["Ascend910B"].cubeFP32Percent != 28 || m["Ascend910B"].tileN != 256 || m["Ascend950"].cubePercent != 90 {
		t.Errorf("%+v", m["Ascend910B"])
	}
	if constantsOf("Ascend310P") != families()["*"] || constantsOf("Ascend910B") == families()["*"] {
		t.Error("families are not told apart")
	}
	for _, bad := range []string{
		"", constantsTSV + "tile_n\t*\t7\ttwice\n", constantsTSV + "tile_x\t*\t7\tunknown\n", constantsTSV + "tile_n\tA\t-7\tnegative\n",
		constantsTSV + "tile_n\tA\t7\n", strings.Replace(constantsTSV, "\ntile_n\t*", "\ntile_n\tA", 1),
	} {
		if _, err := parseConstants(bad); err == nil {
			t.Errorf("no error for a table that ends in %.60q", bad[max(0, len(bad)-60):])
		}
	}
}

func TestMulDiv(t *testing.T) {
	for _, c := range [][4]int64{{7, 1, 2, 4}, {6, 1, 2, 3}, {0, 5, 3, 0}, {1 << 40, 1 << 40, 1 << 40, 1 << 40}, {ceiling, ceiling, 1, ceiling}, {1<<62 - 1, 1<<62 - 1, 1<<62 - 1, ceiling}} {
		if got := mulDiv(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("%d·%d/%d is %d, want %d", c[0], c[1], c[2], got, c[3])
		}
	}
}
