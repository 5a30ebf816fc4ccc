//! What is measured: where the load goes, and how the proxy in between is configured.
//!
//! Decides the configurations. Each proxy runs on one thread and reaches the two replicas by round
//! robin or equal weights, so that all targets ask the same servers for the same work.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use lab::{Cluster, SplitOptions, free_port, split_toml};

use crate::process::{Process, Usage};
use crate::tls_files::TlsFiles;

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
    /// The same with a query cache in front, in which all reads are.
    Cached,
    /// The same without, with each connection one session's while it runs something.
    SplitExclusive,
    /// The same with at most eight connections to each server, on which sessions take turns.
    SplitNarrow,
    /// HAProxy with TLS on both sides. It speaks none of MySQL's, so that two more of it, which are
    /// not measured, put it on in front and take it off behind.
    HaProxyTls,
    /// Tidegate, read/write split, with TLS on both sides.
    SplitTls,
}

/// A target that is ready for load.
pub(crate) struct Running {
    pub(crate) target: Target,
    /// Ports of 127.0.0.1 over which connections are spread.
    pub(crate) ports: Vec<u16>,
    /// The user, whose password is the same word.
    pub(crate) user: &'static str,
    /// Whether the load comes in MySQL's TLS.
    pub(crate) in_tls: bool,
    process: Option<Process>,
    /// What is not measured.
    _beside: Vec<Process>,
}

impl Running {
    /// What the proxy has used so far; nothing for a direct connection.
    pub(crate) fn usage(&self) -> Result<Option<Usage>> {
        self.process.as_ref().map(Process::usage).transpose()
    }
}

