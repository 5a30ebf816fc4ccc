//! Where log events become text: sets `tracing` up as the command line asked, and writes the
//! engine's events through it.

use std::io::IsTerminal;

use engine::report::{Level, LogEvent};

use crate::cli::{LogFormat, LogLevel};

/// Starts logging to standard error.
pub(crate) fn start(format: LogFormat, level: LogLevel) {
    let level = match level {
        LogLevel::Error => tracing::Level::ERROR,
        LogLevel::Warn => tracing::Level::WARN,
        LogLevel::Info => tracing::Level::INFO,
        LogLevel::Debug => tracing::Level::DEBUG,
        LogLevel::Trace => tracing::Level::TRACE,
    };
    let builder = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_target(false)
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => builder.with_ansi(std::io::stderr().is_terminal()).init(),
        LogFormat::Json => builder.json().init(),
    }
}

/// Writes an event of worker number `worker`.
pub(crate) fn write(worker: usize, event: &LogEvent) {
    match event.level() {
        Level::Debug => tracing::debug!(worker, "{event}"),
        Level::Info => tracing::info!(worker, "{event}"),
        Level::Warn => tracing::warn!(worker, "{event}"),
    }
}
