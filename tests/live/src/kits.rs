//! What programs in other languages need to run: fetched once, beside what cargo builds.
//!
//! Decides where it is kept and whether it is there; knows neither what the programs do nor which
//! test runs them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Program, target_dir};

/// The kits of the languages, and which of them are ready.
#[derive(Debug)]
pub struct Kits {
    /// The programs.
    pub programs: PathBuf,
    /// What was fetched for them, and what was built of them.
    pub fetched: PathBuf,
    said: BTreeMap<String, Result<(), String>>,
}

impl Kits {
    /// Fetches what is missing; panics if the set-up itself fails.
    pub fn set_up() -> Self {
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("drivers");
        let fetched = target_dir().expect("known").join("live-drivers");
        let finished = Program::new(programs.join("setup.sh"))
            .args([&fetched])
            .limit(Duration::from_secs(600))
            .run();
        assert!(finished.success, "setup.sh: {}", finished.errors);
        let mut said = BTreeMap::from([("rust".to_owned(), Ok(()))]);
        for line in finished.output.lines() {
            if let Some(kit) = line.strip_prefix("ready ") {
                said.insert(kit.to_owned(), Ok(()));
            } else if let Some((kit, why)) =
                line.strip_prefix("missing ").and_then(|rest| rest.split_once(": "))
            {
                said.insert(kit.to_owned(), Err(why.to_owned()));
            }
        }
        Kits { programs, fetched, said }
    }

    /// Why a kit cannot be used; `None` where it can.
    pub fn missing(&self, kit: &str) -> Option<&str> {
        match self.said.get(kit) {
            Some(Ok(())) => None,
            Some(Err(why)) => Some(why),
            None => Some("the set-up does not know it"),
        }
    }

    /// A driver's program for a table of cases; `rust` is the Rust one without TLS.
    pub fn suite(&self, driver: &str, rust: &str) -> Program {
        let Kits { programs, fetched, .. } = self;
        match driver {
            "pymysql" | "mysql-connector-python" | "libmysqlclient" => {
                self.python().args([programs.join("python/suite.py")]).args([driver])
            }
            "mysql2" => Program::new("node").args([fetched.join("node/suite.js")]),
            "go-sql-driver" => Program::new(fetched.join("go-suite")),
            "rust-mysql" => Program::new(rust),
            _ => Program::new("java").args(["-Xmx1g", "-cp", &self.java_path(), "Suite", driver]),
        }
    }

    /// The Rust program with a driver that speaks TLS; the kit is `rust-tls`.
    pub fn rust_with_tls(&self) -> String {
        self.fetched.join("rust/debug/rust-suite").display().to_string()
    }

    /// Runs the interpreter that has the Python drivers.
    pub fn python(&self) -> Program {
        Program::new(self.fetched.join("venv/bin/python"))
    }

    /// Where the Java programs and what they need are found.
    pub fn java_path(&self) -> String {
        format!("{0}/live-1.jar:{0}/dependency/*", self.fetched.join("java/target").display())
    }
}
