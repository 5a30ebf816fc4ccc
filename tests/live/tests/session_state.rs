//! What a session set, locked, counted or prepared is the same whichever connection it meets.
//! Scripts are run directly and through the proxy, which gives the session another connection with
//! every statement, used by another session in between.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use lab::{Cluster, Flavour, LabOptions};
use live::{Proxy, Raw, client, skip};
use mysql::prelude::{Protocol, Queryable};
use mysql::{Conn, LocalInfileHandler, Params, QueryResult, Statement, Value};
use wire::Caps;
use wire::reply::{OkPacket, SessionTrack};

/// A script and its name.
struct Script {
    name: String,
    kind: Kind,
    lines: Vec<String>,
}

#[derive(Clone, Copy)]
enum Kind {
    Plain,
    /// Of `corners.sql`.
    Corner,
    /// Of `diagnostics.sql`: nothing in it keeps a connection that somebody else waits for.
    Diagnostics,
    /// Of a table, not of a file.
    Spelling,
}

/// The scripts of all files, and those made of tables.
fn scripts() -> Vec<Script> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/session_state");
    let mut files: Vec<_> = std::fs::read_dir(dir).expect("the scripts").flatten().collect();
    files.sort_by_key(std::fs::DirEntry::path);
    let mut scripts = Vec::new();
    for file in files.iter().filter(|file| file.path().extension().is_some_and(|e| e == "sql")) {
        let text = std::fs::read_to_string(file.path()).expect("readable");
        let kind = match file.file_name().to_str() {
            Some("corners.sql") => Kind::Corner,
            Some("diagnostics.sql") => Kind::Diagnostics,
            _ => Kind::Plain,
        };
        for line in text.lines() {
            match line.strip_prefix("# ") {
                Some(name) => scripts.push(Script { name: name.into(), kind, lines: Vec::new() }),
                None => scripts.last_mut().expect("a name").lines.push(line.into()),
            }
        }
    }
    scripts.extend(settings());
    scripts
}

/// Every way to say it, for every variable.
fn settings() -> Vec<Script> {
    const FORMS: [&str; 7] = [
        "SET NAME = VALUE",
        "SET SESSION NAME = VALUE",
        "SET LOCAL NAME := VALUE",
        "SET @@NAME = VALUE",
        "SET @@session.NAME = VALUE",
        "SET @@local.`NAME` := VALUE",
        "set session NAME=VALUE, @other = 'x'",
    ];
    const VALUES: [(&str, &str, &str); 24] = [
        ("big_tables", "1", "OFF"),
        ("bulk_insert_buffer_size", "1048576", "DEFAULT"),
        ("collation_connection", "utf8mb4_bin", "'latin1_swedish_ci'"),
        ("default_week_format", "3", "DEFAULT"),
        ("div_precision_increment", "7", "3"),
        ("foreign_key_checks", "OFF", "TRUE"),
        ("group_concat_max_len", "4096", "DEFAULT"),
        ("innodb_lock_wait_timeout", "7", "3"),
        ("interactive_timeout", "600", "28800"),
        ("join_buffer_size", "262144", "DEFAULT"),
        ("lc_messages", "'en_US'", "DEFAULT"),
        ("lc_time_names", "'fr_FR'", "en_US"),
        ("lock_wait_timeout", "9", "DEFAULT"),
        ("long_query_time", "2.5", "10"),
        ("max_sort_length", "100", "DEFAULT"),
        ("optimizer_search_depth", "5", "62"),
        ("sort_buffer_size", "524288", "DEFAULT"),
        ("sql_auto_is_null", "1", "'off'"),
        ("sql_mode", "'STRICT_ALL_TABLES,NO_ZERO_DATE'", "''"),
        ("sql_quote_show_create", "0", "ON"),
        ("sql_select_limit", "100", "DEFAULT"),
        ("time_zone", "'+05:45'", "SYSTEM"),
        ("tmp_table_size", "2097152", "DEFAULT"),
        ("unique_checks", "'OFF'", "1"),
    ];
    let mut scripts = Vec::new();
    for (name, first, second) in VALUES {
        for (number, form) in FORMS.iter().enumerate() {
            let set = |value| form.replace("NAME", name).replace("VALUE", value);
            let (read, alone) = (format!("SELECT @@{name}, @other"), format!("SELECT @@{name}"));
            let other = "SET @other = 1.5".into();
            let lines = [other, set(first), read.clone(), alone, set(second), read.clone(), read];
            scripts.push(Script {
                name: format!("{name}_{number}"),
                kind: Kind::Spelling,
                lines: lines.into(),
            });
        }
    }
    scripts
}

