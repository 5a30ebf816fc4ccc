//! `tidegate run`: loads, reports, serves until told to stop.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::channel;

use crate::cli::{ConfigSource, RunOptions, StoreOptions};
use crate::config::{self, Loaded, Told};
use crate::signals::{ServingEnded, Workers};
use crate::{administration, logs, signals, summary, threads};

/// Serves until a signal ends it.
pub(crate) fn run(options: &RunOptions) -> anyhow::Result<()> {
    io::write_core_files(options.core_file);
    let log = logs::start(options.log_format, options.log_level)?;
    let file = match (config::find(options.config.as_deref()), options.store.config_source) {
        (Err(_), ConfigSource::Db) => None,
        (found, _) => Some(found?),
    };
    let stats_file = options.stats_file.as_deref();
    match serve(file.as_deref(), stats_file, &options.store, options.core_file)? {
        ServingEnded::Stopped => Ok(()),
        ServingEnded::Restart => {
            drop(log);
            Err(begin_anew())
        }
    }
}

/// Becomes a new process of the same command line; returns only if that is not possible.
fn begin_anew() -> anyhow::Error {
    let program = std::env::current_exe();
    // a database that was put aside once is not put aside again
    let words = std::env::args_os().skip(1).filter(|word| word != "--initial");
    match program {
        Ok(program) => Command::new(program).args(words).exec().into(),
        Err(error) => anyhow::Error::new(error).context("cannot begin anew"),
    }
}

/// Serves what `file`, or the database that `store` names, says until a signal ends it; logging
/// has been started. Statistics go to `stats_file`, or to the log, when they are asked for.
/// `core_file` says whether a crash may write one.
pub(crate) fn serve(
    file: Option<&Path>,
    stats_file: Option<&Path>,
    store: &StoreOptions,
    core_file: bool,
) -> anyhow::Result<ServingEnded> {
    let store_dir = store.datadir.clone();
    let (loaded, store) = administration::load(file, store)?;
    let origin = loaded.origin.as_deref().unwrap_or(Path::new("database"));
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        config = %origin.display(),
        core_file = core_file.then_some(true),
        "tidegate starts"
    );
    log_told(&loaded.warnings);
    let (sender, notices) = channel();
    signals::watch(sender.clone())?;
    let listening = administration::listen(&loaded)?;
    let mut running = threads::start(&loaded, store_dir.as_deref(), stats_file, &sender)?;
    report(&loaded, &running);
    let administration = administration::open(&loaded, listening, store, running.reach(), sender)?;
    running.tell_interface(administration.mailbox());
    signals::serve(&mut running, &notices)
}

/// Logs what there is to tell of a configuration.
pub(crate) fn log_told(told: &[Told]) {
    for Told { is_note, text } in told {
        if *is_note {
            tracing::info!("{text}");
        } else {
            tracing::warn!("{text}");
        }
    }
}

/// Logs what now runs.
fn report(loaded: &Loaded, running: &threads::Running) {
    for listener in running.listeners() {
        tracing::info!(%listener, "listening");
    }
    tracing::info!(workers = running.count(), "workers started");
    for (hostgroup, servers) in summary::hostgroups(&loaded.draft.servers) {
        for row in servers {
            let (weight, max_connections) = (row.weight, row.max_connections);
            let (server, status) = (summary::address(row), row.status.to_ascii_uppercase());
            tracing::info!(hostgroup, server, status, weight, max_connections, "server");
        }
    }
    for row in loaded.draft.users.iter().filter(|row| row.active != 0) {
        let (user, fast_forward) = (row.username.as_str(), row.fast_forward == 1);
        tracing::info!(user, default_hostgroup = row.default_hostgroup, fast_forward, "user");
    }
    let rules = &loaded.draft.rules;
    let active = rules.iter().filter(|row| row.active != 0).count();
    tracing::info!(active, all = rules.len(), "query rules");
}
