//! Two servers that are the same, a proxy in front of one of them, and the neighbours: runs a
//! session directly and through the proxy, and compares every byte. The one behind the proxy may
//! have a replica that gets all reads, each when the replica has caught up.

use std::cell::RefCell;
use std::fmt;
use std::time::Duration;

use lab::{Cluster, Flavour, LabOptions};
use live::{Proxy, client, skip};
use mysql::prelude::Queryable;

use crate::end::{Answer, End, shown};
use crate::lanes::{Lanes, Ran, Served};
use crate::marks_table::SCHEMA;
use crate::neighbours::{Kind, Neighbours};
use crate::planted::{self, Omission};
use crate::script::{Line, Manner, Script};
use crate::settings_table::Settings;

/// Where sessions are compared.
pub(crate) struct Stage {
    pub(crate) flavour: Flavour,
    direct: Cluster,
    through: Cluster,
    /// For each server behind the proxy.
    posts: Vec<Post>,
    /// How far the primary was when the replica had caught up.
    replicated: RefCell<String>,
    /// Dropped before its server is.
    proxy: Proxy,
    /// Status flags that are not compared.
    flags: u16,
    /// The statements that make the schema `test`.
    pub(crate) schema: String,
    pub(crate) served: Served,
    pub(crate) lines: usize,
    /// How many sessions ended because they kept a connection to a reader and came to write.
    pub(crate) refused: usize,
}

/// A server behind the proxy, and who shares its connections with the session under test.
struct Post {
    lanes: Lanes,
    neighbours: Neighbours,
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
    pub(crate) fn start(flavour: Flavour, settings: &Settings, readers: usize) -> Option<Self> {
        if let Err(why) = flavour.find(true) {
            skip("the adversary", &format!("{} cannot be had: {why:#}", flavour.name()));
            return None;
        }
        let start = |replicas| {
            let options = LabOptions {
                flavour,
                replicas,
                may_fetch: true,
                in_memory: true,
                // temporary tables are no replica's business then
                extra_args: vec!["--binlog-format=ROW".to_owned()],
                ..Default::default()
            };
            let cluster = Cluster::start(options).expect("the server starts");
            let own = match flavour {
                Flavour::MariaDb => settings.mariadb,
                Flavour::MySql => settings.mysql,
            };
            let role = "CREATE ROLE watcher; GRANT watcher TO app";
            for server in cluster.servers() {
                for text in [settings.both, own].iter().filter(|text| !text.is_empty()) {
                    server.sql(text).expect("set up");
                }
            }
            cluster.primary().sql(SCHEMA).expect("set up");
            cluster.primary().sql(role).expect("set up");
            cluster.wait_replicated().expect("the replica follows");
            cluster
        };
        let (direct, through) = (start(0), start(readers));
        // MySQL knows the password from then on, so that nobody need send it
        for server in [&direct, &through].into_iter().flat_map(Cluster::servers) {
            drop(client::connect(client::options(server.port)));
        }
        let proxy = proxy(&through, "127.0.0.1", through.primary().port);
        let posts = through.servers().iter().enumerate().map(|(at, server)| {
            let kind = Kind { no_eof: false, of_reader: at > 0 };
            Post {
                lanes: Lanes::of(server, through.dir()),
                neighbours: Neighbours::new(&proxy, kind),
            }
        });
        let posts = posts.collect();
        Some(Self {
            flavour,
            direct,
            through,
            posts,
            replicated: RefCell::default(),
            proxy,
            flags: settings.flags,
            schema: String::new(),
            served: Served::default(),
            lines: 0,
            refused: 0,
        })
    }

    /// From now on the proxy leaves something out.
    pub(crate) fn plant(&mut self, omission: Omission) {
        let port = planted::relay(self.through.primary().port, omission).expect("it listens");
        self.proxy = proxy(&self.through, "127.0.0.1", port);
        self.meet(false);
    }

