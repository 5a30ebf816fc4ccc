//! Software that other people manage and watch databases with, fetched once.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Program, target_dir};

/// A Python environment with Prometheus' client library, Ansible and, beside it in `collections`,
/// the collection `community.proxysql`; `None` where it cannot be had. What fetching it said is
/// printed then.
pub fn management() -> Option<PathBuf> {
    let place = target_dir().ok()?.join("live-drivers/management");
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("management");
    let done = Program::new(here.join("setup.sh"))
        .args([place.as_os_str()])
        .limit(Duration::from_secs(600))
        .run();
    if !done.success {
        println!("{}{}", done.output, done.errors);
        return None;
    }
    Some(place)
}
