//! Applications of ordinary frameworks share a few connections. What they set up, read and write in
//! fifty sessions goes over five, and nothing ties one of them for longer than a transaction.

use std::time::Duration;

use lab::{Cluster, Flavour};
use live::{Kits, Program, Proxy, skip};

/// The connections that all sessions have to share.
const CONNECTIONS: u64 = 5;

fn proxy(cluster: &Cluster) -> Proxy {
    let port = cluster.primary().port;
    let version = live::greeting_of(port).expect("the server greets");
    Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nserver_version = \"{version}\"\n\
             threads = 1\nget_server_public_key = true\n\n\
             [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n\
             default_hostgroup = 0\n\n[[mysql_servers]]\nhostgroup_id = 0\n\
             hostname = \"127.0.0.1\"\nport = {port}\nmax_connections = {CONNECTIONS}\n"
        )
    })
    .expect("tidegate starts")
}

/// A way to use a framework, what runs it, and every reason for which it keeps connections: none
/// of them outlasts a transaction or a migration, but for the time that a server takes to tell an
/// id. Warnings, which are kept until the next statement, are not listed.
struct Framework {
    name: &'static str,
    /// What its program is told besides.
    way: &'static str,
    /// What `setup.sh` has to be ready with.
    kit: &'static str,
    held_for: &'static [&'static str],
}

impl Framework {
    const fn new([name, way, kit]: [&'static str; 3], held_for: &'static [&'static str]) -> Self {
        Self { name, way, kit, held_for }
    }
}

/// What a framework keeps connections for that names a transaction's isolation in front of it.
const OF_CHARACTERISTICS: [&str; 3] =
    ["next_transaction", "transaction", "transaction_characteristics"];

/// The ways of one follow each other.
const FRAMEWORKS: [Framework; 11] = [
    Framework::new(["sqlalchemy", "", "python"], &["transaction"]),
    Framework::new(["django", "", "python"], &["last_insert_id", "transaction"]),
    Framework::new(["sequelize", "", "node"], &OF_CHARACTERISTICS),
    Framework::new(["go", "", "go"], &OF_CHARACTERISTICS),
    Framework::new(["hibernate", "", "java"], &["transaction"]),
    Framework::new(["laravel", "native", "php"], &["transaction"]),
    Framework::new(["laravel", "emulated", "php"], &["transaction"]),
    Framework::new(["doctrine", "native", "php"], &["transaction"]),
    Framework::new(["doctrine", "emulated", "php"], &["transaction"]),
    Framework::new(["activerecord", "native", "ruby"], &["get_lock", "transaction"]),
    Framework::new(["activerecord", "text", "ruby"], &["get_lock", "transaction"]),
];

impl Framework {
    fn program(&self, kits: &Kits) -> Program {
        let Kits { programs, fetched, .. } = kits;
        match self.kit {
            "python" => {
                kits.python().args([programs.join("python/frameworks.py")]).args([self.name])
            }
            "node" => Program::new("node").args([fetched.join("node/frameworks.js")]),
            "go" => Program::new(fetched.join("go-suite")).args(["frameworks"]),
            "php" => Program::new("php")
                .args([programs.join("php/frameworks.php")])
                .args([self.name, self.way]),
            "ruby" => {
                Program::new("ruby").args([programs.join("ruby/frameworks.rb")]).args([self.way])
            }
            _ => Program::new("java").args(["-Xmx512m", "-cp", &kits.java_path(), "Frameworks"]),
        }
    }

    /// Why it keeps connections to such servers: only MariaDB has `INSERT … RETURNING`.
    fn reasons(&self, flavour: Flavour) -> impl Iterator<Item = &'static str> {
        let returns = flavour == Flavour::MariaDb;
        self.held_for.iter().copied().filter(move |why| returns || *why != "last_insert_id")
    }

    /// Its row in the documentation.
    fn row(&self) -> String {
        let reasons: Vec<_> = self.held_for.iter().map(|reason| format!("`{reason}`")).collect();
        let way = if self.way.is_empty() { String::new() } else { format!(", {}", self.way) };
        format!("| {}{way} | {} |\n", self.name, reasons.join(", "))
    }
}

#[test]
fn what_frameworks_keep_connections_for_is_documented() {
    let document = include_str!("../../../docs/connections.md");
    let rows: String = FRAMEWORKS.iter().map(Framework::row).collect();
    assert!(document.contains(&format!("|---|---|\n{rows}\n")), "not in the document:\n{rows}");
}

#[test]
fn fifty_sessions_of_a_framework_share_five_connections_of_mariadb() {
    frameworks_share(Flavour::MariaDb, "frameworks with MariaDB");
}

#[test]
fn fifty_sessions_of_a_framework_share_five_connections_of_mysql() {
    if live::full() {
        frameworks_share(Flavour::MySql, "frameworks with MySQL");
    }
}

fn frameworks_share(flavour: Flavour, what: &str) {
    let Some(cluster) = live::cluster(what, flavour, 0) else { return };
    let kits = Kits::set_up();
    let mut wrong = Vec::new();
    for (at, framework) in FRAMEWORKS.iter().enumerate() {
        // the short form runs each in its first way only
        if !live::full() && at > 0 && FRAMEWORKS[at - 1].name == framework.name {
            continue;
        }
        let name = format!("{} {}", framework.name, framework.way);
        if let Some(why) = kits.missing(framework.kit) {
            skip(&format!("{what}: {name}"), why);
            continue;
        }
        let proxy = proxy(&cluster);
        let finished = framework
            .program(&kits)
            .args(["127.0.0.1", &proxy.port.to_string()])
            .limit(Duration::from_secs(120))
            .run();
        if !finished.success {
            wrong.push(format!("{name}: {}{}", finished.output, finished.errors));
        }
        let statistics = proxy.statistics().expect("told");
        let held_for = statistics["held_for"].as_object().expect("reasons");
        let reasons = held_for.iter().filter(|(_, times)| times.as_u64() != Some(0));
        let reasons = reasons.map(|(reason, _)| reason.as_str());
        let expected: Vec<&str> = framework.reasons(flavour).collect();
        // until tables were read, servers are asked for the ids of new rows
        let passes = |reason: &&str| match *reason {
            "has_warnings" => true,
            "last_insert_id" => !expected.contains(reason),
            _ => false,
        };
        let reasons: Vec<&str> = reasons.filter(|reason| !passes(reason)).collect();
        if reasons != expected {
            wrong.push(format!("{name} keeps connections for {reasons:?}: {held_for:?}"));
        }
        let (queries, made) = (proxy.counter("queries"), proxy.counter("lanes_created"));
        let (queries, made) = (queries.expect("counted"), made.expect("counted"));
        if queries < 1000 || made != CONNECTIONS {
            wrong.push(format!("{name}: {queries} queries over {made} connections"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