/// A client that runs scripts.
struct Runner {
    conn: Conn,
    prepared: BTreeMap<String, Statement>,
}

impl Runner {
    fn new(port: u16) -> Self {
        let mut conn = client::connect(client::options(port));
        // every file has these lines
        let file = LocalInfileHandler::new(|_, file| file.write_all(b"41\n42\n"));
        conn.set_local_infile_handler(Some(file));
        Self { conn, prepared: BTreeMap::new() }
    }

    /// Runs a line; gives everything that can be seen of it.
    fn run(&mut self, line: &str) -> String {
        let (command, rest) = line.split_once(": ").unwrap_or((line, ""));
        let result = match command {
            "RESET:" => {
                self.prepared.clear();
                return format!("{:?}", self.conn.reset().map_err(|error| client::refusal(&error)));
            }
            "USE" => {
                let result = self.conn.select_db(rest);
                return format!("{:?}", result.map_err(|error| client::refusal(&error)));
            }
            "EXEC" => self.execute(rest, Params::Empty),
            _ if line.starts_with("EXEC [") => {
                let values = command.trim_start_matches("EXEC ");
                self.execute(rest, Params::Positional(parameters(values)))
            }
            _ => self.conn.query_iter(line).and_then(told),
        };
        result.unwrap_or_else(|error| format!("{:?}", client::refusal(&error)))
    }

    fn execute(&mut self, text: &str, values: Params) -> mysql::Result<String> {
        let statement = match self.prepared.get(text) {
            Some(statement) => statement.clone(),
            None => self.conn.prep(text)?,
        };
        self.prepared.insert(text.into(), statement.clone());
        told(self.conn.exec_iter(&statement, values)?)
    }
}

/// The values of a list in JSON.
fn parameters(list: &str) -> Vec<Value> {
    let values: Vec<serde_json::Value> = serde_json::from_str(list).expect("a list of values");
    let value = |value: &serde_json::Value| match value {
        serde_json::Value::Null => Value::NULL,
        serde_json::Value::String(text) => text.into(),
        number => match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64().expect("a number").into(),
        },
    };
    values.iter().map(value).collect()
}

/// Every result: columns, rows and counts.
fn told<P: Protocol>(mut result: QueryResult<'_, '_, '_, P>) -> mysql::Result<String> {
    let mut text = String::new();
    while let Some(mut set) = result.iter() {
        let columns = set.columns().as_ref().to_vec();
        let rows = set.by_ref().collect::<mysql::Result<Vec<_>>>()?;
        for column in &columns {
            let (name, kind) = (column.name_str(), column.column_type());
            let (charset, flags) = (column.character_set(), column.flags());
            let (length, decimals) = (column.column_length(), column.decimals());
            write!(text, "[{name} {kind:?} {charset} {flags:?} {length} {decimals}]")
                .expect("written");
        }
        for row in rows {
            write!(text, " {:?}", row.unwrap()).expect("written");
        }
        let (rows, id) = (set.affected_rows(), set.last_insert_id());
        let (warnings, info) = (set.warnings(), set.info_str().into_owned());
        write!(text, " {rows} rows, id {id:?}, {warnings} warnings {info:?};").expect("written");
    }
    Ok(text)
}

/// The schemas and tables that every script begins with.
fn clean(cluster: &Cluster) {
    const SCHEMA: &str = "DROP DATABASE IF EXISTS test; CREATE DATABASE test; \
        CREATE TABLE test.t (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b VARCHAR(10)); \
        CREATE TABLE test.u (a INT)";
    if let Err(error) = cluster.primary().sql(SCHEMA) {
        let doing = cluster.primary().sql("SHOW FULL PROCESSLIST");
        panic!("no fresh schema: {error:#}\n{doing:?}");
    }
}

