//! Mutated statements: each is answered, and changes no layer that it does not name.

mod fake;

use std::path::PathBuf;

use admin::OpeningSource;
use engine::rows::ServerRow;
use engine::snapshot::Draft;
use fake::{GivenFile, Interface, lines};
use mysql::prelude::Queryable;

/// Statements to mutate, beside the examples of the reference.
const SEEDS: &[&str] = &[
    "INSERT INTO mysql_servers (hostgroup_id, hostname, port) VALUES (1, 'db', 3306)",
    "REPLACE INTO disk.mysql_servers (hostgroup_id, hostname) VALUES (2, 'x')",
    "UPDATE mysql_servers SET weight = weight + 1 WHERE hostgroup_id IN (0, 1)",
    "DELETE FROM mysql_users WHERE username LIKE '%a%' AND active = 1",
    "INSERT INTO mysql_users (username, password, attributes) VALUES ('u', NULL, '{}')",
    "INSERT INTO mysql_query_rules (rule_id, active, match_digest) VALUES (7, 1, '^SELECT')",
    "UPDATE global_variables SET variable_value = '5' WHERE variable_name = 'mysql-threads'",
    "SELECT a.hostname, count(*) FROM mysql_servers a JOIN disk.mysql_servers b USING (hostname)",
    "SELECT * FROM stats_mysql_query_digest_reset WHERE count_star > 10 ORDER BY 1 LIMIT 3",
    "SELECT @@version, @@mysql-max_connections + 1 AS n",
    "LOAD MYSQL USERS TO RUNTIME; SAVE MYSQL USERS TO DISK",
    "SAVE MYSQL QUERY RULES FROM RUNTIME",
    "LOAD MYSQL VARIABLES FROM DISK",
    "SAVE ADMIN VARIABLES TO DISK",
    "LOAD MYSQL USER u TO RUNTIME",
    "KILL QUERY 7",
    "EXPLAIN ROUTE SELECT 1 FOR USER 'u' SCHEMA 's'",
    "EXPLAIN QUERY PLAN SELECT * FROM mysql_users",
    "PRAGMA main.table_info(mysql_users)",
    "CREATE TEMP VIEW v AS SELECT 1",
    "DROP VIEW IF EXISTS v",
    "/*!40101 SET NAMES utf8 */",
    "SELECT 'it''s', \"x\", `y`, -1.5e3, x'00ff', ? FROM (SELECT 1) -- end",
];

/// Words that are put in.
const WORDS: &[&str] = &[
    "'",
    "\"",
    "`",
    "(",
    ")",
    ";",
    ",",
    "/*",
    "*/",
    "--",
    "=",
    "@@",
    "@",
    "\\",
    "\0",
    "\u{e9}",
    "\u{1f600}",
    "NULL",
    "-1",
    "99999999999999999999",
    "0x",
    "disk",
    "main",
    ".",
    "runtime_mysql_users",
    "RUNTIME",
    "MEMORY",
    "DISK",
    "CONFIG",
    "FROM",
    "TO",
    "LIKE",
    "%",
    "WHERE",
    "SELECT",
];

/// Numbers of chance from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or(0) % end.max(1)
    }

    /// A statement that is like others, and none of them.
    fn statement(&mut self, seeds: &[&str]) -> String {
        let mut words: Vec<String> =
            seeds[self.below(seeds.len())].split(' ').map(str::to_owned).collect();
        for _ in 0..=self.below(3) {
            let at = self.below(words.len());
            let other: Vec<&str> = seeds[self.below(seeds.len())].split(' ').collect();
            let other = match self.below(2) {
                0 => other[self.below(other.len())].to_owned(),
                _ => WORDS[self.below(WORDS.len())].to_owned(),
            };
            match self.below(6) {
                0 if words.len() > 1 => drop(words.remove(at)),
                1 => words.insert(at, other),
                2 => words[at] = other,
                3 => {
                    let to = self.below(words.len());
                    words.swap(at, to);
                }
                4 => words.insert(at, words[at].clone()),
                _ => {
                    let mut signs: Vec<char> = words[at].chars().collect();
                    if !signs.is_empty() {
                        let sign = self.below(signs.len());
                        signs[sign] = char::from(32 + (self.below(95) as u8));
                    }
                    words[at] = signs.into_iter().collect();
                }
            }
        }
        words.join(" ")
    }
}

