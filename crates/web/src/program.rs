//! One run of a program that an operator named: started without a shell, ended with everything it
//! started when its time is over.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use ::io::{Ending, end_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// What to run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Program {
    /// Path of the executable.
    pub(crate) filename: String,
    /// Its arguments.
    pub(crate) args: Vec<String>,
    /// All that is in its environment.
    pub(crate) environment: Vec<(String, String)>,
    /// Where its output goes.
    pub(crate) kind: ProgramKind,
}

/// For whom it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProgramKind {
    /// For the scheduler: it writes where the process writes.
    Scheduled,
    /// For a route, or for who waits: what it writes is kept.
    Asked,
}

/// How it ended, and what it wrote as far as that is kept.
#[derive(Debug)]
pub(crate) struct Finished {
    /// How it ended.
    pub(crate) end: ProgramEnd,
    /// What it wrote to its standard output.
    pub(crate) stdout: Vec<u8>,
    /// What it wrote to its standard error.
    pub(crate) stderr: Vec<u8>,
}

/// How a program ended.
#[derive(Debug)]
pub(crate) enum ProgramEnd {
    /// By itself.
    Exited(ExitStatus),
    /// It was not started.
    NotStarted(io::Error),
    /// It was ended because its time was over.
    TimedOut,
    /// It was ended because the process ends.
    Stopped,
}

impl Program {
    /// Runs it for `limit` at most, and never longer than until `stop` changes.
    pub(crate) async fn run(
        &self,
        limit: Option<Duration>,
        mut stop: watch::Receiver<bool>,
    ) -> Finished {
        let mut child = match self.command().spawn() {
            Ok(child) => child,
            Err(error) => return Finished::not_started(error),
        };
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let over = async {
            match limit {
                Some(limit) => sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        let ended = async {
            tokio::join!(keep(stdout, &mut out), keep(stderr, &mut err));
            child.wait().await
        };
        let early = tokio::select! {
            ended = ended => return Finished {
                end: ended.map_or_else(ProgramEnd::NotStarted, ProgramEnd::Exited),
                stdout: out,
                stderr: err,
            },
            () = over => ProgramEnd::TimedOut,
            _ = stop.wait_for(|stop| *stop) => ProgramEnd::Stopped,
        };
        end(&mut child).await;
        Finished { end: early, stdout: out, stderr: err }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.filename);
        // the environment of the process may hold what is nobody else's business
        command.args(&self.args).env_clear().envs(self.environment.iter().cloned());
        command.stdin(Stdio::null());
        command.process_group(0).kill_on_drop(true);
        if self.kind == ProgramKind::Asked {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        command
    }
}

impl Finished {
    fn not_started(error: io::Error) -> Self {
        Self { end: ProgramEnd::NotStarted(error), stdout: Vec::new(), stderr: Vec::new() }
    }

    /// What it wrote, or with that why it did not end well; a line for a person.
    pub(crate) fn told(&self) -> Result<String, String> {
        let written = [&self.stdout, &self.stderr].map(|bytes| String::from_utf8_lossy(bytes));
        let lines = written.iter().flat_map(|text| text.lines()).map(str::trim_end);
        let text = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
        let sign = |sign: char| if sign.is_control() { ' ' } else { sign };
        let mut told: String = text.chars().map(sign).take(TOLD_CHARS_MAX).collect();
        if told.len() < text.len() {
            told.push('…');
        }
        let failed = match &self.end {
            ProgramEnd::Exited(status) if status.success() => return Ok(told),
            ProgramEnd::Exited(status) => status.to_string(),
            ProgramEnd::NotStarted(error) => format!("it cannot be started: {error}"),
            ProgramEnd::TimedOut => "it took too long and was ended".to_owned(),
            ProgramEnd::Stopped => "it was ended: Tidegate ends".to_owned(),
        };
        Err(if told.is_empty() { failed } else { format!("{failed}: {told}") })
    }
}

/// Asks a program and what it started to end, and makes them after a while.
async fn end(child: &mut Child) {
    for how in [Ending::Ask, Ending::Kill] {
        // without a number it has been waited for already
        let Some(leader) = child.id() else { return };
        end_group(leader, how);
        if timeout(KILL_AFTER, child.wait()).await.is_ok() {
            return;
        }
    }
}

/// Reads to the end, and keeps the beginning.
async fn keep(from: Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>) {
    let Some(mut from) = from else { return };
    let mut piece = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut piece).await {
        let room = OUTPUT_BYTES_MAX.saturating_sub(kept.len());
        kept.extend_from_slice(&piece[..read.min(room)]);
    }
}

/// Time between the two ways of ending a program, as in ProxySQL.
const KILL_AFTER: Duration = Duration::from_secs(3);

/// What is told of an output.
const TOLD_CHARS_MAX: usize = 1_000;

/// What is kept of an output.
const OUTPUT_BYTES_MAX: usize = 4 << 20;
