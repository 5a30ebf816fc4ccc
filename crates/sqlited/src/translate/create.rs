//! CREATE TABLE: columns, keys and options of MySQL as SQLite's table, indexes and triggers.
//!
//! Declared types keep MySQL's name, with a word in front where SQLite would otherwise choose the
//! wrong affinity (`TEXT DATETIME`); `types` reads them back.

use super::rewrite::{Sql, quoted, rewrite, split_commas};
use super::{Action, Cursor};
use crate::fault::Fault;
use crate::lexer::{Kind, Token};

/// The rest of `CREATE [TEMPORARY] TABLE`.
pub(super) fn table(
    cursor: &mut Cursor<'_, '_>,
    temporary: bool,
    schema: &str,
) -> Result<Action, Fault> {
    let if_not_exists = cursor.eat("if");
    if if_not_exists {
        cursor.expect("not")?;
        cursor.expect("exists")?;
    }
    let name = cursor.table(schema)?;
    let head = format!(
        "CREATE {}TABLE {}{}",
        if temporary { "TEMP " } else { "" },
        if if_not_exists { "IF NOT EXISTS " } else { "" },
        quoted(name),
    );
    if cursor.peek().is_some_and(|t| t.is("like")) {
        return Err(Fault::unsupported("CREATE TABLE … LIKE"));
    }
    let mut table = Table { name, if_not_exists, ..Table::default() };
    if cursor.peek().is_some_and(|t| t.symbol("(")) {
        for definition in split_commas(cursor.brackets()?) {
            table.definition(definition, schema)?;
        }
    }
    if let Some(at) = cursor.rest().iter().position(|t| t.is_any(&["select", "with"])) {
        if !table.columns.is_empty() {
            return Err(Fault::unsupported("CREATE TABLE (…) SELECT"));
        }
        let mut sql = Sql::plain(format!("{head} AS"));
        sql.append(rewrite(&cursor.rest()[at..], schema)?);
        return Ok(Action::Schema { steps: vec![sql], temporary });
    }
    if table.columns.is_empty() {
        return Err(Fault::new(1113, b"42000", "A table must have at least 1 column"));
    }
    Ok(Action::Schema { steps: table.finish(&head), temporary })
}

#[derive(Default)]
struct Table<'a> {
    name: &'a str,
    if_not_exists: bool,
    columns: Vec<Column>,
    constraints: Vec<String>,
    primary: Vec<String>,
    after: Vec<Sql>,
}

/// One column, as far as it is needed beyond its text.
#[derive(Default)]
pub(super) struct Column {
    name: String,
    declared: String,
    attributes: String,
    not_null: bool,
    generated_number: bool,
    primary: bool,
    unique: bool,
    touched: bool,
    default: Option<String>,
}

