package smi

import (
	"strings"
)

// Block is one blank-separated part of what "npu-smi info -t" prints: the fields of one chip.
type Block struct {
	Chip   string // as printed; "mcu" for the card's controller; empty for the card itself, or where -c was given
	Fields []Field
}

// Field is one "key : value" line. Unit is what stood in brackets behind the key.
type Field struct{ Key, Unit, Value string }

// maxFields bounds what a hostile text can make us remember.
const maxFields = 4096

// ParseBlocks reads "key : value" lines. A block's chip is named by the Chip ID or Chip Name line inside it, which may
// be its first or its last line. A Chip ID line that opens one block and directly follows another one without a blank
// line starts a new block only if it is the second such line.
func ParseBlocks(text string) []Block {
	var out []Block
	var cur Block
	n := 0
	end := func() {
		if cur.Chip != "" || len(cur.Fields) > 0 {
			out = append(out, cur)
		}
		cur = Block{}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			end()
			continue
		}
		key, value, ok := cutField(line)
		if !ok || n >= maxFields {
			continue
		}
		n++
		switch strings.ToLower(key) {
		case "chip id":
			if cur.Chip != "" {
				end()
			}
			cur.Chip = value
			continue
		case "chip name":
			if strings.EqualFold(value, "mcu") {
				cur.Chip = "mcu"
				continue
			}
		}
		name, unit := cutUnit(key)
		cur.Fields = append(cur.Fields, Field{Key: name, Unit: unit, Value: value})
	}
	end()
	return out
}

// cutField splits at the first " : ", or at a colon that follows the padding of the key.
func cutField(line string) (key, value string, ok bool) {
	if key, value, ok = strings.Cut(line, " : "); !ok {
		if key, ok = strings.CutSuffix(line, " :"); !ok {
			return "", "", false
		}
	}
	return strings.TrimSpace(key), strings.TrimSpace(value), true
}

func cutUnit(key string) (name, unit string) {
	i := strings.LastIndexByte(key, '(')
	if i < 0 || !strings.HasSuffix(key, ")") {
		return key, ""
	}
	return strings.TrimSpace(key[:i]), key[i+1 : len(key)-1]
}

// Find returns the first field of the block with this key; case and blanks do not matter.
func (b Block) Find(key string) (Field, bool) {
	for _, f := range b.Fields {
		if sameKey(f.Key, key) {
			return f, true
		}
	}
	return Field{}, false
}

func sameKey(a, b string) bool {
	return strings.EqualFold(strings.ReplaceAll(a, " ", ""), strings.ReplaceAll(b, " ", ""))
}
