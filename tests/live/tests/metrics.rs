//! Metrics, health, routes and scheduled programs of a running Tidegate, looked at over HTTP and
//! by Prometheus' own client library.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::{Cluster, Flavour, RunDir, SplitOptions};
use live::{Program, Proxy, client, eventually, skip};
use mysql::prelude::Queryable;

const SOON: Duration = Duration::from_secs(20);
/// Lines of a request's head: the account `stats` asks.
const HEAD: &str = "Host: x\r\nAuthorization: Basic c3RhdHM6c3RhdHM=\r\n";

/// A proxy with servers, and the port of its metrics.
struct Measured {
    proxy: Proxy,
    port: u16,
}

impl Measured {
    fn start(cluster: &Cluster) -> Self {
        let port = lab::free_port().expect("a free port");
        let admin_port = lab::free_port().expect("a free port");
        let more = format!(
            "\n[admin_variables]\nmysql_ifaces = \"127.0.0.1:{admin_port}\"\n\
             restapi_enabled = true\nrestapi_port = {port}\n"
        );
        let text = |interfaces| {
            lab::split_toml(cluster, &SplitOptions { interfaces, more, ..SplitOptions::default() })
        };
        let mut proxy = Proxy::start(text).expect("tidegate starts");
        proxy.admin_port = admin_port;
        eventually("the interface greets", SOON, || live::greeting_of(admin_port).is_ok());
        Self { proxy, port }
    }

    /// Carries out statements of an administrator; the rows of the last.
    fn admin(&self, statements: &[&str]) -> Vec<String> {
        let options =
            client::account(self.proxy.admin_port, "admin", "admin").db_name(None::<&str>);
        let mut admin = client::connect(options);
        let mut rows = Vec::new();
        for statement in statements {
            rows = admin.query(statement).unwrap_or_else(|e| panic!("{statement}: {e}"));
        }
        rows
    }

    /// Status and body of an answer.
    fn get(&self, path: &str) -> (u16, String) {
        ask(self.port, &format!("GET {path} HTTP/1.1\r\n{HEAD}Connection: close\r\n\r\n"))
            .expect("it answers")
    }
}

/// Sends a request as it is, and takes the answer apart.
fn ask(port: u16, request: &str) -> std::io::Result<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(SOON))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_owned();
    Ok((status, body))
}

/// An executable script.
fn script(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, text).expect("written");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("made executable");
    path
}

