//! A process that stands still, for tests of what is around it.

use std::sync::{Arc, Mutex};

use engine::config_fault::ConfigFault;
use engine::rows::{RestapiRouteRow, SchedulerRow};
use engine::snapshot::{Draft, Snapshot};
use engine::stats::{Collected, Parts};
use failover::Journal;
use keeper::Endpoint;
use monitor::Logs;

use crate::admin::Admin;
use crate::layers::{ConfigFile, Opened, Opening, OpeningSource};
use crate::rows::{Rows, of_file};
use crate::runtime::{Applied, Control, FailedClient, Kill, MakeDraft, Runtime};

/// The process; nothing can be put in force, and nothing was counted.
struct FakeProcess(Arc<Snapshot>);

/// Its configuration file.
struct Given(Draft);

/// An interface without a directory, with these variables.
pub(crate) fn admin(variables: &[(&str, &str)]) -> Admin {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let draft = Draft { variables: variables.iter().map(own).collect(), ..Draft::default() };
    let (dir, source, file) = (None, OpeningSource::Auto, Box::new(Given(draft)));
    let opening = Opening { dir, source, initial: false, reload: false, file };
    let Opened { store, snapshot, .. } = opening.open().expect("it opens");
    Admin::new(store, Arc::new(FakeProcess(Arc::new(snapshot)))).expect("it begins")
}

impl Runtime for FakeProcess {
    fn snapshot(&self) -> Arc<Snapshot> {
        self.0.clone()
    }

    fn apply(&self, _: MakeDraft<'_>) -> Result<Applied, Vec<ConfigFault>> {
        Err(Vec::new())
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

    fn is_open(&self) -> bool {
        true
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

impl ConfigFile for Given {
    fn read(&self) -> Result<Rows, Vec<String>> {
        Ok(of_file(&self.0))
    }

    fn text(&self, _: &Rows, _: Option<&std::path::Path>) -> String {
        String::new()
    }
}