impl Table<'_> {
    fn definition(&mut self, tokens: &[Token<'_>], schema: &str) -> Result<(), Fault> {
        let mut cursor = Cursor::new(tokens);
        if cursor.eat("constraint")
            && !cursor.peek().is_some_and(|t| t.is_any(&["primary", "unique", "foreign", "check"]))
        {
            cursor.name()?;
        }
        let Some(first) = cursor.peek() else { return Err(cursor.syntax()) };
        let quoted_name = matches!(first.kind, Kind::Name(_));
        match first.source.to_ascii_lowercase().as_str() {
            "primary" if !quoted_name => {
                cursor.next();
                cursor.expect("key")?;
                skip_using(&mut cursor);
                self.primary = key_columns(&mut cursor)?;
                Ok(())
            }
            "unique" | "key" | "index" | "fulltext" | "spatial" if !quoted_name => {
                let index = index(&mut cursor, self.name, self.if_not_exists)?;
                self.after.push(index);
                Ok(())
            }
            "foreign" if !quoted_name => self.foreign(&mut cursor),
            "check" if !quoted_name => {
                self.constraints.push(rewrite(cursor.rest(), schema)?.text);
                Ok(())
            }
            _ => {
                let column = column(&mut cursor, schema)?;
                self.columns.push(column);
                Ok(())
            }
        }
    }

    fn foreign(&mut self, cursor: &mut Cursor<'_, '_>) -> Result<(), Fault> {
        cursor.next();
        cursor.expect("key")?;
        if !cursor.peek().is_some_and(|t| t.symbol("(")) {
            cursor.name()?;
        }
        let columns = key_columns(cursor)?.join(", ");
        let references = rewrite(cursor.rest(), "")?.text;
        self.constraints.push(format!("FOREIGN KEY ({columns}) {references}"));
        Ok(())
    }

    fn finish(mut self, head: &str) -> Vec<Sql> {
        let generated = self.columns.iter().find(|c| c.generated_number).map(|c| quoted(&c.name));
        let mut parts = Vec::new();
        for column in &mut self.columns {
            let name = quoted(&column.name);
            column.not_null |= self.primary.iter().any(|key| key.eq_ignore_ascii_case(&name));
            parts.push(column.text());
            if column.generated_number {
                self.after.push(count_from_zero(self.name, &column.name));
            }
            if column.touched {
                self.after.push(touch(self.name, &column.name));
            }
        }
        let primary = std::mem::take(&mut self.primary);
        match generated {
            // the column is the primary key already
            Some(name) if primary.len() == 1 && primary[0].eq_ignore_ascii_case(&name) => {}
            Some(_) if !primary.is_empty() => {
                parts.push(format!("UNIQUE ({})", primary.join(", ")))
            }
            _ if !primary.is_empty() => parts.push(format!("PRIMARY KEY ({})", primary.join(", "))),
            _ => {}
        }
        parts.append(&mut self.constraints);
        let mut steps = vec![Sql::plain(format!("{head} ({})", parts.join(", ")))];
        steps.append(&mut self.after);
        steps
    }
}

impl Column {
    /// The column as SQLite declares it.
    pub(super) fn text(&self) -> String {
        let name = quoted(&self.name);
        if self.generated_number {
            return format!("{name} INTEGER PRIMARY KEY AUTOINCREMENT");
        }
        let mut text = format!("{name} {}", self.declared);
        if self.not_null {
            text.push_str(" NOT NULL");
        }
        if self.primary {
            text.push_str(" PRIMARY KEY");
        }
        if self.unique {
            text.push_str(" UNIQUE");
        }
        if let Some(default) = &self.default {
            text.push_str(" DEFAULT ");
            text.push_str(default);
        }
        text.push_str(&self.attributes);
        text
    }

    /// For ADD COLUMN: SQLite asks for a default where MySQL takes the type's.
    pub(super) fn with_implicit_default(mut self) -> Self {
        if self.not_null && self.default.is_none() {
            let text = self.declared.starts_with("TEXT") || self.declared.contains("CHAR");
            self.default = Some(if text { "''" } else { "0" }.to_owned());
        }
        self
    }
}

/// `name type attributes…`.
pub(super) fn column(cursor: &mut Cursor<'_, '_>, schema: &str) -> Result<Column, Fault> {
    let mut column = Column { name: cursor.name()?.to_owned(), ..Column::default() };
    let base = cursor.next().ok_or_else(|| cursor.syntax())?;
    if base.kind != Kind::Word {
        return Err(cursor.syntax());
    }
    if base.is_any(&["double", "character", "national", "long"]) {
        cursor.eat_all(&["precision", "varying", "varchar", "char"]);
    }
    let arguments = match cursor.peek() {
        Some(t) if t.symbol("(") => Some(cursor.brackets()?),
        _ => None,
    };
    let unsigned = cursor.peek().is_some_and(|t| t.is_any(&["unsigned", "zerofill"]));
    column.declared = declared(&base.source.to_ascii_uppercase(), arguments, unsigned);
    while let Some(token) = cursor.next() {
        attribute(&mut column, token, cursor, schema)?;
    }
    Ok(column)
}

