package om

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
)

// HeaderSize is the size of the file header in bytes.
const HeaderSize = 256

const (
	magic    = 0x444F4D49 // "IMOD"
	version1 = 0x10000000 // until about CANN 5.0
	version2 = 0x20000000

	maxModels = 4096
)

// Model types of the header.
const (
	TypeIR     = 0
	TypeFlow   = 3
	TypeLite   = 4
	TypeBundle = 5
)

// Header is the file header. Fields that a version does not have are zero.
type Header struct {
	Version         uint32
	Length          uint32 // payload bytes in files that leave ModelLength 0
	Encrypted       uint8
	NoChecksum      uint8
	Type            uint8
	GenMode         uint8
	Name            string
	Ops             uint32
	IRVersion       uint32
	ModelNum        uint32 // version 2
	PlatformVersion string
	PlatformType    uint8
	ModelLength     uint64
	NeedCheckCPU    uint8 // host libraries are inside: operating system and CPU must be the file's
	Dynamic         uint8 // is_unknow_model: models of subgraphs may follow
}

// header offsets that the versions share.
const (
	offVersion  = 8
	offLength   = 76
	offEncrypt  = 80
	offChecksum = 81
	offType     = 82
	offGen      = 83
	offName     = 84
	offOps      = 116
	offIR       = 152
	offModelNum = 156
	offLength64 = 184
	offCPU      = 192
	offUnknown  = 193
	nameBytes   = 32
	platBytes   = 20
)

// platform is where platform_version and platform_type stand.
func platform(version uint32) (text, kind int) {
	if version < version2 {
		return 156, 176
	}
	return 160, 180
}

func (h *Header) read(b []byte) error {
	if len(b) < HeaderSize {
		return fmt.Errorf("%d bytes, an offline model has a header of %d (file truncated?)", len(b), HeaderSize)
	}
	if n := binary.LittleEndian.Uint32(b[4:]); n != HeaderSize {
		return fmt.Errorf("offset 4: headsize is %d, expected %d", n, HeaderSize)
	}
	le := binary.LittleEndian
	h.Version = le.Uint32(b[offVersion:])
	if h.Version != version1 && h.Version != version2 {
		return fmt.Errorf("offset %d: version %#x is not known (%#x and %#x are)", offVersion, h.Version, version1, version2)
	}
	h.Length = le.Uint32(b[offLength:])
	h.Encrypted, h.NoChecksum, h.Type, h.GenMode = b[offEncrypt], b[offChecksum], b[offType], b[offGen]
	h.Name = cstring(b[offName : offName+nameBytes])
	h.Ops, h.IRVersion = le.Uint32(b[offOps:]), le.Uint32(b[offIR:])
	text, kind := platform(h.Version)
	h.PlatformVersion, h.PlatformType = cstring(b[text:text+platBytes]), b[kind]
	h.ModelLength = le.Uint64(b[offLength64:])
	h.ModelNum = 1
	if h.Version >= version2 {
		h.ModelNum = le.Uint32(b[offModelNum:])
	}
	h.NeedCheckCPU, h.Dynamic = b[offCPU], b[offUnknown]
	return nil
}

// append writes the header.
func (h *Header) append(to []byte) []byte {
	b := make([]byte, HeaderSize)
	le := binary.LittleEndian
	le.PutUint32(b, magic)
	le.PutUint32(b[4:], HeaderSize)
	le.PutUint32(b[offVersion:], h.Version)
	le.PutUint32(b[offLength:], h.Length)
	b[offEncrypt], b[offChecksum], b[offType], b[offGen] = h.Encrypted, h.NoChecksum, h.Type, h.GenMode
	copy(b[offName:offName+nameBytes-1], h.Name)
	le.PutUint32(b[offOps:], h.Ops)
	le.PutUint32(b[offIR:], h.IRVersion)
	text, kind := platform(h.Version)
	if h.Version >= version2 {
		le.PutUint32(b[offModelNum:], h.ModelNum)
	}
	copy(b[text:text+platBytes-1], h.PlatformVersion)
	b[kind] = h.PlatformType
	le.PutUint64(b[offLength64:], h.ModelLength)
	b[offCPU], b[offUnknown] = h.NeedCheckCPU, h.Dynamic
	return append(to, b...)
}

