//! SQL functions that MySQL has and SQLite has not, and those that ask about the session.
//!
//! Registered on every database connection; the session's facts lie in a slot that is filled for
//! the length of a statement.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, Result};

use crate::facts::Facts;
use crate::types;

/// Where a connection finds the facts of the session it works for.
pub(crate) type Slot = Arc<Mutex<Option<Facts>>>;

type Body = fn(&Facts, &Context<'_>) -> Result<Value>;

/// Registers everything.
pub(crate) fn register(connection: &Connection, slot: &Slot) -> Result<()> {
    for (name, arguments, body) in SESSION {
        let slot = Arc::clone(slot);
        connection.create_scalar_function(
            *name,
            *arguments,
            FunctionFlags::SQLITE_UTF8,
            move |context| {
                let facts = slot.lock().unwrap_or_else(PoisonError::into_inner);
                let facts = facts.as_ref().ok_or(Error::InvalidQuery)?;
                body(facts, context)
            },
        )?;
    }
    let facts = Arc::clone(slot);
    let flags = FunctionFlags::SQLITE_UTF8;
    connection.create_scalar_function("last_insert_id", 1, flags, move |context| {
        let value: i64 = context.get(0)?;
        if let Some(facts) = facts.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            facts.last_insert_id = u64::try_from(value).unwrap_or(0);
        }
        Ok(value)
    })?;
    for (name, arguments, body) in PURE {
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
        connection.create_scalar_function(*name, *arguments, flags, *body)?;
    }
    Ok(())
}

/// Functions of the session; -1 takes any number of arguments.
const SESSION: &[(&str, i32, Body)] = &[
    ("connection_id", 0, |facts, _| Ok(Value::Integer(facts.connection_id.into()))),
    ("database", 0, |facts, _| Ok(text_or_null(facts.schema.as_deref()))),
    ("schema", 0, |facts, _| Ok(text_or_null(facts.schema.as_deref()))),
    ("user", 0, user),
    ("session_user", 0, user),
    ("system_user", 0, user),
    ("current_user", 0, |facts, _| Ok(Value::Text(format!("{}@%", facts.user)))),
    ("version", 0, |facts, _| facts.variable("version", false).map_err(user_error)),
    ("last_insert_id", 0, |facts, _| {
        Ok(Value::Integer(i64::try_from(facts.last_insert_id).unwrap_or(i64::MAX)))
    }),
    ("row_count", 0, |facts, _| Ok(Value::Integer(facts.row_count))),
    ("found_rows", 0, |facts, _| {
        Ok(Value::Integer(i64::try_from(facts.found_rows).unwrap_or(i64::MAX)))
    }),
    ("uservar", 1, |facts, context| {
        let name: String = context.get(0)?;
        Ok(facts.user_variables.get(&name).cloned().unwrap_or(Value::Null))
    }),
    ("sysvar", 2, |facts, context| {
        let (scope, name): (String, String) = (context.get(0)?, context.get(1)?);
        facts.variable(&name, scope == "global").map_err(user_error)
    }),
    ("session_variables", 0, |facts, _| Ok(Value::Text(facts.variables_json(false)))),
    ("global_variables", 0, |facts, _| Ok(Value::Text(facts.variables_json(true)))),
    ("status_variables", 0, |facts, _| Ok(Value::Text(facts.status_json()))),
    ("warnings", 0, |facts, _| Ok(Value::Text(facts.warnings_json()))),
    ("processlist", 0, |facts, _| Ok(Value::Text(facts.process_list.clone()))),
    ("own_schema", 0, |facts, _| Ok(Value::Text(facts.server.schema.clone()))),
    ("now", -1, |facts, _| Ok(Value::Text(civil(facts.unix_seconds)))),
    ("sysdate", -1, |facts, _| Ok(Value::Text(civil(facts.unix_seconds)))),
    ("utc_timestamp", -1, |facts, _| Ok(Value::Text(civil(facts.unix_seconds)))),
    ("curdate", 0, |facts, _| Ok(Value::Text(civil(facts.unix_seconds)[..10].to_owned()))),
    ("curtime", -1, |facts, _| Ok(Value::Text(civil(facts.unix_seconds)[11..].to_owned()))),
    ("rand", -1, |_, _| {
        // a new state has new random keys
        let bits = RandomState::new().hash_one(0_u8) >> 11;
        Ok(Value::Real(bits as f64 / (1_u64 << 53) as f64))
    }),
    ("unix_timestamp", 0, |facts, _| Ok(Value::Integer(facts.unix_seconds))),
];

