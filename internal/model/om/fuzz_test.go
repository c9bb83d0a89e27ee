package om

import (
	"testing"

	"npu/internal/problem"
)

// FuzzParse: no input panics or hangs, and what is refused is refused as damaged. What parses must also convert or
// say why not, and encode to a container that parses again.
func FuzzParse(f *testing.F) {
	small := sample(f)
	f.Add(small)
	f.Add(sample(f, 1, 2))
	f.Add(small[:300])
	old := &Model{Header: Header{Version: version1, Name: "old", ModelNum: 1}}
	if m, err := Parse(small); err == nil {
		old.Groups = m.Groups
		f.Add(old.Encode())
		for i := range m.Groups[0].Partitions {
			short := *m.Groups[0]
			short.Partitions = short.Partitions[i:]
			f.Add((&Model{Header: m.Header, Groups: []*Group{&short}}).Encode())
		}
		// As a file of the vendor's: without what restores our graphs.
		m.Groups[0].Def.Attrs.Get("atc_cmdline").Data = []byte("atc --model=x")
		m.Groups[0].part(ModelDefPart).Data = m.Groups[0].Def.encode()
		f.Add(m.Encode())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Parse(b)
		if err != nil {
			if problem.ClassOf(err) != problem.Damaged {
				t.Fatalf("class %v of %v", problem.ClassOf(err), err)
			}
			return
		}
		_ = m.Text()
		_ = m.MemoryUse()
		_, _ = m.Inputs(), m.Outputs()
		if _, err := m.Build(nil); err != nil {
			_ = err.Error()
		}
		if m.Header.Type == TypeBundle {
			return
		}
		if _, err := Parse(m.Encode()); err != nil {
			t.Fatalf("the container does not parse again: %v", err)
		}
	})
}
