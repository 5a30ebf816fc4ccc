//! The questions of `tidegate init`, in order, and what they lead to.
//!
//! Ranges of variables come from the registry; the others come from the tables' columns.

use std::collections::BTreeSet;
use std::io::{BufRead, Write};

use engine::rows::{ServerRow, UserRow};
use engine::vars::{self, Interface};

use super::dialog::{Dialog, Question};

/// Everything that was asked for.
pub(super) struct Answers {
    /// `interfaces` and the other `mysql-` variables, by name without prefix.
    pub(super) mysql: Vec<(&'static str, String)>,
    /// The `admin-` variables, by name without prefix.
    pub(super) admin: Vec<(&'static str, String)>,
    /// The servers.
    pub(super) servers: Vec<ServerRow>,
    /// The users.
    pub(super) users: Vec<UserRow>,
    /// Writer and reader hostgroup when reads are to be split off.
    pub(super) split: Option<(i64, i64)>,
}

impl Answers {
    /// Asks everything.
    pub(super) fn ask<R: BufRead, W: Write>(dialog: &mut Dialog<R, W>) -> anyhow::Result<Self> {
        let mut answers = Self {
            mysql: Vec::new(),
            admin: Vec::new(),
            servers: Vec::new(),
            users: Vec::new(),
            split: None,
        };
        dialog.say("Clients. An empty line takes the default in [brackets].")?;
        answers.mysql.push(("interfaces", ask_interfaces(dialog)?));
        dialog.say("Administration.")?;
        for (name, text) in ADMIN {
            let value = dialog.ask_variable(text, &format!("admin-{name}"))?;
            answers.admin.push((name, value));
        }
        dialog.say("Size and limits.")?;
        answers.mysql.push(("threads", ask_threads(dialog)?));
        for (name, text) in LIMITS {
            let value = dialog.ask_variable(text, &format!("mysql-{name}"))?;
            answers.mysql.push((name, value));
        }
        let text = "Most connections to each server";
        let connections = dialog.ask_number(text, 1000, (0, i64::from(i32::MAX)))?;
        dialog.say("Account for the checks of the servers.")?;
        for (name, text) in MONITOR {
            let value = dialog.ask_variable(text, &format!("mysql-{name}"))?;
            answers.mysql.push((name, value));
        }
        answers.servers = ask_servers(dialog, connections)?;
        answers.users = ask_users(dialog)?;
        answers.split = ask_split(dialog, &answers.servers)?;
        Ok(answers)
    }
}

fn ask_interfaces<R: BufRead, W: Write>(dialog: &mut Dialog<R, W>) -> anyhow::Result<String> {
    let tcp = Question {
        text: "Address for clients over TCP",
        allowed: "ip:port, [ipv6]:port, or none",
        default: "0.0.0.0:6033",
    };
    let unix = Question {
        text: "Unix socket for clients",
        allowed: "absolute path, or none",
        default: "none",
    };
    loop {
        let parse_tcp = |answer: &str| match Interface::parse(answer) {
            _ if answer == "none" => Ok(None),
            Ok(interface @ Interface::Tcp { .. }) => Ok(Some(interface.to_string())),
            Ok(Interface::Unix(_)) => Err("a Unix socket is asked for next".to_owned()),
            Err(reason) => Err(reason),
        };
        let tcp = dialog.ask(&tcp, parse_tcp)?;
        let parse_unix = |answer: &str| match answer {
            "none" => Ok(None),
            path if !path.starts_with('/') => Err(format!("`{path}` is not an absolute path")),
            path if path.contains(';') => Err("a path may not contain ;".to_owned()),
            path => Interface::parse(path).map(|interface| Some(interface.to_string())),
        };
        let unix = dialog.ask(&unix, parse_unix)?;
        let all: Vec<String> = tcp.into_iter().chain(unix).collect();
        if !all.is_empty() {
            return Ok(all.join(";"));
        }
        dialog.say("Clients need an address or a socket.")?;
    }
}

fn ask_threads<R: BufRead, W: Write>(dialog: &mut Dialog<R, W>) -> anyhow::Result<String> {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(255));
    let variable = vars::find("mysql-threads").expect("the registry has it");
    dialog.ask_variable_with("Worker threads", variable, &cores.to_string())
}

fn ask_servers<R: BufRead, W: Write>(
    dialog: &mut Dialog<R, W>,
    max_connections: i64,
) -> anyhow::Result<Vec<ServerRow>> {
    dialog.say("Servers. Hostgroup 0 is usually the primary, hostgroup 1 its replicas.")?;
    let mut servers: Vec<ServerRow> = Vec::new();
    loop {
        let first = servers.is_empty();
        let text = format!("Address of server {}", servers.len() + 1);
        let question = Question {
            text: &text,
            allowed: if first { SERVER_FORMS } else { SERVER_FORMS_OR_DONE },
            default: if first { "127.0.0.1:3306" } else { "done" },
        };
        let Some((hostname, port)) = dialog.ask(&question, |answer| match answer {
            "done" if !first => Ok(None),
            address => parse_server(address).map(Some),
        })?
        else {
            return Ok(servers);
        };
        let hostgroup_id =
            dialog.ask_number("  its hostgroup", i64::from(!first), (0, i64::from(i32::MAX)))?;
        let weight = dialog.ask_number("  its weight", 1, (0, 10_000_000))?;
        let server = ServerRow {
            hostgroup_id,
            hostname,
            port,
            weight,
            max_connections,
            ..Default::default()
        };
        let same = |row: &ServerRow| {
            (row.hostgroup_id, &row.hostname, row.port) == (hostgroup_id, &server.hostname, port)
        };
        if servers.iter().any(same) {
            dialog.say("  that server is already in that hostgroup")?;
        } else {
            servers.push(server);
        }
    }
}

/// Host and port of `host`, `host:port`, `[ipv6]:port` or a path, for which the port is 0.
fn parse_server(text: &str) -> Result<(String, i64), String> {
    if text.starts_with('/') {
        return Ok((text.to_owned(), 0));
    }
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((ipv6, "")) => (ipv6, "3306"),
        Some((ipv6, rest)) => (ipv6, rest.strip_prefix(':').unwrap_or(rest)),
        None => text.rsplit_once(':').unwrap_or((text, "3306")),
    };
    if host.is_empty() || host.contains(char::is_whitespace) {
        return Err(format!("`{text}` has no host; write {SERVER_FORMS}"));
    }
    match port.parse::<u16>() {
        Ok(port) if port > 0 => Ok((host.to_owned(), i64::from(port))),
        _ => Err(format!("`{port}` is not a port; allowed are 1 to 65535")),
    }
}

