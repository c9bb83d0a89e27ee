// Package conform runs the ONNX project's backend test data through the whole path of a model: file, graph, plan, kernels
// on a simulated device. It reads a zip or a folder of cases, computes each and holds the outputs against those that come
// with it.
//
// A case counts as passed when every output of every data set has the stored type, shape and values within the suite's
// tolerance; as unsupported when the model is refused by the name of an operator or type; anything else is failed.
package conform

import (
	"archive/zip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"sort"
	"strings"

	"npu/internal/problem"
)

// Case is one case: a model and its data sets.
type Case struct {
	Name  string
	model string
	sets  []dataSet
	// ramp says that no inputs are stored: they are filled by the suite's rule, element i of n being i/n.
	ramp bool
}

// dataSet names the files of inputs and outputs by their position; "" where there is none.
type dataSet struct{ in, out []string }

// Suite is an opened collection of cases.
type Suite struct {
	Cases []Case
	files fs.FS
	close func() error
}

// Open reads the list of cases of a zip or a folder. A path with none is problem.Damaged.
func Open(name string) (*Suite, error) {
	st, err := os.Stat(name)
	if err != nil {
		return nil, problem.Mark(problem.Damaged, err)
	}
	s := &Suite{close: func() error { return nil }}
	if st.IsDir() {
		s.files = os.DirFS(name)
	} else {
		z, err := zip.OpenReader(name)
		if err != nil {
			return nil, problem.Damagedf("%s: %w (expected a zip or a folder of ONNX backend cases)", name, err)
		}
		s.files, s.close = z, z.Close
	}
	if err := s.list(); err != nil {
		s.close()
		return nil, problem.Mark(problem.Damaged, fmt.Errorf("%s: %w", name, err))
	}
	if len(s.Cases) == 0 {
		s.close()
		return nil, problem.Damagedf("%s: no ONNX backend case in it (CASE/model.onnx with CASE/test_data_set_0/, or NAME.onnx with NAME_output_0.pb)", name)
	}
	return s, nil
}

// Close gives the file back.
func (s *Suite) Close() error { return s.close() }

// list finds the cases, sorted by name.
func (s *Suite) list() error {
	var files []string
	err := fs.WalkDir(s.files, ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, p)
		}
		return err
	})
	if err != nil {
		return err
	}
	sort.Strings(files)
	for _, f := range files {
		dir, base := path.Split(f)
		switch {
		case base == "model.onnx":
			c := Case{Name: path.Base(strings.TrimSuffix(dir, "/")), model: f}
			if dir == "" {
				c.Name = "model"
			}
			for set := 0; ; set++ {
				prefix := fmt.Sprintf("%stest_data_set_%d/", dir, set)
				d := dataSet{in: numbered(files, prefix+"input_"), out: numbered(files, prefix+"output_")}
				if len(d.in) == 0 && len(d.out) == 0 {
					break
				}
				c.sets = append(c.sets, d)
			}
			s.Cases = append(s.Cases, c)
		case strings.HasSuffix(base, ".onnx"):
			name := strings.TrimSuffix(f, ".onnx")
			if out := numbered(files, name+"_output_"); len(out) > 0 {
				s.Cases = append(s.Cases, Case{Name: path.Base(name), model: f, sets: []dataSet{{out: out}}, ramp: true})
			}
		}
	}
	slices.SortFunc(s.Cases, func(a, b Case) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// numbered lists PREFIX0.pb, PREFIX1.pb, … by their number; files are sorted.
func numbered(files []string, prefix string) []string {
	var out []string
	for i := 0; i < 1<<10; i++ {
		name := fmt.Sprintf("%s%d.pb", prefix, i)
		if _, found := slices.BinarySearch(files, name); found {
			for len(out) < i {
				out = append(out, "")
			}
			out = append(out, name)
		} else if i > 0 && len(out) < i-8 {
			break // a few may be left out
		}
	}
	return out
}

func (s *Suite) read(name string) ([]byte, error) {
	f, err := s.files.Open(name)
	if err != nil {
		return nil, problem.Mark(problem.Damaged, err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	return b, problem.Mark(problem.Damaged, err)
}
