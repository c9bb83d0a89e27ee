package profdb

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// db is an open database with what is in it.
type db struct {
	conn   *sqlite3.Conn
	tables map[string]map[string]bool // columns by table
	cut    error                      // why the file is not whole
}

// most bounds a single value: names and call stacks are far shorter.
const most = 16 << 20

// open opens the database at path for reading and promises SQLite that nobody changes it, so that it makes no lock and no
// journal beside it.
func open(ctx context.Context, path string) (*db, error) {
	f, err := os.Open(path) // for a plain word where it cannot be read
	if err != nil {
		return nil, err
	}
	f.Close()
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	uri := url.URL{Scheme: "file", Path: full, RawQuery: "mode=ro&immutable=1"}
	conn, err := sqlite3.OpenFlags(uri.String(), sqlite3.OPEN_READONLY|sqlite3.OPEN_URI)
	if err != nil {
		return nil, err
	}
	d := &db{conn: conn, tables: map[string]map[string]bool{}}
	conn.SetInterrupt(ctx)
	conn.Limit(sqlite3.LIMIT_LENGTH, most)
	if err := errors.Join(conn.Exec("PRAGMA trusted_schema=0"), conn.Exec("PRAGMA cell_size_check=1")); err != nil {
		conn.Close()
		return nil, err
	}
	if err := d.schema(); err != nil {
		// SQLite refuses a file that is shorter than its head says, unless it is told that the schema may be mended: what is
		// left of it can then be read.
		d.cut = err
		if err2 := errors.Join(conn.Exec("PRAGMA writable_schema=1"), d.schema()); err2 != nil || len(d.tables) == 0 {
			conn.Close()
			return nil, err
		}
	}
	return d, nil
}

func (d *db) close() { d.conn.Close() }

// schema lists tables and columns. The same schema version has other columns in other builds, and viewers add more. Views
// are left alone: a hostile one never ends.
func (d *db) schema() error {
	var names []string
	err := d.query("SELECT name FROM sqlite_schema WHERE type='table'", func(s *sqlite3.Stmt) { names = append(names, s.ColumnText(0)) })
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.IndexByte(name, 0) >= 0 { // only a damaged file has it, and SQL has no word for it
			continue
		}
		columns := map[string]bool{}
		err := d.query("PRAGMA table_info("+sqlite3.QuoteIdentifier(name)+")", func(s *sqlite3.Stmt) {
			if c := s.ColumnText(1); strings.IndexByte(c, 0) < 0 {
				columns[c] = true
			}
		})
		if err != nil {
			return err
		}
		d.tables[name] = columns
	}
	return nil
}

// query gives each row to take.
func (d *db) query(sql string, take func(*sqlite3.Stmt)) error {
	s, _, err := d.conn.Prepare(sql)
	if err != nil {
		return err
	}
	defer s.Close()
	for s.Step() {
		take(s)
	}
	return s.Err()
}

// rows gives the named columns of each row of table, in any order of rows. Alternatives are written a|b; a column that no
// spelling of exists is NULL. A table that is not there has no rows.
func (d *db) rows(table string, columns string, take func(*sqlite3.Stmt)) error {
	have, ok := d.tables[table]
	if !ok {
		return nil
	}
	var list []string
	for field := range strings.FieldsSeq(columns) {
		pick := "NULL"
		for name := range strings.SplitSeq(field, "|") {
			if have[name] {
				pick = sqlite3.QuoteIdentifier(name)
				break
			}
		}
		list = append(list, pick)
	}
	if err := d.query("SELECT "+strings.Join(list, ",")+" FROM "+sqlite3.QuoteIdentifier(table), take); err != nil {
		return fmt.Errorf("table %s: %w", table, err)
	}
	return nil
}

// null says whether column i has no value.
func null(s *sqlite3.Stmt, i int) bool { return s.ColumnType(i) == sqlite3.NULL }
