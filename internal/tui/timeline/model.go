package timeline

import (
	"regexp"
	"slices"
	"sync/atomic"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"npu/internal/trace/lod"
	"npu/internal/tui/cell"
	"npu/internal/tui/hush"
	"npu/internal/tui/keys"
	"npu/internal/tui/theme"
	"npu/internal/tui/widget"
)

// Bubble Tea is initialised before this package is, and has kept quiet.
var _ = hush.End()

// view is where one looks: what undo brings back.
type view struct {
	from, to int64 // the time in sight
	cur      int64 // the cursor
	at       ref   // the lane of the cursor, and the task on it; lane nil on the line of a group
	group    int
}

// line is a line of the lanes: a group's name, or a lane.
type line struct {
	group int
	lane  *Lane
}

// asking is what a prompt is for.
type asking int

const (
	askNothing asking = iota
	askFind
	askCommand
	askMark
	askJump
)

type model struct {
	src   Source
	d     *Data
	th    *theme.Theme
	keys  bindings
	buf   cell.Buffer
	out   string
	dirty bool
	w, h  int

	view
	undone, redone []view
	centred        view // what centre left
	lines          []line
	graphs         int // of lines
	top            int
	folded         map[int]bool
	hidden         map[*Lane]bool
	pinned         []*Lane
	order          map[int][]*Lane // of the lanes of a group, where it was changed
	colour         Colour
	noArrows       bool
	arrowed        bool // the frame was drawn with the arrows known
	absolute       bool
	tab            tab // of the panel

	marks  map[rune]int64
	marked rune // the last mark; 0 for none
	ranged bool
	span   [2]int64 // the range, from its begin on
	open   bool     // the range follows the cursor

	find       *regexp.Regexp
	hits       []bool // by string
	said       string // what was searched for
	ask        asking
	edit       widget.Edit
	completion completion
	help       bool
	scrol      int // of the help

	counts  *counts
	counted int          // what counts belongs to
	seq     int          // grows with each change of what is to be counted
	latest  atomic.Int64 // seq for those that count in the background

	message string
	until   time.Time
	now     func() time.Time
	cells   []lod.Cell
	failure error
	clip    string // goes out with the next frame

	touched     bool // a key was pressed: what it chose is carried over to the next picture of the trace
	drag        drag
	click       click
	inline      bool // everything is done at once: for a frame that stays
	piped       bool // the pipes of engines are shown
	pipes       map[*Lane][]*Lane
	follow      bool // of a run that goes on: its end stays in sight
	mouseOff    bool
	interrupted bool
}

func newModel(src Source, th *theme.Theme) *model {
	m := &model{src: src, th: th, keys: newBindings(), dirty: true, w: 80, h: 24, folded: map[int]bool{}, order: map[int][]*Lane{}, hidden: map[*Lane]bool{},
		marks: map[rune]int64{}, now: time.Now, colour: ByKind}
	m.take()
	return m
}

// take shows what the source has.
func (m *model) take() {
	d, err := m.src.Latest()
	m.failure = err
	if d == nil || m.d != nil && m.plainData() == d {
		return
	}
	old := m.d
	m.d, m.dirty = d, true
	if old != nil && (m.touched || d.live) {
		whole := m.from <= old.From && m.to >= old.To
		m.carry(old)
		m.showPipes(m.piped)
		if m.find != nil {
			_ = m.search(m.said)
		}
		switch by := d.To - m.to; {
		case whole:
			m.from, m.to, m.cur = d.From, d.To, m.cur+by
		case m.follow && by > 0:
			m.from, m.to, m.cur = m.from+by, m.to+by, m.cur+by
		}
		m.cur = min(max(m.cur, m.from), m.to-1)
		m.stand(m.here())
	} else {
		m.from, m.to = d.From, d.To
		if from, to := d.worked(); (to-from)*2 < d.To-d.From { // counters began long before
			m.show(from, to)
		}
		m.cur, m.follow = m.from, d.live
		m.fold()
		m.arrange()
		m.stand(m.best())
		if ix := m.at.lane; d.live {
			m.cur = d.To - 1
		} else if ix != nil && ix.index != nil && ix.index.Len() > 0 {
			m.cur = min(ix.index.Start(0), m.to-1)
		}
		m.resolve()
	}
	if d.Note != "" {
		m.say(d.Note)
	}
	m.seq++
}

// openLanes is how many lanes are open at first.
const openLanes = 100

