//! An interface on a thread of its own, over a process that only notes what it is told.
#![allow(dead_code, reason = "each test binary needs a part")]

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use admin::{
    Admin, AdminFault, Applied, ConfigFile, Control, FailedClient, Kill, Mail, MakeDraft, Opened,
    Opening, OpeningSource, Rows, Runtime, Service, of_file,
};
use engine::config_fault::ConfigFault;
use engine::rows::{RestapiRouteRow, SchedulerRow};
use engine::snapshot::{Draft, Snapshot};
use engine::stats::{Collected, Parts};
use failover::Journal;
use io::{Addr, EpollDriver, Loop, Mailbox, Options};
use keeper::Endpoint;
use monitor::Logs;
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

/// A process without workers.
pub(crate) struct Fake {
    snapshot: Mutex<Arc<Snapshot>>,
    told: Mutex<Vec<String>>,
    applied: Mutex<u32>,
    meanwhile: Mutex<Option<Draft>>,
}

/// A configuration file whose rows are given.
#[derive(Clone, Default)]
pub(crate) struct GivenFile(pub(crate) Draft);

/// A directory that goes when the test ends.
pub(crate) struct Dir(pub(crate) PathBuf);

impl Dir {
    /// One whose name nobody else has.
    pub(crate) fn new(name: &str) -> Self {
        let dir =
            std::env::temp_dir().join(format!("tidegate-admin-{}-{name}", std::process::id()));
        drop(std::fs::remove_dir_all(&dir));
        Self(dir)
    }

    /// An interface over it.
    pub(crate) fn open(&self, file: Draft, source: OpeningSource) -> Interface {
        Interface::open(GivenFile(file), Some(self.0.clone()), source).expect("it opens")
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// An interface that serves until it is dropped.
pub(crate) struct Interface {
    fake: Arc<Fake>,
    log: Arc<Mutex<Vec<String>>>,
    port: u16,
    mailbox: Mailbox<Mail>,
    thread: Option<JoinHandle<()>>,
    notes: Vec<String>,
}

impl Fake {
    /// What it was told to do.
    pub(crate) fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }

    /// How often a configuration was applied.
    pub(crate) fn applied(&self) -> u32 {
        *self.applied.lock().unwrap()
    }

    /// A configuration comes into force between a statement and what it applies.
    pub(crate) fn overtake(&self, with: Draft) {
        *self.meanwhile.lock().unwrap() = Some(with);
    }

    fn note(&self, what: String) {
        self.told.lock().unwrap().push(what);
    }
}

impl Runtime for Fake {
    fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.lock().unwrap().clone()
    }

    fn apply(&self, make: MakeDraft<'_>) -> Result<Applied, Vec<ConfigFault>> {
        let other = self.meanwhile.lock().unwrap().take();
        let before = other.unwrap_or_else(|| Draft::clone(&self.current()));
        let snapshot = Snapshot::compile(&make(&before)?)?;
        *self.snapshot.lock().unwrap() = Arc::new(snapshot);
        *self.applied.lock().unwrap() += 1;
        Ok(Applied::default())
    }

    fn failed_clients(&self, _: bool) -> Vec<FailedClient> {
        Vec::new()
    }

    fn logs(&self) -> Arc<Mutex<Logs>> {
        Arc::default()
    }

    fn latency_us(&self, _: &Endpoint) -> Option<u64> {
        None
    }

    fn collect(&self, _: Parts) -> Collected {
        Collected::default()
    }

    fn metrics(&self) -> String {
        "# TYPE up gauge\nup 1\n".to_owned()
    }

    fn schedule(&self, rows: Vec<SchedulerRow>) {
        for row in rows {
            self.note(format!("run {} {:?} each {}", row.filename, row.arg1, row.interval_ms));
        }
    }

    fn route(&self, rows: Vec<RestapiRouteRow>) {
        for row in rows {
            self.note(format!("route {} {} to {}", row.method, row.uri, row.script));
        }
    }

    fn flush_cached(&self, some: &engine::caching::CachedOf) -> u64 {
        self.note(format!("FlushCached {some:?}"));
        5
    }

    fn flush_connections(&self, user: Option<&str>) -> u64 {
        self.note(format!("FlushConnections {user:?}"));
        3
    }

    fn kill(&self, id: u32, what: Kill) -> bool {
        if id == 7 {
            self.note(format!("{id} {what:?}"));
        }
        id == 7
    }

