//! `tidegate topology`: where the servers of a running Tidegate stand, asked of its administrative
//! interface.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow};
use client::{Client, Error, Login, Packets, Reply, Row};
use engine::vars::{Interface, Vars, credentials};
use keeper::Endpoint;
use serde_json::{Map, Value};
use wire::auth::{native, sha2};
use wire::error_table::ACCESS_DENIED_ERROR;

use crate::cli::TopologyOptions;
use crate::config;
use crate::tree::{self, Standpoint};

/// Prints the tree.
pub(crate) fn run(options: &TopologyOptions) -> anyhow::Result<()> {
    let file = config::find(options.config.as_deref())?;
    let vars = config::load(&file)?.snapshot.vars;
    let reply = asked(&file, &vars)?;
    let name = |column: &String| column.to_ascii_lowercase();
    let columns: Vec<String> = reply.columns.iter().map(name).collect();
    if options.json {
        let rows = reply.rows.iter().map(|row| object(&columns, row));
        println!("{:#}", Value::Array(rows.collect()));
        return Ok(());
    }
    let standpoints: Option<Vec<_>> =
        reply.rows.iter().map(|row| standpoint(&columns, row)).collect();
    let standpoints = standpoints.context("SHOW TOPOLOGY has other columns than are known")?;
    print!("{}", tree::shown(&standpoints));
    Ok(())
}

/// What the Tidegate says that a configuration file is for.
fn asked(file: &Path, vars: &Vars) -> anyhow::Result<Reply> {
    let name = file.display();
    let is_hash =
        |stored: &[u8]| native::parse_stored(stored).is_some() || sha2::rounds(stored).is_some();
    let mut accounts = credentials(&vars.admin_credentials);
    let login = accounts.find(|(_, password)| !is_hash(password.as_bytes()));
    let login = login.map(|(user, password)| Login::new(user, password)).with_context(|| {
        format!("admin-admin_credentials of {name} has no account whose password is no hash")
    })?;
    let mut found = Err(anyhow!("admin-mysql_ifaces of {name} is empty: there is no interface"));
    for interface in &vars.admin_interfaces {
        found = match interface {
            Interface::Tcp { ip, port } => {
                let at = SocketAddr::new(reached(*ip), *port);
                said(Packets::tcp(at, PATIENCE), &login)
            }
            Interface::Unix(path) => said(unix(Path::new(path), PATIENCE), &login),
        }
        .map_err(|error| explained(&error, interface, login.user, file));
        if found.is_ok() {
            break;
        }
    }
    found
}

fn said<S: Read + Write>(
    packets: std::io::Result<Packets<S>>,
    login: &Login<'_>,
) -> Result<Reply, Error> {
    Client::log_in(packets?, login)?.query("SHOW TOPOLOGY")
}

/// A connection to a Unix socket. `patience` bounds the wait for a place in its queue, and each for
/// an answer.
fn unix(path: &Path, patience: Duration) -> std::io::Result<Packets<UnixStream>> {
    let stream = io::connect_unix(path, patience)?;
    stream.set_read_timeout(Some(patience))?;
    Ok(Packets::over(stream))
}

/// An address of this machine by which one that means all of them is reached.
fn reached(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    }
}

fn explained(error: &Error, at: &Interface, user: &str, file: &Path) -> anyhow::Error {
    let name = file.display();
    match error {
        Error::Connection(cause) if NOBODY.contains(&cause.kind()) => anyhow!(
            "nothing listens on {at}, which admin-mysql_ifaces of {name} says: is Tidegate running?"
        ),
        Error::Connection(cause) if WAITED.contains(&cause.kind()) => anyhow!(
            "nobody answers on {at}, which admin-mysql_ifaces of {name} says, within {} s",
            PATIENCE.as_secs()
        ),
        Error::Refused(refusal) if refusal.code == ACCESS_DENIED_ERROR.number => anyhow!(
            "the Tidegate on {at} refuses the account {user} of admin-admin_credentials of {name}: \
             {refusal}"
        ),
        error => anyhow!("the interface on {at}: {error}"),
    }
}

fn object(columns: &[String], row: &Row) -> Value {
    let member = |(name, value): (&String, &Option<String>)| {
        let value = match value {
            None => Value::Null,
            Some(text) if NUMBERS.contains(&name.as_str()) => {
                text.parse::<i64>().map_or(Value::Null, Value::from)
            }
            Some(text) => Value::from(text.as_str()),
        };
        (name.clone(), value)
    };
    Value::Object(columns.iter().zip(row).map(member).collect::<Map<_, _>>())
}

fn standpoint(columns: &[String], row: &Row) -> Option<Standpoint> {
    let text = |name: &str| {
        let at = columns.iter().position(|column| column == name)?;
        Some(row.get(at)?.clone().unwrap_or_default())
    };
    let server = Endpoint { hostname: text("srv_host")?, port: text("srv_port")?.parse().ok()? };
    Some(Standpoint {
        hostgroup: text("hostgroup")?.parse().ok()?,
        role: text("role")?,
        columns: [
            server.to_string(),
            text("status")?,
            text("lag_s")?,
            text("latency_us")?,
            text("since")?,
            text("reason")?,
        ],
    })
}

/// What a connect fails with where nobody listens.
const NOBODY: [ErrorKind; 2] = [ErrorKind::ConnectionRefused, ErrorKind::NotFound];

/// What an attempt fails with that took too long.
const WAITED: [ErrorKind; 2] = [ErrorKind::TimedOut, ErrorKind::WouldBlock];

/// Columns that are numbers.
const NUMBERS: [&str; 4] = ["hostgroup", "srv_port", "lag_s", "latency_us"];

/// How long the interface may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn an_interface_that_takes_no_connection_is_waited_for_no_longer_than_that() {
        let path = std::env::temp_dir().join(format!("tidegate-{}-full.sock", std::process::id()));
        let listener: UnixListener = match io::listen(&io::Addr::Unix(path.clone()), 0, false) {
            Ok(listener) => listener.into(),
            Err(_) => panic!("a path that can be listened on"),
        };
        let first = unix(&path, PATIENCE).expect("there is room for one");
        let (tell, told) = std::sync::mpsc::channel();
        let full = path.clone();
        let second = move || unix(&full, Duration::from_millis(50)).map(drop);
        std::thread::spawn(move || tell.send(second()));
        let error = told.recv_timeout(Duration::from_secs(20)).expect("it is over");
        let error = Error::Connection(error.expect_err("there is no room for another"));
        let at = Interface::Unix("/admin.sock".into());
        let told = explained(&error, &at, "admin", Path::new("/tidegate.toml")).to_string();
        let expected = "nobody answers on /admin.sock, which admin-mysql_ifaces of \
                        /tidegate.toml says, within 10 s";
        assert_eq!(told, expected);
        drop((first, listener));
        std::fs::remove_file(path).expect("it was there");
    }
}
