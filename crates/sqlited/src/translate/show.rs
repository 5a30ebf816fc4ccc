//! SHOW, DESCRIBE and EXPLAIN as queries over SQLite's own catalogue and our functions.
//!
//! What needs the session (variables, warnings, the process list) comes in through SQL functions
//! that `functions` registers, so every SHOW is an ordinary query with ordinary columns.

use super::rewrite::{Sql, literal, quoted, rewrite};
use super::{Action, Cursor};
use crate::fault::Fault;
use crate::lexer::Token;

/// SHOW in all its forms.
pub(super) fn show(tokens: &[Token<'_>], schema: &str) -> Result<Action, Fault> {
    let mut cursor = Cursor::new(tokens);
    cursor.next();
    let global = cursor.peek().is_some_and(|t| t.is("global"));
    cursor.eat_all(&["global", "session", "local"]);
    let full = cursor.eat("full") | cursor.eat("extended");
    let Some(what) = cursor.next() else { return Err(cursor.syntax()) };
    let base = match what.source.to_ascii_lowercase().as_str() {
        "databases" | "schemas" => databases(schema),
        "tables" => return tables(&mut cursor, full, schema),
        "open" | "triggers" | "events" | "function" | "procedure" | "plugins" => {
            cursor.at = tokens.len();
            Sql::plain("SELECT '' AS `Name` WHERE 0")
        }
        "variables" => variables(if global { "global_variables" } else { "session_variables" }),
        "status" => variables("status_variables"),
        "warnings" | "errors" => return finish(warnings(), &mut skip_limit(&cursor), schema),
        "count" => {
            cursor.at = tokens.len();
            Sql::plain("SELECT json_array_length(warnings()) AS `@@session.warning_count`")
        }
        "columns" | "fields" => return columns(&mut cursor, full, schema),
        "index" | "indexes" | "keys" => return indexes(&mut cursor, schema),
        "create" => return created(&mut cursor, schema),
        "table" => {
            cursor.expect("status")?;
            from_schema(&mut cursor, schema)?;
            Sql::plain(TABLE_STATUS)
        }
        "processlist" => Sql::plain(PROCESS_LIST),
        "engines" => Sql::plain(ENGINES),
        "storage" => {
            cursor.expect("engines")?;
            Sql::plain(ENGINES)
        }
        "character" => {
            cursor.expect("set")?;
            Sql::plain(CHARACTER_SETS)
        }
        "charset" => Sql::plain(CHARACTER_SETS),
        "collation" => Sql::plain(COLLATIONS),
        "grants" => {
            cursor.at = tokens.len();
            Sql::plain(GRANTS)
        }
        "master" | "binary" => {
            cursor.at = tokens.len();
            Sql::plain("SELECT '' AS `File`, 0 AS `Position` WHERE 0")
        }
        "slave" | "replica" => {
            cursor.expect("status")?;
            Sql::plain(if what.is("slave") { SLAVE_STATUS } else { REPLICA_STATUS })
        }
        _ => return Err(Fault::unsupported(&super::text_of(tokens))),
    };
    finish(base, &mut cursor, schema)
}

/// DESCRIBE t, EXPLAIN t and EXPLAIN SELECT ….
pub(super) fn describe(tokens: &[Token<'_>], schema: &str) -> Result<Action, Fault> {
    let mut cursor = Cursor::new(tokens);
    cursor.next();
    let verbs = ["select", "with", "insert", "update", "delete", "replace"];
    cursor.eat("extended");
    if cursor.peek().is_some_and(|t| t.is_any(&verbs)) {
        let mut sql = Sql::plain("EXPLAIN QUERY PLAN");
        sql.append(rewrite(cursor.rest(), schema)?);
        return Ok(Action::Look(sql));
    }
    let table = cursor.table(schema)?;
    let mut sql = Sql::plain(column_list(table, false));
    if let Some(column) = cursor.next() {
        let pattern = match &column.kind {
            crate::lexer::Kind::Text(value) => String::from_utf8_lossy(value).into_owned(),
            _ => column.name().unwrap_or_default().to_owned(),
        };
        sql = Sql::plain(format!(
            "SELECT * FROM ({}) WHERE `Field` LIKE {}",
            sql.text,
            literal(&pattern)
        ));
    }
    cursor.end()?;
    Ok(Action::Look(sql))
}

/// Adds LIKE or WHERE to a list.
fn finish(base: Sql, cursor: &mut Cursor<'_, '_>, schema: &str) -> Result<Action, Fault> {
    let filter = if cursor.eat("like") {
        let mut sql = Sql::plain(format!("SELECT * FROM ({}) WHERE", base.text));
        sql.push(&format!("{} LIKE", first_column(&base.text)));
        sql.append(rewrite(cursor.rest(), schema)?);
        sql
    } else if cursor.peek().is_some_and(|t| t.is("where")) {
        let mut sql = Sql::plain(format!("SELECT * FROM ({})", base.text));
        sql.append(rewrite(cursor.rest(), schema)?);
        sql
    } else {
        cursor.end()?;
        base
    };
    Ok(Action::Look(filter))
}

/// The first `AS` name of one of our own queries.
fn first_column(base: &str) -> String {
    base.split('`').nth(1).map(quoted).unwrap_or_default()
}

fn skip_limit<'t, 'a>(cursor: &Cursor<'t, 'a>) -> Cursor<'t, 'a> {
    Cursor::new(&cursor.tokens[cursor.tokens.len()..])
}

/// `[FROM|IN schema]`: says which one, ours or one of the catalogue's.
fn from_schema<'s>(cursor: &mut Cursor<'_, '_>, schema: &'s str) -> Result<&'s str, Fault> {
    if !cursor.eat("from") && !cursor.eat("in") {
        return Ok(schema);
    }
    let name = cursor.name()?;
    let known: [&'s str; 3] = [schema, "information_schema", "performance_schema"];
    known
        .into_iter()
        .find(|known| name.eq_ignore_ascii_case(known))
        .ok_or_else(|| Fault::unknown_schema(name))
}

fn databases(schema: &str) -> Sql {
    Sql::plain(format!(
        "SELECT column1 AS `Database` FROM (VALUES ({}), ('information_schema'), \
         ('performance_schema'))",
        literal(schema)
    ))
}

fn variables(source: &str) -> Sql {
    Sql::plain(format!(
        "SELECT key AS `Variable_name`, value AS `Value` FROM json_each({source}()) ORDER BY 1"
    ))
}

fn warnings() -> Sql {
    Sql::plain(
        "SELECT value ->> 0 AS `Level`, value ->> 1 AS `Code`, value ->> 2 AS `Message` \
         FROM json_each(warnings())",
    )
}

fn tables(cursor: &mut Cursor<'_, '_>, full: bool, schema: &str) -> Result<Action, Fault> {
    let of = from_schema(cursor, schema)?;
    let kind = if full {
        ", CASE type WHEN 'view' THEN 'VIEW' ELSE 'BASE TABLE' END AS `Table_type`"
    } else {
        ""
    };
    let heading = quoted(&format!("Tables_in_{of}"));
    let base = if of == schema {
        format!("SELECT name AS {heading}{kind} FROM main.sqlite_master {OWN_TABLES} ORDER BY 1")
    } else {
        format!(
            "SELECT upper(substr(name, {})) AS {heading}{kind} FROM temp.sqlite_master \
             WHERE type = 'view' AND substr(name, 1, {}) = {} ORDER BY 1",
            of.len() + 2,
            of.len() + 1,
            literal(&format!("{of}."))
        )
    };
    finish(Sql::plain(base), cursor, schema)
}

fn columns(cursor: &mut Cursor<'_, '_>, full: bool, schema: &str) -> Result<Action, Fault> {
    let table = from_table(cursor, schema)?;
    finish(Sql::plain(column_list(&table, full)), cursor, schema)
}

/// `FROM t [FROM schema]`.
fn from_table(cursor: &mut Cursor<'_, '_>, schema: &str) -> Result<String, Fault> {
    if !cursor.eat("from") && !cursor.eat("in") {
        return Err(cursor.syntax());
    }
    let table = cursor.table(schema)?.to_owned();
    match from_schema(cursor, schema)? {
        of if of == schema => Ok(table),
        of => Ok(format!("{of}.{}", table.to_ascii_lowercase())),
    }
}

fn column_list(table: &str, full: bool) -> String {
    let (collation, rest) = if full {
        (
            "CASE WHEN column_type(c.type) LIKE '%char%' OR column_type(c.type) LIKE '%text%' \
             THEN 'utf8mb4_general_ci' END AS `Collation`, ",
            ", 'select,insert,update,references' AS `Privileges`, '' AS `Comment`",
        )
    } else {
        ("", "")
    };
    format!(
        "SELECT c.name AS `Field`, column_type(c.type) AS `Type`, {collation}\
         CASE WHEN c.\"notnull\" OR c.pk THEN 'NO' ELSE 'YES' END AS `Null`, \
         {KEY_KIND} AS `Key`, trim(c.dflt_value, '''') AS `Default`, \
         CASE WHEN c.pk AND upper(c.type) = 'INTEGER' THEN 'auto_increment' ELSE '' END \
         AS `Extra`{rest} FROM pragma_table_xinfo({name}) AS c \
         WHERE (SELECT 1 FROM {table} LIMIT 0) IS NULL ORDER BY c.cid",
        KEY_KIND = key_kind(table),
        name = literal(table),
        table = quoted(table),
    )
}

fn key_kind(table: &str) -> String {
    let table = literal(table);
    format!(
        "CASE WHEN c.pk THEN 'PRI' WHEN EXISTS (SELECT 1 FROM pragma_index_list({table}) AS l, \
         pragma_index_info(l.name) AS i WHERE i.seqno = 0 AND i.name = c.name AND l.\"unique\") \
         THEN 'UNI' WHEN EXISTS (SELECT 1 FROM pragma_index_list({table}) AS l, \
         pragma_index_info(l.name) AS i WHERE i.seqno = 0 AND i.name = c.name) THEN 'MUL' \
         ELSE '' END"
    )
}

fn indexes(cursor: &mut Cursor<'_, '_>, schema: &str) -> Result<Action, Fault> {
    let table = from_table(cursor, schema)?;
    let name = literal(&table);
    let base = format!(
        "SELECT {name} AS `Table`, non_unique AS `Non_unique`, key_name AS `Key_name`, \
         seq AS `Seq_in_index`, column_name AS `Column_name`, 'A' AS `Collation`, \
         NULL AS `Cardinality`, NULL AS `Sub_part`, NULL AS `Packed`, '' AS `Null`, \
         'BTREE' AS `Index_type`, '' AS `Comment`, '' AS `Index_comment` FROM ( \
         SELECT 0 AS non_unique, 'PRIMARY' AS key_name, pk AS seq, name AS column_name \
         FROM pragma_table_xinfo({name}) WHERE pk UNION ALL \
         SELECT 1 - l.\"unique\", replace(l.name, {name} || '.', ''), i.seqno + 1, i.name \
         FROM pragma_index_list({name}) AS l, pragma_index_info(l.name) AS i \
         WHERE l.origin != 'pk') WHERE (SELECT 1 FROM {} LIMIT 0) IS NULL \
         ORDER BY non_unique, key_name, seq",
        quoted(&table)
    );
    finish(Sql::plain(base), cursor, schema)
}

/// SHOW CREATE TABLE gives the definition as SQLite keeps it, types in MySQL's words.
fn created(cursor: &mut Cursor<'_, '_>, schema: &str) -> Result<Action, Fault> {
    let what = cursor.next();
    if what.is_some_and(|t| t.is_any(&["database", "schema"])) {
        cursor.eat_all(&["if", "not", "exists"]);
        let name = cursor.name()?;
        if !name.eq_ignore_ascii_case(schema) {
            return Err(Fault::unknown_schema(name));
        }
        let text = format!("CREATE DATABASE {}", quoted(schema));
        return Ok(Action::Look(Sql::plain(format!(
            "SELECT {} AS `Database`, {} AS `Create Database`",
            literal(schema),
            literal(&text)
        ))));
    }
    if !what.is_some_and(|t| t.is_any(&["table", "view"])) {
        return Err(Fault::unsupported("SHOW CREATE"));
    }
    let table = cursor.table(schema)?;
    cursor.end()?;
    let (label, create) = if what.is_some_and(|t| t.is("view")) {
        ("View", "Create View")
    } else {
        ("Table", "Create Table")
    };
    Ok(Action::Look(Sql::plain(format!(
        "SELECT t.name AS `{label}`, table_definition(t.sql, (SELECT group_concat(i.sql, \
         char(10)) FROM main.sqlite_master AS i WHERE i.type = 'index' AND i.tbl_name = t.name \
         AND t.place = 1)) AS `{create}` \
         FROM (SELECT name, sql, 0 AS place FROM temp.sqlite_master \
         UNION ALL SELECT name, sql, 1 FROM main.sqlite_master) AS t \
         WHERE lower(t.name) = lower({}) AND (SELECT 1 FROM {} LIMIT 0) IS NULL \
         ORDER BY t.place LIMIT 1",
        literal(table),
        quoted(table)
    ))))
}

const OWN_TABLES: &str = "WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%'";

const TABLE_STATUS: &str = "SELECT name AS `Name`, 'SQLite' AS `Engine`, 10 AS `Version`, \
    'Dynamic' AS `Row_format`, NULL AS `Rows`, NULL AS `Create_time`, \
    'utf8mb4_general_ci' AS `Collation`, '' AS `Create_options`, \
    CASE type WHEN 'view' THEN 'VIEW' ELSE '' END AS `Comment` FROM main.sqlite_master \
    WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ORDER BY 1";

const PROCESS_LIST: &str = "SELECT value ->> 0 AS `Id`, value ->> 1 AS `User`, \
    value ->> 2 AS `Host`, value ->> 3 AS `db`, value ->> 4 AS `Command`, value ->> 5 AS `Time`, \
    value ->> 6 AS `State`, value ->> 7 AS `Info` FROM json_each(processlist())";

const ENGINES: &str = "SELECT 'SQLite' AS `Engine`, 'DEFAULT' AS `Support`, \
    'SQLite, kept in memory' AS `Comment`, 'YES' AS `Transactions`, 'NO' AS `XA`, \
    'YES' AS `Savepoints`";

const CHARACTER_SETS: &str = "SELECT 'utf8mb4' AS `Charset`, 'UTF-8 Unicode' AS `Description`, \
    'utf8mb4_general_ci' AS `Default collation`, 4 AS `Maxlen`";

const COLLATIONS: &str = "SELECT column1 AS `Collation`, column2 AS `Charset`, column3 AS `Id`, \
    column4 AS `Default`, 'Yes' AS `Compiled`, 1 AS `Sortlen` FROM (VALUES \
    ('utf8mb4_general_ci', 'utf8mb4', 45, 'Yes'), ('utf8mb4_bin', 'utf8mb4', 46, ''), \
    ('binary', 'binary', 63, 'Yes'))";

const GRANTS: &str = "SELECT 'GRANT ALL PRIVILEGES ON *.* TO ' || user() AS `Grants`";

const SLAVE_STATUS: &str = "SELECT 'Waiting for master to send event' AS `Slave_IO_State`, \
    'Yes' AS `Slave_IO_Running`, 'Yes' AS `Slave_SQL_Running`, 0 AS `Seconds_Behind_Master` \
    WHERE sysvar('', 'read_only') = 1";

const REPLICA_STATUS: &str = "SELECT 'Waiting for source to send event' AS `Replica_IO_State`, \
    'Yes' AS `Replica_IO_Running`, 'Yes' AS `Replica_SQL_Running`, 0 AS `Seconds_Behind_Source` \
    WHERE sysvar('', 'read_only') = 1";
