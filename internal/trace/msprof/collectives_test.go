package msprof

import (
	"fmt"
	"strings"
	"testing"

	"npu/internal/trace"
)

// A collective operation lasts from the first to the last piece on its master's stream, each time that it runs.
func TestRead_collectives(t *testing.T) {
	api := func(level uint16, kind uint32, begin, end, item uint64) string {
		return record(t, 40, 0, uint16(hostMagic), 2, level, 4, kind, 8, uint32(77), 16, begin, 24, end, 32, item)
	}
	task := func(stream, id uint16, from, to uint64) string {
		return starsRecordOf(acsqStart, 0, 7, stream, id, from) + starsRecordOf(acsqEnd, 0, 7, stream, id, to)
	}
	group := record(t, 64, 0, uint16(hostMagic), 8, uint32(77), 16, uint64(110), 42, uint64(2))
	tr := read(t, control(map[string]string{
		"host/data/aging.api_event.data.slice_0":             api(levelNode, 5, 100, 200, 1) + api(levelComm, 8, 120, 130, 1) + api(levelComm, 9, 140, 150, 1) + api(levelComm, 8, 160, 170, 1) + api(levelNode, 5, 300, 400, 3),
		"host/data/aging.compact.task_track.slice_0":         trackOf(7, 1, 0, 14, 125) + trackOf(8, 1, 0, 14, 145) + trackOf(7, 2, 0, 15, 165) + trackOf(9, 1, 0, 66, 350),
		"host/data/aging.compact.hccl_op_info.slice_0":       group,
		"host/data/unaging.additional.hash_dic.slice_0":      "1:hcom_allReduce__503_1_1\n2:ring\n3:add\n",
		"host/data/unaging.additional.type_info_dic.slice_0": "5000_14:NOTIFY_WAIT\n5000_15:NOTIFY_RECORD\n5000_66:KERNEL_AIVEC\n5500_8:master\n5500_9:slave\n10000_5:launch\n",
		// run twice: the slave's piece starts earlier and ends later than the master's
		"device_0/data/stars_soc.data.0.slice_0": task(8, 1, 900, 990) + task(7, 1, 1000, 1100) + task(7, 2, 1100, 1150) + task(9, 1, 1200, 1300) + task(7, 1, 2000, 2100) + task(8, 1, 2050, 2300) + task(7, 2, 2110, 2200),
	}))
	got := ""
	for _, k := range tr.Tasks.All() {
		if k.Kind == trace.Communication {
			got += fmt.Sprintf("%s %s %d-%d on %d part %v; ", tr.String(k.Name), tr.String(k.Op), (k.Start-unix)/20, (k.End-unix)/20, k.Stream-tr.Streams[len(tr.Streams)-1].ID, k.Flags&trace.FlagPart != 0)
		}
	}
	want := "hcom_allReduce__503_1_1 hcom_allReduce_ 1000-1150 on 0 part true; hcom_allReduce__503_1_1 hcom_allReduce_ 2000-2200 on 0 part true; "
	if got != want || !strings.Contains(tr.Streams[len(tr.Streams)-1].Name, "ring") || tr.Tasks.Len() != 9 {
		t.Errorf("%d tasks\n got %s\nwant %s\nstreams %+v", tr.Tasks.Len(), got, want, tr.Streams)
	}
	if err := tr.Check(); err != nil {
		t.Error(err)
	}
}
