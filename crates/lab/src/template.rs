//! Data directories that are made once and then copied: initialising a server takes seconds, a
//! copy takes a fraction of one. A template belongs to one version of one server.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::flavour::{Flavour, Software};
use crate::place;
use crate::process::{Process, find_program};
use crate::server::await_answer;
use crate::settings::{self, ServerRole};

/// Raise it when what is in a template changes.
const EDITION: u32 = 2;

/// The template for this software; it is made when missing.
pub(crate) fn prepared(software: &Software) -> Result<PathBuf> {
    let cache = place::cache_dir()?;
    let version: String =
        software.version.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let name = format!("{}-{version}-{EDITION}", software.flavour.name());
    let ready = cache.join(&name);
    if ready.exists() {
        return Ok(ready);
    }
    let _lock = place::lock_cache(&cache)?;
    if ready.exists() {
        return Ok(ready);
    }
    // Prepared beside its place and moved there whole: nobody sees half a template.
    let work = cache.join("making");
    drop(fs::remove_dir_all(&work));
    prepare(software, &work).with_context(|| {
        let log = place::tail(&work.join("error.log"), 30);
        format!("cannot prepare {} {}\n{log}", software.flavour.name(), software.version)
    })?;
    fs::rename(&work, &ready).with_context(|| format!("cannot make {}", ready.display()))?;
    Ok(ready)
}

fn prepare(software: &Software, data: &Path) -> Result<()> {
    let socket = data.join("s");
    let role = ServerRole {
        flavour: software.flavour,
        data,
        socket: &socket,
        port: None,
        server_id: 1,
        replica: true,
    };
    initialise(software, data)?;
    let mut command = software.command();
    command.extend(settings::options(&role, &["--read-only=OFF".to_owned()]));
    let process = Process::launch(&command, &data.join("error.log"))?;
    let mut console = await_answer(&process, &socket, Duration::from_secs(120))?;
    console.query(&settings::users(software.flavour))?;
    process.signal("TERM")?;
    process.wait(Duration::from_secs(60))?;
    // What must differ between servers, or must not be taken for theirs.
    for file in ["auto.cnf", "error.log", "init.log", "server.pid"] {
        drop(fs::remove_file(data.join(file)));
    }
    Ok(())
}

fn initialise(software: &Software, data: &Path) -> Result<()> {
    let mut datadir = OsString::from("--datadir=");
    datadir.push(data);
    let mut command: Vec<OsString> = match software.flavour {
        Flavour::MariaDb => {
            let tool = find_program("mariadb-install-db").context("no mariadb-install-db here")?;
            let mut words = vec![tool.into_os_string(), "--no-defaults".into()];
            words.extend(["--auth-root-authentication-method=normal".into()]);
            words.extend(["--skip-test-db".into(), "--skip-name-resolve".into()]);
            words.push("--innodb-log-file-size=96M".into());
            words
        }
        Flavour::MySql => {
            let mut words = software.command();
            words.push("--initialize-insecure".into());
            words.push("--innodb-redo-log-capacity=96M".into());
            words
        }
    };
    command.push(datadir);
    command.extend(run_as_root());
    let (program, arguments) = command.split_first().context("no program")?;
    let output = Command::new(program).args(arguments).output()?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    bail!("{command:?}: {}\n{text}{}", output.status, String::from_utf8_lossy(&output.stderr))
}

/// Servers refuse to run as the system's root unless told to.
pub(crate) fn run_as_root() -> Option<OsString> {
    let own = fs::metadata("/proc/self").ok()?;
    (std::os::unix::fs::MetadataExt::uid(&own) == 0).then(|| "--user=root".into())
}
