//! What is measured: where the load goes, and how the proxy in between is configured.
//!
//! Decides the configurations; each proxy runs on one thread and reaches the two replicas by round
//! robin or equal weights, so that all targets ask the same servers for the same work.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use lab::{Cluster, SplitOptions, free_port, split_toml};

use crate::process::{Process, Usage};

/// Something the load can be sent through.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Target {
    /// Straight to the replicas.
    Direct,
    /// HAProxy, TCP mode.
    HaProxy,
    /// The bare relay among the examples of `io`, to one replica: what the loop alone costs.
    Relay,
    /// Tidegate, a `fast_forward` user.
    FastForward,
    /// Tidegate, read/write split by query rules.
    Split,
    /// The same with each connection one session's while it runs something.
    SplitExclusive,
    /// The same with at most eight connections to each server, on which sessions take turns.
    SplitNarrow,
}

/// A target that is ready for load.
pub(crate) struct Running {
    pub(crate) target: Target,
    /// Ports of 127.0.0.1 over which connections are spread.
    pub(crate) ports: Vec<u16>,
    /// The user, whose password is the same word.
    pub(crate) user: &'static str,
    process: Option<Process>,
}

impl Running {
    /// What the proxy has used so far; nothing for a direct connection.
    pub(crate) fn usage(&self) -> Result<Option<Usage>> {
        self.process.as_ref().map(Process::usage).transpose()
    }
}

impl Target {
    pub(crate) const ALL: [Self; 7] = [
        Self::Direct,
        Self::HaProxy,
        Self::Relay,
        Self::FastForward,
        Self::Split,
        Self::SplitExclusive,
        Self::SplitNarrow,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::HaProxy => "haproxy",
            Self::Relay => "relay",
            Self::FastForward => "fast-forward",
            Self::Split => "split",
            Self::SplitExclusive => "split-exclusive",
            Self::SplitNarrow => "split-narrow",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.name() == name)
    }

    /// Why it cannot be measured here.
    pub(crate) fn missing(self) -> Option<String> {
        let wanted = match self {
            Self::Direct => return None,
            Self::HaProxy => PathBuf::from("/usr/sbin/haproxy"),
            Self::Relay => relay(),
            _ => tidegate(),
        };
        (!wanted.is_file()).then(|| format!("{} is not there", wanted.display()))
    }

    pub(crate) fn start(self, cluster: &Cluster) -> Result<Running> {
        let replicas: Vec<u16> = cluster.replicas().iter().map(|server| server.port).collect();
        if self == Self::Direct {
            return Ok(Running { target: self, ports: replicas, user: "app", process: None });
        }
        let port = free_port()?;
        let folder = cluster.dir();
        let command = match self {
            Self::Direct | Self::HaProxy => haproxy(folder, port, &replicas)?,
            Self::Relay => {
                let mut command = Command::new(relay());
                command.args([format!("127.0.0.1:{port}")]);
                command.args(replicas.first().map(|port| format!("127.0.0.1:{port}")));
                command
            }
            Self::FastForward | Self::Split | Self::SplitExclusive | Self::SplitNarrow => {
                self.tidegate(cluster, port)?
            }
        };
        let log = folder.join(format!("{}.log", self.name()));
        let process = Process::start(command, port, &log)?;
        let user = if matches!(self, Self::FastForward) { "ff" } else { "app" };
        Ok(Running { target: self, ports: vec![port], user, process: Some(process) })
    }

    fn tidegate(self, cluster: &Cluster, port: u16) -> Result<Command> {
        let options = SplitOptions {
            interfaces: format!("127.0.0.1:{port}"),
            variables: match self {
                Self::SplitExclusive | Self::SplitNarrow => {
                    "threads = 1\npipeline_depth = 0\n".into()
                }
                _ => "threads = 1\n".into(),
            },
            ..SplitOptions::default()
        };
        let mut text = split_toml(cluster, &options);
        if matches!(self, Self::SplitNarrow) {
            text = text.replace("max_connections = 1000", "max_connections = 8");
        }
        if matches!(self, Self::FastForward) {
            // Fast forward follows the default hostgroup: here it shall be the replicas'.
            let user = "username = \"ff\"\npassword = \"ff\"\ndefault_hostgroup = ";
            text = text.replace(&format!("{user}0"), &format!("{user}1"));
        }
        // its default place is one for the whole machine, and several targets run at once
        let admin = cluster.dir().join(format!("{}.admin", self.name()));
        text += &format!("\n[admin_variables]\nmysql_ifaces = \"{}\"\n", admin.display());
        let path = cluster.dir().join(format!("{}.toml", self.name()));
        fs::write(&path, text)?;
        let mut command = Command::new(tidegate());
        command.args(["run", "--config"]).arg(path);
        Ok(command)
    }
}

fn haproxy(folder: &Path, port: u16, replicas: &[u16]) -> Result<Command> {
    let servers: Vec<String> = replicas
        .iter()
        .enumerate()
        .map(|(at, port)| format!("    server r{at} 127.0.0.1:{port}\n"))
        .collect();
    let text = format!(
        "global\n    nbthread 1\n    maxconn 4000\ndefaults\n    mode tcp\n    \
         timeout connect 5s\n    timeout client 1h\n    timeout server 1h\nlisten mysql\n    \
         bind 127.0.0.1:{port}\n    balance roundrobin\n{}",
        servers.concat()
    );
    let path = folder.join("haproxy.cfg");
    fs::write(&path, text).with_context(|| path.display().to_string())?;
    let mut command = Command::new("/usr/sbin/haproxy");
    command.arg("-db").arg("-f").arg(path);
    Ok(command)
}

/// The binary under measurement, which `cargo xtask bench` has built.
pub(crate) fn tidegate() -> PathBuf {
    std::env::var_os("TIDEGATE_BIN").map_or_else(|| built("tidegate"), PathBuf::from)
}

fn relay() -> PathBuf {
    built("examples/relay")
}

fn built(name: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target")),
        PathBuf::from,
    );
    target.join("release").join(name)
}
