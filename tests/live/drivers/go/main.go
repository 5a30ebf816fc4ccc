// Executes the cases with go-sql-driver; see ../README.md.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/go-sql-driver/mysql"
)

type step map[string]any

type entry struct {
	Name    string
	Flavour string
	Options struct {
		FoundRows bool `json:"found_rows"`
	}
	Steps []json.RawMessage
}

var ctx = context.Background()

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func shown(value any) string {
	switch v := value.(type) {
	case nil:
		return "nil"
	case []byte:
		if len(v) > 64 {
			return fmt.Sprintf("[]byte %d %s", len(v), digest(v))
		}
		return "[]byte " + hex.EncodeToString(v)
	default:
		return fmt.Sprintf("%T %v", v, v)
	}
}

func failure(err error) any {
	var server *mysql.MySQLError
	if errors.As(err, &server) {
		return []any{"error", server.Number, string(server.SQLState[:]), server.Message}
	}
	return []any{"error", err.Error()}
}

func table(rows *sql.Rows) (any, error) {
	columns, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	var described, list []any
	for _, column := range columns {
		nullable, _ := column.Nullable()
		precision, scale, _ := column.DecimalSize()
		described = append(described, []any{column.Name(), column.DatabaseTypeName(), nullable, precision, scale})
	}
	for rows.Next() {
		values := make([]any, len(columns))
		targets := make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		var row []any
		for _, value := range values {
			row = append(row, shown(value))
		}
		list = append(list, row)
	}
	if len(list) > 40 {
		text, _ := json.Marshal(list)
		list = []any{len(list), digest(text)}
	}
	return map[string]any{"columns": described, "rows": list}, rows.Err()
}

// Every result of a statement; those without rows show no columns.
func results(rows *sql.Rows, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []any
	for {
		one, err := table(rows)
		if err != nil {
			return append(list, failure(err)), nil
		}
		list = append(list, one)
		if !rows.NextResultSet() {
			break
		}
	}
	if rows.Err() != nil {
		list = append(list, failure(rows.Err()))
	}
	return list, nil
}

func outcome(result driverResult, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	all := result.(mysql.Result)
	return map[string]any{"affected": all.AllRowsAffected(), "ids": all.AllLastInsertIds()}, nil
}

func reads(text string) bool {
	for _, word := range []string{"SELECT", "SHOW", "CALL", "WITH", "EXPLAIN", "DESCRIBE", "EXECUTE", "HANDLER",
		"CHECKSUM", "ANALYZE", "VALUES", "TABLE", "/*", "SET STATEMENT", "BEGIN NOT"} {
		if len(text) >= len(word) && text[:len(word)] == word {
			return true
		}
	}
	return bytes.Contains([]byte(text), []byte(" RETURNING ")) || bytes.Contains([]byte(text), []byte("SELECT"))
}

type running struct {
	db, otherDB *sql.DB
	conn, other *sql.Conn
	tx          *sql.Tx
}

func open(user, password, schema string, foundRows bool) (*sql.DB, *sql.Conn, error) {
	config := mysql.NewConfig()
	config.User, config.Passwd, config.DBName = user, password, schema
	config.Net, config.Addr = "tcp", os.Getenv("LIVE_HOST")+":"+os.Getenv("LIVE_PORT")
	config.MultiStatements, config.AllowAllFiles, config.ClientFoundRows = true, true, foundRows
	config.MaxAllowedPacket = 1 << 30
	config.Collation = "utf8mb4_general_ci"
	config.Logger = quiet{}
	if os.Getenv("LIVE_CA") != "" {
		config.TLSConfig = "custom"
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, nil, err
	}
	db := sql.OpenDB(connector)
	conn, err := db.Conn(ctx)
	if err != nil {
		db.Close()
		return nil, nil, err
	}
	return db, conn, nil
}

// Trusts the authorities of a file as to the host that is connected to, and nobody else.
func verify(authorities string) {
	text, err := os.ReadFile(authorities)
	check(err)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		check(errors.New("no certificate in " + authorities))
	}
	check(mysql.RegisterTLSConfig("custom", &tls.Config{RootCAs: roots, ServerName: os.Getenv("LIVE_HOST")}))
}

type quiet struct{}

func (quiet) Print(...any) {}

func (r *running) text(conn *sql.Conn, text string) (any, error) {
	if r.tx != nil && conn == r.conn {
		if reads(text) {
			return results(r.tx.QueryContext(ctx, text))
		}
		result, err := r.tx.ExecContext(ctx, text)
		if err != nil {
			return nil, err
		}
		rows, _ := result.RowsAffected()
		return rows, nil
	}
	if reads(text) {
		return results(conn.QueryContext(ctx, text))
	}
	var given any
	err := conn.Raw(func(raw any) error {
		execer := raw.(interface {
			ExecContext(context.Context, string, []driverValue) (driverResult, error)
		})
		result, err := execer.ExecContext(ctx, text, nil)
		if err == nil {
			given, err = outcome(result, nil)
		}
		return err
	})
	return given, err
}

func parameters(row []any) []any {
	list := make([]any, len(row))
	for i, value := range row {
		switch v := value.(type) {
		case map[string]any:
			list[i], _ = hex.DecodeString(v["hex"].(string))
		case json.Number:
			if whole, err := v.Int64(); err == nil {
				list[i] = whole
			} else {
				list[i], _ = v.Float64()
			}
		default:
			list[i] = v
		}
	}
	return list
}