    /// Others are the neighbours from now on.
    fn meet(&mut self, no_eof: bool) {
        for post in &mut self.posts {
            post.lanes.forget();
            post.neighbours = Neighbours::new(&self.proxy, Kind { no_eof, ..post.neighbours.kind });
        }
    }

    /// Both servers have a fresh schema.
    pub(crate) fn reset(&self) {
        for cluster in [&self.direct, &self.through] {
            if let Err(error) = cluster.primary().sql(&self.schema) {
                let doing = cluster.primary().sql("SHOW FULL PROCESSLIST");
                panic!("no fresh schema: {error:#}\n{doing:?}");
            }
        }
        self.await_replica();
    }

    /// The same, and all of it is known: a reading amid the reset has met half of it.
    pub(crate) fn reset_and_read(&self) {
        self.reset();
        let mut conn = client::connect(client::options(self.proxy.port));
        let readings = || self.proxy.counter("stored_code_readings").expect("counted");
        let catalogs = u64::try_from(self.posts.len()).expect("few servers");
        // the first one may have begun before
        for _ in 0..2 {
            let before = readings();
            conn.query_drop("DROP TABLE IF EXISTS test.never_made").expect("done");
            live::eventually("all is read", Duration::from_secs(10), || {
                readings() >= before + catalogs
            });
        }
    }

    /// Waits until the replica has what the primary has, if there is one.
    fn await_replica(&self) {
        if self.posts.len() == 1 {
            return;
        }
        let position = match self.flavour {
            Flavour::MariaDb => "SELECT @@gtid_binlog_pos",
            Flavour::MySql => "SELECT @@gtid_executed",
        };
        let position = self.through.primary().value(position).expect("a position");
        if self.replicated.replace(position.clone()) != position {
            self.through.wait_replicated().expect("the replica follows");
        }
    }

    /// Runs a session on both sides; what differs.
    pub(crate) fn compare<'a>(&mut self, script: &'a Script) -> Vec<Difference> {
        if self.posts.iter().any(|post| post.neighbours.kind.no_eof != script.no_eof) {
            self.meet(script.no_eof);
        }
        let mut direct = self.login(self.direct.primary().port, script);
        let mut through = self.login(self.proxy.port, script);
        let ahead = match script.manner {
            Manner::Ahead(lines) if self.posts.len() == 1 => lines,
            // what is read has to be there
            _ => 1,
        };
        let quiet = script.lines.iter().filter_map(Line::text).any(locks_everybody_out);
        let lines: Vec<&'a Line> = script.lines.iter().collect();
        let mut wrong = Vec::from_iter(of_logins(&mut direct, &mut through));
        let mut ran = vec![Vec::new(); self.posts.len()];
        let (mut count, mut is_refused) = (0, false);
        let last_id = self.flavour == Flavour::MariaDb;
        for lines in lines.chunks(ahead) {
            for (post, ran) in self.posts.iter_mut().zip(&mut ran) {
                let free = post.neighbours.mark(through.id(), quiet);
                let turn = post.neighbours.marks;
                let one =
                    |(at, line): (usize, &&'a Line)| Ran { line, free: free && at == 0, turn };
                ran.extend(lines.iter().enumerate().map(one));
            }
            self.await_replica();
            let expected = direct.run(lines, last_id);
            let given = through.run(lines, last_id);
            count += lines.len();
            let refuses = |answers: &Vec<Answer>| answers.iter().any(is_refusal);
            is_refused = self.posts.len() > 1 && given.as_ref().is_ok_and(refuses);
            let is_end = is_refused || expected.is_err() || given.is_err();
            let told = |answers: anyhow::Result<Vec<Answer>>| match answers {
                Ok(answers) => answers.iter().map(shown).collect::<Vec<_>>().join("\n    "),
                Err(error) => format!("the connection ends: {error:#}"),
            };
            let (expected, given) = (told(expected), told(given));
            if expected != given && !is_refused {
                let line = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
                wrong.push(Difference { line, direct: expected, through: given });
            }
            if is_end {
                break;
            }
        }
        drop((direct, through));
        let neighbours = 2 * self.posts.len();
        self.posts.iter_mut().for_each(|post| post.neighbours.await_end(neighbours));
        self.await_direct_end();
        self.lines += count;
        for (post, ran) in self.posts.iter_mut().zip(&ran) {
            match post.lanes.served(ran) {
                Ok(served) => self.served += served,
                Err(why) => panic!("{why}, in\n{script}"),
            }
        }
        // what ran on one server ran elsewhere for the log of the other
        self.served.elsewhere -= count * (self.posts.len() - 1);
        if is_refused {
            // from there on it was done on one side only
            self.refused += 1;
            self.reset();
        }
        assert!(self.proxy.is_running(), "tidegate has ended\n{}", self.proxy.log());
        wrong
    }

    /// Begins a session.
    fn login(&self, port: u16, script: &Script) -> End {
        let login = || End::login(port, script.no_eof, self.flags);
        // MySQL forgets passwords that it knows when one is set
        let mut end = login().unwrap_or_else(|_| {
            drop(client::connect(client::options(port)));
            login().expect("logged in")
        });
        // both know of as many rows then, whatever a connection begins with
        let first = [Line::Schema("test".into()), Line::Text("SELECT 1".into())];
        end.run(&first.each_ref(), false).expect("answered");
        end
    }

    /// Waits until the server has undone what a session left.
    fn await_direct_end(&self) {
        let count = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'app'";
        live::eventually("the session ends", std::time::Duration::from_secs(10), || {
            self.direct.primary().value(count).is_ok_and(|count| count == "0")
        });
    }
}

