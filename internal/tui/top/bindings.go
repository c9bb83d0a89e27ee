package top

import "npu/internal/tui/keys"

// bindings are the keys of the screen. Help and the bottom line are made from them.
type bindings struct {
	quit, interrupt, help, back, details                                 keys.Binding
	up, down, pageUp, pageDown, halfUp, halfDown, first, last            keys.Binding
	nextPanel, prevPanel, devices, processes, streams, memory, operators keys.Binding
	command, copy, copyRow, export, capture                              keys.Binding
	filter, sortLeft, sortRight, reverse, tree, ids, view, left, right   keys.Binding
	pause, slower, faster, reset, stepBack, step, snapshot, redraw, stop keys.Binding
}

func newBindings() bindings {
	const look, move, show, time, other = "Look closer", "Move", "Choose what is shown", "Time", "Other"
	return bindings{
		details:   keys.New(look, "Enter", "details of the row", "enter"),
		back:      keys.New(look, "Esc", "leave what is open", "esc"),
		nextPanel: keys.New(look, "Tab", "next panel (Shift: before)", "tab"),
		prevPanel: keys.New(look, "Tab", "next panel (Shift: before)", "shift+tab"),
		devices:   keys.New(look, "1", "devices", "1"),
		processes: keys.New(look, "2", "processes", "2"),
		streams:   keys.New(look, "3", "streams", "3"),
		memory:    keys.New(look, "4", "memory", "4"),
		operators: keys.New(look, "5", "top operators", "5"),

		up:       keys.New(move, "↑↓ k j", "a row up, down", "up", "k"),
		down:     keys.New(move, "↑↓ k j", "a row up, down", "down", "j"),
		pageUp:   keys.New(move, "PgUp PgDn", "a page up, down", "pgup", "ctrl+b"),
		pageDown: keys.New(move, "PgUp PgDn", "a page up, down", "pgdown", "ctrl+f"),
		halfUp:   keys.New(move, "Ctrl-U -D", "half a page up, down", "ctrl+u"),
		halfDown: keys.New(move, "Ctrl-U -D", "half a page up, down", "ctrl+d"),
		first:    keys.New(move, "g G", "first, last row", "g", "home"),
		last:     keys.New(move, "g G", "first, last row", "G", "end"),
		left:     keys.New(move, "←→ h l", "move the columns", "left", "h"),
		right:    keys.New(move, "←→ h l", "move the columns", "right", "l"),

		filter:    keys.New(show, "/", "filter: expr, KEY=x, !not", "/"),
		sortLeft:  keys.New(show, "< >", "sort by another column", "<", ","),
		sortRight: keys.New(show, "< >", "sort by another column", ">", "."),
		reverse:   keys.New(show, "R", "turn the order around", "R", "r"),
		tree:      keys.New(show, "t", "processes below devices", "t"),
		ids:       keys.New(show, "i", "all ids of the devices", "i"),
		view:      keys.New(show, "v", "view: auto, full, compact", "v"),

		pause:    keys.New(time, "Space", "pause, go on", " "),
		slower:   keys.New(time, "+ -", "ask more, less often", "-", "_"),
		faster:   keys.New(time, "+ -", "ask more, less often", "+", "="),
		stepBack: keys.New(time, "[ ]", "recording: a frame", "["),
		step:     keys.New(time, "[ ]", "recording: a frame", "]"),
		reset:    keys.New(time, "0", "forget maxima and means", "0"),

		help:      keys.New(other, "? F1", "this help", "?", "f1"),
		command:   keys.New(other, ":", "command: sort, npu, ...", ":"),
		copy:      keys.New(other, "y Y", "copy the id, the row", "y"),
		copyRow:   keys.New(other, "y Y", "copy the id, the row", "Y"),
		export:    keys.New(other, "e", "export rows: CSV, JSON", "e"),
		capture:   keys.New(other, "%", "mouse on, off", "%"),
		snapshot:  keys.New(other, "S", "save a picture (SVG)", "S"),
		redraw:    keys.New(other, "Ctrl-L", "draw anew", "ctrl+l"),
		stop:      keys.New(other, "Ctrl-Z", "suspend", "ctrl+z"),
		quit:      keys.New(other, "q Ctrl-C", "quit", "q"),
		interrupt: keys.New(other, "q Ctrl-C", "quit", "ctrl+c"),
	}
}

// all lists the bindings in the order of the help.
func (b *bindings) all() []keys.Binding {
	return []keys.Binding{
		b.details, b.back, b.nextPanel, b.prevPanel, b.devices, b.processes, b.streams, b.memory, b.operators,
		b.up, b.down, b.pageUp, b.pageDown, b.halfUp, b.halfDown, b.first, b.last, b.left, b.right,
		b.filter, b.sortLeft, b.sortRight, b.reverse, b.tree, b.ids, b.view,
		b.pause, b.faster, b.slower, b.stepBack, b.step, b.reset,
		b.help, b.command, b.copy, b.copyRow, b.export, b.snapshot, b.capture, b.redraw, b.stop, b.quit, b.interrupt,
	}
}
