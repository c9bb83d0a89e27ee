package ipc

import (
	"encoding/binary"
	"fmt"
)

// The messages on a socket, one packet each, little-endian.
//
//	request  mark 8, operation 8 (1: import), key 32
//	reply    mark 8, status 8, info 4×8; with status ok a descriptor beside it
const (
	messageMark  = uint64(0x31_43_50_49_55_50_4e) // "NPUIPC1"
	requestBytes = 48
	replyBytes   = 48
	opImport     = 1
)

// Status of a reply.
const (
	statusOK = iota
	statusMalformed
	statusNoKey
	statusDenied
	statusTooMany
)

// Info is what goes with an exported thing: sizes and numbers that its kind defines.
type Info [4]uint64

func putRequest(k key) []byte {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, requestBytes), messageMark)
	b = binary.LittleEndian.AppendUint64(b, opImport)
	return append(b, k[:]...)
}

// parseRequest reads what a peer has sent, whatever it is.
func parseRequest(b []byte) (k key, ok bool) {
	if len(b) != requestBytes || binary.LittleEndian.Uint64(b) != messageMark || binary.LittleEndian.Uint64(b[8:]) != opImport {
		return k, false
	}
	copy(k[:], b[16:])
	return k, true
}

func putReply(status uint64, info Info) []byte {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, replyBytes), messageMark)
	b = binary.LittleEndian.AppendUint64(b, status)
	for _, v := range info {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// parseReply reads what an exporter has answered.
func parseReply(b []byte) (info Info, err error) {
	if len(b) != replyBytes || binary.LittleEndian.Uint64(b) != messageMark {
		return info, fmt.Errorf("%w: %d bytes", ErrReply, len(b))
	}
	for i := range info {
		info[i] = binary.LittleEndian.Uint64(b[16+8*i:])
	}
	switch s := binary.LittleEndian.Uint64(b[8:]); s {
	case statusOK:
		return info, nil
	case statusNoKey:
		return info, ErrNoKey
	case statusDenied:
		return info, ErrDenied
	case statusTooMany:
		return info, ErrTooMany
	default:
		return info, fmt.Errorf("%w: status %d", ErrReply, s)
	}
}
