//! A database file of another version: tables are brought to the columns of this one.

use rusqlite::{Connection, Result};

use crate::fault::AdminFault;
use crate::tables::{self, Schema, Table};

/// Whether a schema has a table.
pub(super) fn exists(connection: &Connection, schema: Schema, name: &str) -> Result<bool> {
    let sql = format!("SELECT 1 FROM {}.sqlite_master WHERE name = ?1", schema.name());
    connection.prepare(&sql)?.exists([name])
}

/// Makes each table anew whose columns are not those of the registry, keeping what both have.
/// Tables that the registry does not know are left alone.
pub(super) fn migrate(
    connection: &Connection,
    schema: Schema,
) -> std::result::Result<(), AdminFault> {
    for (name, table) in schema.tables() {
        if exists(connection, schema, &name)? {
            let found = columns(connection, schema, &name)?;
            if !found.iter().map(String::as_str).eq(table.columns.iter().map(|column| column.name))
            {
                rebuild(connection, schema, &name, table, &found)?;
            }
        }
    }
    Ok(())
}

fn rebuild(
    connection: &Connection,
    schema: Schema,
    name: &str,
    table: &Table,
    found: &[String],
) -> Result<()> {
    let shared: Vec<String> = table
        .columns
        .iter()
        .filter(|column| found.iter().any(|name| name == column.name))
        .map(|column| format!("\"{}\"", column.name))
        .collect();
    let (schema, shared) = (schema.name(), shared.join(", "));
    let transaction = connection.unchecked_transaction()?;
    transaction.execute(&format!("ALTER TABLE {schema}.{name} RENAME TO {name}_old"), ())?;
    transaction.execute(&tables::create(table, schema, name), ())?;
    if !shared.is_empty() {
        let copy = format!(
            "INSERT OR IGNORE INTO {schema}.{name} ({shared}) \
             SELECT {shared} FROM {schema}.{name}_old"
        );
        transaction.execute(&copy, ())?;
    }
    transaction.execute(&format!("DROP TABLE {schema}.{name}_old"), ())?;
    transaction.commit()
}

fn columns(connection: &Connection, schema: Schema, name: &str) -> Result<Vec<String>> {
    let sql = "SELECT name FROM pragma_table_info(?1, ?2)";
    connection.prepare(sql)?.query_map([name, schema.name()], |row| row.get(0))?.collect()
}