// fold closes groups of a trace with many lanes, the first device with tasks excepted.
func (m *model) fold() {
	if len(m.d.Lanes) <= openLanes {
		return
	}
	first := true
	for i, g := range m.d.Groups {
		some := slices.ContainsFunc(g.Lanes, func(l *Lane) bool { return l.Kind == Stream })
		m.folded[i] = len(g.Lanes) > 8 && !(some && first)
		first = first && !some
	}
}

// best is the line to begin on: the stream with most tasks, of those that are open.
func (m *model) best() int {
	best, most := 0, -1
	for i, l := range m.lines {
		switch {
		case l.lane == nil:
		case l.lane.Kind == Stream && l.lane.index.Len() > most:
			best, most = i, l.lane.index.Len()
		case most < 0:
			best, most = i, 0
		}
	}
	return best
}

type tick struct{}

// Init waits for the source.
func (m *model) Init() tea.Cmd { return tea.Batch(m.tick(), m.count()) }

func (m *model) tick() tea.Cmd {
	d := 500 * time.Millisecond
	switch {
	case m.d == nil:
		d = 50 * time.Millisecond
	case m.src.Says() != "":
		d = 100 * time.Millisecond
	}
	return tea.Tick(d, func(time.Time) tea.Msg { return tick{} })
}

// countNow asks for the statistics of what is in sight, unless something else came into sight meanwhile.
type countNow int

// countedNow brings them.
type countedNow struct {
	seq int
	c   *counts
}

// count has the statistics made once nothing has moved for a moment.
func (m *model) count() tea.Cmd {
	if m.d == nil || m.counted == m.seq {
		return nil
	}
	seq := m.seq
	m.latest.Store(int64(seq))
	return tea.Tick(80*time.Millisecond, func(time.Time) tea.Msg { return countNow(seq) })
}

// measured is the time that statistics are about.
func (m *model) measured() (from, to int64) {
	if m.ranged {
		return min(m.span[0], m.span[1]), max(m.span[0], m.span[1], m.span[0]+1)
	}
	return m.from, m.to
}

// Update takes a message.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h, m.dirty = msg.Width, msg.Height, true
		if m.w <= 0 || m.h <= 0 {
			m.w, m.h = 80, 24
		}
	case tick:
		had := m.d
		m.take()
		if now := m.d != nil && m.d.linked(); now != m.arrowed {
			m.arrowed, m.dirty = now, true
		}
		if m.failure != nil && m.d == nil {
			return m, tea.Quit
		}
		m.dirty = m.dirty || m.src.Says() != "" || m.message != "" && !m.now().Before(m.until)
		if had == nil {
			return m, tea.Batch(m.tick(), m.count())
		}
		return m, m.tick()
	case countNow:
		if int(msg) == m.seq {
			d, seq := m.d, m.seq
			from, to := m.measured()
			stop := func() bool { return m.latest.Load() != int64(seq) }
			return m, func() tea.Msg { return countedNow{seq, d.count(from, to, stop)} }
		}
	case alignedNow:
		m.aligned(msg)
		m.dirty = true
		return m, m.count()
	case countedNow:
		if msg.seq == m.seq && msg.c != nil {
			m.counts, m.counted, m.dirty = msg.c, msg.seq, true
		}
	case tea.ResumeMsg:
		m.dirty = true
	case tea.MouseMsg:
		m.touched = true
		m.mouse(msg)
		m.dirty = true
		return m, m.count()
	case tea.KeyMsg:
		m.touched = true
		var cmds []tea.Cmd
		for _, k := range keys.Split(msg) {
			cmds = append(cmds, m.key(k))
		}
		m.dirty = true
		return m, tea.Batch(append(cmds, m.count())...)
	}
	return m, nil
}

// settle has the statistics made at once, for a frame that stays.
func (m *model) settle() {
	if m.d != nil && m.counted != m.seq {
		from, to := m.measured()
		m.counts, m.counted, m.dirty = m.d.count(from, to, nil), m.seq, true
	}
}

func (m *model) say(s string) {
	m.message, m.until, m.dirty = s, m.now().Add(5*time.Second), true
}

// View is the screen as text.
func (m *model) View() string {
	if m.dirty {
		if m.message != "" && !m.now().Before(m.until) {
			m.message = ""
		}
		m.draw()
		m.out, m.dirty = m.clip+m.buf.String(m.th), m.clip != ""
		m.clip = ""
	}
	return m.out
}
