package timeline

import (
	"encoding/base64"
	"fmt"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"

	"npu/internal/tui/keys"
)

// key does what one key means now.
func (m *model) key(k tea.KeyMsg) tea.Cmd {
	b := &m.keys
	switch {
	case b.interrupt.Is(k):
		m.interrupted = true
		return tea.Quit
	case m.ask != askNothing:
		return m.typed(k)
	case b.quit.Is(k):
		return tea.Quit
	case b.redraw.Is(k):
		return tea.ClearScreen
	case b.stop.Is(k):
		return tea.Suspend
	case m.d == nil || len(m.d.Lanes) == 0:
		return nil
	case b.help.Is(k):
		m.help, m.scrol = !m.help, 0
		return nil
	case b.leave.Is(k):
		m.leave()
		return nil
	case m.help:
		m.scrollHelp(k)
		return nil
	case b.copy.Is(k):
		m.copied()
		return nil
	case b.capture.Is(k):
		if m.mouseOff = !m.mouseOff; m.mouseOff {
			m.say("the mouse is the terminal's: text can be selected; % takes it back")
			return tea.DisableMouse
		}
		m.say("the mouse zooms and puts the cursor; % gives it to the terminal")
		return tea.EnableMouseCellMotion
	case b.snapshot.Is(k):
		m.snapshot()
		return nil
	case b.base.Is(k):
		return m.align(alignByTask)
	case b.operators.Is(k):
		return m.toggleAlign()
	case b.export.Is(k):
		m.prompt(askCommand, "export ")
		return nil
	}
	for _, a := range m.actions() {
		if a.Is(k) {
			a.do()
			break
		}
	}
	return nil
}

// action is what a key does with a trace.
type action struct {
	keys.Binding
	do func()
}

func (m *model) actions() []action {
	b := &m.keys
	page := max(1, m.plan().h-1)
	return []action{
		{b.zoomIn, func() { m.zoom(1, 2) }},
		{b.zoomOut, func() { m.zoom(2, 1) }},
		{b.fit, m.centre},
		{b.zoomTo, m.zoomTo},
		{b.whole, m.whole},
		{b.left, func() { m.step(-1) }},
		{b.right, func() { m.step(1) }},
		{b.panLeft, func() { m.pan(-0.1) }},
		{b.panRight, func() { m.pan(0.1) }},
		{b.screenLeft, func() { m.pan(-1) }},
		{b.screenRight, func() { m.pan(1) }},
		{b.start, func() { m.goTime(m.d.From) }},
		{b.end, m.toEnd},
		{b.newest, m.toggleFollow},
		{b.up, func() { m.stand(m.here() - 1) }},
		{b.down, func() { m.stand(m.here() + 1) }},
		{b.pageUp, func() { m.stand(m.here() - page) }},
		{b.pageDown, func() { m.stand(m.here() + page) }},
		{b.groupUp, func() { m.nextGroup(-1) }},
		{b.groupDown, func() { m.nextGroup(1) }},
		{b.first, func() { m.stand(0) }},
		{b.last, func() { m.stand(len(m.lines) - 1) }},
		{b.next, func() { m.alongLane(1) }},
		{b.prev, func() { m.alongLane(-1) }},
		{b.back, m.waitedFor},
		{b.follow, m.released},
		{b.longest, func() { m.toLongest(false) }},
		{b.gap, func() { m.toLongest(true) }},
		{b.find, func() { m.prompt(askFind, "") }},
		{b.hit, func() { m.toHit(false) }},
		{b.hitBack, func() { m.toHit(true) }},
		{b.rng, m.rangeKey},
		{b.mark, func() { m.prompt(askMark, "") }},
		{b.jump, func() { m.prompt(askJump, "") }},
		{b.fold, m.toggleFold},
		{b.pin, m.togglePin},
		{b.moveUp, func() { m.moveLane(-1) }},
		{b.moveDown, func() { m.moveLane(1) }},
		{b.hide, m.hideLane},
		{b.showAll, m.showAll},
		{b.colour, func() {
			m.colour = (m.colour + 1) % colours
			m.say("colour by " + colourNames[m.colour])
		}},
		{b.pipes, func() { m.showPipes(!m.piped) }},
		{b.arrows, func() { m.noArrows = !m.noArrows }},
		{b.axis, func() { m.absolute = !m.absolute }},
		{b.panel, func() { m.turn(1) }},
		{b.panelBack, func() { m.turn(-1) }},
		{b.undo, func() { m.undo(&m.undone, &m.redone) }},
		{b.redo, func() { m.undo(&m.redone, &m.undone) }},
		{b.command, func() { m.prompt(askCommand, "") }},
	}
}

