package runtime

import (
	"fmt"
	"strconv"
	"strings"
)

// parseVisible reads a list of devices as ASCEND_RT_VISIBLE_DEVICES holds it: numbers below n with commas between them,
// ascending. Reading stops at the first token that is no plain number in range, a blank included; what came before
// counts. An order that does not ascend is an error, which every SetDevice then returns.
func parseVisible(list string, n int) ([]int, error) {
	var ids []int
	for tok := range strings.SplitSeq(list, ",") {
		id, err := strconv.ParseUint(tok, 10, 31)
		if err != nil || int(id) >= n || strings.HasPrefix(tok, "+") {
			break
		}
		if len(ids) > 0 && int(id) <= ids[len(ids)-1] {
			return nil, fmt.Errorf("ASCEND_RT_VISIBLE_DEVICES is %q: device %d stands after %d, the numbers must ascend", list, id, ids[len(ids)-1])
		}
		ids = append(ids, int(id))
	}
	return ids, nil
}
