//! What ProxySQL did with each query of each rule set, recorded, and what happens here.
//!
//! Six taps before one server stand for the six hostgroups of the recording.

use std::fmt::Write as _;

use lab::Flavour;
use live::{Proxy, Tap, client};
use mysql::prelude::Queryable;
use mysql::{Conn, Row, Value};
use serde_json::Value as Json;

const HOSTGROUPS: usize = 6;

/// Error of a rule's `error_msg`: nothing was sent anywhere.
const BLOCKED: u64 = 1148;

/// Digest of `SELECT 1`, for which the recording has a mark.
const SELECT_1: &str = "0x1C46AE529DD5A40E";

fn recording() -> Json {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/rules.json");
    let text = std::fs::read_to_string(path).expect("the recording is there");
    serde_json::from_str(&text).expect("it is JSON")
}

fn config(interfaces: &str, port: u16, taps: &[Tap], rules: &Json) -> String {
    // what servers are seen to be sent is what clients ask
    let mut text = format!(
        "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\nstored_code = false\n"
    );
    for (hostgroup, tap) in taps.iter().enumerate() {
        let port = tap.port;
        let _ = writeln!(
            text,
            "[[mysql_servers]]\nhostgroup_id = {hostgroup}\nhostname = \"127.0.0.1\"\nport = {port}"
        );
    }
    for (user, hostgroup) in [("app", 0), ("rep", 5)] {
        let _ = writeln!(
            text,
            "[[mysql_users]]\nusername = \"{user}\"\npassword = \"{user}\"\n\
             default_hostgroup = {hostgroup}\ntransaction_persistent = 0"
        );
    }
    for rule in rules.as_array().expect("a list of rules") {
        text.push_str("[[mysql_query_rules]]\n");
        if rule.get("active").is_none() {
            text.push_str("active = 1\n");
        }
        for (column, value) in rule.as_object().expect("columns") {
            let value = match column.as_str() {
                "proxy_port" if value == 26033 => Json::from(port),
                "digest" => Json::from(SELECT_1),
                _ => value.clone(),
            };
            let _ = writeln!(text, "{column} = {value}");
        }
    }
    text
}

/// A result as the recording has it.
fn outcome(conn: &mut Conn, query: &str) -> Json {
    let rows: Result<Vec<Row>, _> = conn.query(query);
    match rows {
        Ok(rows) => {
            let first = rows
                .first()
                .map(|row| (0..row.len()).map(|at| shown(row.as_ref(at))).collect::<Vec<_>>());
            serde_json::json!({ "rows": rows.len(), "first": first })
        }
        Err(error) => {
            let (code, _, text) = client::refusal(&error);
            serde_json::json!({ "error": [code, text] })
        }
    }
}