func (m *model) prompt(a asking, text string) {
	m.ask = a
	m.edit.Set(text)
}

// leave goes out of the innermost thing; it never quits.
func (m *model) leave() {
	switch {
	case m.help:
		m.help = false
	case m.ranged:
		m.ranged, m.open = false, false
		m.seq++
	case m.find != nil:
		m.find, m.hits, m.said = nil, nil, ""
	case m.message != "":
		m.message = ""
	}
}

// rangeKey begins a range at the cursor, or ends it there.
func (m *model) rangeKey() {
	if m.open {
		m.open = false
		m.say(fmt.Sprintf("range of %s; z zooms to it, Esc leaves it", dur(max(m.span[1]-m.span[0], m.span[0]-m.span[1]))))
		return
	}
	m.ranged, m.open, m.span = true, true, [2]int64{m.cur, m.cur}
	m.seq++
	m.say("range begins here; go to its end and press v")
}

// zoomTo fills the screen with the range, or with the task or gap at the cursor.
func (m *model) zoomTo() {
	from, to := m.extent()
	if m.ranged {
		from, to = m.measured()
		m.open = false
	}
	m.fit(from, to)
}

func (m *model) scrollHelp(k tea.KeyMsg) {
	b := &m.keys
	switch {
	case b.up.Is(k):
		m.scrol--
	case b.down.Is(k):
		m.scrol++
	case b.pageUp.Is(k):
		m.scrol -= 10
	case b.pageDown.Is(k):
		m.scrol += 10
	}
}

// typed edits a prompt. A mark is done with its first letter, a search works while it is typed.
func (m *model) typed(k tea.KeyMsg) tea.Cmd {
	e := &m.edit
	switch k.Type {
	case tea.KeyEsc:
		if m.ask == askFind {
			_ = m.search("")
		}
		m.ask = askNothing
		return nil
	case tea.KeyEnter:
		return m.answered()
	case tea.KeyTab:
		m.complete(1)
	case tea.KeyShiftTab:
		m.complete(-1)
	case tea.KeyBackspace:
		e.Back()
	case tea.KeyDelete:
		e.Delete()
	case tea.KeyLeft, tea.KeyCtrlB:
		e.Move(-1)
	case tea.KeyRight, tea.KeyCtrlF:
		e.Move(1)
	case tea.KeyHome, tea.KeyCtrlA:
		e.Home()
	case tea.KeyEnd, tea.KeyCtrlE:
		e.End()
	case tea.KeyCtrlW:
		e.BackWord()
	case tea.KeyCtrlU:
		e.BackAll()
	case tea.KeyRunes, tea.KeySpace:
		if k.Alt || len(k.Runes) == 0 {
			return nil
		}
		if m.ask == askMark || m.ask == askJump {
			m.markKey(k.Runes[0])
			return nil
		}
		e.Insert(string(k.Runes))
	}
	if m.ask == askFind {
		_ = m.search(e.String())
	}
	return nil
}

// markKey sets a mark, or goes to it.
func (m *model) markKey(r rune) {
	set := m.ask == askMark
	m.ask = askNothing
	if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
		m.say("a mark is a letter or a digit")
		return
	}
	if set {
		m.marks[r], m.marked = m.cur, r
		m.say(fmt.Sprintf("mark %c at %s; ' %c comes back", r, m.when(m.cur), r))
		return
	}
	at, ok := m.marks[r]
	if !ok {
		m.say(fmt.Sprintf("there is no mark %c; m %c sets it", r, r))
		return
	}
	m.marked = r
	m.goTime(at)
}

// copied puts what the cursor is on into the clipboard of the terminal (OSC 52), which works over SSH as well.
func (m *model) copied() {
	text := m.headline()
	m.clip = "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\a"
	m.say("copied: " + text)
}
