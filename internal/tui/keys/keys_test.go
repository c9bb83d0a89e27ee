package keys

import (
	"testing"

	tea "github.com/charmbracelet/bubbletea"
)

func TestSplit(t *testing.T) {
	runes := func(s string) tea.KeyMsg { return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(s)} }
	if got := Split(runes("w w")); len(got) != 3 || got[1].Type != tea.KeySpace || got[2].String() != "w" {
		t.Errorf("%v", got)
	}
	paste := runes("ww")
	paste.Paste = true
	for _, k := range []tea.KeyMsg{paste, runes("w"), {Type: tea.KeyEnter}} {
		if got := Split(k); len(got) != 1 || got[0].String() != k.String() {
			t.Errorf("%v", got)
		}
	}
	if got := Split(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("ab"), Alt: true}); len(got) != 2 || !got[0].Alt {
		t.Errorf("%v", got)
	}
}

func TestBinding(t *testing.T) {
	b := New("Move", "↑ k", "up", "up", "k")
	if !b.Is(tea.KeyMsg{Type: tea.KeyUp}) || !b.Is(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("k")}) || b.Is(tea.KeyMsg{Type: tea.KeyDown}) {
		t.Error("wrong keys")
	}
	if h := b.Help(); h.Key != "↑ k" || h.Desc != "up" {
		t.Errorf("%+v", h)
	}
}

// What Press gives is what the binding takes.
func TestPress(t *testing.T) {
	for _, name := range []string{"enter", "esc", "tab", "down", "up", "pgdown", "pgup", " ", "q", "?", "S"} {
		if b := New("", "", "", name); !b.Is(b.Press()) {
			t.Errorf("%q is not pressed", name)
		}
	}
}
