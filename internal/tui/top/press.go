package top

import (
	"fmt"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"npu/internal/tui/widget"
)

// key does what one key means now.
func (m *model) key(k tea.KeyMsg) tea.Cmd {
	b := &m.keys
	if b.interrupt.Is(k) {
		m.interrupted = true
		return tea.Quit
	}
	if m.prompt != nil {
		return m.typed(k)
	}
	p := &m.panels[m.active]
	switch {
	case b.quit.Is(k):
		return tea.Quit
	case b.back.Is(k):
		m.leave()
	case b.help.Is(k):
		m.help, m.helpTop = !m.help, 0
	case m.help:
		m.helpKey(k)
	case b.details.Is(k):
		m.open(!m.detail)
	case b.up.Is(k):
		m.move(-1)
	case b.down.Is(k):
		m.move(1)
	case b.pageUp.Is(k):
		m.page(-1)
	case b.pageDown.Is(k):
		m.page(1)
	case b.halfUp.Is(k):
		m.move(-max(1, p.page/2))
	case b.halfDown.Is(k):
		m.move(max(1, p.page/2))
	case b.first.Is(k):
		m.move(-len(p.ids))
	case b.last.Is(k):
		m.move(len(p.ids))
	case b.left.Is(k):
		p.skip = max(0, p.skip-1)
	case b.right.Is(k):
		p.skip = min(p.skip+1, 12)
	case b.nextPanel.Is(k):
		m.choose((m.active + 1) % panelCount)
	case b.prevPanel.Is(k):
		m.choose((m.active + panelCount - 1) % panelCount)
	case b.devices.Is(k):
		m.choose(PanelDevices)
	case b.processes.Is(k):
		m.choose(PanelProcesses)
	case b.streams.Is(k):
		m.choose(PanelStreams)
	case b.memory.Is(k):
		m.choose(PanelMemory)
	case b.operators.Is(k):
		m.choose(PanelOperators)
	case b.filter.Is(k):
		m.before, m.promptErr = p.text, ""
		m.ask('/', p.text)
	case b.command.Is(k):
		m.ask(':', "")
	case b.export.Is(k):
		m.ask(':', "export "+m.fresh(panelNames[m.active]+"-", ".csv"))
	case b.copy.Is(k):
		m.copied(false)
	case b.copyRow.Is(k):
		m.copied(true)
	case b.capture.Is(k):
		if m.pointer = !m.pointer; m.pointer {
			m.say("mouse on: click selects and sorts, the wheel scrolls; Shift selects text; % off")
			return tea.EnableMouseCellMotion
		}
		m.say("mouse off: it is the terminal's again")
		return tea.DisableMouse
	case b.sortLeft.Is(k):
		m.sortBy(-1)
	case b.sortRight.Is(k):
		m.sortBy(1)
	case b.reverse.Is(k):
		if p.sort.Key == "" {
			m.sortBy(1)
		} else {
			p.sort.Down = !p.sort.Down
		}
	case b.tree.Is(k):
		m.tree = !m.tree
		m.choose(PanelProcesses)
	case b.ids.Is(k):
		m.ids = !m.ids
	case b.view.Is(k):
		m.view = (m.view + 1) % viewModes
		m.say("view: " + viewNames[m.view])
	case b.pause.Is(k):
		m.paused = !m.paused
		if m.player != nil {
			m.player.Pause(m.paused)
		}
	case b.faster.Is(k):
		m.pace(-1)
	case b.slower.Is(k):
		m.pace(1)
	case b.stepBack.Is(k):
		m.stepBy(-1)
	case b.step.Is(k):
		m.stepBy(1)
	case b.reset.Is(k):
		m.hist.reset()
		m.say("maxima and means begin anew")
	case b.snapshot.Is(k):
		if err := m.export(m.fresh("", ".svg")); err != nil {
			m.say(err.Error())
		}
	case b.redraw.Is(k):
		return tea.ClearScreen
	case b.stop.Is(k):
		return tea.Suspend
	}
	return nil
}

// leave goes out of the innermost thing; it never quits.
func (m *model) leave() {
	p := &m.panels[m.active]
	switch {
	case m.help:
		m.help = false
	case m.detail:
		m.open(false)
	case p.filter.Active():
		m.setFilter("")
	case p.skip > 0:
		p.skip = 0
	}
}

