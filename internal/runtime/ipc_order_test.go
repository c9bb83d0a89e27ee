package runtime

// doOrder are the commands of a peer about events and notifies.
func (c *child) doOrder(w []string, num func(int) int64) string {
	return "unknown command " + w[0]
}