type PureBody = fn(&Context<'_>) -> Result<Value>;

/// Longer results of REPEAT are NULL, as beyond MySQL's max_allowed_packet.
const REPEAT_MAX_BYTES: usize = 64 << 20;

/// Functions of their arguments alone.
const PURE: &[(&str, i32, PureBody)] = &[
    ("column_type", 1, |context| {
        let declaration: String = context.get(0)?;
        Ok(Value::Text(types::shown(&declaration)))
    }),
    ("table_definition", 2, |context| {
        let (definition, indexes): (String, Option<String>) = (context.get(0)?, context.get(1)?);
        Ok(Value::Text(types::definition_shown(&definition, &indexes.unwrap_or_default())))
    }),
    ("concat", -1, |context| {
        let mut whole = String::new();
        for index in 0..context.len() {
            match as_text(context.get_raw(index)) {
                Some(text) => whole.push_str(&text),
                None => return Ok(Value::Null),
            }
        }
        Ok(Value::Text(whole))
    }),
    ("left", 2, |context| {
        let (Some(text), count) = (as_text(context.get_raw(0)), context.get::<i64>(1)?) else {
            return Ok(Value::Null);
        };
        let count = usize::try_from(count).unwrap_or(0);
        Ok(Value::Text(text.chars().take(count).collect()))
    }),
    ("right", 2, |context| {
        let (Some(text), count) = (as_text(context.get_raw(0)), context.get::<i64>(1)?) else {
            return Ok(Value::Null);
        };
        let count = usize::try_from(count).unwrap_or(0);
        let skip = text.chars().count().saturating_sub(count);
        Ok(Value::Text(text.chars().skip(skip).collect()))
    }),
    ("length", 1, |context| {
        Ok(match context.get_raw(0) {
            ValueRef::Null => Value::Null,
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => length(bytes.len()),
            other => length(as_text(other).unwrap_or_default().len()),
        })
    }),
    ("char_length", 1, characters),
    ("character_length", 1, characters),
    ("repeat", 2, |context| {
        let (Some(text), count) = (as_text(context.get_raw(0)), context.get::<i64>(1)?) else {
            return Ok(Value::Null);
        };
        let count = usize::try_from(count).unwrap_or(0);
        if text.len().saturating_mul(count) > REPEAT_MAX_BYTES {
            return Ok(Value::Null);
        }
        Ok(Value::Text(text.repeat(count)))
    }),
    ("isnull", 1, |context| Ok(Value::Integer(i64::from(context.get_raw(0) == ValueRef::Null)))),
    ("like", 2, |context| {
        let (pattern, text) = (as_text(context.get_raw(0)), as_text(context.get_raw(1)));
        Ok(match (pattern, text) {
            (Some(pattern), Some(text)) => Value::Integer(i64::from(like(&pattern, &text))),
            _ => Value::Null,
        })
    }),
    ("floor", 1, |context| rounded(context, f64::floor)),
    ("ceil", 1, |context| rounded(context, f64::ceil)),
    ("ceiling", 1, |context| rounded(context, f64::ceil)),
    ("unix_timestamp", 1, |context| {
        let moment = as_text(context.get_raw(0)).and_then(|text| types::parse_datetime(&text));
        Ok(moment.map_or(Value::Integer(0), |moment| Value::Integer(seconds(&moment))))
    }),
    ("from_unixtime", 1, |context| Ok(Value::Text(civil(context.get(0)?)))),
];

fn user(facts: &Facts, _: &Context<'_>) -> Result<Value> {
    Ok(Value::Text(format!("{}@{}", facts.user, facts.host)))
}

fn rounded(context: &Context<'_>, round: fn(f64) -> f64) -> Result<Value> {
    Ok(match context.get_raw(0) {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        other => {
            let number = as_text(other).and_then(|text| text.trim().parse::<f64>().ok());
            Value::Integer(round(number.unwrap_or(0.0)) as i64)
        }
    })
}

fn characters(context: &Context<'_>) -> Result<Value> {
    Ok(as_text(context.get_raw(0)).map_or(Value::Null, |text| length(text.chars().count())))
}

fn length(count: usize) -> Value {
    Value::Integer(i64::try_from(count).unwrap_or(i64::MAX))
}

fn text_or_null(text: Option<&str>) -> Value {
    text.map_or(Value::Null, |text| Value::Text(text.to_owned()))
}

fn user_error(fault: crate::fault::Fault) -> Error {
    Error::UserFunctionError(Box::new(Raised(fault)))
}

/// A fault on its way through SQLite.
#[derive(Debug)]
struct Raised(crate::fault::Fault);

impl std::fmt::Display for Raised {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Raised {}

fn as_text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}

/// LIKE with `%`, `_` and the backslash, letter case aside.
fn like(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().flat_map(char::to_lowercase).collect();
    let text: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        let literal = match pattern.get(p) {
            Some('%') => {
                star = Some((p + 1, t));
                p += 1;
                continue;
            }
            Some('\\') if p + 1 < pattern.len() => Some((pattern[p + 1], 2)),
            Some(other) => Some((*other, 1)),
            None => None,
        };
        let here = text.get(t);
        let matched = match (literal, here) {
            (Some(('_', 1)), Some(_)) => Some(1),
            (Some((wanted, width)), Some(found)) if wanted == *found => Some(width),
            (None, None) => return true,
            _ => None,
        };
        match (matched, star) {
            (Some(width), _) => (p, t) = (p + width, t + 1),
            (None, Some((after, from))) if from < text.len() => {
                (p, t) = (after, from + 1);
                star = Some((after, from + 1));
            }
            _ => return false,
        }
    }
}

/// `YYYY-MM-DD HH:MM:SS` in UTC.
fn civil(unix_seconds: i64) -> String {
    let (days, rest) = (unix_seconds.div_euclid(86_400), unix_seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// Seconds since 1970 of a moment in UTC.
fn seconds(moment: &wire::value::DateTime) -> i64 {
    let (month, day) = (i64::from(moment.month), i64::from(moment.day));
    let year = i64::from(moment.year) - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let shifted_month = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    days * 86_400
        + i64::from(moment.hour) * 3600
        + i64::from(moment.minute) * 60
        + i64::from(moment.second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_knows_wildcards_and_the_backslash() {
        assert!(like("Read\\_only", "read_only"));
        assert!(!like("read\\_only", "readXonly"));
        assert!(like("%set%", "character_set_client"));
        assert!(like("a_c%", "abc"));
        assert!(!like("a_c", "ac"));
        assert!(like("%", ""));
    }

    #[test]
    fn moments_are_counted_from_1970_and_back() {
        assert_eq!(civil(0), "1970-01-01 00:00:00");
        assert_eq!(civil(1_709_251_199), "2024-02-29 23:59:59");
        let moment = types::parse_datetime("2024-02-29 23:59:59").unwrap();
        assert_eq!(seconds(&moment), 1_709_251_199);
    }
}
