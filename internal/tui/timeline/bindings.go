package timeline

import "npu/internal/tui/keys"

// bindings are the keys of the screen. Help, the bottom line and the documentation are made from them.
type bindings struct {
	zoomIn, zoomOut, whole, fit, zoomTo                                                                        keys.Binding
	left, right, panLeft, panRight, screenLeft, screenRight, start, end, newest                                keys.Binding
	up, down, pageUp, pageDown, groupUp, groupDown, first, last                                                keys.Binding
	next, prev, follow, back, longest, gap                                                                     keys.Binding
	find, hit, hitBack, rng, mark, jump                                                                        keys.Binding
	fold, pin, moveUp, moveDown, hide, showAll, base, operators, pipes, colour, arrows, axis, panel, panelBack keys.Binding
	undo, redo, command, export, snapshot, copy, capture, help, leave, redraw                                  keys.Binding
	stop, quit, interrupt                                                                                      keys.Binding
}

func newBindings() bindings {
	const zoom, move, walk, find, show, other = "Zoom", "Move", "Walk", "Find and measure", "Choose what is shown", "Other"
	return bindings{
		zoomIn:  keys.New(zoom, "w +", "closer, about the cursor", "w", "+", "="),
		zoomOut: keys.New(zoom, "s -", "farther", "s", "-", "_"),
		fit:     keys.New(zoom, "f", "centre the task; again: fit it", "f"),
		zoomTo:  keys.New(zoom, "z", "to the range, or the task", "z"),
		whole:   keys.New(zoom, "0", "whole trace", "0"),

		left:        keys.New(move, "←→ h l", "cursor by a column", "left", "h"),
		right:       keys.New(move, "←→ h l", "cursor by a column", "right", "l"),
		panLeft:     keys.New(move, "a d", "a tenth of the screen", "a"),
		panRight:    keys.New(move, "a d", "a tenth of the screen", "d"),
		screenLeft:  keys.New(move, "A D H L", "a screen", "A", "H", "shift+left"),
		screenRight: keys.New(move, "A D H L", "a screen", "D", "L", "shift+right"),
		start:       keys.New(move, "Home End", "start, end of the trace", "home"),
		end:         keys.New(move, "Home End", "start, end of the trace", "end"),
		newest:      keys.New(move, "F", "follow a run, or stay", "F"),
		up:          keys.New(move, "↑↓ k j", "a lane up, down", "up", "k"),
		down:        keys.New(move, "↑↓ k j", "a lane up, down", "down", "j"),
		groupUp:     keys.New(move, "{ }", "device before, next", "{"),
		groupDown:   keys.New(move, "{ }", "device before, next", "}"),
		pageUp:      keys.New(move, "PgUp PgDn", "a page of lanes", "pgup", "ctrl+b", "ctrl+u"),
		pageDown:    keys.New(move, "PgUp PgDn", "a page of lanes", "pgdown", "ctrl+f", "ctrl+d"),
		first:       keys.New(move, "g G", "first, last lane", "g"),
		last:        keys.New(move, "g G", "first, last lane", "G"),

		next:    keys.New(walk, ". ,", "next, previous task of lane", ".", ">"),
		prev:    keys.New(walk, ". ,", "next, previous task of lane", ",", "<"),
		back:    keys.New(walk, "[ ]", "what it waited for, released", "["),
		follow:  keys.New(walk, "[ ]", "what it waited for, released", "]"),
		longest: keys.New(walk, "t", "longest task in sight", "t"),
		gap:     keys.New(walk, "i", "longest idle gap in sight", "i"),

		find:    keys.New(find, "/", "search names (regexp)", "/"),
		hit:     keys.New(find, "n N", "next, previous hit", "n"),
		hitBack: keys.New(find, "n N", "next, previous hit", "N"),
		rng:     keys.New(find, "v", "range: begin, end", "v"),
		mark:    keys.New(find, "m x", "mark x here", "m"),
		jump:    keys.New(find, "' x", "go to mark x", "'"),

		fold:      keys.New(show, "Space", "fold, unfold the device", " "),
		pin:       keys.New(show, "p", "pin the lane on top", "p"),
		moveUp:    keys.New(show, "K J", "move the lane up, down", "K"),
		moveDown:  keys.New(show, "K J", "move the lane up, down", "J"),
		hide:      keys.New(show, "x X", "hide the lane, all as at first", "x"),
		showAll:   keys.New(show, "x X", "hide the lane, all as at first", "X"),
		base:      keys.New(show, "b", "shift the other sides to this task", "b"),
		operators: keys.New(show, "B", "line operators of all sides up", "B"),
		pipes:     keys.New(show, "P", "pipes of the engines", "P"),
		colour:    keys.New(show, "c", "colour by", "c"),
		arrows:    keys.New(show, "o", "arrows of the task", "o"),
		axis:      keys.New(show, "T", "time since start, absolute", "T"),
		panel:     keys.New(show, "Tab", "panel: statistics, flame, …", "tab"),
		panelBack: keys.New(show, "Tab", "panel: statistics, flame, …", "shift+tab"),

		undo:      keys.New(other, "u Bksp", "undo a move", "u", "backspace"),
		redo:      keys.New(other, "Ctrl-R", "redo it", "ctrl+r"),
		command:   keys.New(other, ":", "command: goto, export, ...", ":"),
		export:    keys.New(other, "e", "export what is in sight", "e"),
		snapshot:  keys.New(other, "S", "save a picture (SVG)", "S"),
		copy:      keys.New(other, "y", "copy what the cursor is on", "y"),
		capture:   keys.New(other, "%", "mouse: ours, the terminal's", "%"),
		leave:     keys.New(other, "Esc", "leave what is open", "esc"),
		help:      keys.New(other, "? F1", "this help", "?", "f1"),
		redraw:    keys.New(other, "Ctrl-L", "draw anew", "ctrl+l"),
		stop:      keys.New(other, "Ctrl-Z", "suspend", "ctrl+z"),
		quit:      keys.New(other, "q Ctrl-C", "quit", "q"),
		interrupt: keys.New(other, "q Ctrl-C", "quit", "ctrl+c"),
	}
}

// all lists the bindings in the order of the help.
func (b *bindings) all() []keys.Binding {
	return []keys.Binding{
		b.zoomIn, b.zoomOut, b.fit, b.zoomTo, b.whole,
		b.left, b.right, b.panLeft, b.panRight, b.screenLeft, b.screenRight, b.start, b.end, b.newest,
		b.up, b.down, b.groupUp, b.groupDown, b.pageUp, b.pageDown, b.first, b.last,
		b.next, b.prev, b.back, b.follow, b.longest, b.gap,
		b.find, b.hit, b.hitBack, b.rng, b.mark, b.jump,
		b.fold, b.pin, b.moveUp, b.moveDown, b.hide, b.showAll, b.base, b.operators, b.pipes, b.colour, b.arrows, b.axis, b.panel, b.panelBack,
		b.undo, b.redo, b.command, b.export, b.snapshot, b.copy, b.capture, b.leave, b.help, b.redraw, b.stop, b.quit, b.interrupt,
	}
}
