package smi

import "strings"

// Links is one row of "npu-smi info -t topo": how a device reaches the others.
type Links struct {
	Device string   // "NPU0", "Phy-ID3"
	To     []string // by column: X, HCCS, SIO, PIX, SYS, ...
	CPUs   string   // affinity, "144-167"; empty when not printed
}

// ParseTopo reads the matrix; Peers names its columns.
func ParseTopo(text string) (peers []string, rows []Links) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
			if len(rows) > 0 {
				return peers, rows // the legend follows
			}
		case !isTopoName(words[0]):
		case len(words) > 1 && isTopoName(words[1]) || peers == nil:
			if len(rows) > 0 {
				return peers, rows // a second matrix
			}
			peers = peers[:0]
			for _, w := range words {
				if isTopoName(w) {
					peers = append(peers, w)
				}
			}
		case len(words) > len(peers):
			l := Links{Device: words[0], To: words[1 : 1+len(peers)]}
			if rest := words[1+len(peers):]; len(rest) > 0 {
				l.CPUs = rest[len(rest)-1]
			}
			rows = append(rows, l)
		}
	}
	return peers, rows
}

func isTopoName(s string) bool { return strings.HasPrefix(s, "NPU") || strings.HasPrefix(s, "Phy-ID") }