#[test]
fn prometheus_reads_what_clients_did() {
    let Some(python) = live::management() else {
        return skip("a scrape by prometheus_client", "it cannot be installed here");
    };
    let Some(cluster) = live::cluster("metrics", Flavour::MariaDb, 0) else { return };
    let measured = Measured::start(&cluster);
    let mut app = client::connect(client::options(measured.proxy.port).db_name(None::<&str>));
    for _ in 0..20 {
        let one: Option<u32> = app.query_first("SELECT 1").expect("it is answered");
        assert_eq!(one, Some(1));
    }
    app.query_drop("SELECT nonsense FROM nowhere").expect_err("there is no such table");
    client::connect(client::account(measured.proxy.port, "app", "app").db_name(None::<&str>));
    let refused = mysql::Conn::new(client::account(measured.proxy.port, "app", "wrong"));
    assert!(refused.is_err());
    let script = "import sys, urllib.request, json\n\
        from prometheus_client.parser import text_string_to_metric_families as parse\n\
        asked = urllib.request.Request(sys.argv[1])\n\
        asked.add_header('Authorization', 'Basic c3RhdHM6c3RhdHM=')\n\
        text = urllib.request.urlopen(asked, timeout=20).read().decode()\n\
        for f in parse(text):\n\
        \x20   for s in f.samples:\n\
        \x20       print(json.dumps([s.name, s.labels, s.value, f.type]))\n";
    let url = format!("http://127.0.0.1:{}/metrics", measured.port);
    let done = Program::new(python.join("bin/python")).args(["-c", script, &url]).run();
    assert!(done.success, "{}", done.errors);
    let samples: Vec<serde_json::Value> =
        done.output.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let value = |name: &str, labels: serde_json::Value| {
        let found = samples.iter().find(|s| s[0] == name && s[1] == labels);
        found.map(|s| s[2].as_f64().expect("a number"))
    };
    let none = serde_json::json!({});
    let select = serde_json::json!({ "command": "SELECT" });
    let selects = value("tidegate_command_duration_seconds_count", select);
    assert!(selects.is_some_and(|count| count >= 21.0), "{selects:?}");
    let questions = value("proxysql_questions_total", none.clone());
    assert!(questions >= selects, "{questions:?}");
    assert_eq!(value("proxysql_access_denied_wrong_password_total", none.clone()), Some(1.0));
    assert_eq!(value("proxysql_client_connections_connected", none.clone()), Some(1.0));
    assert_eq!(value("tidegate_queries_total", serde_json::json!({"outcome": "error"})), Some(1.0));
    let primary = cluster.primary();
    let server = serde_json::json!({
        "hostgroup": "0", "endpoint": format!("{}:{}", primary.host, primary.port),
    });
    assert_eq!(value("proxysql_connpool_conns_status", server), Some(1.0));
    assert_eq!(value("tidegate_ready", none), Some(1.0));
    assert!(samples.iter().all(|s| s[3] != "unknown"), "{samples:?}");
    let again = measured.get("/metrics").1;
    assert!(again.contains("\nexposer_scrapes_total 1\n"), "{again}");
    let shown = measured.admin(&["SHOW PROMETHEUS METRICS"]).join("");
    assert!(shown.contains("# TYPE proxysql_questions_total counter\n"), "{shown}");
}

#[test]
fn a_scrape_is_hardly_felt_by_workers_whoever_is_connected() {
    const SCRAPES: u32 = 50;
    let Some(cluster) = live::cluster("the cost of a scrape", Flavour::MariaDb, 0) else { return };
    let measured = Measured::start(&cluster);
    let options = client::options(measured.proxy.port);
    let clients: Vec<_> = (0..500).map(|_| client::connect(options.clone())).collect();
    let workers = measured.proxy.statistics().expect("told")["workers"].as_u64().expect("counted");
    // whatever else the machine does makes a scrape dearer, never cheaper
    let cost_us = || {
        let before = measured.proxy.worker_cpu_ns();
        for _ in 0..SCRAPES {
            let (status, text) = measured.get("/metrics");
            let connected = "\nproxysql_client_connections_connected 500\n";
            assert!(status == 200 && text.contains(connected), "{text}");
        }
        let spent = measured.proxy.worker_cpu_ns() - before;
        spent / workers / u64::from(SCRAPES) / 1000
    };
    let least = (0..5).map(|_| cost_us()).min().expect("five rounds");
    println!("a scrape costs each of {workers} workers {least} us, with {} clients", clients.len());
    assert!(least < 500, "{least} us");
}