func (r *running) prepared(text string, rows []any) (any, error) {
	var statement *sql.Stmt
	var err error
	if r.tx != nil {
		statement, err = r.tx.PrepareContext(ctx, text)
	} else {
		statement, err = r.conn.PrepareContext(ctx, text)
	}
	if err != nil {
		return nil, err
	}
	defer statement.Close()
	var list []any
	for _, row := range rows {
		values := parameters(row.([]any))
		var one any
		if reads(text) {
			one, err = results(statement.QueryContext(ctx, values...))
		} else {
			var result sql.Result
			if result, err = statement.ExecContext(ctx, values...); err == nil {
				affected, _ := result.RowsAffected()
				id, _ := result.LastInsertId()
				one = []any{affected, id}
			}
		}
		if err != nil {
			return append(list, failure(err)), nil
		}
		list = append(list, one)
	}
	return list, nil
}

func content(size int) []byte {
	block := make([]byte, 65521)
	for i := range block {
		block[i] = byte((i*7 + i/251) % 256)
	}
	return bytes.Repeat(block, size/len(block)+1)[:size]
}

func (r *running) big() (any, error) {
	size, _ := strconv.Atoi(os.Getenv("LIVE_BIG"))
	inserted, err := r.conn.ExecContext(ctx, "INSERT INTO big VALUES (1, ?)", content(size))
	if err != nil {
		return nil, err
	}
	affected, _ := inserted.RowsAffected()
	list := []any{affected}
	for _, text := range []string{
		"INSERT INTO big VALUES (2, x'" + hex.EncodeToString(content(size/2)) + "')",
		"SELECT id, LENGTH(v), SHA2(v, 256) FROM big ORDER BY id", "SELECT v FROM big ORDER BY id"} {
		one, err := r.text(r.conn, text)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	one, err := r.prepared("SELECT v FROM big WHERE id = ?", []any{[]any{json.Number("1")}})
	return append(list, one), err
}

func (r *running) infile(lines int) (any, error) {
	path := filepath.Join(os.Getenv("LIVE_TMP"), fmt.Sprintf("load-%d.csv", lines))
	var text bytes.Buffer
	for i := 0; i < lines; i++ {
		fmt.Fprintf(&text, "%d\tline %d ☃😀\n", i, i)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		return nil, err
	}
	return r.text(r.conn, "LOAD DATA LOCAL INFILE '"+path+"' INTO TABLE loaded")
}

func number(value any) int {
	whole, _ := value.(json.Number).Int64()
	return int(whole)
}

func (r *running) step(kind string, s step) (any, error) {
	argument := s[kind]
	switch kind {
	case "sql":
		return r.text(r.conn, argument.(string))
	case "prep", "batch":
		return r.prepared(argument.(string), s["rows"].([]any))
	case "cursor":
		return results(r.conn.QueryContext(ctx, argument.(string)))
	case "tx":
		return "done", r.transaction(argument.(string))
	case "autocommit":
		return r.text(r.conn, fmt.Sprintf("SET autocommit = %v", argument))
	case "other":
		if r.other == nil {
			db, conn, err := open(os.Getenv("LIVE_USER"), os.Getenv("LIVE_PASSWORD"), os.Getenv("LIVE_DB"), false)
			if err != nil {
				return nil, err
			}
			r.otherDB, r.other = db, conn
		}
		return r.text(r.other, argument.(string))
	case "ping":
		return "done", r.conn.PingContext(ctx)
	case "reset":
		return "this driver cannot", nil
	case "connect":
		as := argument.(map[string]any)
		db, conn, err := open(as["user"].(string), as["password"].(string), as["db"].(string), false)
		if err == nil {
			conn.Close()
			db.Close()
		}
		return "done", err
	case "big":
		return r.big()
	case "infile":
		return r.infile(number(argument))
	}
	panic("unknown step " + kind)
}

func (r *running) transaction(what string) (err error) {
	if what == "begin" {
		r.tx, err = r.conn.BeginTx(ctx, nil)
		return err
	}
	if r.tx == nil {
		_, err = r.conn.ExecContext(ctx, what)
		return err
	}
	tx := r.tx
	r.tx = nil
	if what == "commit" {
		return tx.Commit()
	}
	return tx.Rollback()
}

func (r *running) close() {
	for _, conn := range []*sql.Conn{r.conn, r.other} {
		if conn != nil {
			conn.Close()
		}
	}
	for _, db := range []*sql.DB{r.db, r.otherDB} {
		if db != nil {
			db.Close()
		}
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func firstKey(raw json.RawMessage) string {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.Token()
	key, _ := decoder.Token()
	return key.(string)
}

func main() {
	if len(os.Args) == 4 && os.Args[1] == "frameworks" {
		frameworks(os.Args[2], os.Args[3])
		return
	}
	if authorities := os.Getenv("LIVE_CA"); authorities != "" {
		verify(authorities)
	}
	text, err := os.ReadFile(os.Getenv("LIVE_CASES"))
	check(err)
	var entries []entry
	check(json.Unmarshal(text, &entries))
	for _, e := range entries {
		if e.Flavour != "" && e.Flavour != os.Getenv("LIVE_FLAVOUR") {
			continue
		}
		db, conn, err := open(os.Getenv("LIVE_USER"), os.Getenv("LIVE_PASSWORD"), os.Getenv("LIVE_DB"), e.Options.FoundRows)
		check(err)
		r := &running{db: db, conn: conn}
		for i, raw := range e.Steps {
			var s step
			decoder := json.NewDecoder(bytes.NewReader(raw))
			decoder.UseNumber()
			check(decoder.Decode(&s))
			kind := firstKey(raw)
			result, err := r.step(kind, s)
			if err != nil {
				result = failure(err)
			}
			line, err := json.Marshal([]any{e.Name, i, kind, result})
			check(err)
			fmt.Println(string(line))
		}
		r.close()
	}
}
