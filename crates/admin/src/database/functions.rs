//! Functions that MySQL or ProxySQL have and SQLite has not.

use std::fs::File;
use std::io::Read;
use std::sync::{Arc, Mutex};

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::Value;
use rusqlite::{Connection, Result};
use wire::auth::{native, nonce_of, sha2};

use super::lock;

/// What functions tell of the session that runs a statement.
#[derive(Clone, Default, Debug)]
pub(crate) struct FunctionFacts {
    /// Number of the connection.
    pub(crate) connection_id: u32,
    /// Name of the account.
    pub(crate) user: String,
    /// The schema that a client believes to be in.
    pub(crate) schema: String,
    /// Version of the product.
    pub(crate) version: String,
}

/// What a function without arguments tells.
type Told = fn(&FunctionFacts) -> Value;

/// Random bytes of the system.
pub(crate) fn random<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Makes all of them known to a connection.
pub(super) fn register(connection: &Connection, facts: &Arc<Mutex<FunctionFacts>>) -> Result<()> {
    let (any, fixed) = (FunctionFlags::SQLITE_UTF8, FunctionFlags::SQLITE_DETERMINISTIC);
    let told: [(&str, Told); 6] = [
        ("database", |facts| Value::Text(facts.schema.clone())),
        ("schema", |facts| Value::Text(facts.schema.clone())),
        ("user", |facts| Value::Text(facts.user.clone())),
        ("current_user", |facts| Value::Text(facts.user.clone())),
        ("version", |facts| Value::Text(facts.version.clone())),
        ("connection_id", |facts| Value::Integer(facts.connection_id.into())),
    ];
    for (name, tell) in told {
        let facts = Arc::clone(facts);
        connection.create_scalar_function(name, 0, any, move |_| Ok(tell(&lock(&facts))))?;
    }
    for name in ["now", "utc_timestamp"] {
        connection.create_scalar_function(name, 0, any, |context| at_unix(context, None))?;
    }
    connection.create_scalar_function("from_unixtime", 0, any, |context| at_unix(context, None))?;
    connection.create_scalar_function("from_unixtime", 1, any, |context| {
        at_unix(context, Some(context.get(0)?))
    })?;
    // both of its usual arguments are of UTC
    connection.create_scalar_function("timediff", 2, any, |_| Ok("00:00:00"))?;
    connection.create_scalar_function("MYSQL_NATIVE_PASSWORD", -1, any | fixed, native_password)?;
    connection.create_scalar_function("CACHING_SHA2_PASSWORD", -1, any, sha2_password)
}

/// A moment as text, from seconds since 1970; now without them.
fn at_unix(_: &Context<'_>, seconds: Option<i64>) -> Result<String> {
    let seconds = seconds.unwrap_or_else(crate::clock::unix_seconds);
    Ok(crate::clock::calendar(seconds))
}

fn native_password(context: &Context<'_>) -> Result<Value> {
    Ok(Value::Text(match argument(context, 0) {
        _ if context.len() != 1 => ARGUMENTS.to_owned(),
        None => TYPE.to_owned(),
        Some(password) => native::to_stored(&native::double_sha1(&password)),
    }))
}

fn sha2_password(context: &Context<'_>) -> Result<Value> {
    let made = match (context.len(), argument(context, 0), argument(context, 1)) {
        (1 | 2, None, _) | (2, _, None) => Err(TYPE),
        (1, Some(password), _) => random()
            .map_err(|_| TYPE)
            .map(|bytes| sha2::make_stored_hash(&password, &nonce_of(bytes))),
        (2, Some(password), Some(salt)) => match <[u8; 20]>::try_from(salt.as_slice()) {
            Ok(salt) => Ok(sha2::make_stored_hash(&password, &salt)),
            Err(_) => Err(SIZE),
        },
        _ => Err(ARGUMENTS),
    };
    Ok(match made {
        Err(told) => Value::Text(told.to_owned()),
        Ok(bytes) => String::from_utf8(bytes)
            .map_or_else(|error| Value::Blob(error.into_bytes()), Value::Text),
    })
}

/// A text argument.
fn argument(context: &Context<'_>, at: usize) -> Option<Vec<u8>> {
    if at >= context.len() {
        return None;
    }
    context.get_raw(at).as_bytes().ok().map(<[u8]>::to_vec)
}

/// What ProxySQL's functions answer to a wrong call, instead of an error.
const ARGUMENTS: &str = "Invalid number of arguments";
const TYPE: &str = "Invalid argument type";
const SIZE: &str = "Invalid argument size";