// check holds the header against the file.
func (h *Header) check(b []byte) error {
	if h.Encrypted == 1 {
		return fmt.Errorf("offset %d: is_encrypt is 1: the model is encrypted by its compiler and cannot be read without its key", offEncrypt)
	}
	if h.Encrypted > 1 {
		return fmt.Errorf("offset %d: is_encrypt is %d, expected 0 or 1", offEncrypt, h.Encrypted)
	}
	if h.Type > 6 {
		return fmt.Errorf("offset %d: modeltype %d is not known", offType, h.Type)
	}
	payload := uint64(len(b) - HeaderSize)
	want := h.payload()
	switch {
	case want > payload:
		return fmt.Errorf("offset %d: the header says %d bytes of contents, the file has %d: %d are missing (file truncated?)",
			h.lengthAt(), want, payload, want-payload)
	case want < payload:
		return fmt.Errorf("offset %d: the header says %d bytes of contents, the file has %d more", h.lengthAt(), want, payload-want)
	case h.ModelNum == 0 || h.ModelNum > maxModels:
		return fmt.Errorf("offset %d: model_num is %d, expected 1 to %d", offModelNum, h.ModelNum, maxModels)
	}
	return nil
}

func (h *Header) payload() uint64 {
	if h.ModelLength != 0 {
		return h.ModelLength
	}
	return uint64(h.Length)
}

func (h *Header) lengthAt() int {
	if h.ModelLength != 0 {
		return offLength64
	}
	return offLength
}

// wide says that the partition table has 64-bit entries. The version does not decide it.
func (h *Header) wide() bool { return h.Type == TypeFlow || h.Type == TypeBundle || h.ModelLength != 0 }

// groups is how many models follow one another.
func (h *Header) groups() int {
	if h.Version >= version2 && (h.ModelNum > 1 || h.Dynamic == 1) {
		return int(h.ModelNum)
	}
	return 1
}

// phone recognises models of the phone toolkit: an old header whose partitions have numbers that mean something else.
func (h *Header) phone(g *Group) bool {
	if h.Version != version1 {
		return false
	}
	for _, p := range g.Partitions {
		switch p.Type {
		case SoBins, FlowModel, FlowSubmodel, InOutInfo:
			return true // device map, AIPP, encryption, weight information there
		}
	}
	return false
}

// foreign names files that are called .om and are something else.
func foreign(b []byte) error {
	head := b[:min(len(b), 512)]
	switch {
	case len(b) == 0:
		return errors.New("empty file, no offline model")
	case bytes.HasPrefix(b, []byte("IMOD")):
		return nil
	case bytes.HasPrefix(b, []byte("version https://git-lfs")):
		return errors.New("a Git LFS pointer, not the model itself: fetch it with 'git lfs pull'")
	case bytes.HasPrefix(b, []byte("PK\x03\x04")):
		return errors.New("a zip archive (an OM2 package): it holds host code to be compiled and cannot be run here; 'unzip -l' lists it")
	case bytes.HasPrefix(b, []byte("PICO")):
		return errors.New("a Smart Vision (SVP) model of a camera chip, a format of its own; only Ascend models are read")
	case bundle(b):
		return nil
	case bytes.HasPrefix(b, []byte("<?xml")), bytes.HasPrefix(b, []byte("<OMOBJ")), bytes.HasPrefix(b, []byte("<osm")):
		return errors.New("an XML document (OpenMath or OpenStreetMap), not an offline model")
	case text(head):
		return fmt.Errorf("a text file that begins %q, not an offline model", snippet(head))
	}
	if len(b) < HeaderSize {
		return fmt.Errorf("%d bytes without the magic IMOD: no offline model", len(b))
	}
	return fmt.Errorf("offset 0: magic is %#08x, expected %#x (IMOD): no offline model, or one encrypted as a whole by the framework that uses it",
		binary.LittleEndian.Uint32(b), magic)
}

// bundle recognises several models in one file: only modeltype, model_num and model_length of the header are set.
func bundle(b []byte) bool {
	if len(b) < HeaderSize || b[offType] != TypeBundle {
		return false
	}
	for _, x := range b[:offType] {
		if x != 0 {
			return false
		}
	}
	return true
}

func text(b []byte) bool {
	for _, c := range b {
		if c < 0x20 && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return utf8.Valid(bytes.TrimRightFunc(b, func(r rune) bool { return r == utf8.RuneError }))
}

func snippet(b []byte) string {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return string(line[:min(len(line), 40)])
}

// cstring is the text up to the first zero byte.
func cstring(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