impl Target {
    pub(crate) const ALL: [Self; 10] = [
        Self::Direct,
        Self::HaProxy,
        Self::Relay,
        Self::FastForward,
        Self::Split,
        Self::Cached,
        Self::SplitExclusive,
        Self::SplitNarrow,
        Self::HaProxyTls,
        Self::SplitTls,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::HaProxy => "haproxy",
            Self::Relay => "relay",
            Self::FastForward => "fast-forward",
            Self::Split => "split",
            Self::Cached => "cached",
            Self::SplitExclusive => "split-exclusive",
            Self::SplitNarrow => "split-narrow",
            Self::HaProxyTls => "haproxy-tls",
            Self::SplitTls => "split-tls",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.name() == name)
    }

    /// Why it cannot be measured here.
    pub(crate) fn missing(self) -> Option<String> {
        let wanted = match self {
            Self::Direct => return None,
            Self::HaProxy | Self::HaProxyTls => PathBuf::from("/usr/sbin/haproxy"),
            Self::Relay => relay(),
            _ => tidegate(),
        };
        (!wanted.is_file()).then(|| format!("{} is not there", wanted.display()))
    }

    /// The one that its figures are beside.
    pub(crate) fn base(self) -> Self {
        match self {
            Self::HaProxyTls | Self::SplitTls => Self::HaProxyTls,
            _ => Self::HaProxy,
        }
    }

    pub(crate) fn start(self, cluster: &Cluster, files: &TlsFiles) -> Result<Running> {
        let replicas: Vec<u16> = cluster.replicas().iter().map(|server| server.port).collect();
        let (user, in_tls, beside) = ("app", false, Vec::new());
        if self == Self::Direct {
            let (ports, process) = (replicas, None);
            return Ok(Running { target: self, ports, user, in_tls, process, _beside: beside });
        }
        if self == Self::HaProxyTls {
            return wrapped(cluster.dir(), &replicas, files);
        }
        let port = free_port()?;
        let folder = cluster.dir();
        let command = match self {
            Self::Direct | Self::HaProxy | Self::HaProxyTls => {
                haproxy(&folder.join("haproxy.cfg"), [(port, "")], &replicas, "")?
            }
            Self::Relay => {
                let mut command = Command::new(relay());
                command.args([format!("127.0.0.1:{port}")]);
                command.args(replicas.first().map(|port| format!("127.0.0.1:{port}")));
                command
            }
            Self::FastForward
            | Self::Split
            | Self::Cached
            | Self::SplitExclusive
            | Self::SplitNarrow
            | Self::SplitTls => self.tidegate(cluster, port, files)?,
        };
        let log = folder.join(format!("{}.log", self.name()));
        let process = Process::start(command, port, &log)?;
        let user = if matches!(self, Self::FastForward) { "ff" } else { user };
        let (ports, in_tls) = (vec![port], self == Self::SplitTls);
        Ok(Running { target: self, ports, user, in_tls, process: Some(process), _beside: beside })
    }

    fn tidegate(self, cluster: &Cluster, port: u16, files: &TlsFiles) -> Result<Command> {
        let options = SplitOptions {
            interfaces: format!("127.0.0.1:{port}"),
            variables: match self {
                Self::SplitExclusive | Self::SplitNarrow => {
                    "threads = 1\npipeline_depth = 0\n".into()
                }
                Self::SplitTls => format!("threads = 1\n{}", files.variables()),
                _ => "threads = 1\n".into(),
            },
            ..SplitOptions::default()
        };
        let mut text = split_toml(cluster, &options);
        if matches!(self, Self::SplitNarrow) {
            text = text.replace("max_connections = 1000", "max_connections = 8");
        }
        if matches!(self, Self::SplitTls) {
            let row = "max_connections = 1000\nuse_ssl = 1";
            text = text.replace("max_connections = 1000", row);
        }
        if matches!(self, Self::Cached) {
            let pattern = "match_digest = \"^SELECT\"\n";
            text = text.replace(pattern, &format!("{pattern}cache_ttl = 3600000\n"));
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

/// HAProxy between others of it that put TLS on and take it off.
fn wrapped(folder: &Path, replicas: &[u16], files: &TlsFiles) -> Result<Running> {
    let secured = format!(" ssl crt {}", files.both().display());
    let unverified = " ssl verify none";
    let start = |name: &str, ports: &[u16], bind: &str, to: &[u16], server: &str| {
        let listens = ports.iter().map(|port| (*port, bind));
        let command = haproxy(&folder.join(format!("{name}.cfg")), listens, to, server)?;
        let port = ports.first().copied().context("a port")?;
        Process::start(command, port, &folder.join(format!("{name}.log")))
    };
    let [front, middle] = [free_port()?, free_port()?];
    let behind: Vec<u16> = replicas.iter().map(|_| free_port()).collect::<Result<_>>()?;
    let mut beside = Vec::new();
    for (port, replica) in behind.iter().zip(replicas) {
        beside.push(start(&format!("behind-{port}"), &[*port], &secured, &[*replica], "")?);
    }
    let process = start("haproxy-tls", &[middle], &secured, &behind, unverified)?;
    beside.push(start("front", &[front], "", &[middle], unverified)?);
    let (target, ports, process) = (Target::HaProxyTls, vec![front], Some(process));
    Ok(Running { target, ports, user: "app", in_tls: false, process, _beside: beside })
}

/// HAProxy that listens there, with these words behind each address.
fn haproxy<'a>(
    path: &Path,
    ports: impl IntoIterator<Item = (u16, &'a str)>,
    servers: &[u16],
    server: &str,
) -> Result<Command> {
    let bind = |(port, words)| format!("    bind 127.0.0.1:{port}{words}\n");
    let binds: String = ports.into_iter().map(bind).collect();
    let row = |(at, port)| format!("    server r{at} 127.0.0.1:{port}{server}\n");
    let servers: String = servers.iter().enumerate().map(row).collect();
    let text = format!(
        "global\n    nbthread 1\n    maxconn 4000\ndefaults\n    mode tcp\n    \
         timeout connect 5s\n    timeout client 1h\n    timeout server 1h\nlisten mysql\n\
         {binds}    balance roundrobin\n{servers}"
    );
    fs::write(path, text).with_context(|| path.display().to_string())?;
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