/// What each layer holds.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Layers {
    runtime: u32,
    memory: String,
    disk: String,
}

fn layers(interface: &Interface, admin: &mut mysql::Conn) -> Layers {
    let mut of = |schema: &str| {
        let tables = ["mysql_servers", "mysql_users", "mysql_query_rules", "scheduler"];
        let counts = tables.map(|table| format!("(SELECT count(*) FROM {schema}.{table})"));
        let sql = format!(
            "SELECT {}, (SELECT group_concat(hostname || weight) FROM {schema}.mysql_servers), \
             (SELECT group_concat(username || active) FROM {schema}.mysql_users), \
             (SELECT sum(length(variable_value)) FROM {schema}.global_variables)",
            counts.join(", ")
        );
        lines(admin, &sql)
    };
    let (memory, disk) = (of("main"), of("disk"));
    Layers { runtime: interface.fake().applied(), memory, disk }
}

/// Whether a statement names what changes a layer.
fn names(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

#[test]
fn any_statement_is_answered_and_changes_no_layer_that_it_does_not_name() {
    let count = std::env::var("TIDEGATE_FUZZ_STATEMENTS").ok();
    let count = count.and_then(|count| count.parse().ok()).unwrap_or(2000);
    let dir: PathBuf = std::env::temp_dir().join(format!("tidegate-fuzz-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&dir));
    let server = ServerRow { hostname: "kept".into(), ..ServerRow::default() };
    let file = Draft { servers: vec![server], ..Draft::default() };
    let interface = Interface::open(GivenFile(file), Some(dir.clone()), OpeningSource::Auto);
    let interface = interface.expect("it opens");
    let mut admin = interface.admin();
    let examples = admin::COMMANDS.iter().map(|command| command.example);
    let seeds: Vec<&str> =
        SEEDS.iter().copied().chain(examples.filter(|example| !example.is_empty())).collect();
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let mut before = layers(&interface, &mut admin);
    for turn in 0..count {
        let text = dice.statement(&seeds);
        let upper = text.to_ascii_uppercase();
        // files of this machine are no layer, and not to be written by chance
        if names(&upper, &["OUTFILE", "CONFIG TO", "ATTACH", "VACUUM"]) {
            continue;
        }
        match admin.query_drop(&text) {
            Ok(()) | Err(mysql::Error::MySqlError(_)) => {}
            Err(other) => panic!("turn {turn}: {text}: {other}"),
        }
        let after = layers(&interface, &mut admin);
        let runtime = names(&upper, &["LOAD", "ROLLBACK"]);
        let moved = names(&upper, &["SAVE", "ROLLBACK", "FLUSH"])
            || names(&upper, &["LOAD"]) && names(&upper, &["FROM", "MEM"]);
        let written = names(&upper, &["INSERT", "REPLACE", "UPDATE", "DELETE", "SET", "TRUNCATE"]);
        let disk = written && upper.contains("DISK") || names(&upper, &["SAVE", "FLUSH"]);
        assert!(runtime || before.runtime == after.runtime, "runtime, turn {turn}: {text}");
        assert!(moved || written || before.memory == after.memory, "memory, turn {turn}: {text}");
        assert!(disk || before.disk == after.disk, "disk, turn {turn}: {text}");
        before = after;
        if turn % 500 == 499 {
            for text in [
                "PROXYSQL READWRITE",
                "DELETE FROM mysql_users WHERE rowid > 50",
                "DELETE FROM mysql_servers WHERE rowid > 50",
                "DELETE FROM mysql_query_rules WHERE rule_id > 50",
            ] {
                admin.query_drop(text).expect("it is a statement");
            }
            before = layers(&interface, &mut admin);
        }
    }
    drop(interface);
    drop(std::fs::remove_dir_all(&dir));
}
