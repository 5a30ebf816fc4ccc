//! Programs that tests run to their end: with a limit on their time, and with everything they
//! print kept.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A program to run.
#[derive(Debug)]
pub struct Program {
    command: Command,
    input: Vec<u8>,
    limit: Duration,
}

/// What became of it.
#[derive(Debug)]
pub struct Finished {
    /// Whether it ended by itself, in time, with success.
    pub success: bool,
    /// What it printed.
    pub output: String,
    /// What it said of its troubles, and how it ended.
    pub errors: String,
}

impl Program {
    /// A program with a minute to run.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let command = Command::new(program);
        Program { command, input: Vec::new(), limit: Duration::from_secs(60) }
    }

    /// Adds words to its command line.
    pub fn args<S: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = S>) -> Self {
        self.command.args(words);
        self
    }

    /// Sets a variable of its environment.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// What it reads.
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// How long it may run.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Runs it to its end, or to the end of its time.
    pub fn run(mut self) -> Finished {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = match self.command.spawn() {
            Ok(child) => child,
            Err(error) => {
                let errors = format!("{:?}: {error}", self.command);
                return Finished { success: false, output: String::new(), errors };
            }
        };
        let mut stdin = child.stdin.take().expect("piped");
        let input = self.input;
        // A program that ends without reading everything is no fault.
        let writer = thread::spawn(move || drop(stdin.write_all(&input)));
        let output = gather(child.stdout.take().expect("piped"));
        let errors = gather(child.stderr.take().expect("piped"));
        let ended = wait(&mut child, self.limit);
        drop(writer.join());
        let mut finished = Finished {
            success: ended.as_deref() == Some("exit status: 0"),
            output: output.join().unwrap_or_default(),
            errors: errors.join().unwrap_or_default(),
        };
        if !finished.success {
            let end = ended.unwrap_or_else(|| format!("killed after {:?}", self.limit));
            finished.errors += &format!("\n{:?}: {end}", self.command);
        }
        finished
    }
}

fn gather(mut from: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut text = Vec::new();
        drop(from.read_to_end(&mut text));
        String::from_utf8_lossy(&text).into_owned()
    })
}

/// How it ended; `None` when it had to be killed.
fn wait(child: &mut Child, limit: Duration) -> Option<String> {
    let deadline = Instant::now() + limit;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status.to_string()),
            Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(10)),
            _ => {
                drop(child.kill());
                drop(child.wait());
                return None;
            }
        }
    }
}
