//! `[mysql_variables]` and `[admin_variables]`: names without prefix as in `proxysql.cnf`, or with.
//!
//! Types are judged here by the registry's kinds; ranges by the registry itself.

use std::ops::Range;

use engine::vars::{self, Effect, Family, Kind, Variable, find_in};

use super::document::{self, Document};
use super::fault::{FileFault, Severity};
use super::format::Format;
use super::mend;
use super::tree::{Entry, TreeValue};

/// Reads the variables of one family.
pub(super) fn read(document: &mut Document, family: Family, span: Range<usize>, entries: &[Entry]) {
    document.places.row(family.table(), None, span);
    for entry in entries {
        let short = entry.key.strip_prefix(family.prefix());
        let bare = |short: &str| entries.iter().any(|other| other.key == short);
        match short {
            Some(short) if document.format == Format::Cnf && bare(short) => {
                let name = format!("{}.{}", family.table(), entry.key);
                let title = format!("{name}: the name without prefix is there too, and counts");
                document.faults.push(FileFault::warning(entry.key_span.clone(), title));
            }
            _ => read_one(document, family, entry),
        }
    }
}

fn read_one(document: &mut Document, family: Family, Entry { key, key_span, item }: &Entry) {
    let table = family.table();
    let short = key.strip_prefix(family.prefix()).unwrap_or(key);
    let Some(variable) = find_in(family, short) else {
        unknown(document, family, key, key_span.clone());
        return;
    };
    let span = item.span.clone();
    if document.places.cell(table, None, short, span.clone()).is_some() {
        let title = format!("{table}.{key}: `{short}` is given twice");
        document.faults.push(FileFault::error(key_span.clone(), title));
        return;
    }
    match text_of(variable, document.format, &item.value) {
        Ok(text) => {
            let value = variable.parse(&text);
            let changed = value.as_ref().is_ok_and(|value| *value != variable.default_value());
            if changed && variable.effect == Effect::NotYet {
                let title = format!("{table}.{key}: accepted, but without effect in this version");
                document.faults.push(FileFault::note(span, title));
            }
            document.draft.variables.push((variable.full_name(), text));
        }
        Err(reason) => {
            let title = format!("{table}.{key}: {reason}");
            document.in_vain(span, &title, &mend::kept_default(variable));
        }
    }
}

/// Tells of a name that no variable of the family has.
fn unknown(document: &mut Document, family: Family, key: &str, span: Range<usize>) {
    let table = family.table();
    let short = key.strip_prefix(family.prefix()).unwrap_or(key);
    let other = match (Family::split(key), document.format) {
        (Some((other, _)), _) => Some(other).filter(|other| *other != family),
        (None, Format::Cnf) => vars::all().find(|v| v.name == key).map(|v| v.family),
        (None, Format::Toml) => None,
    };
    let reason = match other {
        Some(other) => format!("belongs under {}", document.format.shown_table(other.table())),
        None => family.unknown(short).reason,
    };
    let name = format!("{table}.{key}");
    match (document.format, document::left_out(short)) {
        (Format::Cnf, Some(why)) if other.is_none() => {
            let title = format!("{name}: {why}; left out");
            document
                .faults
                .push(FileFault { severity: Severity::LeftOut, ..FileFault::note(span, title) });
        }
        _ => {
            let near = Some(reason.as_str()).filter(|reason| *reason != "unknown variable");
            document.unknown(span, &name, "variable", near, || format!("{name}: {reason}"));
        }
    }
}

/// The value as the registry reads it, when it is written as its kind wants it. In `proxysql.cnf`
/// any scalar may be written as a text, and a text that is a number as a number.
fn text_of(variable: &Variable, format: Format, value: &TreeValue) -> Result<String, String> {
    let text = value.text().transpose()?;
    let whole = value.whole().transpose()?;
    match (variable.kind, value, text, whole) {
        (Kind::Bool, TreeValue::Bool(value), ..) => Ok(value.to_string()),
        (Kind::Bool | Kind::Int { .. }, .., Some(whole)) => Ok(whole.to_string()),
        (Kind::Bool | Kind::Int { .. }, _, Some(text), _) if format == Format::Cnf => {
            Ok(variable.parse(text.trim()).map_or(text, |value| value.to_string()))
        }
        (Kind::Int { .. }, TreeValue::Bool(value), ..) if format == Format::Cnf && !*value => {
            Ok("0".to_owned())
        }
        (Kind::Bool, ..) => Err(format!("expected true or false, found {}", value.kind())),
        (Kind::Int { .. }, ..) => {
            Err(format!("expected a number, {}, found {}", variable.allowed(), value.kind()))
        }
        (_, _, Some(text), _) => Ok(text),
        (.., Some(whole)) if format == Format::Cnf => Ok(whole.to_string()),
        (_, TreeValue::Bool(value), ..) if format == Format::Cnf => Ok(value.to_string()),
        _ => Err(format!("expected a \"text\", found {}", value.kind())),
    }
}