/// Whoever uses each connection in between, and wants everything otherwise.
fn neighbour(port: u16) -> Conn {
    let mut conn = client::connect(client::options(port).db_name(Some("other")));
    for text in [
        "SET NAMES latin1",
        "SET sql_mode = 'NO_ENGINE_SUBSTITUTION', time_zone = '-07:00', foreign_key_checks = 0",
        "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        "SET @a = 'neighbour', @b = 1, @x = 2, @n = 3, sql_select_limit = 1000",
    ] {
        conn.query_drop(text).expect("set");
    }
    conn
}

fn disturb(neighbour: &mut Conn, script: &Script) {
    // nobody writes while one holds everything locked
    if !script.lines.iter().any(|line| line.starts_with("FLUSH TABLES")) {
        let written = neighbour.query_drop("INSERT INTO n (b) VALUES (1)");
        written.unwrap_or_else(|error| panic!("{} is in the way: {error}", script.name));
    }
    // what comes behind it has no table, and leaves that where it is
    neighbour.query_drop("SELECT CAST('neighbour' AS SIGNED)").expect("a warning");
    let seen: Option<(String, String, String)> =
        neighbour.query_first("SELECT @@time_zone, @a, DATABASE()").expect("read");
    let expected = ("-07:00", "neighbour", "other");
    let seen = seen.as_ref().map(|(zone, a, schema)| (zone.as_str(), a.as_str(), schema.as_str()));
    assert_eq!(seen, Some(expected), "the neighbour keeps its own");
}

/// A proxy that knows one server by some addresses. With three it picks another one with each
/// statement; with one, everybody has to have the same connection.
fn proxy(cluster: &Cluster, addresses: &[&str], connections: u32) -> Proxy {
    let version = live::greeting_of(cluster.primary().port).expect("the server greets");
    let port = cluster.primary().port;
    Proxy::start(|interfaces| {
        let mut text = format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nserver_version = \"{version}\"\n\
             threads = 1\npipeline_min_runs = 1\nget_server_public_key = true\n\
             enable_load_data_local_infile = true\n\n\
             [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n\
             default_hostgroup = 0\n\n"
        );
        for address in addresses {
            text += &format!(
                "[[mysql_servers]]\nhostgroup_id = 0\nhostname = \"{address}\"\nport = {port}\n\
                 max_connections = {connections}\n\n"
            );
        }
        text
    })
    .expect("tidegate starts")
}

const ADDRESSES: [&str; 3] = ["127.0.0.1", "127.0.0.2", "127.0.0.3"];

fn cluster(what: &str, flavour: Flavour) -> Option<Cluster> {
    if let Err(why) = flavour.find(true) {
        skip(what, &format!("{} cannot be had: {why:#}", flavour.name()));
        return None;
    }
    let listen = format!("--bind-address={}", ADDRESSES.join(","));
    let options =
        LabOptions { flavour, may_fetch: true, extra_args: vec![listen], ..Default::default() };
    Some(Cluster::start(options).expect("the servers start"))
}

fn scripts_agree(flavour: Flavour, what: &str) {
    let Some(cluster) = cluster(what, flavour) else { return };
    let others = "CREATE DATABASE other; \
        CREATE TABLE other.n (a INT AUTO_INCREMENT PRIMARY KEY, b INT) AUTO_INCREMENT = 1000";
    cluster.primary().sql(others).expect("created");
    let scripts = scripts();
    let count = scripts.len();
    assert!(count >= 300, "{count} scripts");
    let chosen = scripts.iter().enumerate().filter(|(number, script)| {
        // the short form leaves out most spellings, and runs every corner with one server
        let turn = number + usize::from(flavour == Flavour::MySql);
        let (is_turn, is_chosen) = (turn.is_multiple_of(2), number.is_multiple_of(8));
        live::full()
            || match script.kind {
                Kind::Plain | Kind::Diagnostics => true,
                Kind::Corner => is_turn,
                Kind::Spelling => is_chosen,
            }
    });
    let chosen: Vec<&Script> = chosen.map(|(_, script)| script).collect();
    compare(flavour, what, &cluster, &proxy(&cluster, &ADDRESSES, 1000), &chosen);
    let of_diagnostics = scripts.iter().filter(|script| matches!(script.kind, Kind::Diagnostics));
    let one = proxy(&cluster, &ADDRESSES[..1], 1);
    compare(flavour, what, &cluster, &one, &of_diagnostics.collect::<Vec<_>>());
    let counter = |name| one.counter(name).expect("counted");
    assert_eq!(counter("connect_timeouts"), 0);
    for name in ["diagnostics_kept", "diagnostics_told", "diagnostics_raised"] {
        assert!(counter(name) > 0, "{name}");
    }
}

