//! One running server: how it is reached, killed, stopped, started again and asked. It does not
//! know which role it has in a cluster.

use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use client::{Client, Login, Packets, Row};
use wire::Caps;

use crate::place;
use crate::process::Process;

const START_LIMIT: Duration = Duration::from_secs(90);

/// A connection of the lab's own to a server, as `root`.
pub(crate) type Console = Client<UnixStream>;

/// A real server of the lab. Dropping it kills it.
#[derive(Debug)]
pub struct Server {
    /// The loopback address it listens on.
    pub host: String,
    /// Its TCP port, the same after a restart.
    pub port: u16,
    /// Its Unix socket.
    pub socket: PathBuf,
    /// Its `@@server_id`.
    pub id: u32,
    data: PathBuf,
    command: Vec<OsString>,
    running: Mutex<Running>,
}

#[derive(Debug)]
struct Running {
    process: Process,
    console: Option<Console>,
}

/// What a server is started from.
#[derive(Debug)]
pub(crate) struct Birth {
    pub(crate) port: u16,
    pub(crate) socket: PathBuf,
    pub(crate) id: u32,
    pub(crate) data: PathBuf,
    pub(crate) command: Vec<OsString>,
}

impl Server {
    /// Starts the program; [`Server::await_ready`] says when it answers.
    pub(crate) fn launch(birth: Birth) -> Result<Self> {
        let process = Process::launch(&birth.command, &birth.data.join("error.log"))?;
        Ok(Server {
            host: "127.0.0.1".to_owned(),
            port: birth.port,
            socket: birth.socket,
            id: birth.id,
            data: birth.data,
            command: birth.command,
            running: Mutex::new(Running { process, console: None }),
        })
    }

    /// Waits until it answers on its socket.
    pub(crate) fn await_ready(&self) -> Result<()> {
        let mut running = self.running();
        let console = await_answer(&running.process, &self.socket, START_LIMIT);
        let console = console.with_context(|| {
            format!("server {} does not start\n{}", self.id, self.error_log(40))
        })?;
        running.console = Some(console);
        Ok(())
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.running().process.pid()
    }

    /// Whether its process is there.
    pub fn is_running(&self) -> bool {
        self.running().process.ended().is_none()
    }

    /// `host:port`, as clients name it.
    pub fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The last lines of its error log.
    pub fn error_log(&self, lines: usize) -> String {
        place::tail(&self.data.join("error.log"), lines)
    }

    /// Kills it as a power cut would (SIGKILL) and waits until the process is gone.
    pub fn kill9(&self) -> Result<()> {
        self.end("KILL")
    }

    /// Shuts it down in order.
    pub fn stop(&self) -> Result<()> {
        self.end("TERM")
    }

    /// Stops it from running for a while, its sockets left open (SIGSTOP).
    pub fn pause(&self) -> Result<()> {
        self.running().process.suspend()
    }

    /// Lets it run again after [`Server::pause`].
    pub fn resume(&self) -> Result<()> {
        self.running().process.signal("CONT")
    }

    /// Starts it again, in order when it still runs, and waits until it answers. Replication goes
    /// on from where it was.
    pub fn restart(&self) -> Result<()> {
        if self.is_running() {
            self.stop()?;
        }
        let process = Process::launch(&self.command, &self.data.join("error.log"))?;
        *self.running() = Running { process, console: None };
        self.await_ready()
    }

    /// Executes statements as `root` (who passes over `read_only`); gives the last result's rows.
    /// What fails there is a [`client::Error`].
    pub fn sql(&self, text: &str) -> Result<Vec<Row>> {
        let mut running = self.running();
        let mut console = match running.console.take() {
            Some(console) => console,
            None => open(&self.socket)?,
        };
        let answer = console.query(text);
        if answer.as_ref().map_or_else(|error| error.refusal().is_some(), |_| true) {
            running.console = Some(console);
        }
        let answer = answer.map(|reply| reply.rows);
        answer.with_context(|| format!("server {}: {}", self.id, excerpt(text)))
    }

    /// The first value of the first row of a statement's last result.
    pub fn value(&self, text: &str) -> Result<String> {
        let rows = self.sql(text)?;
        let value = rows.into_iter().next().and_then(|row| row.into_iter().next()).flatten();
        value.ok_or_else(|| anyhow!("server {}: no value for {}", self.id, excerpt(text)))
    }

    /// A number of `SHOW GLOBAL STATUS`, such as `Com_select`.
    pub fn status(&self, variable: &str) -> Result<u64> {
        let rows = self.sql(&format!("SHOW GLOBAL STATUS LIKE '{variable}'"))?;
        let value = rows.first().and_then(|row| row.get(1)).and_then(Option::as_deref);
        let value = value.with_context(|| format!("no status variable {variable}"))?;
        value.parse().with_context(|| format!("{variable} is {value}"))
    }

    fn end(&self, signal: &str) -> Result<()> {
        let mut running = self.running();
        running.console = None;
        running.process.signal(signal)?;
        running.process.wait(Duration::from_secs(60)).map(drop)
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until a server answers on its socket, or has ended, or the limit has passed.
pub(crate) fn await_answer(process: &Process, socket: &Path, limit: Duration) -> Result<Console> {
    let deadline = Instant::now() + limit;
    loop {
        let failure = match open(socket).and_then(|mut console| {
            console.query("SELECT 1")?;
            Ok(console)
        }) {
            Ok(console) => return Ok(console),
            Err(failure) => failure,
        };
        if let Some(status) = process.ended() {
            bail!("the server has ended: {status}");
        }
        if Instant::now() > deadline {
            return Err(failure.context(format!("no answer within {limit:?}")));
        }
        thread::sleep(Duration::from_millis(15));
    }
}

/// Logs in; a server that does not answer within a minute is an error.
fn open(socket: &Path) -> Result<Console> {
    let packets = Packets::unix(socket, Duration::from_secs(60))
        .with_context(|| format!("cannot connect to {}", socket.display()))?;
    let root = Login::new("root", "");
    let caps = root.caps.union(Caps::MULTI_STATEMENTS).union(Caps::MULTI_RESULTS);
    Ok(Client::log_in(packets, &Login { caps, ..root })?)
}

fn excerpt(text: &str) -> String {
    text.chars().take(120).collect()
}
