//! SQL functions that MySQL has and SQLite has not, and those that ask about the session.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::Value;
use rusqlite::{Connection, Result};

use crate::session::SessionFacts;

type Body = fn(&SessionFacts, &Context<'_>) -> Result<Value>;

/// Registers everything for a session.
pub(crate) fn register(connection: &Connection, facts: &Arc<SessionFacts>) -> Result<()> {
    for (name, arguments, body) in FUNCTIONS {
        let facts = Arc::clone(facts);
        let flags = FunctionFlags::SQLITE_UTF8;
        connection.create_scalar_function(*name, *arguments, flags, move |context| {
            body(&facts, context)
        })?;
    }
    Ok(())
}

/// Their names, and how many arguments each takes; -1 is any number.
const FUNCTIONS: &[(&str, i32, Body)] = &[
    ("connection_id", 0, |facts, _| Ok(Value::Integer(facts.id.into()))),
    ("database", 0, schema),
    ("schema", 0, schema),
    ("user", 0, user),
    ("session_user", 0, user),
    ("current_user", 0, |facts, _| Ok(Value::Text(format!("{}@%", facts.user())))),
    ("version", 0, |facts, _| Ok(Value::Text(facts.server.version()))),
    ("last_insert_id", 0, |facts, _| Ok(Value::Integer(facts.last_insert_id.load(Relaxed)))),
    ("last_insert_id", 1, |facts, context| {
        let id = context.get(0)?;
        facts.last_insert_id.store(id, Relaxed);
        Ok(Value::Integer(id))
    }),
    ("row_count", 0, |facts, _| Ok(Value::Integer(facts.row_count.load(Relaxed)))),
    ("found_rows", 0, |facts, _| Ok(Value::Integer(facts.found_rows.load(Relaxed)))),
    ("sleep", 1, |facts, context| {
        let seconds = context.get::<f64>(0)?.clamp(0.0, SLEEP_MAX_S);
        Ok(Value::Integer(facts.sleep(Duration::from_secs_f64(seconds)).into()))
    }),
    ("now", -1, |facts, _| Ok(Value::Text(facts.now()))),
    ("sysdate", -1, |facts, _| Ok(Value::Text(facts.now()))),
    ("curdate", 0, |facts, _| Ok(Value::Text(facts.now()[..10].to_owned()))),
    ("curtime", 0, |facts, _| Ok(Value::Text(facts.now()[11..].to_owned()))),
    ("rand", -1, |_, _| Ok(Value::Real(random() as f64 / u64::MAX as f64))),
    ("repeat", 2, |_, context| {
        let (text, count) = (context.get::<Option<String>>(0)?, context.get::<i64>(1)?);
        let count = usize::try_from(count).unwrap_or(0);
        let fits = |text: &String| text.len().saturating_mul(count) <= REPEAT_BYTES_MAX;
        Ok(text.filter(fits).map_or(Value::Null, |text| Value::Text(text.repeat(count))))
    }),
    ("isnull", 1, |_, context| {
        Ok(Value::Integer((context.get::<Value>(0)? == Value::Null).into()))
    }),
    ("char_length", 1, |_, context| {
        let text = context.get::<Option<String>>(0)?;
        let count = |text: String| i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        Ok(text.map_or(Value::Null, |text| Value::Integer(count(text))))
    }),
];

fn schema(facts: &SessionFacts, _: &Context<'_>) -> Result<Value> {
    Ok(facts.schema().map_or(Value::Null, Value::Text))
}

fn user(facts: &SessionFacts, _: &Context<'_>) -> Result<Value> {
    Ok(Value::Text(format!("{}@{}", facts.user(), facts.host)))
}

/// A random number.
pub(crate) fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    // a new state has new random keys
    RandomState::new().hash_one(0_u8)
}

/// Longer results of `REPEAT` are NULL, as beyond MySQL's `max_allowed_packet`.
const REPEAT_BYTES_MAX: usize = 64 << 20;
/// Nobody waits longer for `SLEEP`.
const SLEEP_MAX_S: f64 = 3600.0;
