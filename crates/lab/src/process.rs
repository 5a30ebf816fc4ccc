//! One started program. A thread of its own watches it, and lives exactly as long as it does. The
//! system kills it when this process ends in any way, where the tool `setpriv` is there to ask for
//! that. It does not know what the program is.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};

/// How long a process may run after it was told to stop.
const SUSPENDED_WITHIN: Duration = Duration::from_secs(5);

/// A running or ended program; dropping it kills it.
#[derive(Debug)]
pub struct Process {
    pid: u32,
    exit: Arc<Exit>,
}

#[derive(Debug, Default)]
struct Exit {
    status: Mutex<Option<ExitStatus>>,
    ended: Condvar,
}

impl Process {
    /// Starts a program with its output appended to a file.
    pub fn launch(command: &[OsString], output: &Path) -> Result<Self> {
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(output)
            .with_context(|| format!("cannot write {}", output.display()))?;
        let mut words = Vec::new();
        if let Some(setpriv) = find_program("setpriv") {
            words.extend([setpriv.into_os_string(), "--pdeathsig".into(), "KILL".into()]);
            words.push("--".into());
        }
        words.extend_from_slice(command);
        let (program, arguments) = words.split_first().context("no program to start")?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);

        let exit = Arc::new(Exit::default());
        let watched = Arc::clone(&exit);
        let (tell, told) = mpsc::channel();
        // The system kills the program when the *thread* that started it ends: so the thread
        // that starts it also waits for it.
        thread::Builder::new().name("lab process".into()).spawn(move || {
            let mut child = match command.spawn() {
                Ok(child) => child,
                Err(error) => return drop(tell.send(Err(error))),
            };
            drop(tell.send(Ok(child.id())));
            let status = child.wait().ok();
            *watched.status.lock().unwrap_or_else(PoisonError::into_inner) = status;
            watched.ended.notify_all();
        })?;
        let pid = told.recv()?.with_context(|| format!("cannot start {}", program.display()))?;
        Ok(Process { pid, exit })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// How it ended, when it has.
    pub fn ended(&self) -> Option<ExitStatus> {
        *self.exit.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a signal by name (`KILL`, `STOP`, …); fails when it has ended.
    pub fn signal(&self, name: &str) -> Result<()> {
        if let Some(status) = self.ended() {
            bail!("process {} has ended: {status}", self.pid);
        }
        let status = Command::new("/bin/sh")
            .args(["-c", "kill -s \"$0\" \"$1\"", name, &self.pid.to_string()])
            .status()?;
        if status.success() { Ok(()) } else { Err(anyhow!("kill -s {name}: {status}")) }
    }

    /// Stops it from running (SIGSTOP), and waits until none of its threads does.
    pub fn suspend(&self) -> Result<()> {
        self.signal("STOP")?;
        let deadline = Instant::now() + SUSPENDED_WITHIN;
        while !self.is_suspended()? {
            if Instant::now() >= deadline {
                bail!("process {} runs on {SUSPENDED_WITHIN:?} after SIGSTOP", self.pid);
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn is_suspended(&self) -> Result<bool> {
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.pid))? {
            // one that ends meanwhile does nothing either
            let stat = std::fs::read_to_string(thread?.path().join("stat")).unwrap_or_default();
            if stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('T')) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Waits until it has ended.
    pub fn wait(&self, limit: Duration) -> Result<ExitStatus> {
        let deadline = Instant::now() + limit;
        let mut status = self.exit.status.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(status) = *status {
                return Ok(status);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                bail!("process {} has not ended after {limit:?}", self.pid);
            }
            status = self
                .exit
                .ended
                .wait_timeout(status, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.ended().is_none() && self.signal("KILL").is_ok() {
            drop(self.wait(Duration::from_secs(10)));
        }
    }
}

/// The full path of a program on the search path or where servers are installed.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin", "/sbin", "/bin"];
    std::env::split_paths(&path)
        .chain(usual.iter().map(PathBuf::from))
        .map(|dir| dir.join(name))
        .find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper() -> Process {
        let words: Vec<OsString> = vec!["/bin/sleep".into(), "600".into()];
        Process::launch(&words, Path::new("/dev/null")).expect("started")
    }

    #[test]
    fn a_killed_program_is_seen_to_end() {
        let process = sleeper();
        assert_eq!(process.ended(), None);
        process.signal("KILL").expect("sent");
        let status = process.wait(Duration::from_secs(10)).expect("ended");
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
        assert!(process.signal("KILL").is_err());
    }

    #[test]
    fn dropping_it_ends_the_program() {
        let process = sleeper();
        let exit = Arc::clone(&process.exit);
        drop(process);
        assert!(exit.status.lock().expect("not poisoned").is_some());
    }

    #[test]
    fn a_missing_program_is_named() {
        let words: Vec<OsString> = vec!["/nonexistent/thing".into()];
        let launched = Process::launch(&words, Path::new("/dev/null"));
        // With setpriv in front the failure shows as an exit status instead.
        if let Ok(process) = launched {
            assert!(!process.wait(Duration::from_secs(10)).expect("ended").success());
        }
    }
}