fn attribute(
    column: &mut Column,
    token: &Token<'_>,
    cursor: &mut Cursor<'_, '_>,
    schema: &str,
) -> Result<(), Fault> {
    match token.source.to_ascii_lowercase().as_str() {
        "unsigned" | "signed" | "zerofill" | "binary" | "ascii" | "unicode" | "null"
        | "visible" | "invisible" => {}
        "character" => {
            cursor.expect("set")?;
            cursor.next();
        }
        "charset" | "collate" | "comment" | "column_format" | "storage" => {
            cursor.next();
        }
        "not" => {
            cursor.expect("null")?;
            column.not_null = true;
        }
        "auto_increment" => column.generated_number = true,
        "primary" => {
            cursor.expect("key")?;
            column.primary = true;
        }
        "key" => column.primary = true,
        "unique" => {
            cursor.eat("key");
            column.unique = true;
        }
        "default" => column.default = Some(default_value(cursor, schema)?),
        "on" => {
            cursor.expect("update")?;
            default_value(cursor, schema)?;
            column.touched = true;
        }
        "check" => {
            let inner = rewrite(cursor.brackets()?, schema)?.text;
            column.attributes.push_str(&format!(" CHECK ({inner})"));
        }
        "generated" | "as" => {
            cursor.eat_all(&["always", "as"]);
            let inner = rewrite(cursor.brackets()?, schema)?.text;
            let kind = if cursor.eat("stored") { "STORED" } else { "VIRTUAL" };
            cursor.eat("virtual");
            column.attributes.push_str(&format!(" AS ({inner}) {kind}"));
        }
        "references" => {
            let rest = rewrite(cursor.rest(), schema)?.text;
            cursor.at = cursor.tokens.len();
            column.attributes.push_str(&format!(" REFERENCES {rest}"));
        }
        "constraint" => {
            cursor.name()?;
        }
        _ => {
            cursor.at -= 1;
            return Err(cursor.syntax());
        }
    }
    Ok(())
}

/// The value after DEFAULT, as an expression SQLite takes there.
fn default_value(cursor: &mut Cursor<'_, '_>, schema: &str) -> Result<String, Fault> {
    let from = cursor.at;
    let Some(first) = cursor.next() else { return Err(cursor.syntax()) };
    if first.symbol("(") {
        cursor.at = from;
        return Ok(format!("({})", rewrite(cursor.brackets()?, schema)?.text));
    }
    if first.is_any(&["current_timestamp", "now", "localtimestamp", "localtime"]) {
        if cursor.peek().is_some_and(|t| t.symbol("(")) {
            cursor.brackets()?;
        }
        return Ok("CURRENT_TIMESTAMP".to_owned());
    }
    if first.symbol("-") || first.symbol("+") {
        cursor.next();
    }
    let value = rewrite(&cursor.tokens[from..cursor.at], schema)?.text;
    Ok(value)
}

