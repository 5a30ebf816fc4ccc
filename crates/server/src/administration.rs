//! The administrative interface in this process: where its configuration comes from, its thread,
//! and what it may ask of the workers.

mod file;
mod runtime;

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

use admin::{Admin, Mail, Opened, Opening, OpeningSource, Service};
use anyhow::{Context, bail};
use engine::snapshot::Draft;
use engine::vars::Vars;
use io::{EpollDriver, Loop, Mailbox};

use crate::cli::{ConfigSource, StoreOptions};
use crate::config::{self, Loaded, Told};
use crate::listeners::{ListenerChange, Listeners, Tell};
use crate::listening;
use crate::signals::Notice;
use crate::threads::Reach;
use file::OwnFile;
use runtime::Workers;

/// What is kept between reading the configuration and opening the interface.
pub(crate) type Store = admin::Store;

/// The interface, serving until it is dropped.
pub(crate) struct Administration {
    mailbox: Mailbox<Mail>,
    thread: Option<JoinHandle<()>>,
}

/// Reads the configuration from the file, or from the database that `options` name.
pub(crate) fn load(file: Option<&Path>, options: &StoreOptions) -> anyhow::Result<(Loaded, Store)> {
    let source = match options.config_source {
        ConfigSource::Auto => OpeningSource::Auto,
        ConfigSource::File => OpeningSource::File,
        ConfigSource::Db => OpeningSource::Database,
    };
    // for its warnings: what is wrong with it is told by whoever opens the layers
    let read = match file {
        Some(file) if source != OpeningSource::Database => Some(config::load(file)),
        _ => None,
    };
    let opening = Opening {
        dir: options.datadir.clone(),
        source,
        initial: options.initial,
        reload: options.reload,
        file: Box::new(OwnFile(file.map(Path::to_path_buf))),
    };
    let Opened { store, snapshot, notes } =
        opening.open().map_err(|fault| anyhow::anyhow!(all_of(&fault)))?;
    let mut warnings: Vec<_> = notes.into_iter().map(Told::warning).collect();
    if let Some(Ok(read)) = read {
        warnings.extend(read.warnings);
    }
    let origin = file.map(Path::to_path_buf);
    let draft = Draft::clone(&snapshot.draft);
    Ok((Loaded { origin, draft, snapshot, warnings }, store))
}

/// Listens where `admin-mysql_ifaces` says. Who comes before the interface is opened waits: it is
/// done before clients are served, so that a process which greets can be administered too.
pub(crate) fn listen(loaded: &Loaded) -> anyhow::Result<Listeners> {
    let wanted = &loaded.snapshot.vars.admin_interfaces;
    let chosen = *wanted != Vars::default().admin_interfaces;
    let mut listeners = Listeners::none(1, BACKLOG);
    for interface in wanted {
        match listeners.add(interface) {
            Ok(address) => tracing::info!(listener = %address, "admin interface"),
            Err(error) if chosen => {
                bail!("admin interface: cannot listen on {interface}: {error:#}")
            }
            // a second process on one machine is no reason not to serve
            Err(error) => {
                tracing::warn!(
                    "admin interface: cannot listen on {interface}: {error:#}; \
                     admin-mysql_ifaces names another place"
                );
            }
        }
    }
    Ok(listeners)
}

/// Opens the interface at its listeners.
pub(crate) fn open(
    loaded: &Loaded,
    mut listeners: Listeners,
    store: Store,
    reach: Reach,
    notices: Sender<Notice>,
) -> anyhow::Result<Administration> {
    let listening = reach.listening.clone();
    let workers = Workers::new(reach, notices);
    let admin = Admin::new(store, Arc::new(workers)).context("admin interface")?;
    let service = Service::new(admin, Box::new(|report| tracing::warn!("{report}")));
    let driver = EpollDriver::new().map_err(|failure| anyhow::anyhow!("admin: {failure}"))?;
    let mut events = Loop::new(driver, service, io::Options::default());
    for listener in listeners.take().into_iter().flatten() {
        events.add_listener(listener);
    }
    events.service_mut().listens_on(listeners.addresses());
    let (service, edge) = events.parts_mut();
    service.start(edge);
    let mailbox = events.mailbox();
    listeners.tell_by(&loaded.snapshot.vars.admin_interfaces, to_interface(mailbox.clone()));
    listening.add_admin(listeners);
    let thread = std::thread::Builder::new()
        .name("admin".to_owned())
        .spawn(move || events.run())
        .context("cannot start the thread of the admin interface")?;
    Ok(Administration { mailbox, thread: Some(thread) })
}

/// Tells the interface of its listeners.
fn to_interface(mailbox: Mailbox<Mail>) -> Tell {
    Box::new(move |_, change| {
        let mail = match change {
            ListenerChange::Open(socket, on) => Mail::Listen(socket, on),
            ListenerChange::Close(on) => Mail::Unlisten(on),
        };
        listening::post(&mailbox, mail);
    })
}

impl Administration {
    /// How it is reached.
    pub(crate) fn mailbox(&self) -> Mailbox<Mail> {
        self.mailbox.clone()
    }
}

impl Drop for Administration {
    fn drop(&mut self) {
        // when the mailbox is closed the loop has ended already
        let _ = self.mailbox.post(Mail::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn all_of(fault: &admin::AdminFault) -> String {
    if fault.all.is_empty() { fault.message.clone() } else { fault.all.join("\n") }
}

/// Clients that may wait to be accepted.
const BACKLOG: u32 = 128;
