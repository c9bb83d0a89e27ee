package sim

// Mailbox is where tasks leave calls of user code for a host thread: host functions, callbacks, reports of faults. The
// driver never runs user code. A port that takes a call from a mailbox has its clock set by the driver, and so holds
// the device's time until it comes back.
type Mailbox struct {
	id   uint32
	jobs []*Job
	cond Cond
	busy int // calls that were taken and have not returned
	// Idle is signalled when a call has returned.
	Idle Cond
	// Lost, if not nil, is told of calls that will never be made, since their task was dropped. It runs on the driver.
	Lost func(call uint64)
}

// Job is one call that a task has asked for.
type Job struct {
	Call  uint64 // operand B of the HostFunc
	Fault *Fault // the fault to report, if it is a report
	queue *Queue // waits for the end of the call
	box   *Mailbox
}

// NewMailbox makes a mailbox. Call it from Port.Call or before anything runs.
func (m *Machine) NewMailbox() *Mailbox {
	b := &Mailbox{id: uint32(len(m.mailboxes))}
	m.mailboxes = append(m.mailboxes, b)
	return b
}

// ID is the operand of HostFunc.
func (b *Mailbox) ID() uint64 { return uint64(b.id) }

// Waiting is how many calls nobody has taken yet, Busy how many are being made. Call them from Port.Call.
func (b *Mailbox) Waiting() int { return len(b.jobs) }

// Busy is described with Waiting.
func (b *Mailbox) Busy() int { return b.busy }

// Take waits for a call. timeout is in virtual ns, 0 for ever.
func (p *Port) Take(b *Mailbox, timeout int64) (j *Job, expired bool, err error) {
	expired, err = p.WaitCond(&b.cond, func() bool {
		if len(b.jobs) == 0 {
			return false
		}
		j = b.jobs[0]
		b.jobs = append(b.jobs[:0], b.jobs[1:]...)
		b.busy++
		if j.queue != nil && j.Fault == nil {
			j.queue.startT = p.m.now // the function begins when a thread takes it
		}
		return true
	}, timeout, 0)
	return j, expired, err
}

// Done says that a call has returned; a queue that waits for it goes on.
func (p *Port) Done(j *Job) error {
	return p.Call(func() {
		j.box.busy--
		if j.Fault != nil {
			p.m.ringRead()
		}
		p.m.Signal(&j.box.Idle)
		q := j.queue
		if q == nil {
			return
		}
		j.queue, q.job = nil, nil
		if j.Fault != nil {
			p.m.settle(q, q.endT)
			return
		}
		p.m.settle(q, p.m.now)
	})
}

// ReportFaults makes every failing task wait, before its queue goes on, until the fault was taken from b and reported;
// nil ends it. Call it from Port.Call.
func (m *Machine) ReportFaults(b *Mailbox) { m.reports = b }

// post leaves a call in b for the head of q.
func (m *Machine) post(b *Mailbox, j *Job) {
	j.box = b
	b.jobs = append(b.jobs, j)
	m.Signal(&b.cond)
}

// callHost asks for the call of a HostFunc. It says whether the queue goes on at once.
func (m *Machine) callHost(q *Queue, d *Desc) bool {
	j := &Job{Call: d[6]}
	if d[7] == 0 {
		m.post(m.mailboxes[d[5]], j)
		return true
	}
	m.hold(q, 0)
	j.queue, q.job = q, j
	m.post(m.mailboxes[d[5]], j)
	return false
}

// unpost takes back the call that the head of q has asked for. One that runs already cannot be taken back; nobody
// waits for its end any more.
func (m *Machine) unpost(q *Queue) {
	j := q.job
	if j == nil {
		return
	}
	j.queue, q.job = nil, nil
	for _, b := range m.mailboxes {
		for i, x := range b.jobs {
			if x == j {
				b.jobs = append(b.jobs[:i], b.jobs[i+1:]...)
				if j.Fault != nil {
					m.ringRead()
				}
				if b.Lost != nil && j.Fault == nil {
					b.Lost(j.Call)
				}
				return
			}
		}
	}
}
