//! Query logs: lines of JSON, MySQL's and MariaDB's general log and slow log.
//!
//! Every format ends as [`LoggedQuery`]s; what is no query is skipped.

use std::collections::HashMap;

use serde_json::Value;

/// One query of a log.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct LoggedQuery {
    /// Client's user name; empty when the log does not say.
    pub(crate) username: String,
    /// Session's schema; empty when the log does not say.
    pub(crate) schemaname: String,
    /// Client's address without port; empty when the log does not say.
    pub(crate) client_addr: String,
    /// The statement.
    pub(crate) query: String,
    /// How often it came.
    pub(crate) count: u64,
}

/// Reads a log of any of the formats, told by its beginning.
pub(crate) fn read(text: &str) -> Result<Vec<LoggedQuery>, String> {
    if text.trim_start().starts_with('{') {
        text.lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
            .map(|(at, line)| from_json(line).map_err(|why| format!("line {}: {why}", at + 1)))
            .collect()
    } else if text.contains("# User@Host:") {
        Ok(from_slow_log(text))
    } else {
        Ok(from_general_log(text))
    }
}

/// `{"user": …, "schema": …, "client": …, "query": …, "count": …}`; the names of ProxySQL's query
/// log are understood too.
fn from_json(line: &str) -> Result<LoggedQuery, String> {
    let object: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let text = |names: [&str; 2]| {
        let found = names.into_iter().find_map(|name| object.get(name)?.as_str());
        found.unwrap_or_default().to_owned()
    };
    let query = text(["query", "sql"]);
    if query.is_empty() {
        return Err("there is no `query`".to_owned());
    }
    let client = text(["client", "client_addr"]);
    let without_port = match client.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') && port.parse::<u16>().is_ok() => host,
        _ => &client,
    };
    Ok(LoggedQuery {
        username: text(["user", "username"]),
        schemaname: text(["schema", "schemaname"]),
        client_addr: without_port.to_owned(),
        query,
        count: object.get("count").and_then(Value::as_u64).unwrap_or(1),
    })
}

/// Lines of time, connection, command and argument; what does not begin so continues a statement.
fn from_general_log(text: &str) -> Vec<LoggedQuery> {
    let mut sessions: HashMap<u64, LoggedQuery> = HashMap::new();
    let mut queries: Vec<LoggedQuery> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        let Some((id, command, argument)) = general_entry(line) else {
            if is_open && let Some(query) = queries.last_mut() {
                query.query.push('\n');
                query.query.push_str(line);
            }
            continue;
        };
        is_open = false;
        let session = sessions.entry(id).or_default();
        match command {
            "Connect" => {
                let mut words = argument.split_whitespace();
                let (user, host) =
                    words.next().and_then(|account| account.split_once('@')).unwrap_or_default();
                session.username = user.to_owned();
                session.client_addr = host.to_owned();
                let schema = words.skip_while(|word| *word != "on").nth(1);
                session.schemaname =
                    schema.filter(|word| *word != "using").unwrap_or_default().to_owned();
            }
            "Init DB" => session.schemaname = argument.trim().to_owned(),
            "Query" | "Execute" => {
                let query = LoggedQuery { query: argument.to_owned(), count: 1, ..session.clone() };
                queries.push(query);
                is_open = true;
            }
            _ => {}
        }
    }
    queries
}

/// Connection, command and argument of a line; the time in front is in many forms.
fn general_entry(line: &str) -> Option<(u64, &str, &str)> {
    for command in ["Connect", "Init DB", "Query", "Execute", "Prepare", "Quit", "Close stmt"] {
        let mark = format!(" {command}");
        let Some((before, after)) = line.split_once(&mark) else { continue };
        let id = before.split_whitespace().last()?.parse().ok();
        let is_argument = after.is_empty() || after.starts_with(['\t', ' ']);
        if let Some(id) = id.filter(|_| is_argument && is_time(before)) {
            return Some((id, command, after.get(1..).unwrap_or_default()));
        }
    }
    None
}

/// Whether a line's beginning is a connection with or without a time in front.
fn is_time(before: &str) -> bool {
    before.chars().all(|sign| sign.is_ascii_digit() || " \t:-.TZ+".contains(sign))
}