/// What differs in what the logins told.
fn of_logins(direct: &mut End, through: &mut End) -> Option<Difference> {
    let told = |end: &mut End| end.told_at_login().unwrap_or_else(|error| error.to_string());
    let (direct, through) = (told(direct), told(through));
    (direct != through).then(|| Difference { line: "the login".into(), direct, through })
}

/// What goes to which hostgroup: reads to readers, but for what locks or ties a session there.
const RULES: [(&str, u32); 3] =
    [("/[*] of readers [*]/", 1), ("^SELECT.*(FOR UPDATE|_LOCK|:=| INTO )", 0), ("^SELECT", 1)];

/// Whether an answer says that the session keeps a connection to a server without writes.
fn is_refusal(answer: &Answer) -> bool {
    let packet = answer.last().map_or(&[][..], |(_, packet)| packet);
    packet.starts_with(&[&[0xff], &9006_u16.to_le_bytes()[..]].concat())
}

/// Whether a text may keep others from writing.
fn locks_everybody_out(text: &str) -> bool {
    text.starts_with("FLUSH TABLES")
}

/// A proxy that has two connections to each server, and keeps them; to the replicas it sends reads.
pub(crate) fn proxy(cluster: &Cluster, address: &str, port: u16) -> Proxy {
    let version = live::greeting_of(cluster.primary().port).expect("the server greets");
    let mut readers = String::new();
    for replica in cluster.replicas() {
        readers += &format!(
            "\n[[mysql_servers]]\nhostgroup_id = 1\nhostname = \"127.0.0.1\"\nport = {}\n\
             max_connections = 2\n",
            replica.port
        );
        for (at, (pattern, hostgroup)) in RULES.iter().enumerate() {
            readers += &format!(
                "\n[[mysql_query_rules]]\nrule_id = {}\nactive = 1\napply = 1\n\
                 match_pattern = '{pattern}'\ndestination_hostgroup = {hostgroup}\n",
                at + 1
            );
        }
    }
    Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nserver_version = \"{version}\"\n\
             threads = 1\npipeline_min_runs = 1\nfree_connections_pct = 100\n\
             show_processlist_extended = 1\nget_server_public_key = true\n\
             enable_load_data_local_infile = true\n\n\
             [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n\
             default_hostgroup = 0\n\n\
             [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"{address}\"\nport = {port}\n\
             max_connections = 2\n{readers}"
        )
    })
    .expect("tidegate starts")
}
