//! Executes the cases of the driver suite with the Rust `mysql` crate; see `drivers/README.md`.
//! It prints what the driver gives and judges nothing.
#![forbid(unsafe_code)]

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use mysql::prelude::{Protocol, Queryable};
use mysql::{
    Column, Conn, LocalInfileHandler, Opts, OptsBuilder, Params, QueryResult, SslOpts, Value,
};
use serde_json::{Value as Json, json};

fn env(name: &str) -> String {
    std::env::var(format!("LIVE_{name}")).unwrap_or_default()
}

fn hash(data: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    data.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn shown(value: &Value) -> String {
    match value {
        Value::Bytes(data) if data.len() > 64 => format!("bytes {} {}", data.len(), hash(data)),
        Value::Bytes(data) => format!("bytes {:?}", String::from_utf8_lossy(data)),
        other => format!("{other:?}"),
    }
}

fn options(user: &str, password: &str, schema: &str, found_rows: bool) -> Opts {
    let flags = if found_rows {
        mysql::consts::CapabilityFlags::CLIENT_FOUND_ROWS
    } else {
        mysql::consts::CapabilityFlags::empty()
    };
    // the crate verifies unless it is told not to; `drivers/rust` builds this with TLS
    let authorities = Some(env("CA")).filter(|path| !path.is_empty()).map(PathBuf::from);
    let tls = authorities.map(|path| SslOpts::default().with_root_cert_path(Some(path)));
    OptsBuilder::new()
        .ip_or_hostname(Some(env("HOST")))
        .tcp_port(env("PORT").parse().unwrap_or_default())
        .user(Some(user))
        .pass(Some(password))
        .db_name((!schema.is_empty()).then_some(schema))
        .prefer_socket(false)
        .max_allowed_packet(Some(1 << 30))
        .additional_capabilities(flags)
        .ssl_opts(tls)
        .compress((!env("COMPRESS").is_empty()).then(mysql::Compression::default))
        .local_infile_handler(Some(LocalInfileHandler::new(|name, writer| {
            let text = std::fs::read(String::from_utf8_lossy(name).as_ref())?;
            writer.write_all(&text)
        })))
        .into()
}

fn connect(found_rows: bool) -> mysql::Result<Conn> {
    Conn::new(options(&env("USER"), &env("PASSWORD"), &env("DB"), found_rows))
}

fn failure(error: &mysql::Error) -> Json {
    match error {
        mysql::Error::MySqlError(error) => {
            json!(["error", error.code, error.state, error.message])
        }
        other => json!(["the driver", other.to_string()]),
    }
}

fn described(column: &Column) -> Json {
    json!([
        column.name_str(),
        format!("{:?}", column.column_type()),
        column.column_length(),
        column.character_set(),
        format!("{:?}", column.flags()),
        column.decimals(),
        column.table_str(),
        column.org_name_str(),
        column.schema_str(),
    ])
}

/// Every result of a statement, until one is refused.
fn results<P: Protocol>(mut result: QueryResult<'_, '_, '_, P>) -> Json {
    let mut list = Vec::new();
    while let Some(mut set) = result.iter() {
        let columns: Vec<Json> = set.columns().as_ref().iter().map(described).collect();
        let outcome = json!({
            "columns": columns, "affected": set.affected_rows(), "id": set.last_insert_id(),
            "warnings": set.warnings(), "info": set.info_str(),
        });
        let mut rows: Vec<Json> = set
            .by_ref()
            .map(|row| match row {
                Ok(row) => row.unwrap().iter().map(shown).collect(),
                Err(error) => failure(&error),
            })
            .collect();
        if rows.len() > 40 {
            rows = vec![json!(rows.len()), json!(hash(json!(rows).to_string().as_bytes()))];
        }
        list.push(json!([outcome, rows]));
    }
    Json::Array(list)
}

fn text(conn: &mut Conn, text: &str) -> mysql::Result<Json> {
    Ok(results(conn.query_iter(text)?))
}

fn parameter(value: &Json) -> Value {
    match value {
        Json::Null => Value::NULL,
        Json::String(text) => Value::Bytes(text.clone().into_bytes()),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::Int(whole),
            None => Value::Double(number.as_f64().unwrap_or_default()),
        },
        other => {
            let text = other["hex"].as_str().unwrap_or_default();
            let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap_or_default();
            Value::Bytes((0..text.len()).step_by(2).map(byte).collect())
        }
    }
}

