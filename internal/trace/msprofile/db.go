package msprofile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"npu/internal/trace"
)

// WriteDB writes t as a database of schema 1.2.0. SQLite makes it in a file of its own, since it needs to go back and forth.
func WriteDB(w io.Writer, t *trace.Trace) (err error) {
	dir, err := os.MkdirTemp("", "npu-msprof-*")
	if err != nil {
		return fmt.Errorf("write msprof database: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "msprof.db")
	if err := fill(path, t); err != nil {
		return fmt.Errorf("write msprof database: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("write msprof database: %w", err)
	}
	defer f.Close()
	if _, err := io.Copy(w, f); err != nil {
		return fmt.Errorf("write msprof database: %w", err)
	}
	return nil
}

const schema = `
CREATE TABLE META_DATA (name TEXT, value TEXT);
CREATE TABLE NPU_INFO (id INTEGER, name TEXT);
CREATE TABLE HOST_INFO (hostUid TEXT, hostName TEXT);
CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);
CREATE TABLE SESSION_TIME_INFO (startTimeNs INTEGER, endTimeNs INTEGER);
CREATE TABLE ENUM_API_TYPE (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER, globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER);
CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER PRIMARY KEY, blockNum INTEGER, mixBlockNum INTEGER, taskType INTEGER, opType INTEGER, inputFormats INTEGER, inputDataTypes INTEGER, inputShapes INTEGER, outputFormats INTEGER, outputDataTypes INTEGER, outputShapes INTEGER, attrInfo INTEGER, opState INTEGER, hf32Eligible INTEGER);
CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, groupName INTEGER, opId INTEGER PRIMARY KEY, relay INTEGER, retry INTEGER, dataType INTEGER, algType INTEGER, count NUMERIC, opType INTEGER, deviceId INTEGER);
CREATE TABLE MEMCPY_INFO (globalTaskId INTEGER, size INTEGER, memcpyOperation INTEGER);
CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, connectionId INTEGER PRIMARY KEY, name INTEGER);
CREATE TABLE TASK_PMU_INFO (globalTaskId INTEGER, name INTEGER, value NUMERIC);
INSERT INTO META_DATA VALUES ('SCHEMA_VERSION_MAJOR','1'),('SCHEMA_VERSION_MINOR','2'),('SCHEMA_VERSION_MICRO','0'),('SCHEMA_VERSION','1.2.0');
INSERT INTO ENUM_API_TYPE VALUES (20000,'acl'),(15000,'model'),(10000,'node'),(5500,'communication'),(5000,'runtime');
`

func fill(path string, t *trace.Trace) error {
	conn, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.Exec("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN;" + schema); err != nil {
		return err
	}
	d := &database{conn: conn, t: t, strings: map[string]int64{}}
	for _, step := range []func() error{d.about, d.tasks, d.calls, d.names, func() error { return conn.Exec("CREATE INDEX TaskIndex ON TASK(startNs, globalTaskId); COMMIT") }} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

type database struct {
	conn    *sqlite3.Conn
	t       *trace.Trace
	strings map[string]int64
	order   []string
}

// str is the number of a string.
func (d *database) str(s string) int64 {
	id, ok := d.strings[s]
	if !ok {
		id = int64(len(d.order))
		d.strings[s] = id
		d.order = append(d.order, s)
	}
	return id
}

// insert prepares the statement that adds rows to table.
func (d *database) insert(table string, columns int) (func(values ...any) error, func() error, error) {
	s, _, err := d.conn.Prepare("INSERT INTO " + table + " VALUES(" + strings.TrimSuffix(strings.Repeat("?,", columns), ",") + ")")
	if err != nil {
		return nil, nil, err
	}
	return func(values ...any) error {
		for i, v := range values {
			var err error
			switch v := v.(type) {
			case int64:
				err = s.BindInt64(i+1, v)
			case float64:
				err = s.BindFloat(i+1, v)
			case string:
				err = s.BindText(i+1, v)
			}
			if err != nil {
				return err
			}
		}
		s.Step()
		return s.Reset()
	}, s.Close, nil
}

func (d *database) about() error {
	session, close1, err1 := d.insert("SESSION_TIME_INFO", 2)
	chip, close2, err2 := d.insert("NPU_INFO", 2)
	rank, close3, err3 := d.insert("RANK_DEVICE_MAP", 2)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	from, to := int64(0), int64(0)
	devices := map[uint16]bool{}
	var errs []error
	ranks := map[uint16]int{}
	for _, s := range d.t.Source.Devices {
		ranks[s.ID] = s.Rank
	}
	for i := range d.t.Tasks.Len() {
		if i == 0 {
			from = d.t.Tasks.Start.At(i)
		}
		to = max(to, d.t.Tasks.End.At(i))
		if n := d.t.Tasks.Device.At(i); !devices[n] {
			devices[n] = true
			r, ok := ranks[n]
			if !ok {
				r = -1
			}
			errs = append(errs, chip(int64(n), d.t.Meta.Chip), rank(int64(r), int64(n)))
		}
	}
	errs = append(errs, session(from, to), d.conn.Exec("INSERT INTO HOST_INFO VALUES ('0','npu')"), close1(), close2(), close3())
	return errors.Join(errs...)
}

func (d *database) tasks() error {
	task, close1, err1 := d.insert("TASK", 11)
	compute, close2, err2 := d.insert("COMPUTE_TASK_INFO", 15)
	copies, close3, err3 := d.insert("MEMCPY_INFO", 3)
	pmu, close4, err4 := d.insert("TASK_PMU_INFO", 3)
	op, close5, err5 := d.insert("COMMUNICATION_OP", 13)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return err
	}
	na := d.str("N/A")
	links := connections(d.t)
	for i, k := range d.t.Tasks.All() {
		if links[i] == alone {
			if k.Kind == trace.Communication { // its pieces have rows of their own
				if err := op(d.str(d.t.Label(&k)), k.Start, k.End, int64(-1), d.str(fmt.Sprint(k.Stream)), int64(i), int64(0), int64(0), int64(255), na, int64(0), d.str(d.t.String(k.Op)), int64(k.Device)); err != nil {
					return err
				}
			}
			continue
		}
		connection := int64(-1)
		if links[i] > 0 {
			connection = int64(links[i])
		}
		errs := []error{task(k.Start, k.End, int64(k.Device), connection, int64(i), int64(osPid), d.str(word(d.t, &k)), contextOf(&k), int64(k.Stream), int64(k.Task&0xFFFF), model(&k))}
		if k.Kind.Kernel() || k.Name != 0 {
			op := d.t.String(k.Op)
			if op == "" || k.Kind == trace.Other {
				op = "N/A"
			}
			errs = append(errs, compute(d.str(d.t.Label(&k)), int64(i), int64(k.Blocks), int64(0), d.str(core(k.Kind)), d.str(op), na, na, na, na, na, na, na, na, na))
		}
		if k.Kind == trace.Memcpy {
			errs = append(errs, copies(int64(i), k.Bytes, int64(k.Dir)))
		}
		errs = append(errs, d.counters(pmu, int64(i), &k))
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return errors.Join(close1(), close2(), close3(), close4(), close5())
}

// counters writes the cycles of a kernel as the vendor's metrics: a total, and ratios to it.
func (d *database) counters(pmu func(values ...any) error, id int64, k *trace.Task) error {
	a := d.t.Account(k.Acct)
	if a.Total <= 0 {
		return nil
	}
	prefix := "aic_"
	if k.Kind == trace.KernelAIVector || k.Kind == trace.KernelMixAIV {
		prefix = "aiv_"
	}
	if err := pmu(id, d.str(prefix+"total_cycles"), a.Total); err != nil {
		return err
	}
	for _, m := range []struct {
		name   string
		cycles int64
	}{{"mac", a.Cube}, {"vec", a.Vector}, {"scalar", a.Scalar}, {"mte1", a.MTE1}, {"mte2", a.MTE2}, {"mte3", a.MTE3}, {"fixpipe", a.Fixpipe}} {
		if m.cycles == 0 {
			continue
		}
		if err := pmu(id, d.str(prefix+m.name+"_ratio"), float64(m.cycles)/float64(a.Total)); err != nil {
			return err
		}
	}
	return nil
}

func (d *database) calls() error {
	call, done, err := d.insert("CANN_API", 6)
	if err != nil {
		return err
	}
	for i, s := range d.t.Spans.All() {
		if err := call(s.Start, s.End, int64(20000), int64(osPid)<<32|int64(s.Thread), int64(i)+1, d.str(d.t.String(s.Name))); err != nil {
			return err
		}
	}
	return done()
}

func (d *database) names() error {
	name, done, err := d.insert("STRING_IDS", 2)
	if err != nil {
		return err
	}
	for id, s := range d.order {
		if err := name(int64(id), s); err != nil {
			return err
		}
	}
	return done()
}