fn shown(value: Option<&Value>) -> String {
    match value {
        Some(Value::Bytes(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        Some(Value::Int(number)) => number.to_string(),
        _ => "None".into(),
    }
}

/// Whether an outcome is the recorded one; of long texts of errors the beginning was recorded, of
/// long rows the number alone.
fn is_as_recorded(found: &Json, recorded: &Json) -> bool {
    if let Some(error) = recorded.get("error") {
        let text = |of: &Json| of[1].as_str().unwrap_or_default().to_owned();
        let found = &found["error"];
        return found[0] == error[0] && text(found).starts_with(&text(error));
    }
    let first = recorded.get("first");
    found["rows"] == recorded["rows"] && first.is_none_or(|first| found["first"] == *first)
}

/// The hostgroups that were sent a query of a client's; what brings a connection to the session's
/// state is none.
fn served(taps: &[Tap]) -> Vec<usize> {
    let is_query = |text: &String| !text.starts_with("SET ") || text.starts_with("SET @");
    let asked = taps.iter().map(|tap| tap.take().iter().any(is_query));
    asked.enumerate().filter_map(|(hostgroup, asked)| asked.then_some(hostgroup)).collect()
}

/// Schemas and tables of the recording.
fn fill(server: &lab::Server) {
    for schema in ["sbtest", "other"] {
        server.sql(&format!("CREATE DATABASE {schema}")).expect("created");
        for table in ["sbtest1", "sbtest12", "sbtest2", "sbtest60"] {
            let columns = "(id INT PRIMARY KEY, k INT, c CHAR(120), pad CHAR(60))";
            server.sql(&format!("CREATE TABLE {schema}.{table} {columns}")).expect("created");
        }
    }
    for table in ["sbtest1", "sbtest2"] {
        let rows = "VALUES (1,1,'a','a'),(2,2,'b','b'),(3,3,'c','c'),(4,4,'d','d'),(5,5,'e','e')";
        server.sql(&format!("INSERT INTO sbtest.{table} {rows}")).expect("filled");
    }
    for user in ["app", "rep"] {
        let create = format!("CREATE USER IF NOT EXISTS {user}@'%' IDENTIFIED BY '{user}'");
        server.sql(&create).expect("created");
        server.sql(&format!("GRANT ALL ON *.* TO {user}@'%'")).expect("granted");
    }
}

#[test]
fn every_recorded_query_is_routed_and_answered_as_by_proxysql() {
    let Some(cluster) = live::cluster("recorded rules", Flavour::MariaDb, 0) else { return };
    fill(cluster.primary());
    let taps: Vec<Tap> = (0..HOSTGROUPS)
        .map(|_| Tap::start(cluster.primary().port).expect("a tap starts"))
        .collect();
    let recording = recording();
    let cases = recording["cases"].as_array().expect("cases");
    let mut wrong = Vec::new();
    for (name, rules) in recording["rule_sets"].as_object().expect("rule sets") {
        let proxy = Proxy::start(|interfaces| {
            let port = interfaces.split([':', ';']).nth(1).and_then(|port| port.parse().ok());
            config(&interfaces, port.expect("a port"), &taps, rules)
        });
        let proxy = proxy.unwrap_or_else(|error| panic!("{name}: {error:#}"));
        let of_set = cases.iter().filter(|case| case["set"] == *name);
        if name == "next_flag" {
            sequences(&proxy, &taps, of_set, &mut wrong);
            continue;
        }
        for case in of_set {
            let mut conn = connect(&proxy, case);
            served(&taps);
            check(&mut conn, &taps, case, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    assert!(cases.len() > 2_700, "only {} cases", cases.len());
}

/// Cases of one user and schema follow each other on one connection. Some at its beginning are not
/// in the recording, a `SELECT` among them, whose rule has set the flag for all that follow.
fn sequences<'a>(
    proxy: &Proxy,
    taps: &[Tap],
    cases: impl Iterator<Item = &'a Json>,
    wrong: &mut Vec<String>,
) {
    let mut conns: Vec<(String, Conn)> = Vec::new();
    for case in cases {
        let key = format!("{} {}", case["user"], case["schema"]);
        let at = conns.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            let mut conn = connect(proxy, case);
            conn.query_drop("SELECT 'not recorded'").expect("answered");
            conns.push((key.clone(), conn));
            conns.len() - 1
        });
        served(taps);
        check(&mut conns[at].1, taps, case, wrong);
    }
}

fn connect(proxy: &Proxy, case: &Json) -> Conn {
    let user = case["user"].as_str().expect("a user");
    let schema = case["schema"].as_str().expect("a schema");
    client::connect(client::account(proxy.port, user, user).db_name(Some(schema)))
}

fn check(conn: &mut Conn, taps: &[Tap], case: &Json, wrong: &mut Vec<String>) {
    let query = case["query"].as_str().expect("a query");
    let found = outcome(conn, query);
    let hostgroups = served(taps);
    // what the proxy answers by itself, a COMMIT of nothing too, still counts there for a hostgroup
    let pretended = case["set"] == "error_msg" && query.starts_with("UPDATE");
    // a user variable with a literal value is set in front of whatever comes next, wherever it runs
    let kept = query.starts_with("SET @");
    let unsent = case["outcome"]["error"][0] == BLOCKED || pretended || kept || query == "COMMIT";
    let expected = if unsent { Json::Array(Vec::new()) } else { case["hostgroup"].clone() };
    // on a connection with a transaction open, a COMMIT is one of something
    let goes_on = query == "COMMIT" && Json::from(hostgroups.clone()) == case["hostgroup"];
    let routed = serde_json::json!(hostgroups) == expected || goes_on;
    if !routed || !is_as_recorded(&found, &case["outcome"]) {
        wrong.push(format!("{case}\n    here: {hostgroups:?} {found}"));
    }
}
