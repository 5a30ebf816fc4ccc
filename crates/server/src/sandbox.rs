//! `tidegate sandbox`: real servers on loopback.

use crate::cli::SandboxOptions;

/// Starts the servers and serves until Ctrl-C.
pub(crate) fn run(options: &SandboxOptions) -> anyhow::Result<()> {
    anyhow::bail!("cannot start {} replicas", options.replicas)
}
