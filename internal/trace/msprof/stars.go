package msprof

import (
	"context"
	"encoding/binary"
	"math/bits"
	"strconv"

	"npu/internal/trace/ascend"
)

// Records of stars_soc.data and ffts_profile.data start alike: a word of function type (6 bits), rolling counter (4) and
// sqe type (6), then a magic number.
const (
	magic = 0x6BD3

	starsRecord   = 64
	starsRecordV6 = 32
	pmuRecord     = 128
	blockRecord   = 0x29
	contextRecord = 0x28
	pmuRecordV6   = 0x2A
)

// Function types of the log.
const (
	acsqStart = 0x00
	acsqEnd   = 0x01
	partStart = 0x22
	partEnd   = 0x23

	fusionStart = 0x16 // of a part of a fusion task
	fusionEnd   = 0x17
	fusionPart  = 64 // core kinds of such parts, by the bit that is set

	acceleratorPMU = 0x1A
	interSoC       = 0x1C
)

// ids decodes stream and task ids, which share bits on chips with many streams.
type ids struct{ expand bool }

func (d ids) decode(sqe uint8, stream, id uint16) (uint32, uint32) {
	if d.expand {
		switch {
		case sqe == 3 || sqe == 4 || stream&0x8000 == 0:
			return uint32(stream & 0x7fff), uint32(id)
		default:
			return uint32(id & 0x7fff), uint32(id&0x8000 | stream&0x7fff)
		}
	}
	switch {
	case stream&0x1000 != 0:
		return uint32(stream % 2048), uint32(id&0x1fff | stream&0xe000)
	case stream&0x2000 != 0:
		return uint32(id & 0x0fff % 2048), uint32(stream&0x0fff | id&0xf000)
	}
	return uint32(stream % 2048), uint32(id)
}

// readStars reads the task log of 910B and later chips.
func (d *deviceData) readStars(ctx context.Context) error {
	size := starsRecord
	if d.v6() {
		size = starsRecordV6
	}
	var g gaps
	d.expect(d.about("stars_soc.data", size) / 2)
	n, left, err := d.records(ctx, "stars_soc.data", size, func(rec []byte) {
		head := binary.LittleEndian.Uint16(rec)
		if binary.LittleEndian.Uint16(rec[2:]) != magic {
			d.bad++
			return
		}
		g.see(uint8(head >> 6 & 15))
		d.starsTask(head, rec)
	})
	d.settle()
	d.lost += g.lost
	d.count("stars_soc.data", n, left)
	return err
}

func (d *deviceData) starsTask(head uint16, rec []byte) {
	kind, sqe := head&63, uint8(head>>10)
	count := binary.LittleEndian.Uint64(rec[8:])
	key := pairKey{context: noContext}
	if d.v6() {
		key.id = binary.LittleEndian.Uint32(rec[4:])
	} else {
		key.stream, key.id = d.ids.decode(sqe, binary.LittleEndian.Uint16(rec[4:]), binary.LittleEndian.Uint16(rec[6:]))
	}
	switch kind {
	case acsqStart:
		d.begin(key, count, sqe, 0)
	case acsqEnd:
		d.finish(key, count)
	case partStart, partEnd:
		key.context, key.thread = uint32(binary.LittleEndian.Uint16(rec[18:])), binary.LittleEndian.Uint16(rec[22:])
		if kind == partStart {
			d.begin(key, count, sqe, rec[16])
		} else {
			d.finish(key, count)
		}
	case fusionStart, fusionEnd:
		if !d.v6() {
			d.skipped++
			return
		}
		what := binary.LittleEndian.Uint16(rec[16:])
		key.context = uint32(what & 0x1FF)
		if kind == fusionStart {
			d.begin(key, count, sqe, fusionPart+uint8(bits.TrailingZeros16(what&31|32)))
		} else {
			d.finish(key, count)
		}
	default:
		if !d.block(head, rec) && (d.v6() || !d.socSample(head, rec)) {
			d.skipped++
		}
	}
}

// label is the name of a counter of one of several units, made once.
func (d *deviceData) label(what string, id uint16, name string) string {
	key := labelKey{id, name}
	s, ok := d.labels[key]
	if !ok {
		s = what + " " + strconv.Itoa(int(id)) + " " + name
		if d.labels == nil {
			d.labels = map[labelKey]string{}
		}
		d.labels[key] = s
	}
	return s
}

type labelKey struct {
	id   uint16
	name string
}

// sqeName is the type of a task that no host record describes. Vector kernels have sqe type 0 as well.
func (d *deviceData) sqeName(sqe uint8) string {
	names := []string{"AI_CORE", "AI_CPU", "AIV_SQE", "PLACE_HOLDER_SQE", "EVENT_RECORD_SQE", "EVENT_WAIT_SQE", "NOTIFY_RECORD_SQE", "NOTIFY_WAIT_SQE",
		"WRITE_VALUE_SQE", "VQ6_SQE", "TOF_SQE", "SDMA_SQE", "VPC_SQE", "JPEGE_SQE", "JPEGD_SQE", "DSA_SQE", "ROCCE_SQE", "PCIE_DMA_SQE", "HOST_CPU_SQE", "CDQM_SQE", "C_CORE_SQE"}
	switch {
	case d.v6():
		names = []string{"AI_CORE", "AIV", "FUSION", "PLACE_HOLDER_SQE", "AICPU_H", "AICPU_D", "NOTIFY_RECORD", "NOTIFY_WAIT", "WRITE_VALUE", "UBDMA", "ASYNCDMA", "SDMA",
			"", "", "", "CMO", "CCU", "", "", "", "CONDITION", "END"}
	case d.hwts:
		names = append(names[:9:9], "SDMA_SQE")
	}
	if int(sqe) < len(names) && names[sqe] != "" {
		return names[sqe]
	}
	return "UNKNOWN_SQE"
}

// partName is the type of a part of a task, by FFTS+ subtask type.
func partName(part uint8) string {
	switch part {
	case 0:
		return "AI_CORE"
	case 1:
		return "AIV"
	case 3:
		return "NOTIFY_WAIT"
	case 4:
		return "NOTIFY_RECORD"
	case 5:
		return "WRITE_VALUE"
	case 6:
		return "MIX_AIC"
	case 7:
		return "MIX_AIV"
	case 8:
		return "SDMA"
	case 12:
		return "AI_CPU"
	case 15:
		return "DSA_SQE"
	case fusionPart:
		return "HOST_CPU_SQE"
	case fusionPart + 1:
		return "AI_CPU"
	case fusionPart + 2:
		return "AI_CORE"
	case fusionPart + 3, fusionPart + 4:
		return "CCU"
	}
	return "FFTS_PART"
}

// chip is the family of the device.
func (d *deviceData) chip() string {
	if p, ok := d.info.Platform.int(); ok {
		return ascend.Chip(int(p))
	}
	return ""
}

func (d *deviceData) v6() bool {
	return d.platform >= 15
}
