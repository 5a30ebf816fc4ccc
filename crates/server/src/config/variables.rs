//! `[mysql_variables]` and `[admin_variables]`: names without prefix as in `proxysql.cnf`, or with.
//!
//! Types are judged here by the registry's kinds; ranges by the registry itself.

use std::ops::Range;

use engine::vars::{Effect, Family, Kind, Variable, find_in};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::columns::{integer, kind};
use super::document::Document;
use super::fault::Fault;

/// Reads the variables of one family.
pub(super) fn read(
    document: &mut Document,
    family: Family,
    span: Range<usize>,
    table: &DeTable<'_>,
) {
    document.places.row(family.table(), None, span);
    let mut keys: Vec<_> = table.iter().collect();
    keys.sort_by_key(|(key, _)| key.span().start);
    for (key, value) in keys {
        read_one(document, family, (key.get_ref(), key.span()), value);
    }
}

fn read_one(
    document: &mut Document,
    family: Family,
    (key, key_span): (&str, Range<usize>),
    value: &Spanned<DeValue<'_>>,
) {
    let table = family.table();
    let short = key.strip_prefix(family.prefix()).unwrap_or(key);
    let Some(variable) = find_in(family, short) else {
        let reason = match Family::split(key) {
            Some((other, _)) if other != family => format!("belongs under [{}]", other.table()),
            _ => family.unknown(short).reason,
        };
        document.faults.push(Fault::error(key_span, format!("{table}.{key}: {reason}")));
        return;
    };
    if document.places.cell(table, None, short, value.span()).is_some() {
        let title = format!("{table}.{key}: `{short}` is given twice");
        document.faults.push(Fault::error(key_span, title));
        return;
    }
    match text_of(variable, value.get_ref()) {
        Ok(text) => {
            let changed = variable.parse(&text).is_ok_and(|v| v != variable.default_value());
            if changed && variable.effect == Effect::NotYet {
                let title = format!("{table}.{key}: accepted, but without effect in this version");
                document.odd.push(Fault::warning(value.span(), title));
            }
            document.draft.variables.push((variable.full_name(), text));
        }
        Err(reason) => {
            document.faults.push(Fault::error(value.span(), format!("{table}.{key}: {reason}")));
        }
    }
}

/// The value as the registry reads it, when it is written as its kind wants it.
fn text_of(variable: &Variable, value: &DeValue<'_>) -> Result<String, String> {
    match (variable.kind, value) {
        (Kind::Bool, DeValue::Boolean(value)) => Ok(value.to_string()),
        (Kind::Bool | Kind::Int { .. }, DeValue::Integer(value)) => Ok(integer(value)?.to_string()),
        (Kind::Bool, other) => Err(format!("expected true or false, found {}", kind(other))),
        (Kind::Int { .. }, other) => {
            Err(format!("expected a number, {}, found {}", variable.allowed(), kind(other)))
        }
        (_, DeValue::String(value)) => Ok(value.to_string()),
        (_, other) => Err(format!("expected a \"text\", found {}", kind(other))),
    }
}