    fn log(&self, text: &str) {
        self.note(format!("log {text}"));
    }

    fn is_open(&self) -> bool {
        true
    }

    fn switch_over(&self, _: u32, _: Option<Endpoint>, _: bool) -> Result<u64, String> {
        Err("nothing is switched over here".to_owned())
    }

    fn switchovers(&self) -> Arc<Mutex<Journal>> {
        Arc::default()
    }

    fn control(&self, order: Control) -> Result<u64, String> {
        if order == Control::Stop {
            return Err("cannot stop".into());
        }
        self.note(format!("{order:?}"));
        Ok(0)
    }
}

impl ConfigFile for GivenFile {
    fn read(&self) -> Result<Rows, Vec<String>> {
        Ok(of_file(&self.0))
    }

    fn text(&self, rows: &Rows, _: Option<&std::path::Path>) -> String {
        format!("{} users", rows["mysql_users"].len())
    }
}

impl Interface {
    /// One without a directory, with these variables.
    pub(crate) fn start(variables: &[(&str, &str)]) -> Self {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let variables = variables.iter().map(own).collect();
        Self::open(GivenFile(Draft { variables, ..Draft::default() }), None, OpeningSource::Auto)
            .expect("it opens")
    }

    /// One over a file and a directory.
    pub(crate) fn open(
        file: GivenFile,
        dir: Option<PathBuf>,
        source: OpeningSource,
    ) -> Result<Self, AdminFault> {
        let opening = Opening { dir, source, initial: false, reload: false, file: Box::new(file) };
        let Opened { store, snapshot, notes } = opening.open()?;
        let fake = Arc::new(Fake {
            snapshot: Mutex::new(Arc::new(snapshot)),
            told: Mutex::default(),
            applied: Mutex::default(),
            meanwhile: Mutex::default(),
        });
        let log = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&log);
        let admin = Admin::new(store, fake.clone())?;
        let service = Service::new(
            admin,
            Box::new(move |report| lines.lock().unwrap().push(report.to_string())),
        );
        let any = Addr::Tcp(([127, 0, 0, 1], 0).into());
        let listener = io::listen(&any, 64, false).expect("loopback");
        let Addr::Tcp(address) = io::bound_to(&listener).expect("bound") else { unreachable!() };
        let driver = EpollDriver::new().expect("epoll");
        let mut events = Loop::new(driver, service, Options::default());
        events.add_listener(listener);
        let mailbox = events.mailbox();
        let thread = Some(std::thread::spawn(move || events.run()));
        Ok(Self { fake, log, port: address.port(), mailbox, thread, notes })
    }

    /// What was said at the beginning.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The process.
    pub(crate) fn fake(&self) -> &Fake {
        &self.fake
    }

    /// Lines of the log.
    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    /// Where it listens, on the loopback.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Tells it something, as other threads of the process do.
    pub(crate) fn post(&self, mail: Mail) {
        self.mailbox.post(mail).expect("it serves");
    }

    /// An administrator.
    pub(crate) fn admin(&self) -> Conn {
        self.login("admin", "admin").expect("it is the default account")
    }

    /// A client of an account.
    pub(crate) fn login(&self, user: &str, password: &str) -> mysql::Result<Conn> {
        let options = OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(self.port)
            .user(Some(user))
            .pass(Some(password))
            .prefer_socket(false);
        Conn::new(options)
    }
}

impl Drop for Interface {
    fn drop(&mut self) {
        let _ = self.mailbox.post(Mail::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Runs statements that are carried out.
pub(crate) fn run(client: &mut Conn, statements: &[&str]) {
    for statement in statements {
        client.query_drop(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
}

/// The rows of a query, a line each.
pub(crate) fn lines(client: &mut Conn, query: &str) -> String {
    let rows: Vec<mysql::Row> =
        client.query(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let cell = |value: mysql::Value| match value {
        mysql::Value::NULL => "NULL".to_owned(),
        mysql::Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        other => format!("{other:?}"),
    };
    let line = |row: mysql::Row| row.unwrap().into_iter().map(cell).collect::<Vec<_>>().join("|");
    rows.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Number, state and text of a server's error.
pub(crate) fn error<T>(result: mysql::Result<T>) -> (u16, String, String) {
    match result {
        Err(mysql::Error::MySqlError(error)) => (error.code, error.state, error.message),
        Err(other) => panic!("no error of the server: {other}"),
        Ok(_) => panic!("it was carried out"),
    }
}
