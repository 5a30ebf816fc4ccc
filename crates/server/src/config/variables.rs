//! `[mysql_variables]` and `[admin_variables]`: names without prefix as in `proxysql.cnf`, or with.
//!
//! Types are judged here by the registry's kinds; ranges by the registry itself.

use std::ops::Range;

use engine::vars::{Effect, Family, Kind, Variable, find_in};

use super::document::Document;
use super::fault::Fault;
use super::format::Format;
use super::tree::{Entry, Value};

/// Reads the variables of one family.
pub(super) fn read(document: &mut Document, family: Family, span: Range<usize>, entries: &[Entry]) {
    document.places.row(family.table(), None, span);
    entries.iter().for_each(|entry| read_one(document, family, entry));
}

fn read_one(document: &mut Document, family: Family, Entry { key, key_span, item }: &Entry) {
    let table = family.table();
    let short = key.strip_prefix(family.prefix()).unwrap_or(key);
    let Some(variable) = find_in(family, short) else {
        let reason = match Family::split(key) {
            Some((other, _)) if other != family => {
                format!("belongs under {}", document.format.shown_table(other.table()))
            }
            _ => family.unknown(short).reason,
        };
        document.faults.push(Fault::unknown(key_span.clone(), format!("{table}.{key}: {reason}")));
        return;
    };
    let span = item.span.clone();
    if document.places.cell(table, None, short, span.clone()).is_some() {
        let title = format!("{table}.{key}: `{short}` is given twice");
        document.faults.push(Fault::error(key_span.clone(), title));
        return;
    }
    match text_of(variable, document.format, &item.value) {
        Ok(text) => {
            let changed = variable.parse(&text).is_ok_and(|v| v != variable.default_value());
            if changed && variable.effect == Effect::NotYet {
                let title = format!("{table}.{key}: accepted, but without effect in this version");
                document.faults.push(Fault::warning(span, title));
            }
            document.draft.variables.push((variable.full_name(), text));
        }
        Err(reason) => {
            document.faults.push(Fault::error(span, format!("{table}.{key}: {reason}")));
        }
    }
}

/// The value as the registry reads it, when it is written as its kind wants it. In `proxysql.cnf`
/// any scalar may be written as a text, and a text that is a number as a number.
fn text_of(variable: &Variable, format: Format, value: &Value) -> Result<String, String> {
    let text = value.text().transpose()?;
    let whole = value.whole().transpose()?;
    match (variable.kind, value, text, whole) {
        (Kind::Bool, Value::Bool(value), ..) => Ok(value.to_string()),
        (Kind::Bool | Kind::Int { .. }, .., Some(whole)) => Ok(whole.to_string()),
        (Kind::Bool | Kind::Int { .. }, _, Some(text), _) if format == Format::Cnf => {
            Ok(variable.parse(text.trim()).map_or(text, |value| value.to_string()))
        }
        (Kind::Bool, ..) => Err(format!("expected true or false, found {}", value.kind())),
        (Kind::Int { .. }, ..) => {
            Err(format!("expected a number, {}, found {}", variable.allowed(), value.kind()))
        }
        (_, _, Some(text), _) => Ok(text),
        (.., Some(whole)) if format == Format::Cnf => Ok(whole.to_string()),
        _ => Err(format!("expected a \"text\", found {}", value.kind())),
    }
}
