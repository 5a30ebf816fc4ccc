//! Two servers that are the same, a proxy in front of one of them, and the neighbours: runs a
//! session directly and through the proxy, and compares every byte.

use std::fmt;

use lab::{Cluster, Flavour, LabOptions};
use live::{Proxy, client, skip};

use crate::end::{Answer, End, shown};
use crate::lanes::{Lanes, Ran, Served};
use crate::marks_table::SCHEMA;
use crate::neighbours::Neighbours;
use crate::planted::{self, Omission};
use crate::script::{Line, Manner, Script};
use crate::settings_table::Settings;

/// Where sessions are compared.
pub(crate) struct Stage {
    pub(crate) flavour: Flavour,
    direct: Cluster,
    through: Cluster,
    lanes: Lanes,
    neighbours: Neighbours,
    /// Dropped before its server is.
    proxy: Proxy,
    /// The statements that make the schema `test`.
    pub(crate) schema: String,
    pub(crate) served: Served,
    pub(crate) lines: usize,
}

/// An answer that is another one.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    pub(crate) line: String,
    pub(crate) direct: String,
    pub(crate) through: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  direct:  {}\n  through: {}", self.line, self.direct, self.through)
    }
}

impl Stage {
    /// Starts everything; `None`, and a loud line, where the servers cannot be had.
    pub(crate) fn start(flavour: Flavour, settings: &Settings) -> Option<Self> {
        if let Err(why) = flavour.find(true) {
            skip("the adversary", &format!("{} cannot be had: {why:#}", flavour.name()));
            return None;
        }
        let start = || {
            let options =
                LabOptions { flavour, may_fetch: true, in_memory: true, ..Default::default() };
            let cluster = Cluster::start(options).expect("the server starts");
            let own = match flavour {
                Flavour::MariaDb => settings.mariadb,
                Flavour::MySql => settings.mysql,
            };
            let role = "CREATE ROLE watcher; GRANT watcher TO app";
            for text in [SCHEMA, role, settings.both, own].iter().filter(|text| !text.is_empty()) {
                cluster.primary().sql(text).expect("set up");
            }
            cluster
        };
        let (direct, through) = (start(), start());
        // MySQL knows the password from then on, so that nobody need send it
        for cluster in [&direct, &through] {
            drop(client::connect(client::options(cluster.primary().port)));
        }
        let proxy = proxy(&through, "127.0.0.1", through.primary().port);
        let lanes = Lanes::of(&through);
        let neighbours = Neighbours::new(&proxy);
        let (schema, served) = (String::new(), Served::default());
        Some(Self { flavour, direct, through, lanes, neighbours, proxy, schema, served, lines: 0 })
    }

    /// From now on the proxy leaves something out.
    pub(crate) fn plant(&mut self, omission: Omission) {
        let port = planted::relay(self.through.primary().port, omission).expect("it listens");
        self.proxy = proxy(&self.through, "127.0.0.1", port);
        self.lanes.forget();
        self.neighbours = Neighbours::new(&self.proxy);
    }

    /// Both servers have a fresh schema.
    pub(crate) fn reset(&self) {
        for cluster in [&self.direct, &self.through] {
            if let Err(error) = cluster.primary().sql(&self.schema) {
                let doing = cluster.primary().sql("SHOW FULL PROCESSLIST");
                panic!("no fresh schema: {error:#}\n{doing:?}");
            }
        }
    }

    /// Runs a session on both sides; what differs.
    pub(crate) fn compare<'a>(&mut self, script: &'a Script) -> Vec<Difference> {
        let login = |port| {
            let mut end = End::login(port, script.no_eof).expect("logged in");
            // both know of as many rows then, whatever a connection begins with
            let first = [Line::Schema("test".into()), Line::Text("SELECT 1".into())];
            end.run(&first.each_ref(), false).expect("answered");
            end
        };
        let mut direct = login(self.direct.primary().port);
        let mut through = login(self.proxy.port);
        let ahead = match script.manner {
            Manner::InTurn => 1,
            Manner::Ahead(lines) => lines,
        };
        let quiet = script.lines.iter().filter_map(Line::text).any(locks_everybody_out);
        let lines: Vec<&'a Line> = script.lines.iter().collect();
        let (mut wrong, mut ran) = (Vec::new(), Vec::new());
        let last_id = self.flavour == Flavour::MariaDb;
        for lines in lines.chunks(ahead) {
            let free = self.neighbours.mark(through.id(), quiet);
            let expected = direct.run(lines, last_id);
            let given = through.run(lines, last_id);
            let turn = self.neighbours.marks;
            let one = |(at, line): (usize, &&'a Line)| Ran { line, free: free && at == 0, turn };
            ran.extend(lines.iter().enumerate().map(one));
            let is_end = expected.is_err() || given.is_err();
            let told = |answers: anyhow::Result<Vec<Answer>>| match answers {
                Ok(answers) => answers.iter().map(shown).collect::<Vec<_>>().join("\n    "),
                Err(error) => format!("the connection ends: {error:#}"),
            };
            let (expected, given) = (told(expected), told(given));
            if expected != given {
                let line = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
                wrong.push(Difference { line, direct: expected, through: given });
            }
            if is_end {
                break;
            }
        }
        drop((direct, through));
        self.neighbours.await_end();
        self.await_direct_end();
        self.lines += ran.len();
        match self.lanes.served(&ran) {
            Ok(served) => self.served += served,
            Err(why) => panic!("{why}, in\n{script}"),
        }
        assert!(self.proxy.is_running(), "tidegate has ended\n{}", self.proxy.log());
        wrong
    }

    /// Waits until the server has undone what a session left.
    fn await_direct_end(&self) {
        let count = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'app'";
        live::eventually("the session ends", std::time::Duration::from_secs(10), || {
            self.direct.primary().value(count).is_ok_and(|count| count == "0")
        });
    }
}

/// Whether a text may keep others from writing.
fn locks_everybody_out(text: &str) -> bool {
    text.starts_with("FLUSH TABLES")
}

/// A proxy that has two connections to a server, and keeps both.
pub(crate) fn proxy(cluster: &Cluster, address: &str, port: u16) -> Proxy {
    let version = live::greeting_of(cluster.primary().port).expect("the server greets");
    Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nserver_version = \"{version}\"\n\
             threads = 1\npipeline_min_runs = 1\nfree_connections_pct = 100\n\
             show_processlist_extended = 1\nenable_load_data_local_infile = true\n\n\
             [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n\
             default_hostgroup = 0\n\n\
             [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"{address}\"\nport = {port}\n\
             max_connections = 2\n"
        )
    })
    .expect("tidegate starts")
}
