package program

import "npu/internal/runtime"

// Statements of tasks that are changed after the capture.
type (
	// TaskGroupStmt: taskgroup NAME on STREAM … end.
	TaskGroupStmt struct {
		Head
		Name string
		On   On
		Body []Stmt
	}
	// UpdateStmt: update NAME on STREAM … end.
	UpdateStmt struct {
		Head
		What Ref
		On   On
		Body []Stmt
	}
)

func (st *TaskGroupStmt) take(list []Stmt) { st.Body = list }
func (st *UpdateStmt) take(list []Stmt)    { st.Body = list }
func (st *TaskGroupStmt) parts() [][]Stmt  { return [][]Stmt{st.Body} }
func (st *UpdateStmt) parts() [][]Stmt     { return [][]Stmt{st.Body} }

func (st *TaskGroupStmt) check(c *checker) {
	c.on(st.On)
	c.block(st.Body)
	c.declare(&st.Head, st.Name, "taskgroup")
}

func (st *TaskGroupStmt) run(h *host) error {
	s, err := h.on(st.On)
	if err != nil {
		return err
	}
	if err := h.th.TaskGroupBegin(s); err != nil {
		return err
	}
	if err := h.block(st.Body); err != nil {
		return err
	}
	g, err := h.th.TaskGroupEnd(s)
	if err == nil {
		h.env[st.Name] = g
	}
	return err
}

func (st *UpdateStmt) check(c *checker) {
	c.find(st.What, "taskgroup")
	c.on(st.On)
	c.block(st.Body)
}

func (st *UpdateStmt) run(h *host) error {
	g, err := get[*runtime.TaskGroup](h, st.What.Name)
	if err != nil {
		return err
	}
	s, err := h.on(st.On)
	if err != nil {
		return err
	}
	if err := h.th.TaskUpdateBegin(s, g); err != nil {
		return err
	}
	if err := h.block(st.Body); err != nil {
		return err
	}
	return h.th.TaskUpdateEnd(s)
}
