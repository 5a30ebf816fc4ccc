//! `tidegate run`: loads, reports, serves until told to stop.

use crate::cli::RunOptions;

/// Serves until a signal ends it.
pub(crate) fn run(options: &RunOptions) -> anyhow::Result<()> {
    crate::logs::start(options.log_format, options.log_level);
    let loaded = crate::config::load(&crate::config::find(options.config.as_deref())?)?;
    let running = crate::threads::start(&loaded, options.io)?;
    crate::signals::serve(running)
}