fn prepared(conn: &mut Conn, text: &str, rows: Vec<Vec<Value>>) -> mysql::Result<Json> {
    let statement = conn.prep(text)?;
    let mut list = Vec::new();
    for row in rows {
        let row = if row.is_empty() { Params::Empty } else { Params::Positional(row) };
        match conn.exec_iter(&statement, row) {
            Ok(result) => list.push(results(result)),
            Err(error) => {
                list.push(failure(&error));
                break;
            }
        }
    }
    conn.close(statement)?;
    Ok(Json::Array(list))
}

fn rows_of(step: &Json) -> Vec<Vec<Value>> {
    let rows = step["rows"].as_array().into_iter().flatten();
    rows.map(|row| row.as_array().into_iter().flatten().map(parameter).collect()).collect()
}

fn content(size: usize) -> Vec<u8> {
    (0..size).map(|i| i % 65521).map(|j| ((j * 7 + j / 251) % 256) as u8).collect()
}

fn big(conn: &mut Conn) -> mysql::Result<Json> {
    let size = env("BIG").parse().unwrap_or_default();
    let value = vec![vec![Value::Bytes(content(size))]];
    let inserted = prepared(conn, "INSERT INTO big VALUES (1, ?)", value)?;
    let digits: String = content(size / 2).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(json!([
        inserted,
        text(conn, &format!("INSERT INTO big VALUES (2, x'{digits}')"))?,
        text(conn, "SELECT id, LENGTH(v), SHA2(v, 256) FROM big ORDER BY id")?,
        text(conn, "SELECT v FROM big ORDER BY id")?,
        prepared(conn, "SELECT v FROM big WHERE id = ?", vec![vec![Value::Int(1)]])?,
    ]))
}

fn infile(conn: &mut Conn, lines: u64) -> Result<Json> {
    let path = format!("{}/load-{lines}.csv", env("TMP"));
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path)?);
    for i in 0..lines {
        writeln!(file, "{i}\tline {i} ☃😀")?;
    }
    drop(file);
    Ok(text(conn, &format!("LOAD DATA LOCAL INFILE '{path}' INTO TABLE loaded"))?)
}

/// Takes one step, whose first key in alphabetical order says what it is.
fn step(conn: &mut Conn, other: &mut Option<Conn>, step: &Json) -> Result<Json> {
    let (kind, argument) = step.as_object().and_then(|step| step.iter().next()).context("step")?;
    let words = argument.as_str().unwrap_or_default();
    Ok(match kind.as_str() {
        "sql" => text(conn, words)?,
        "prep" | "batch" => prepared(conn, words, rows_of(step))?,
        "cursor" => prepared(conn, words, vec![Vec::new()])?,
        "tx" => text(conn, words)?,
        "autocommit" => text(conn, &format!("SET autocommit = {argument}"))?,
        "other" => {
            if other.is_none() {
                *other = Some(connect(false)?);
            }
            text(other.as_mut().context("connected")?, words)?
        }
        "ping" => json!(conn.ping().is_ok()),
        "reset" => {
            conn.reset()?;
            json!("reset")
        }
        "connect" => {
            let word = |name: &str| argument[name].as_str().unwrap_or_default();
            Conn::new(options(word("user"), word("password"), word("db"), false))?;
            json!("done")
        }
        "big" => big(conn)?,
        "infile" => infile(conn, argument.as_u64().unwrap_or_default())?,
        _ => bail!("unknown step {kind}"),
    })
}

fn main() -> Result<()> {
    let cases: Vec<Json> = serde_json::from_slice(&std::fs::read(env("CASES"))?)?;
    for case in &cases {
        if case["flavour"].as_str().is_some_and(|flavour| flavour != env("FLAVOUR")) {
            continue;
        }
        let mut conn = connect(case["options"]["found_rows"] == true)?;
        let mut other = None;
        for (number, one) in case["steps"].as_array().into_iter().flatten().enumerate() {
            let kind = one.as_object().and_then(|one| one.keys().next());
            let result = step(&mut conn, &mut other, one).unwrap_or_else(|error| match error
                .downcast_ref::<mysql::Error>(
            ) {
                Some(error) => failure(error),
                None => json!(["the program", error.to_string()]),
            });
            println!("{}", json!([case["name"], number, kind, result]));
        }
    }
    Ok(())
}
