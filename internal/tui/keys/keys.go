// Package keys holds the bindings of the screens, from which their help is made, and mends what Bubble Tea does to fast
// typing.
package keys

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// Binding is one action with its keys and its help. Group is the heading under which help lists it.
type Binding struct {
	key.Binding
	Group string
}

// New makes a binding: its keys as Bubble Tea names them, the keys and the action as people read them.
func New(group, shown, does string, names ...string) Binding {
	return Binding{key.NewBinding(key.WithKeys(names...), key.WithHelp(shown, does)), group}
}

// Is reports whether a message is one of the keys.
func (b Binding) Is(m tea.KeyMsg) bool { return key.Matches(m, b.Binding) }

// Press is the message of the first key of b, as if it were typed.
func (b Binding) Press() tea.KeyMsg {
	name := b.Keys()[0]
	for t, n := range map[tea.KeyType]string{tea.KeyEnter: "enter", tea.KeyEsc: "esc", tea.KeyTab: "tab", tea.KeyDown: "down", tea.KeyUp: "up", tea.KeyPgDown: "pgdown", tea.KeyPgUp: "pgup"} {
		if n == name {
			return tea.KeyMsg{Type: t}
		}
	}
	if name == " " {
		return tea.KeyMsg{Type: tea.KeySpace, Runes: []rune(name)}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
}

// Split takes apart the letters that arrived in one read. Bubble Tea gives them as one message of several runes, which
// no binding matches: "ww" typed fast, or over a slow link, would be lost. Pastes stay whole.
func Split(m tea.KeyMsg) []tea.KeyMsg {
	if m.Type != tea.KeyRunes || len(m.Runes) < 2 || m.Paste {
		return []tea.KeyMsg{m}
	}
	out := make([]tea.KeyMsg, len(m.Runes))
	for i, r := range m.Runes {
		out[i] = tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: m.Alt}
		if r == ' ' {
			out[i].Type = tea.KeySpace
		}
	}
	return out
}
