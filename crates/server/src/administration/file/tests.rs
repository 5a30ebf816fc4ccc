//! Every shape of a file, through the rows of the interface and through its database on disk.

use std::sync::{Arc, Mutex};

use admin::{
    Admin, Applied, Control, FailedClient, Kill, MakeDraft, Opening, OpeningSource, Reply, Role,
    Runtime, Session,
};
use engine::config_fault::ConfigFault;
use engine::rows::{RestapiRouteRow, SchedulerRow};
use engine::snapshot::Snapshot;
use engine::stats::{Collected, Parts};
use failover::Journal;
use keeper::Endpoint;
use monitor::Logs;

use super::*;

/// A directory of its own, removed with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("tidegate-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("the temporary directory is writable");
        Self(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// The shapes.
fn files() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/config/cnf");
    let entries = std::fs::read_dir(folder).expect(folder);
    entries.map(|entry| entry.expect(folder).path()).collect()
}

/// What a file says, in one order; of variables, those that it does not leave at their default.
fn said(file: &Path) -> Rows {
    let mut rows = OwnFile(Some(file.to_owned())).read().expect("valid");
    let differs = |row: &Vec<Value>| {
        let [name, value] = [0, 1].map(|at| admin::cell_text(&row[at]).expect("text"));
        find(&name).expect("known").default_value().to_string() != value
    };
    rows.get_mut("global_variables").expect("it is there").retain(differs);
    // rows of a table have no order
    rows.values_mut().for_each(|rows| rows.sort_by_key(|row| format!("{row:?}")));
    rows
}

#[test]
fn a_file_comes_back_from_the_rows_of_the_interface() {
    let scratch = Scratch::new("rows");
    for first in files() {
        let rows = said(&first);
        for name in ["again.toml", "again.cnf"] {
            let file = scratch.0.join(name);
            let text = OwnFile(Some(first.clone())).text(&rows, Some(&file));
            std::fs::write(&file, text).expect("it is writable");
            assert_eq!(said(&file), rows, "{}", first.display());
        }
    }
}

#[test]
fn a_file_comes_back_from_memory_and_disk() {
    for first in files() {
        let name = first.file_stem().expect("a name").to_string_lossy().into_owned();
        let scratch = Scratch::new(&name);
        let to = |name: &str| scratch.0.join(name);
        // from the file to memory, to disk, and to a file again
        open(&scratch.0, OpeningSource::File, Some(first.clone()), &to("of-memory.cnf"));
        // a process that knows no file: from disk to memory, and to a file
        open(&scratch.0, OpeningSource::Database, None, &to("of-disk.cnf"));
        let read = |name: &str| std::fs::read_to_string(to(name)).expect("written");
        assert_eq!(read("of-memory.cnf"), read("of-disk.cnf"), "{name}");
        assert_eq!(said(&to("of-disk.cnf")), said(&first), "{name}");
    }
    assert!(files().len() >= 6);
}

/// Begins as a process does, and saves what it has in memory to disk and to a file.
fn open(dir: &Path, source: OpeningSource, file: Option<PathBuf>, target: &Path) {
    let file = Box::new(OwnFile(file));
    let dir = Some(dir.join("data"));
    let opening = Opening { dir, source, initial: false, reload: false, file };
    let opened = opening.open().expect("it is valid");
    let idle = Idle(Arc::new(opened.snapshot));
    let mut admin = Admin::new(opened.store, Arc::new(idle)).expect("it opens");
    let mut session = Session::new(Role::Administrator, "admin", 1);
    let modules =
        ["SERVERS", "USERS", "QUERY RULES", "VARIABLES"].map(|name| format!("MYSQL {name}"));
    let others = ["ADMIN VARIABLES", "SCHEDULER", "RESTAPI", "PROXYSQL SERVERS", "MYSQL FIREWALL"];
    for module in modules.iter().map(String::as_str).chain(others) {
        let done = admin.run(&mut session, &format!("SAVE {module} TO DISK"), &[]);
        assert!(matches!(done, Ok(Reply::Done { .. })), "{module}: {done:?}");
    }
    let save = format!("SAVE CONFIG TO FILE {}", target.display());
    admin.run(&mut session, &save, &[]).expect("it is saved");
}

/// A process that has a configuration and does nothing.
struct Idle(Arc<Snapshot>);

impl Runtime for Idle {
    fn snapshot(&self) -> Arc<Snapshot> {
        self.0.clone()
    }

    fn apply(&self, _: MakeDraft<'_>) -> Result<Applied, Vec<ConfigFault>> {
        Ok(Applied::default())
    }

    fn failed_clients(&self, _: bool) -> Vec<FailedClient> {
        Vec::new()
    }

    fn logs(&self) -> Arc<Mutex<Logs>> {
        Arc::default()
    }

    fn latency_us(&self, _: &Endpoint) -> Option<u64> {
        None
    }

    fn collect(&self, _: Parts) -> Collected {
        Collected::default()
    }

    fn metrics(&self) -> String {
        String::new()
    }

    fn schedule(&self, _: Vec<SchedulerRow>) {}

    fn route(&self, _: Vec<RestapiRouteRow>) {}

    fn kill(&self, _: u32, _: Kill) -> bool {
        false
    }

    fn flush_cached(&self, _: &engine::caching::CachedOf) -> u64 {
        unreachable!("nothing is cached")
    }

    fn flush_connections(&self, _: Option<&str>) -> u64 {
        0
    }

    fn log(&self, _: &str) {}

    fn is_open(&self) -> bool {
        true
    }

    fn switch_over(&self, _: u32, _: Option<Endpoint>, _: bool) -> Result<u64, String> {
        Err("nothing is switched over here".to_owned())
    }

    fn switchovers(&self) -> Arc<Mutex<Journal>> {
        Arc::default()
    }

    fn control(&self, _: Control) -> Result<u64, String> {
        Ok(0)
    }
}