/// Entries of lines that begin with `#`, and statements that end with a semicolon.
fn from_slow_log(text: &str) -> Vec<LoggedQuery> {
    let mut queries: Vec<LoggedQuery> = Vec::new();
    let mut entry = LoggedQuery { count: 1, ..LoggedQuery::default() };
    for line in text.lines() {
        if let Some(account) = line.strip_prefix("# User@Host:") {
            push(&mut queries, &mut entry);
            let user = account.split(['[', '@']).next().unwrap_or_default();
            entry.username = user.trim().to_owned();
            let address = account.rsplit_once('[').and_then(|(_, rest)| rest.split(']').next());
            entry.client_addr = address.unwrap_or_default().to_owned();
        } else if line.starts_with('#') {
            push(&mut queries, &mut entry);
            if let Some((_, schema)) = line.split_once("Schema: ") {
                let schema = schema.split_whitespace().next().unwrap_or_default();
                entry.schemaname = schema.to_owned();
            }
        } else if entry.username.is_empty() || line.starts_with("SET timestamp=") {
            // the header of the file, and what every entry begins with
        } else if let Some(schema) = line.strip_prefix("use ").filter(|_| entry.query.is_empty()) {
            entry.schemaname = schema.trim_end_matches(';').trim_matches('`').to_owned();
        } else {
            if !entry.query.is_empty() {
                entry.query.push('\n');
            }
            entry.query.push_str(line);
        }
    }
    push(&mut queries, &mut entry);
    queries
}

fn push(queries: &mut Vec<LoggedQuery>, entry: &mut LoggedQuery) {
    let query = std::mem::take(&mut entry.query);
    let query = query.trim_end().trim_end_matches(';');
    if !query.is_empty() {
        queries.push(LoggedQuery { query: query.to_owned(), ..entry.clone() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(username: &str, schemaname: &str, client: &str, query: &str) -> LoggedQuery {
        LoggedQuery {
            username: username.into(),
            schemaname: schemaname.into(),
            client_addr: client.into(),
            query: query.into(),
            count: 1,
        }
    }

    #[test]
    fn lines_of_json_are_read_with_their_counts() {
        let text = r#"{"user":"a","schema":"s","client":"10.0.0.1:5","query":"SELECT 1","count":7}

            {"username":"b","schemaname":"t","query":"SELECT 2"}
        "#;
        let first = LoggedQuery { count: 7, ..query("a", "s", "10.0.0.1", "SELECT 1") };
        assert_eq!(read(text), Ok(vec![first, query("b", "t", "", "SELECT 2")]));
        assert_eq!(read("{}"), Err("line 1: there is no `query`".into()));
        assert!(read("{\"query\":\"x\"}\nnonsense").is_err_and(|why| why.starts_with("line 2: ")));
    }

    #[test]
    fn general_logs_are_read() {
        let text = "/usr/sbin/mariadbd, Version: 10.11\nTcp port: 3306\n\
            Time\t\t    Id Command\tArgument\n\
            261121 10:00:00\t     5 Connect\tapp@10.0.0.1 on shop using TCP/IP\n\
            \t\t     5 Query\tSELECT *\n  FROM t\n\
            2026-11-21T10:00:01.000000Z\t    6 Connect\trep@localhost on  using Socket\n\
            2026-11-21T10:00:01.000000Z\t    6 Init DB\tother\n\
            2026-11-21T10:00:02.000000Z\t    6 Query\tUPDATE t SET c=1\n\
            2026-11-21T10:00:02.000000Z\t    6 Quit\t\n";
        let expected = vec![
            query("app", "shop", "10.0.0.1", "SELECT *\n  FROM t"),
            query("rep", "other", "localhost", "UPDATE t SET c=1"),
        ];
        assert_eq!(read(text), Ok(expected));
    }

    #[test]
    fn slow_logs_are_read() {
        let text = "/usr/sbin/mariadbd, Version: 10.11\n# Time: 261121 10:00:00\n\
            # User@Host: app[app] @ web1 [10.0.0.1]\n# Thread_id: 5  Schema: shop  QC_hit: No\n\
            SET timestamp=1;\nSELECT a\nFROM t;\n\
            # User@Host: rep[rep] @  [10.0.0.2]\nuse other;\nSET timestamp=2;\nSELECT 2;\n";
        let expected = vec![
            query("app", "shop", "10.0.0.1", "SELECT a\nFROM t"),
            query("rep", "other", "10.0.0.2", "SELECT 2"),
        ];
        assert_eq!(read(text), Ok(expected));
    }
}