#[test]
fn ready_is_who_has_a_usable_server_and_accepts_clients() {
    let Some(cluster) = live::cluster("readiness", Flavour::MariaDb, 0) else { return };
    let measured = Measured::start(&cluster);
    assert_eq!(measured.get("/healthz"), (200, "alive\n".to_owned()));
    let ready = (200, "ready\n".to_owned());
    assert_eq!(measured.get("/readyz"), ready);
    assert_eq!(measured.get("/nothing").0, 404);
    let load = "LOAD MYSQL SERVERS TO RUNTIME";
    measured.admin(&["UPDATE mysql_servers SET status = 'OFFLINE_SOFT'", load]);
    let not = (503, "hostgroup 0: no usable server\n".to_owned());
    assert_eq!(measured.get("/readyz"), not);
    assert_eq!(measured.get("/healthz").0, 200);
    measured.admin(&["UPDATE mysql_servers SET status = 'ONLINE'", load]);
    assert_eq!(measured.get("/readyz").0, 200);
    let paused = "SELECT variable_value FROM stats_mysql_global \
                  WHERE variable_name = 'mysql_listener_paused'";
    let paused_by = (503, "paused: no clients are accepted\n".to_owned());
    let stopped = (503, "stopped: no clients are served\n".to_owned());
    for (order, readiness, shown) in [
        ("PAUSE", &paused_by, "1"),
        ("RESUME", &ready, "0"),
        ("STOP", &stopped, "1"),
        ("START", &ready, "0"),
    ] {
        measured.admin(&[&format!("PROXYSQL {order}")]);
        assert_eq!(measured.get("/readyz"), *readiness, "{order}");
        assert_eq!(measured.get("/healthz").0, 200, "{order}");
        assert_eq!(measured.admin(&[paused]), [shown], "{order}");
        let line = format!("\nproxysql_mysql_listener_paused {shown}\n");
        assert!(measured.get("/metrics").1.contains(&line), "{order}");
    }
    // a transaction keeps the process alive while it drains
    let mut app = client::connect(client::options(measured.proxy.port).db_name(None::<&str>));
    app.query_drop("BEGIN").expect("begun");
    let _: Option<u32> = app.query_first("SELECT 1 FOR UPDATE").expect("answered");
    measured.proxy.signal("TERM").expect("it runs");
    eventually("it says that it drains", SOON, || {
        measured.get("/readyz") == (503, "the process is about to end\n".to_owned())
    });
    assert_eq!(measured.get("/healthz").0, 200);
    app.query_drop("COMMIT").expect("the transaction may end");
    eventually("it ends", SOON, || !measured.proxy.is_running());
}

