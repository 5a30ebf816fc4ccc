//! A running `tidegate run`: started with a configuration in a directory of its own, ready when
//! it greets, killed when dropped.

use std::ffi::OsString;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use client::Packets;
use lab::{Process, RunDir};
use wire::connect::Greeting;

/// The real binary at work.
#[derive(Debug)]
pub struct Proxy {
    /// Its TCP port on 127.0.0.1.
    pub port: u16,
    /// Its Unix socket.
    pub socket: PathBuf,
    /// The TCP port of its administrative interface on 127.0.0.1.
    pub admin_port: u16,
    process: Process,
    dir: RunDir,
}

impl Proxy {
    /// Starts it with what `config` makes of the value for `interfaces`, and waits until it greets.
    pub fn start(config: impl FnOnce(String) -> String) -> Result<Self> {
        Self::start_with(&[], config)
    }

    /// The same with more words on its command line.
    pub fn start_with(words: &[OsString], config: impl FnOnce(String) -> String) -> Result<Self> {
        Self::start_as(&[binary()?.into()], words, config)
    }

    /// The same of another binary, behind the words that start it.
    pub fn start_as(
        program: &[OsString],
        words: &[OsString],
        config: impl FnOnce(String) -> String,
    ) -> Result<Self> {
        let dir = RunDir::create()?;
        let port = lab::free_port()?;
        let file = dir.path().join("tidegate.toml");
        let admin_port = lab::free_port()?;
        fs::write(&file, configuration(dir.path(), port, admin_port, config))?;
        let mut command = program.to_vec();
        command.extend(["run".into(), "--config".into(), file.into()]);
        command.extend_from_slice(words);
        let process = Process::launch(&command, &dir.path().join("log"))?;
        let socket = dir.path().join("sock");
        let proxy = Proxy { port, socket, admin_port, process, dir };
        proxy.await_greeting()?;
        Ok(proxy)
    }