func (m *model) helpKey(k tea.KeyMsg) {
	b := &m.keys
	switch {
	case b.up.Is(k):
		m.helpTop = max(0, m.helpTop-1)
	case b.down.Is(k):
		m.helpTop++
	case b.pageUp.Is(k):
		m.helpTop = max(0, m.helpTop-10)
	case b.pageDown.Is(k):
		m.helpTop += 10
	case b.first.Is(k):
		m.helpTop = 0
	}
}

// ask opens the bottom line for a filter (/) or a command (:).
func (m *model) ask(kind rune, text string) {
	m.prompt, m.asks, m.message = &widget.Edit{}, kind, ""
	m.prompt.Set(text)
}

// typed edits the bottom line; a filter works while it is typed.
func (m *model) typed(k tea.KeyMsg) tea.Cmd {
	e, filter := m.prompt, m.asks == '/'
	switch k.Type {
	case tea.KeyEsc:
		m.prompt = nil
		if filter {
			m.setFilter(m.before)
		}
		return nil
	case tea.KeyEnter:
		m.prompt = nil
		if !filter {
			return m.command(e.String())
		}
		if m.promptErr != "" {
			m.setFilter(m.before)
		}
		return nil
	case tea.KeyTab:
		if !filter {
			m.complete()
		}
		return nil
	case tea.KeyBackspace:
		if e.String() == "" && !filter {
			m.prompt = nil
			return nil
		}
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
		if k.Alt {
			return nil
		}
		e.Insert(string(k.Runes))
	default:
		return nil
	}
	if filter {
		m.setFilter(e.String())
	}
	return nil
}

func (m *model) setFilter(s string) {
	p := &m.panels[m.active]
	f, err := ParseFilter(s)
	m.promptErr = ""
	if err != nil {
		m.promptErr = err.Error()
		return // the last good one stays while a bracket is still open
	}
	p.filter, p.text, p.top = f, s, 0
}

func (m *model) choose(panel int) {
	m.active = panel
	if panel != PanelDevices {
		m.lower = panel
	}
	if m.detail {
		m.open(true)
	}
}

func (m *model) move(n int) {
	m.panels[m.active].move(n)
	if m.detail {
		m.open(true)
	}
}

// page scrolls the details when they are open, else the list.
func (m *model) page(n int) {
	if m.detail {
		m.detailTop = max(0, min(m.detailTop+n*5, m.detailRows-1))
		return
	}
	m.move(n * max(1, m.panels[m.active].page-1))
}

// open shows or hides the details; while they are shown, the source is asked for more about the selected device.
func (m *model) open(on bool) {
	m.detail, m.detailTop = on, 0
	if d := m.selectedDevice(); on && d != nil {
		k := d.Key()
		m.src.Watch(&k)
		return
	}
	m.src.Watch(nil)
}

// sortBy moves to the next column that can be sorted by; before the first there is the source's own order.
func (m *model) sortBy(n int) {
	p := &m.panels[m.active]
	all := append([]string{""}, p.keys...)
	i := max(0, slices.Index(all, p.sort.Key))
	key := all[(i+n+len(all))%len(all)]
	if p.sort = (Sort{}); key != "" {
		p.sort = natural(key)
	}
	p.top = 0
}

// paces are the intervals to choose from.
var paces = []time.Duration{200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second}

func (m *model) pace(n int) {
	if m.player != nil {
		m.say("a recording has its own pace; step with [ and ]")
		return
	}
	i, _ := slices.BinarySearch(paces, m.interval)
	if n > 0 && i < len(paces) && paces[i] != m.interval {
		i--
	}
	m.interval = paces[max(0, min(i+n, len(paces)-1))]
	m.src.Interval(m.interval)
	m.say(fmt.Sprintf("interval %v", m.interval))
}

func (m *model) stepBy(n int) {
	if m.player == nil {
		m.say("only a recording can be stepped through: --record FILE, then --replay FILE")
		return
	}
	m.paused = true
	m.player.Pause(true)
	m.player.Step(n)
	m.take()
}
