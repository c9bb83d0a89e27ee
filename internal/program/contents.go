package program

// Contents is what a program declares, for those who want to know what a file is.
type Contents struct {
	Kind       string   `json:"kind"` // stream
	Program    string   `json:"program"`
	Soc        string   `json:"soc"` // empty: not said
	Devices    int      `json:"devices"`
	Statements int64    `json:"statements"` // in the text, those of loops once
	Threads    int64    `json:"threads"`    // the main one included
	Streams    int64    `json:"streams"`
	Events     int64    `json:"events"` // and notifies
	Buffers    int64    `json:"buffers"`
	Kernels    int64    `json:"kernels"`
	Warnings   []string `json:"warnings"`
}

// Contents counts what stands in the text.
func (p *Program) Contents() *Contents {
	c := &Contents{Kind: "stream", Program: p.Name, Soc: p.Setup.Chip, Devices: max(1, p.Setup.Devices), Threads: 1, Warnings: []string{}}
	c.block(p.Body)
	return c
}

func (c *Contents) block(list []Stmt) {
	for _, st := range list {
		c.Statements++
		switch st.(type) {
		case *StreamStmt:
			c.Streams++
		case *EventStmt, *NotifyStmt:
			c.Events++
		case *BufferStmt, *AllocateStmt:
			c.Buffers++
		case *KernelStmt:
			c.Kernels++
		case *ThreadStmt:
			c.Threads++
		}
		if b, ok := st.(blockStmt); ok {
			for _, lines := range b.parts() {
				c.block(lines)
			}
		}
	}
}