/// The declared type: MySQL's name, behind a word that gives SQLite the right affinity.
fn declared(base: &str, arguments: Option<&[Token<'_>]>, unsigned: bool) -> String {
    let numbers = arguments.map(|tokens| {
        let text: Vec<&str> = tokens.iter().map(|t| t.source).collect();
        format!("({})", text.concat())
    });
    let numbers = numbers.unwrap_or_default();
    let sign = if unsigned { " UNSIGNED" } else { "" };
    match base {
        "INT4" | "INTEGER" | "INT" => format!("INT{sign}"),
        "INT1" | "TINYINT" | "SMALLINT" | "INT2" | "MEDIUMINT" | "INT3" | "MIDDLEINT"
        | "BIGINT" | "INT8" => format!("{base}{sign}"),
        "SERIAL" => "BIGINT UNSIGNED".to_owned(),
        "BOOL" | "BOOLEAN" => "TINYINT".to_owned(),
        "DATE" | "YEAR" => if base == "DATE" { "TEXT DATE" } else { "YEAR" }.to_owned(),
        "DATETIME" | "TIMESTAMP" | "TIME" => format!("TEXT {base}{numbers}"),
        "JSON" => "TEXT JSON".to_owned(),
        "ENUM" => "TEXT ENUM".to_owned(),
        // a keyword of SQLite's
        "SET" => "TEXT `SET`".to_owned(),
        "BINARY" | "VARBINARY" => format!("BLOB {base}{numbers}"),
        "CHARACTER" | "NATIONAL" | "NCHAR" => format!("VARCHAR{numbers}"),
        "TEXT" | "TINYTEXT" | "MEDIUMTEXT" | "LONGTEXT" | "LONG" => {
            if base == "LONG" { "MEDIUMTEXT" } else { base }.to_owned()
        }
        "TINYBLOB" | "MEDIUMBLOB" | "LONGBLOB" | "BLOB" => base.to_owned(),
        "NUMERIC" | "DEC" | "FIXED" | "DECIMAL" => format!("DECIMAL{numbers}"),
        _ => format!("{base}{numbers}"),
    }
}

/// `[UNIQUE] KEY [name] (columns)` as a statement of its own; index names are per table in MySQL.
pub(super) fn index(
    cursor: &mut Cursor<'_, '_>,
    table: &str,
    if_not_exists: bool,
) -> Result<Sql, Fault> {
    let unique = cursor.eat("unique");
    cursor.eat_all(&["fulltext", "spatial"]);
    cursor.eat_all(&["key", "index"]);
    skip_using(cursor);
    let name = match cursor.peek() {
        Some(t) if t.symbol("(") => None,
        _ => Some(cursor.name()?),
    };
    skip_using(cursor);
    let columns = key_columns(cursor)?;
    let name = name.unwrap_or_else(|| columns[0].trim_matches('`'));
    Ok(Sql::plain(format!(
        "CREATE {}INDEX {}{} ON {} ({})",
        if unique { "UNIQUE " } else { "" },
        if if_not_exists { "IF NOT EXISTS " } else { "" },
        index_name(table, name),
        quoted(table),
        columns.join(", "),
    )))
}

/// The name an index of `table` has in SQLite, where index names are global.
pub(super) fn index_name(table: &str, index: &str) -> String {
    quoted(&format!("{table}.{index}"))
}

/// `(a, b(10) DESC)` without the lengths.
fn key_columns(cursor: &mut Cursor<'_, '_>) -> Result<Vec<String>, Fault> {
    if !cursor.peek().is_some_and(|t| t.symbol("(")) {
        return Err(cursor.syntax());
    }
    let mut columns = Vec::new();
    for piece in split_commas(cursor.brackets()?) {
        let mut inner = Cursor::new(piece);
        let mut text = quoted(inner.name()?);
        if inner.peek().is_some_and(|t| t.symbol("(")) {
            inner.brackets()?;
        }
        if inner.eat("desc") {
            text.push_str(" DESC");
        }
        inner.eat("asc");
        inner.end()?;
        columns.push(text);
    }
    Ok(columns)
}

fn skip_using(cursor: &mut Cursor<'_, '_>) {
    if cursor.eat("using") {
        cursor.next();
    }
}

/// A zero asks an AUTO_INCREMENT column for the next number.
fn count_from_zero(table: &str, column: &str) -> Sql {
    let trigger = quoted(&format!("{table}.{column}.on_zero"));
    let (column, of) = (quoted(column), quoted(table));
    Sql::plain(format!(
        "CREATE TRIGGER IF NOT EXISTS {trigger} AFTER INSERT ON {of} WHEN NEW.{column} = 0 AND \
         sysvar('', 'sql_mode') NOT LIKE '%NO_AUTO_VALUE_ON_ZERO%' BEGIN UPDATE {of} SET {column} \
         = (SELECT max({column}) FROM {of}) + 1 WHERE {column} = 0; END"
    ))
}

/// ON UPDATE CURRENT_TIMESTAMP.
fn touch(table: &str, column: &str) -> Sql {
    let trigger = quoted(&format!("{table}.{column}.on_update"));
    let (column, of) = (quoted(column), quoted(table));
    Sql::plain(format!(
        "CREATE TRIGGER IF NOT EXISTS {trigger} AFTER UPDATE ON {of} WHEN NEW.{column} IS \
         OLD.{column} BEGIN UPDATE {of} SET {column} = CURRENT_TIMESTAMP WHERE rowid = NEW.rowid; \
         END"
    ))
}