/// Runs scripts directly and through a proxy, with somebody else in between.
fn compare(flavour: Flavour, what: &str, cluster: &Cluster, proxy: &Proxy, scripts: &[&Script]) {
    let mut neighbour = neighbour(proxy.port);
    let mut wrong = Vec::new();
    for script in scripts {
        let here: Vec<&str> = script.lines.iter().filter_map(|line| of(flavour, line)).collect();
        clean(cluster);
        let mut direct = Runner::new(cluster.primary().port);
        let expected: Vec<String> = here.iter().map(|line| direct.run(line)).collect();
        drop(direct);
        clean(cluster);
        let mut through = Runner::new(proxy.port);
        for (line, expected) in here.iter().zip(expected) {
            disturb(&mut neighbour, script);
            let given = through.run(line);
            if given != expected {
                wrong.push(format!(
                    "{}: {line}\n  direct:  {expected}\n  through: {given}",
                    script.name
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{what}: {} differ\n{}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
    assert!(proxy.is_running(), "tidegate has ended\n{}", proxy.log());
}

/// The line without the mark of its flavour; `None` when it is the other one's.
fn of(flavour: Flavour, line: &str) -> Option<&str> {
    let (own, other) = match flavour {
        Flavour::MariaDb => ("MARIADB: ", "MYSQL: "),
        Flavour::MySql => ("MYSQL: ", "MARIADB: "),
    };
    (!line.starts_with(other)).then(|| line.strip_prefix(own).unwrap_or(line))
}

#[test]
fn sessions_are_the_same_on_any_connection_of_mariadb() {
    scripts_agree(Flavour::MariaDb, "session state with MariaDB");
}

/// Clients escape texts by these flags, whoever answers.
#[test]
fn answers_without_a_server_tell_the_flags_of_the_session() {
    // what the lane's server is asked to tell
    const CHANGED: u16 = 0x4000;
    let Some(cluster) = live::cluster("status flags", Flavour::MariaDb, 0) else { return };
    let proxy = proxy(&cluster, &["127.0.0.1"], 2);
    let mut ends = [cluster.primary().port, proxy.port]
        .map(|port| Raw::login(port, "app", "app").expect("logged in"));
    for (text, flags) in [
        ("SET sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'", 0x8202_u16),
        ("SET @x = 1", 0x8202),
        ("SET NAMES utf8mb4", 0x8202),
        ("SET sql_mode = ''", 0x0002),
        ("SET @x = 2", 0x0002),
        ("SET STATEMENT sql_mode = 'ANSI_QUOTES' FOR SELECT 1", 0x8002),
        ("", 0x0002),
        ("START TRANSACTION READ ONLY", 0x2003),
        ("", 0x2003),
        ("COMMIT", 0x0002),
        ("", 0x0002),
    ] {
        // nothing: a ping
        let command = match text {
            "" => vec![0x0e],
            text => [b"\x03", text.as_bytes()].concat(),
        };
        let told = ends.each_mut().map(|end| {
            end.send(0, &command).expect("sent");
            if text.ends_with("SELECT 1") {
                // how many columns, a column, its end and a row
                (0..4).for_each(|_| drop(end.receive().expect("a part")));
            }
            let (_, ok) = end.receive().expect("answered");
            assert_eq!(ok[1..3], [0, 0], "{text}: {}", ok.escape_ascii());
            u16::from_le_bytes([ok[3], ok[4]]) & !CHANGED
        });
        assert_eq!(told, [flags; 2], "{text}: {told:#06x?}");
    }
}

/// A command goes behind each: it is answered, or the connection is at its end.
#[test]
fn a_client_that_releases_its_connection_has_none() {
    let Some(cluster) = live::cluster("release", Flavour::MariaDb, 0) else { return };
    let proxy = proxy(&cluster, &["127.0.0.1"], 2);
    for (text, stays) in [
        ("COMMIT RELEASE", false),
        ("ROLLBACK WORK AND NO CHAIN RELEASE", false),
        ("COMMIT NO RELEASE", true),
    ] {
        let told = [cluster.primary().port, proxy.port].map(|port| {
            let mut end = Raw::login(port, "app", "app").expect("logged in");
            end.send(0, b"\x03BEGIN").expect("sent");
            end.receive().expect("a transaction");
            end.send(0, &[b"\x03", text.as_bytes()].concat()).expect("sent");
            let (_, ok) = end.receive().expect("answered");
            assert_eq!(ok.first(), Some(&0), "{text}: {}", ok.escape_ascii());
            end.send(0, b"\x0e").and_then(|()| end.receive()).is_ok()
        });
        assert_eq!(told, [stays; 2], "{text}");
    }
}

/// No server is asked about these, but in the transaction.
#[test]
fn clients_are_told_what_a_set_has_changed() {
    let Some(cluster) = live::cluster("told changes", Flavour::MariaDb, 0) else { return };
    let proxy = proxy(&cluster, &["127.0.0.1"], 2);
    let texts = [
        "SET NAMES latin1",
        "SET autocommit = 0",
        "SET autocommit = 1, NAMES utf8 COLLATE utf8_bin, @x = 1",
        "SET @x = 2",
        "BEGIN",
        "SET NAMES utf8mb4",
        "COMMIT",
        "SET session_track_system_variables = 'sql_mode'",
        "SET NAMES latin1",
    ];
    let told = [cluster.primary().port, proxy.port].map(|port| {
        let mut end =
            Raw::login_able(port, ("app", "app"), Caps::SESSION_TRACK).expect("logged in");
        texts.map(|text| {
            end.send(0, &[b"\x03", text.as_bytes()].concat()).expect("sent");
            let (_, ok) = end.receive().expect("answered");
            let ok = OkPacket::parse(&ok, Caps::SESSION_TRACK).expect("an OK packet");
            // servers tell of several variables in any order
            let changes = SessionTrack::new(ok.session_track).map(|change| format!("{change:?}"));
            (ok.status, changes.collect::<BTreeSet<_>>())
        })
    });
    for (at, text) in texts.into_iter().enumerate() {
        assert_eq!(told[0][at], told[1][at], "{text}");
    }
    assert_eq!(told[1].each_ref().map(|(_, changes)| changes.len()), [3, 1, 4, 0, 0, 3, 0, 0, 0]);
}

/// Nothing answers the data, so the executions are told, until the statement is reset.
#[test]
fn data_for_no_parameter_fails_executions_until_a_reset() {
    let Some(cluster) = live::cluster("long data", Flavour::MariaDb, 0) else { return };
    let proxy = proxy(&cluster, &["127.0.0.1"], 2);
    let told = [cluster.primary().port, proxy.port].map(|port| {
        let mut end = Raw::login(port, "app", "app").expect("logged in");
        end.send(0, b"\x16SELECT ?").expect("sent");
        let (_, ok) = end.receive().expect("prepared");
        // a parameter, a column, and the end of each
        (0..4).for_each(|_| drop(end.receive().expect("a definition")));
        let stmt = &ok[1..5];
        let execute = [b"\x17", stmt, b"\x00\x01\0\0\0\x00\x01\xfd\x00\x01x"].concat();
        end.send(0, &[b"\x18", stmt, b"\x01\x00abc"].concat()).expect("sent");
        let mut told = Vec::new();
        for command in [&execute, &execute, &[b"\x1a", stmt].concat(), &execute] {
            end.send(0, command).expect("sent");
            told.push(end.receive().expect("answered").1);
        }
        told
    });
    assert_eq!(told[0], told[1]);
    assert!(told[1][1].ends_with(b"mysqld_stmt_send_long_data"), "{told:?}");
    assert_eq!(told[1][3], [1], "a column");
}

/// The client asks for less than the lane does, whatever it has its server tell.
#[test]
fn a_client_that_cannot_be_told_of_changes_is_not() {
    let Some(cluster) = live::cluster("untold changes", Flavour::MariaDb, 0) else { return };
    let proxy = proxy(&cluster, &["127.0.0.1"], 2);
    for text in ["SET session_track_state_change = 1", "SET NAMES latin1", "SET @x = 1"] {
        let told = [cluster.primary().port, proxy.port].map(|port| {
            let mut end = Raw::login(port, "app", "app").expect("logged in");
            end.send(0, b"\x03SET session_track_state_change = 1").expect("sent");
            end.receive().expect("answered");
            end.send(0, &[b"\x03", text.as_bytes()].concat()).expect("sent");
            end.receive().expect("answered").1.len()
        });
        assert_eq!(told, [7; 2], "{text}");
    }
}

/// A client may go on with the id of a statement from before, or close it late.
#[test]
fn a_statement_from_before_a_reset_is_no_other() {
    let Some(cluster) = live::cluster("old statement", Flavour::MariaDb, 0) else { return };
    let proxy = proxy(&cluster, &["127.0.0.1"], 2);
    let resets: [&dyn Fn(&mut Raw); 2] = [
        &|end| {
            end.send(0, b"\x1f").expect("sent");
            end.receive().expect("answered");
        },
        &|end| end.change_user(("app", "app"), 45).expect("sent"),
    ];
    for reset in resets {
        for port in [cluster.primary().port, proxy.port] {
            let mut end = Raw::login(port, "app", "app").expect("logged in");
            let old = prepared(&mut end, b"SELECT 1");
            reset(&mut end);
            let new = prepared(&mut end, b"SELECT 2");
            assert_ne!(old, new);
            end.send(0, &[b"\x17", &old[..], b"\x00\x01\0\0\0"].concat()).expect("sent");
            let (_, error) = end.receive().expect("answered");
            assert_eq!(error.get(..3), Some(&b"\xff\xdb\x04"[..]), "{}", error.escape_ascii());
            end.send(0, &[b"\x19", &old[..]].concat()).expect("sent");
            end.send(0, &[b"\x17", &new[..], b"\x00\x01\0\0\0"].concat()).expect("sent");
            assert_eq!(end.receive().expect("answered").1, [1], "a column");
        }
    }
}

/// MySQL ends its text with a full stop.
#[test]
fn a_fetch_without_a_cursor_fails_as_on_a_server() {
    let Some(cluster) = live::cluster("no cursor", Flavour::MariaDb, 0) else { return };
    let proxy = proxy(&cluster, &["127.0.0.1"], 2);
    for port in [cluster.primary().port, proxy.port] {
        let mut end = Raw::login(port, "app", "app").expect("logged in");
        let stmt = prepared(&mut end, b"SELECT 1");
        end.send(0, &[b"\x1c", &stmt[..], b"\x01\0\0\0"].concat()).expect("sent");
        let (_, error) = end.receive().expect("answered");
        let id = u32::from_le_bytes(stmt[..].try_into().expect("four bytes"));
        let told = [
            b"\xff\x8d\x05#HY000",
            &format!("The statement ({id}) has no open cursor").into_bytes()[..],
        ];
        assert_eq!(error, told.concat(), "{}", error.escape_ascii());
    }
}

/// The id of a statement with one column and no parameter.
fn prepared(end: &mut Raw, text: &[u8]) -> Vec<u8> {
    end.send(0, &[b"\x16", text].concat()).expect("sent");
    let (_, ok) = end.receive().expect("prepared");
    (0..2).for_each(|_| drop(end.receive().expect("a definition")));
    ok[1..5].to_vec()
}

/// Drivers make a type of it.
#[test]
fn the_connection_id_has_the_type_that_servers_give_it() {
    let Some(cluster) = live::cluster("connection id", Flavour::MariaDb, 0) else { return };
    let proxy = proxy(&cluster, &["127.0.0.1"], 2);
    for text in ["SELECT CONNECTION_ID()", "select Connection_Id() ;"] {
        let told = [cluster.primary().port, proxy.port].map(|port| {
            let mut end = Raw::login(port, "app", "app").expect("logged in");
            end.send(0, &[b"\x03", text.as_bytes()].concat()).expect("sent");
            end.receive().expect("how many columns");
            end.receive().expect("a column").1
        });
        assert_eq!(told[0], told[1], "{text}");
    }
}

#[test]
fn sessions_are_the_same_on_any_connection_of_mysql() {
    scripts_agree(Flavour::MySql, "session state with MySQL");
}
