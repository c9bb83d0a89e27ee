package load

import (
	"context"
	"io"
	"os"
	"strings"

	"npu/internal/trace"
	"npu/internal/trace/npt"
)

// Skim shows the tasks and calls of a capture, or of what the cache keeps as one, to somebody who sums them up, and keeps none:
// see npt.Skim. The trace is nil for what has to be read whole: other formats, several parts, captures that are not in order. to
// may have seen rows then.
func Skim(ctx context.Context, paths []string, o Options, fields []trace.Field, to npt.Skimmer) (*trace.Trace, error) {
	if len(paths) != 1 || o.Align {
		return nil, nil
	}
	path := paths[0]
	st, err := os.Stat(path)
	if err != nil {
		return nil, nil // Read says what is wrong
	}
	if !strings.HasSuffix(path, npt.Suffix) {
		if key := o.Cache.Key(path); key != "" {
			if t := o.Cache.Skim(ctx, key, fields, to); t != nil || ctx.Err() != nil {
				return t, ctx.Err()
			}
		}
	}
	if collection(path, st.IsDir()) != "" || !st.Mode().IsRegular() {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	head := make([]byte, len(npt.Magic))
	if _, err := io.ReadFull(f, head); err != nil || string(head) != npt.Magic {
		return nil, nil
	}
	t, err := npt.Skim(&reader{ctx, io.MultiReader(strings.NewReader(npt.Magic), f)}, fields, to)
	if t == nil || ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return t, named(path, err)
}
