//! The session suite with everything in the query cache: in front of each read of a script another
//! session asks the same, and the script's own session is answered the same bytes as directly.

#[path = "../adversary/end.rs"]
#[expect(dead_code, reason = "of another test, which needs more of it")]
mod end;
#[path = "../adversary/known_table.rs"]
#[expect(dead_code, reason = "of another test, which needs more of it")]
mod known_table;
#[path = "../adversary/script.rs"]
#[expect(dead_code, reason = "of another test, which needs more of it")]
mod script;

use lab::{Cluster, Flavour, LabOptions};
use live::{Proxy, client, skip};
use mysql::Conn;
use mysql::prelude::Queryable;

use crate::end::{End, shown};
use crate::known_table::KNOWN;
use crate::script::{Line, Script};

/// What scripts begin with.
const SCHEMA: &str = "DROP DATABASE IF EXISTS test; CREATE DATABASE test; \
    CREATE TABLE test.t (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b VARCHAR(10)); \
    CREATE TABLE test.u (a INT); COMMIT";

/// What makes a read more than one.
const MORE: &[&str] =
    &[" INTO ", "FOR UPDATE", "LOCK", "SLEEP", "NEXT", "SETVAL", ";", ":=", "KILL"];

/// Two servers that are the same, one of them behind a proxy that has everything in its cache.
struct Stage {
    direct: Cluster,
    through: Cluster,
    proxy: Proxy,
    admin: Conn,
}

impl Stage {
    fn start(flavour: Flavour) -> Option<Self> {
        if let Err(why) = flavour.find(true) {
            let why = format!("{} cannot be had: {why:#}", flavour.name());
            skip("the session suite and the query cache", &why);
            return None;
        }
        let start = || {
            let options = LabOptions {
                flavour,
                may_fetch: true,
                in_memory: true,
                extra_args: vec!["--binlog-format=ROW".to_owned()],
                ..Default::default()
            };
            let cluster = Cluster::start(options).expect("the server starts");
            cluster.primary().sql("CREATE DATABASE other").expect("set up");
            // MySQL knows the password from then on, so that nobody need send it
            drop(client::connect(client::options(cluster.primary().port)));
            cluster
        };
        let (direct, through) = (start(), start());
        let port = through.primary().port;
        let version = live::greeting_of(port).expect("the server greets");
        let proxy = Proxy::start(|interfaces| {
            format!(
                "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\n\
                 server_version = \"{version}\"\nget_server_public_key = true\n\
                 enable_load_data_local_infile = true\n\n\
                 [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\ndefault_hostgroup = 0\n\n\
                 [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nport = {port}\n\n\
                 [[mysql_query_rules]]\nrule_id = 1\nactive = 1\nmatch_pattern = '.'\n\
                 cache_ttl = 3600000\n"
            )
        })
        .expect("tidegate starts");
        let admin = client::account(proxy.admin_port, "admin", "admin").db_name(None::<&str>);
        let admin = client::connect(admin);
        Some(Self { direct, through, proxy, admin })
    }

    fn flush(&mut self) {
        self.admin.query_drop("PROXYSQL FLUSH QUERY CACHE").expect("flushed");
    }

    /// Begins a session, as scripts expect it.
    fn begin(port: u16, script: &Script) -> End {
        let login = || End::login(port, script.no_eof, 0);
        // MySQL forgets passwords that it knows when one is set
        let mut end = login().unwrap_or_else(|_| {
            drop(client::connect(client::options(port)));
            login().expect("logged in")
        });
        let first = [Line::Schema("test".into()), Line::Text("SELECT 1".into())];
        end.run(&first.each_ref(), false).expect("answered");
        end
    }

    /// Runs a script both ways; the first line that is answered otherwise.
    fn compare(&mut self, script: &Script) -> Option<String> {
        for cluster in [&self.direct, &self.through] {
            cluster.primary().sql(SCHEMA).expect("a fresh schema");
        }
        self.flush();
        let ports = [self.direct.primary().port, self.proxy.port, self.proxy.port];
        let [mut direct, mut through, mut other] = ports.map(|port| Self::begin(port, script));
        let code: Vec<&str> = script.lines.iter().filter_map(Line::text).filter_map(made).collect();
        for line in &script.lines {
            let is_read = is_read(line, &code);
            if is_read {
                // whatever it is told
                drop(other.run(&[line], false));
            }
            let [expected, told] = [&mut direct, &mut through].map(|end| {
                end.run(&[line], false)
                    .map(|answers| answers.iter().map(shown).collect::<Vec<_>>().join("\n    "))
            });
            let (expected, told) = match (expected, told) {
                (Ok(expected), Ok(told)) => (expected, told),
                (Err(_), Err(_)) => return None,
                (expected, told) => (format!("{expected:?}"), format!("{told:?}")),
            };
            if expected != told {
                return Some(format!("{line}\n  direct:  {expected}\n  through: {told}"));
            }
            if !is_read {
                self.flush();
            }
        }
        None
    }
}

/// The name of the function or view that a text makes.
fn made(text: &str) -> Option<&str> {
    let behind = ["FUNCTION ", "VIEW "].iter().find_map(|kind| text.split_once(kind))?.1;
    behind.split(|c: char| !c.is_alphanumeric() && c != '_').find(|word| !word.is_empty())
}

/// Whether somebody else may ask it too, and nothing is different afterwards.
fn is_read(line: &Line, code: &[&str]) -> bool {
    let has = |text: &str, parts: &[&str]| parts.iter().any(|part| text.contains(part));
    line.text().is_some_and(|text| {
        let upper = text.to_ascii_uppercase();
        upper.starts_with("SELECT") && !has(&upper, MORE) && !has(text, code)
    })
}

fn the_cache_is_not_felt(flavour: Flavour) {
    let Some(mut stage) = Stage::start(flavour) else { return };
    let here = KNOWN.iter().filter(|known| known.only.is_none_or(|only| only == flavour));
    let known: Vec<&str> = here.flat_map(|known| known.names).copied().collect();
    let one_of = if live::full() { 1 } else { 8 };
    let scripts = script::of_files(flavour);
    let scripts = scripts.iter().filter(|s| !known.iter().any(|part| s.name.contains(part)));
    let (mut wrong, mut count) = (Vec::new(), 0);
    for script in scripts.step_by(one_of) {
        count += 1;
        let found = stage.compare(script);
        wrong.extend(found.map(|why| format!("{}: {why}", script.name)));
    }
    let hits = stage.proxy.counter("cache_hits").expect("a counter");
    println!("{}: {count} scripts, {hits} hits", flavour.name());
    assert!(wrong.is_empty(), "{} of {count} scripts\n{}", wrong.len(), wrong.join("\n"));
    assert!(hits > count / 4, "{hits} hits in {count} scripts");
}

#[test]
fn sessions_of_mariadb_do_not_feel_the_query_cache() {
    the_cache_is_not_felt(Flavour::MariaDb);
}

#[test]
fn sessions_of_mysql_do_not_feel_the_query_cache() {
    the_cache_is_not_felt(Flavour::MySql);
}
