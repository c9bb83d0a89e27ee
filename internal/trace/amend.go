package trace

// Amend lets f change the tasks recorded so far, in the order of recording: when they were submitted and ready, by which thread, for
// which event and generation, and their flags. Readers whose files say of a task only later which call submitted it keep what
// joins the two in Event and Gen until then.
func (r *Recorder) Amend(f func(k *Task)) {
	t := &r.tasks
	for i := range t.n {
		k := t.At(i)
		was := k
		if f(&k); k == was {
			continue
		}
		t.Submit.set(i, k.Submit)
		t.Ready.set(i, k.Ready)
		t.Thread.set(i, k.Thread)
		t.Event.set(i, k.Event)
		t.Gen.set(i, k.Gen)
		t.Flags.set(i, k.Flags)
	}
	full := t.n &^ chunkMask >> chunkBits // the last chunk still takes rows
	t.Thread.drop(full)
	t.Event.drop(full)
	t.Gen.drop(full)
	t.Flags.drop(full)
}

// AmendSpans lets f change the calls recorded so far.
func (r *Recorder) AmendSpans(f func(s *Span)) {
	for _, s := range r.spans.All() {
		f(s)
	}
}

// drop forgets those of the first n chunks that became zero.
func (c *Column[T]) drop(n int) {
	var zero T
next:
	for i, p := range c.chunks[:n] {
		if p == nil {
			continue
		}
		for k := range p {
			if p[k] != zero {
				continue next
			}
		}
		c.chunks[i] = nil
	}
}