    fn await_greeting(&self) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            if greeting_of(self.port).is_ok() {
                return Ok(());
            }
            if let Some(status) = self.process.ended() {
                bail!("tidegate has ended: {status}\n{}", self.log());
            }
            ensure!(Instant::now() < deadline, "tidegate does not greet\n{}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The configuration file that it was started with.
    pub fn config(&self) -> PathBuf {
        self.dir.path().join("tidegate.toml")
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        let text = fs::read(self.dir.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Gives it another configuration, made of the value for `interfaces`, and waits until it is in
    /// force or refused; says which.
    pub fn reload(&self, config: impl FnOnce(String) -> String) -> Result<bool> {
        const OUTCOMES: [&str; 2] = ["configuration changed", "the configuration is not changed"];
        let outcomes = |log: &str| OUTCOMES.map(|outcome| log.matches(outcome).count());
        let before = outcomes(&self.log());
        let dir = self.dir.path();
        let text = configuration(dir, self.port, self.admin_port, config);
        fs::write(dir.join("tidegate.toml"), text)?;
        self.process.signal("HUP")?;
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let now = outcomes(&self.log());
            if now != before {
                return Ok(now[0] > before[0]);
            }
            ensure!(Instant::now() < deadline, "nothing comes of SIGHUP\n{}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Its statistics, as it writes them to the log when it is asked.
    pub fn statistics(&self) -> Result<serde_json::Value> {
        let documents = |log: &str| {
            let all = log.lines().filter_map(|line| line.split_once("statistics="));
            all.map(|(_, document)| document.to_owned()).collect::<Vec<_>>()
        };
        let before = documents(&self.log()).len();
        self.process.signal("USR1")?;
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            // a line may be seen before it is whole; then it is no document yet
            if let Some(text) = documents(&self.log()).get(before)
                && let Ok(document) = serde_json::from_str(text)
            {
                return Ok(document);
            }
            ensure!(Instant::now() < deadline, "no statistics in\n{}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// One of its counters.
    pub fn counter(&self, name: &str) -> Result<u64> {
        let statistics = self.statistics()?;
        let counter = statistics["counters"][name].as_u64();
        counter.with_context(|| format!("no counter {name} in {statistics}"))
    }

    /// Sends it a signal.
    pub fn signal(&self, name: &str) -> Result<()> {
        self.process.signal(name)
    }

    /// Has it stand still: none of its threads runs any more.
    pub fn halt(&self) -> Result<()> {
        self.signal("STOP")?;
        crate::eventually("all its threads stand still", Duration::from_secs(5), || {
            let tasks = fs::read_dir(format!("/proc/{}/task", self.pid())).expect("it is there");
            let stands = |task: std::io::Result<fs::DirEntry>| {
                let status = task.and_then(|task| fs::read_to_string(task.path().join("status")));
                // a thread that has ended since has no file
                status.is_ok_and(|status| status.contains("State:\tT"))
            };
            tasks.into_iter().all(stands)
        });
        Ok(())
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// The memory it holds, in bytes.
    pub fn rss_bytes(&self) -> u64 {
        self.memory("VmRSS:")
    }

    /// The most memory it has held, in bytes.
    pub fn rss_bytes_max(&self) -> u64 {
        self.memory("VmHWM:")
    }

    /// What each of its threads is at, for a failure to tell: state, where in the system, time.
    pub fn threads(&self) -> String {
        let threads = fs::read_dir(format!("/proc/{}/task", self.pid())).into_iter().flatten();
        let told = |thread: fs::DirEntry| {
            let read = |name| fs::read_to_string(thread.path().join(name)).unwrap_or_default();
            let stat = read("stat");
            let state = stat.rsplit_once(')').map_or("", |(_, rest)| rest.get(..2).unwrap_or(rest));
            let (name, place, times) = (read("comm"), read("wchan"), read("schedstat"));
            format!("{}{state} {place} {}\n", name.trim(), times.trim())
        };
        threads.flatten().map(told).collect()
    }

    /// How many descriptors its table has room for.
    pub fn descriptors(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid()));
        let status = status.expect("the proxy runs");
        let count = status.lines().find_map(|line| line.strip_prefix("FDSize:"));
        count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
    }

    /// The processor time it has used, in nanoseconds, as the scheduler counts it.
    pub fn cpu_ns(&self) -> u64 {
        self.cpu_ns_of("")
    }

    /// The same of its workers alone.
    pub fn worker_cpu_ns(&self) -> u64 {
        self.cpu_ns_of("worker-")
    }

    /// The same of the threads that check servers.
    pub fn monitor_cpu_ns(&self) -> u64 {
        self.cpu_ns_of("monitor") + self.cpu_ns_of("keeper")
    }

    /// The same of threads whose names begin like this.
    fn cpu_ns_of(&self, name: &str) -> u64 {
        cpu_ns_of(self.pid(), name)
    }

    fn memory(&self, field: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid()));
        let status = status.expect("the proxy runs");
        let line = status.lines().find(|line| line.starts_with(field));
        let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
        kilobytes.map_or(0, |kilobytes: u64| kilobytes * 1024)
    }

    /// Whether it runs.
    pub fn is_running(&self) -> bool {
        self.process.ended().is_none()
    }

    /// Asks it to end, and waits for that.
    pub fn stop(&self, limit: Duration) -> Result<ExitStatus> {
        self.process.signal("TERM")?;
        self.process.wait(limit)
    }
}

/// What `config` makes of the value for `interfaces`, with a place for administration unless it
/// names one: the default place is one for the whole machine, and open to the network.
fn configuration(
    dir: &Path,
    port: u16,
    admin_port: u16,
    config: impl FnOnce(String) -> String,
) -> String {
    let interfaces = format!("127.0.0.1:{port};{}", dir.join("sock").display());
    let mut text = config(interfaces);
    if !text.contains("[admin_variables]") {
        let place = format!("127.0.0.1:{admin_port};{}", dir.join("admin").display());
        text.push_str(&format!("\n[admin_variables]\nmysql_ifaces = \"{place}\"\n"));
    }
    text
}

/// The processor time that a process has used, in nanoseconds.
pub fn cpu_ns(pid: u32) -> u64 {
    cpu_ns_of(pid, "")
}

fn cpu_ns_of(pid: u32, name: &str) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
    let used = threads.flatten().filter_map(|thread| {
        let called = fs::read_to_string(thread.path().join("comm")).ok()?;
        if !called.starts_with(name) {
            return None;
        }
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    used.sum()
}

/// The server version in the greeting of whoever listens on this loopback port.
pub fn greeting_of(port: u16) -> Result<String> {
    let address = (Ipv4Addr::LOCALHOST, port).into();
    let (_, packet) = Packets::tcp(address, Duration::from_secs(5))?.receive()?;
    let greeting = Greeting::parse(&packet).context("not a greeting")?;
    Ok(String::from_utf8_lossy(greeting.server_version).into_owned())
}

/// The binary under test: the one that `TIDEGATE_BIN` names, or a fresh build.
pub fn binary() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os("TIDEGATE_BIN").filter(|value| !value.is_empty()) {
        return Ok(named.into());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--profile", "sim", "--bin", "tidegate"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .status()?;
    ensure!(status.success(), "the binary cannot be built: {status}");
    Ok(target_dir()?.join("sim/tidegate"))
}

/// A binary with these features of the program, which no other test wants: the one that
/// `TIDEGATE_FEATURES_BIN` names, or a fresh build beside the others, which takes minutes.
pub fn binary_with(features: &str) -> Result<PathBuf> {
    if let Some(named) = std::env::var_os("TIDEGATE_FEATURES_BIN").filter(|it| !it.is_empty()) {
        return Ok(named.into());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let folder = target_dir()?.join("with-features");
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--profile", "fastbuild", "-p", "tidegate"])
        .args(["--features", features, "--target-dir"])
        .arg(&folder)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .status()?;
    ensure!(status.success(), "the binary cannot be built: {status}");
    Ok(folder.join("fastbuild/tidegate"))
}

/// The target directory that this very test was built in.
pub fn target_dir() -> Result<PathBuf> {
    let test = std::env::current_exe()?;
    let target = test.ancestors().find(|dir| dir.join("CACHEDIR.TAG").exists());
    Ok(target.context("the test does not lie in a target directory")?.to_owned())
}