fn ask_users<R: BufRead, W: Write>(dialog: &mut Dialog<R, W>) -> anyhow::Result<Vec<UserRow>> {
    dialog.say("Users, with the passwords they have on the servers.")?;
    let mut users: Vec<UserRow> = Vec::new();
    loop {
        let first = users.is_empty();
        let text = format!("Name of user {}", users.len() + 1);
        let question = Question {
            text: &text,
            allowed: if first { "" } else { "or done" },
            default: if first { "app" } else { "done" },
        };
        let Some(username) = dialog.ask(&question, |answer| match answer {
            "done" if !first => Ok(None),
            name if users.iter().any(|user| user.username == name) => {
                Err(format!("`{name}` is already there"))
            }
            name => Ok(Some(name.to_owned())),
        })?
        else {
            return Ok(users);
        };
        let password = dialog.ask_text("  its password", "")?.into_bytes();
        let text = "  its default hostgroup";
        let default_hostgroup = dialog.ask_number(text, 0, (0, i64::from(i32::MAX)))?;
        let text = "  relay its bytes without looking at queries (fast forward)";
        let fast_forward = i64::from(dialog.ask_whether(text, false)?);
        users.push(UserRow {
            username,
            password,
            default_hostgroup,
            fast_forward,
            ..UserRow::default()
        });
    }
}

fn ask_split<R: BufRead, W: Write>(
    dialog: &mut Dialog<R, W>,
    servers: &[ServerRow],
) -> anyhow::Result<Option<(i64, i64)>> {
    let groups: BTreeSet<i64> = servers.iter().map(|server| server.hostgroup_id).collect();
    dialog.say("Rules.")?;
    let text = "Send reads to one hostgroup and everything else to another";
    if !dialog.ask_whether(text, groups.len() > 1)? {
        return Ok(None);
    }
    let mut ids = groups.iter().copied();
    let writer = ids.next().unwrap_or(0);
    let reader = ids.next().unwrap_or(writer);
    let range = (0, i64::from(i32::MAX));
    let writer = dialog.ask_number("  hostgroup for reads that lock rows", writer, range)?;
    let reader = dialog.ask_number("  hostgroup for all other reads", reader, range)?;
    Ok(Some((writer, reader)))
}

const SERVER_FORMS: &str = "host:port, or /path/of.sock";
const SERVER_FORMS_OR_DONE: &str = "host:port, /path/of.sock, or done";

const ADMIN: [(&str, &str); 2] =
    [("mysql_ifaces", "Address of the admin interface"), ("admin_credentials", "Its accounts")];

const LIMITS: [(&str, &str); 5] = [
    ("max_connections", "Most client connections at a time"),
    ("max_allowed_packet", "Longest query accepted"),
    ("threshold_query_length", "Longest query whose connection is pooled again"),
    ("threshold_resultset_size", "Result bytes held for a slow client"),
    ("free_connections_pct", "Idle connections kept to a server"),
];

const MONITOR: [(&str, &str); 2] =
    [("monitor_username", "User name of the checks"), ("monitor_password", "Its password")];
