//! A primary and the replicas that follow it. It decides ports, server ids and the order of
//! starting; what the proxy makes of the servers is none of its business.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::flavour::{Flavour, Software};
use crate::place::{self, RunDir};
use crate::server::{Birth, Server};
use crate::settings::{self, ServerRole};
use crate::template;

/// What cluster is wanted.
#[derive(Debug, Clone, Default)]
pub struct LabOptions {
    /// How many servers follow the primary.
    pub replicas: usize,
    /// Where the data directories go: an empty or new directory that is left in place afterwards.
    /// `None` is a temporary one that is removed.
    pub dir: Option<PathBuf>,
    /// Whether a temporary one is to be in memory.
    pub in_memory: bool,
    /// Whose servers.
    pub flavour: Flavour,
    /// Whether MySQL may be downloaded by `apt-get` when it is not here.
    pub may_fetch: bool,
    /// Options given to every server, after the lab's own.
    pub extra_args: Vec<String>,
}

/// Running servers: one primary and its replicas. Dropping it kills them.
#[derive(Debug)]
pub struct Cluster {
    // Dropped in this order: first the servers, then their files.
    servers: Vec<Server>,
    software: Software,
    dir: RunDir,
}

impl Cluster {
    /// Starts the servers and waits until the replicas follow the primary.
    pub fn start(options: LabOptions) -> Result<Self> {
        let software = options.flavour.find(options.may_fetch)?;
        let template = template::prepared(&software)?;
        let dir = match &options.dir {
            Some(dir) => RunDir::kept(dir)?,
            None if options.in_memory => RunDir::in_memory()?,
            None => RunDir::create()?,
        };
        let mut cluster = Cluster { servers: Vec::new(), software, dir };
        for index in 0..=options.replicas {
            let server = cluster.launch(index, &template, &options.extra_args)?;
            cluster.servers.push(server);
        }
        for server in &cluster.servers {
            server.await_ready()?;
        }
        for replica in cluster.replicas() {
            replica.sql(&settings::follow(options.flavour, cluster.primary().port))?;
        }
        cluster.wait_replicated()?;
        Ok(cluster)
    }

    /// The server that takes writes.
    pub fn primary(&self) -> &Server {
        &self.servers[0]
    }

    /// The read-only servers.
    pub fn replicas(&self) -> &[Server] {
        &self.servers[1..]
    }

    /// All servers, the primary first.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// Whose servers these are and of which version.
    pub fn software(&self) -> &Software {
        &self.software
    }

    /// The directory that everything of this cluster lies in.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Waits until every running replica has executed what the primary has committed by now.
    pub fn wait_replicated(&self) -> Result<()> {
        let (position, wait) = match self.software.flavour {
            Flavour::MariaDb => ("SELECT @@gtid_binlog_pos", "SELECT MASTER_GTID_WAIT"),
            Flavour::MySql => ("SELECT @@gtid_executed", "SELECT WAIT_FOR_EXECUTED_GTID_SET"),
        };
        let position = self.primary().value(position)?.replace('\n', "");
        for replica in self.replicas().iter().filter(|replica| replica.is_running()) {
            self.wait_following(replica)?;
            let reached = replica.value(&format!("{wait}('{position}', 45)"))?;
            if reached != "0" {
                bail!("server {} does not follow\n{}", replica.id, replica.error_log(30));
            }
        }
        Ok(())
    }

    /// Waits until a replica is connected to the primary: it may wait for a position only then.
    fn wait_following(&self, replica: &Server) -> Result<()> {
        let (question, io_running) = match self.software.flavour {
            Flavour::MariaDb => ("SHOW SLAVE STATUS", 10),
            Flavour::MySql => ("SHOW REPLICA STATUS", 10),
        };
        for _ in 0..1500 {
            let rows = replica.sql(question)?;
            let state = rows.first().and_then(|row| row.get(io_running).cloned()).flatten();
            if state.as_deref() == Some("Yes") {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        bail!("server {} is not connected to the primary\n{}", replica.id, replica.error_log(30))
    }

    fn launch(&self, index: usize, template: &Path, extra: &[String]) -> Result<Server> {
        let data = self.dir.path().join(if index == 0 { "p".into() } else { format!("r{index}") });
        if !data.exists() {
            place::copy_dir(template, &data)
                .with_context(|| format!("cannot copy a template to {}", data.display()))?;
        }
        let socket = data.join("s");
        ensure!(
            socket.as_os_str().len() < 107,
            "{} is too long for a socket: choose a shorter directory",
            socket.display()
        );
        let id = u32::try_from(index)? + 1;
        let port = place::free_port()?;
        let role = ServerRole {
            flavour: self.software.flavour,
            data: &data,
            socket: &socket,
            port: Some(port),
            server_id: id,
            replica: index > 0,
        };
        let mut command = self.software.command();
        command.extend(settings::options(&role, extra));
        Server::launch(Birth { port, socket, id, data, command })
    }
}

impl Software {
    /// The words that start it, with what must come first and what every start needs.
    pub(crate) fn command(&self) -> Vec<OsString> {
        let mut command = self.program.clone();
        command.push("--no-defaults".into());
        command.extend(template::run_as_root());
        command.extend(self.files.iter().cloned());
        command
    }
}
