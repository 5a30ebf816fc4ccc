//! Where threads are made: listeners, workers and what it takes to stop them.
//!
//! The only module of this crate that knows `worker` and `io`.

use crate::cli::IoChoice;
use crate::config::Loaded;

/// The workers of this process, serving.
pub(crate) struct Running {}

/// Opens the listeners and starts the workers of `loaded`.
pub(crate) fn start(_loaded: &Loaded, _io: IoChoice) -> anyhow::Result<Running> {
    Ok(Running {})
}

impl Running {
    /// Ends every session and worker at once.
    pub(crate) fn stop_now(&self) {}
}
