//! Routes that run a script: parameters to JSON, JSON to an answer, as the rows of
//! `restapi_routes` say.

use std::time::Duration;

use engine::rows::RestapiRouteRow;
use hyper::StatusCode;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use crate::program::{Finished, Program, ProgramEnd, ProgramKind};

/// An answer: JSON that is whole already.
pub(crate) type JsonAnswer = (StatusCode, String);

/// What a client gave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Given<'a> {
    /// The query of the address.
    Query(&'a str),
    /// A body.
    Body(&'a [u8]),
}

/// The route of a request, or the answer that there is none.
pub(crate) fn find<'a>(
    rows: &'a [RestapiRouteRow],
    method: &str,
    uri: &str,
) -> Result<&'a RestapiRouteRow, JsonAnswer> {
    let is_it = |row: &&RestapiRouteRow| {
        row.active != 0 && row.method.eq_ignore_ascii_case(method) && row.uri == uri
    };
    rows.iter().find(is_it).ok_or_else(|| {
        let error = format!(
            "The script for method [{method}] and route [/sync/{uri}] was not found. \
             Rows count returned [0]"
        );
        (StatusCode::BAD_REQUEST, json!({ "error": error }).to_string())
    })
}

/// Runs the script of a route.
pub(crate) async fn answer(
    row: &RestapiRouteRow,
    given: Given<'_>,
    stop: watch::Receiver<bool>,
) -> JsonAnswer {
    let parameters = match parameters(given) {
        Ok(parameters) => parameters,
        Err(error) => {
            let body = json!({ "type": "in", "error": error });
            return (StatusCode::BAD_REQUEST, body.to_string());
        }
    };
    let (filename, args, environment) = (row.script.clone(), vec![parameters], Vec::new());
    let program = Program { filename, args, environment, kind: ProgramKind::Asked };
    let limit = Duration::from_millis(u64::try_from(row.timeout_ms).unwrap_or(0));
    outcome(program.run(Some(limit), stop).await)
}

/// The parameters as one JSON object.
fn parameters(given: Given<'_>) -> Result<String, String> {
    let body = match given {
        Given::Query(query) => return Ok(Value::Object(pairs(query)).to_string()),
        Given::Body(body) => body,
    };
    if body.is_empty() {
        return Err("Empty parameters".to_owned());
    }
    let refused = |why: String| format!("Error parsing input JSON parameters - {why}");
    match serde_json::from_slice(body) {
        Ok(Value::Object(object)) => Ok(Value::Object(object).to_string()),
        Ok(_) => Err(refused("no object".to_owned())),
        Err(error) => Err(refused(error.to_string())),
    }
}

fn outcome(finished: Finished) -> JsonAnswer {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let failed = |code: i32, stderr: &str| {
        let body = json!({
            "type": "out",
            "error": "Script failed to be executed",
            "error_code": code.to_string(),
            "script_stdout": text(&finished.stdout),
            "script_stderr": stderr,
        });
        (StatusCode::FAILED_DEPENDENCY, body.to_string())
    };
    let stderr = text(&finished.stderr);
    match finished.end {
        ProgramEnd::Exited(status) if status.success() => {
            match serde_json::from_slice::<Value>(&finished.stdout) {
                Ok(_) => (StatusCode::OK, text(&finished.stdout)),
                Err(_) => failed(1, &stderr),
            }
        }
        ProgramEnd::Exited(status) => failed(status.code().unwrap_or(1), &stderr),
        ProgramEnd::NotStarted(ref error) => {
            failed(error.raw_os_error().unwrap_or(1), &error.to_string())
        }
        ProgramEnd::TimedOut => {
            let error = "Script execution timed out";
            let body = json!({ "type": "out", "error": error, "error_code": "62" });
            (StatusCode::FAILED_DEPENDENCY, body.to_string())
        }
        ProgramEnd::Stopped => {
            let body = json!({ "type": "out", "error": "the process ends" });
            (StatusCode::SERVICE_UNAVAILABLE, body.to_string())
        }
    }
}

/// What an address says after its `?`; of a name that comes twice the last.
fn pairs(query: &str) -> Map<String, Value> {
    let pairs = form_urlencoded::parse(query.as_bytes());
    pairs.map(|(name, value)| (name.into_owned(), Value::String(value.into_owned()))).collect()
}

#[cfg(test)]
mod tests;
