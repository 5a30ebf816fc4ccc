//! `tidegate sandbox`: real servers on loopback and a configuration that fits them.
//!
//! Starting servers is `lab`'s; this module prints what an operator needs and waits for the end.

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

use lab::{Cluster, LabOptions, Server, SplitOptions};

use crate::cli::{LogFormat, LogLevel, SandboxOptions, StoreOptions};
use crate::{init, logs, run, signals};

/// Starts the servers and serves until Ctrl-C.
pub(crate) fn run(options: &SandboxOptions) -> anyhow::Result<()> {
    let plural = if options.replicas == 1 { "" } else { "s" };
    println!("starting a primary and {} replica{plural}", options.replicas);
    let cluster = Cluster::start(LabOptions {
        replicas: options.replicas as usize,
        dir: options.dir.clone(),
        ..LabOptions::default()
    })?;
    let (port, admin) = (lab::free_port()?, lab::free_port()?);
    let file = write_configuration(&cluster, port, admin)?;
    for line in connections(&cluster) {
        println!("{line}");
    }
    println!("configuration: {}", file.display());
    if options.run {
        println!("tidegate   mariadb -h 127.0.0.1 -P {port} -u app -papp   (ff/ff relays bytes)");
        println!("admin      mariadb -h 127.0.0.1 -P {admin} -u admin -padmin");
        let _log = logs::start(LogFormat::Text, LogLevel::Info)?;
        let store = StoreOptions::default();
        return run::serve(Some(&file), None, &store, false).map(drop);
    }
    println!("to run Tidegate on it: tidegate run --config {}", file.display());
    println!("  then: mariadb -h 127.0.0.1 -P {port} -u app -papp   (ff/ff relays bytes)");
    println!("  admin: mariadb -h 127.0.0.1 -P {admin} -u admin -padmin");
    println!("Ctrl-C stops the servers");
    let (sender, notices) = channel();
    signals::watch(sender)?;
    signals::wait_for_stop(&notices);
    Ok(())
}

/// How to reach each server directly.
fn connections(cluster: &Cluster) -> Vec<String> {
    let line = |role: String, server: &Server| {
        let (host, port) = (&server.host, server.port);
        let place = format!("socket {}, pid {}", server.socket.display(), server.pid());
        format!("{role:<10} mariadb -h {host} -P {port} -u app -papp   ({place})")
    };
    let mut lines = vec![line("primary".to_owned(), cluster.primary())];
    for (index, replica) in cluster.replicas().iter().enumerate() {
        lines.push(line(format!("replica {}", index + 1), replica));
    }
    lines
}

fn write_configuration(cluster: &Cluster, port: u16, admin: u16) -> anyhow::Result<PathBuf> {
    let socket = cluster.dir().join("tidegate.sock");
    let options = SplitOptions {
        interfaces: format!("127.0.0.1:{port};{}", socket.display()),
        more: format!(
            "\n[[mysql_replication_hostgroups]]\nwriter_hostgroup = 0\nreader_hostgroup = 1\n\
             \n[admin_variables]\nmysql_ifaces = \"127.0.0.1:{admin}\"\n"
        ),
        ..SplitOptions::default()
    };
    let file: &Path = &cluster.dir().join("tidegate.toml");
    init::write(file, &lab::split_toml(cluster, &options))?;
    Ok(file.to_path_buf())
}
