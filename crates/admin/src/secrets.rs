//! Which values are passwords, by the marks of the registries, and what is shown in their place.

use engine::vars;
use rusqlite::types::Value;

use crate::rows::as_text;
use crate::statistics::Row;
use crate::tables;

/// Whether a column of a row holds a secret; `key` is the row's, and names the variable in
/// `global_variables`.
pub(crate) fn is_secret(table: &str, key: &str, column: &str) -> bool {
    if table == "global_variables" {
        let variable = vars::find(&key.to_ascii_lowercase());
        return column == "variable_value" && variable.is_some_and(|variable| variable.secret);
    }
    let found = tables::find(table).and_then(|table| table.columns.get(table.position(column)?));
    found.is_some_and(|column| column.secret)
}

/// Puts [`CONCEALED`] in the place of every secret in rows of the table `name`.
pub(crate) fn conceal(name: &str, rows: &mut [Row]) {
    let Some(table) = tables::find(name.strip_prefix("runtime_").unwrap_or(name)) else { return };
    for row in rows {
        let key = row.first().map(as_text).unwrap_or_default();
        for (at, column) in table.columns.iter().enumerate() {
            if is_secret(table.name, &key, column.name)
                && let Some(value) = row.get_mut(at)
            {
                *value = Value::Text(CONCEALED.to_owned());
            }
        }
    }
}

/// What is shown in place of a secret, whether there is one or not.
pub(crate) const CONCEALED: &str = "********";
