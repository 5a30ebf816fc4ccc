//! Drivers' own test suites, as far as the registries give them: what passes directly passes
//! through Tidegate, but for what the documentation says. Only in the long form.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::{Cluster, Flavour};
use live::{Program, Proxy, skip};

/// What fails through Tidegate alone, and why.
const KNOWN: [(&str, &str); 1] = [(
    "pymysql/tests/test_issues.py::TestNewIssues::test_issue_36",
    "the ids in SHOW PROCESSLIST are the server's own",
)];

/// A suite, and how it is run.
struct Suite {
    name: &'static str,
    /// Tests that it has to come to; fewer have not run.
    least: usize,
    program: fn(&Path, u16) -> Program,
    /// The test that a line of its output tells of, and whether that failed.
    told: fn(&str) -> Option<(&str, bool)>,
}

const SUITES: [Suite; 2] = [
    Suite { name: "go", least: 350, program: go, told: told_by_go },
    Suite { name: "pymysql", least: 70, program: pymysql, told: told_by_pytest },
];

fn go(fetched: &Path, port: u16) -> Program {
    let folder = fetched.join("go-sql-driver");
    // one test ends the whole suite where nothing is at an address that it takes to be silent
    let silent = "TestConnectorReturnsTimeout";
    // its own files are named from where it is
    let run = "cd \"$0\" && exec ./suite -test.v -test.skip \"$1\"";
    Program::new("sh")
        .args(["-c", run, &folder.display().to_string(), silent])
        .env("MYSQL_TEST_USER", "tester")
        .env("MYSQL_TEST_PASS", "secret")
        .env("MYSQL_TEST_PROT", "tcp")
        .env("MYSQL_TEST_ADDR", format!("127.0.0.1:{port}"))
        .env("MYSQL_TEST_DBNAME", "gotest")
        .env("MYSQL_TEST_CONCURRENT", "1")
        .limit(Duration::from_secs(300))
}

fn pymysql(fetched: &Path, port: u16) -> Program {
    let folder = fetched.join("PyMySQL-0.10.1");
    let account = r#""host":"127.0.0.1","user":"tester","passwd":"secret""#;
    let databases = format!(
        r#"[{{{account},"port":{port},"db":"test1","use_unicode":true,"local_infile":true}},
            {{{account},"port":{port},"db":"test2"}}]"#
    );
    std::fs::write(folder.join("pymysql/tests/databases.json"), databases).expect("written");
    let run = "cd \"$0\" && exec ../venv/bin/python -m pytest -q -rA pymysql/tests";
    Program::new("sh")
        .args(["-c", run, &folder.display().to_string()])
        .limit(Duration::from_secs(300))
}

/// `    --- FAIL: TestName/part (0.00s)`
fn told_by_go(line: &str) -> Option<(&str, bool)> {
    let (outcome, rest) = line.trim().strip_prefix("--- ")?.split_once(": ")?;
    Some((rest.split(' ').next()?, outcome == "FAIL"))
}

/// `FAILED pymysql/tests/test_basic.py::TestBulkInserts::test_bulk_insert - why`
fn told_by_pytest(line: &str) -> Option<(&str, bool)> {
    let (outcome, rest) = line.split_once(' ')?;
    let is_told = ["PASSED", "FAILED", "ERROR"].contains(&outcome) && rest.contains("::");
    is_told.then(|| (rest.split(' ').next().unwrap_or(rest), outcome != "PASSED"))
}

impl Suite {
    /// What fails, on fresh schemas.
    fn failures(&self, cluster: &Cluster, fetched: &Path, port: u16) -> BTreeSet<String> {
        for schema in ["gotest", "test1", "test2"] {
            let fresh = format!("DROP DATABASE IF EXISTS {schema}; CREATE DATABASE {schema}");
            cluster.primary().sql(&fresh).expect("a fresh schema");
        }
        let finished = (self.program)(fetched, port).run();
        let told: Vec<_> = finished.output.lines().filter_map(self.told).collect();
        assert!(told.len() >= self.least, "{}: {}\n{}", self.name, told.len(), finished.errors);
        told.into_iter().filter(|(_, failed)| *failed).map(|(test, _)| test.to_owned()).collect()
    }
}

fn proxy(cluster: &Cluster) -> Proxy {
    let port = cluster.primary().port;
    let version = live::greeting_of(port).expect("the server greets");
    Proxy::start(|interfaces| {
        let users = [("tester", "secret"), ("root", "")].map(|(name, password)| {
            format!(
                "[[mysql_users]]\nusername = \"{name}\"\npassword = \"{password}\"\n\
                 default_hostgroup = 0\n\n"
            )
        });
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nserver_version = \"{version}\"\n\
             enable_load_data_local_infile = true\n\n{}[[mysql_servers]]\nhostgroup_id = 0\n\
             hostname = \"127.0.0.1\"\nport = {port}\n",
            users.concat()
        )
    })
    .expect("tidegate starts")
}

/// Where the suites are, and which of them.
fn fetched() -> (PathBuf, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("drivers/suites.sh");
    let folder = live::target_dir().expect("known").join("live-suites");
    let finished = Program::new(script).args([&folder]).limit(Duration::from_secs(300)).run();
    assert!(finished.success, "{}", finished.errors);
    (folder, finished.output)
}

#[test]
fn what_passes_directly_passes_through() {
    if !live::full() {
        return skip("drivers' own suites", "only in the long form");
    }
    let Some(cluster) = live::cluster("drivers' own suites", Flavour::MariaDb, 0) else { return };
    let accounts = "CREATE USER tester@'%' IDENTIFIED BY 'secret'; \
        GRANT ALL ON *.* TO tester@'%' WITH GRANT OPTION; \
        CREATE USER IF NOT EXISTS root@'127.0.0.1'; \
        GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION; SET GLOBAL local_infile = 1";
    cluster.primary().sql(accounts).expect("accounts");
    let proxy = proxy(&cluster);
    let (folder, said) = fetched();
    let mut wrong = Vec::new();
    for suite in &SUITES {
        if !said.lines().any(|line| line.strip_prefix("ready ") == Some(suite.name)) {
            skip(suite.name, &said);
            continue;
        }
        let direct = suite.failures(&cluster, &folder, cluster.primary().port);
        let through = suite.failures(&cluster, &folder, proxy.port);
        let known = |test: &str| KNOWN.iter().any(|(name, _)| *name == test);
        wrong.extend(through.difference(&direct).filter(|test| !known(test)).cloned());
    }
    assert!(wrong.is_empty(), "fail through alone:\n{}\n{}", wrong.join("\n"), proxy.log());
}