#[test]
fn the_port_follows_its_variables() {
    let Some(cluster) = live::cluster("the port of metrics", Flavour::MariaDb, 0) else { return };
    let mut measured = Measured::start(&cluster);
    let load = "LOAD ADMIN VARIABLES TO RUNTIME";
    let old = measured.port;
    measured.port = lab::free_port().expect("a free port");
    let set = format!("SET admin-restapi_port = {}", measured.port);
    measured.admin(&[&set, load]);
    assert_eq!(measured.get("/healthz").0, 200);
    eventually("the old port is closed", SOON, || TcpStream::connect(("127.0.0.1", old)).is_err());
    // a port that is taken: everything stays, and the administrator is told
    let taken = format!("SET admin-restapi_port = {}", measured.proxy.port);
    let told: Vec<String> = {
        let options =
            client::account(measured.proxy.admin_port, "admin", "admin").db_name(None::<&str>);
        let mut admin = client::connect(options);
        admin.query_drop(&taken).expect("set");
        admin.query_drop(load).expect("loaded");
        let rows: Vec<(String, u16, String)> = admin.query("SHOW WARNINGS").expect("answered");
        rows.into_iter().map(|(_, _, message)| message).collect()
    };
    assert!(told.iter().any(|line| line.contains("Address already in use")), "{told:?}");
    assert_eq!(measured.get("/healthz").0, 200);
    measured.admin(&["SET admin-restapi_enabled = 'false'", load]);
    let port = measured.port;
    eventually("nobody answers", SOON, || TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn routes_run_scripts_over_http() {
    let Some(cluster) = live::cluster("routes", Flavour::MariaDb, 0) else { return };
    let measured = Measured::start(&cluster);
    let dir = RunDir::create().expect("a directory");
    let echo = script(dir.path(), "echo", "#!/bin/sh\nprintf '{\"given\":%s}' \"$1\"\n");
    let slow = script(dir.path(), "slow", "#!/bin/sh\nsleep 600\n");
    measured.admin(&[
        &format!(
            "INSERT INTO restapi_routes (timeout_ms, method, uri, script) VALUES \
             (20000, 'POST', 'echo', '{0}'), (20000, 'GET', 'echo', '{0}'), \
             (200, 'GET', 'slow', '{1}')",
            echo.display(),
            slow.display()
        ),
        "LOAD RESTAPI TO RUNTIME",
    ]);
    assert_eq!(measured.get("/sync/echo?a=b+c"), (200, r#"{"given":{"a":"b c"}}"#.to_owned()));
    let post = |body: &str| {
        let len = body.len();
        let head = format!("POST /sync/echo HTTP/1.1\r\n{HEAD}Content-Length: {len}\r\n");
        ask(measured.port, &format!("{head}Connection: close\r\n\r\n{body}")).expect("answered")
    };
    assert_eq!(post(r#"{"a":1}"#), (200, r#"{"given":{"a":1}}"#.to_owned()));
    assert_eq!(post(""), (400, r#"{"error":"Empty parameters","type":"in"}"#.to_owned()));
    let late = r#"{"error":"Script execution timed out","error_code":"62","type":"out"}"#;
    assert_eq!(measured.get("/sync/slow"), (424, late.to_owned()));
    let put = format!("PUT /sync/echo HTTP/1.1\r\n{HEAD}Connection: close\r\n\r\n");
    let said = r#"{"error":"HTTP method PUT is not implemented"}"#.to_owned();
    assert_eq!(ask(measured.port, &put).expect("answered"), (200, said));
    measured.admin(&["DELETE FROM restapi_routes", "LOAD RESTAPI TO RUNTIME"]);
    assert_eq!(measured.get("/sync/echo").0, 400);
}

#[test]
fn scheduled_programs_run_live_and_end_with_the_process() {
    let Some(cluster) = live::cluster("the scheduler", Flavour::MariaDb, 0) else { return };
    let measured = Measured::start(&cluster);
    let dir = RunDir::create().expect("a directory");
    let notes = dir.path().join("notes");
    let text = "#!/bin/sh\nset -- \"$@\"\nenv > \"$1.env\"\necho \"$# $2\" >> \"$1\"\nexit 7\n";
    let noting = script(dir.path(), "noting", text);
    let staying = script(dir.path(), "staying", "#!/bin/sh\necho $$ >> \"$1\"\nsleep 600\n");
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap_or_default();
    measured.admin(&[
        &format!(
            "INSERT INTO scheduler (id, interval_ms, filename, arg1, arg2, arg4) VALUES \
             (1, 100, '{}', '{}', 'a b; $HOME', 'after a gap')",
            noting.display(),
            notes.display()
        ),
        &format!(
            "INSERT INTO scheduler (id, active, interval_ms, filename, arg1) VALUES \
             (2, 1, 300, '{0}', '{1}'), (3, 0, 100, '{0}', '{1}.off')",
            staying.display(),
            dir.path().join("pids").display()
        ),
        "LOAD SCHEDULER TO RUNTIME",
    ]);
    eventually("it runs again and again", SOON, || read("notes").lines().count() >= 3);
    // no shell looked at the arguments, the gap ended them, and the environment is empty
    assert!(read("notes").lines().all(|line| line == "2 a b; $HOME"), "{}", read("notes"));
    assert!(!read("notes.env").contains("HOME="), "{}", read("notes.env"));
    let told = format!("scheduler 1: {}: exit status: 7", noting.display());
    eventually("the failure is logged", SOON, || measured.proxy.log().contains(&told));
    eventually("a run does not wait for the one before", SOON, || {
        read("pids").lines().count() >= 2
    });
    assert_eq!(read("pids.off"), "");
    measured.admin(&["DELETE FROM scheduler", "LOAD SCHEDULER TO RUNTIME"]);
    let done = measured.admin(&["SELECT count(*) FROM runtime_scheduler"]);
    assert_eq!(done, ["0"]);
    let pids: Vec<String> = read("pids").lines().map(ToOwned::to_owned).collect();
    let runs = |pid: &String| {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        state.is_ok_and(|state| !state.contains(") Z "))
    };
    assert!(pids.iter().all(runs), "what runs goes on when its row is gone");
    measured.proxy.stop(SOON).expect("it ends");
    eventually("they end with the process", SOON, || !pids.iter().any(runs));
}
