//! Addresses that rules ask for: clients' and our own.

use core::net::IpAddr;

use super::rule::text;
use super::{Findings, Kind, Lint};
use engine::vars::Interface;

pub(super) fn look(lint: &Lint<'_>, findings: &mut Findings) {
    for rule in &lint.rules {
        if let Some((reason, suggestion)) = text(&rule.row.client_addr).and_then(client_fault) {
            findings.rule(Kind::ClientAddress, rule, "client_addr", (reason, suggestion));
        }
        for (column, reason) in [
            ("proxy_addr", text(&rule.row.proxy_addr).and_then(|ip| address_fault(lint, ip))),
            ("proxy_port", rule.row.proxy_port.and_then(|port| port_fault(lint, port))),
        ] {
            if let Some(reason) = reason {
                let suggestion = "correct it, or add the address to mysql-interfaces";
                findings.rule(Kind::UnknownListener, rule, column, (reason, suggestion));
            }
        }
    }
}

/// Why no client has an address.
fn client_fault(asked: &str) -> Option<(String, String)> {
    let (beginning, is_whole) = match asked.strip_suffix('%') {
        Some(beginning) => (beginning, false),
        None => (asked, true),
    };
    let of_address = |sign: char| sign.is_ascii_hexdigit() || matches!(sign, '.' | ':');
    let canonical = asked.parse::<IpAddr>().ok().map(|ip| ip.to_string());
    let (is_fine, written) = match (is_whole, canonical) {
        (true, Some(canonical)) => (canonical == asked, canonical),
        (true, None) => (asked == "localhost", String::new()),
        (false, _) => (beginning.chars().all(of_address), String::new()),
    };
    if is_fine {
        return None;
    }
    if !written.is_empty() {
        let reason = format!(
            "clients' addresses are compared as text, and `{asked}` is written \
                              otherwise"
        );
        return Some((reason, format!("write `{written}`")));
    }
    let reason = format!("`{asked}` is neither an IP address nor the beginning of one with a %");
    let suggestion = match asked.split_once('/') {
        Some((network, _)) => {
            let beginning = network.trim_end_matches(['0', '.']);
            format!("networks are written by their beginning, such as `{beginning}.%`")
        }
        None => "write the address; clients' names are not looked up".to_owned(),
    };
    Some((reason, suggestion))
}

/// The local addresses; nothing is known of what a listener on all addresses is reached by.
fn address_fault(lint: &Lint<'_>, asked: &str) -> Option<String> {
    let mut listened = Vec::new();
    for interface in &lint.snapshot.vars.interfaces {
        if let Interface::Tcp { ip, .. } = interface {
            if ip.is_unspecified() || ip.to_string() == asked {
                return None;
            }
            listened.push(ip.to_string());
        }
    }
    Some(format!("mysql-interfaces does not listen on {asked}, only on {}", listened.join(", ")))
}

fn port_fault(lint: &Lint<'_>, asked: i64) -> Option<String> {
    let mut listened = Vec::new();
    for interface in &lint.snapshot.vars.interfaces {
        let port = match interface {
            Interface::Tcp { port: 0, .. } => return None,
            Interface::Tcp { port, .. } => *port,
            Interface::Unix(_) => 0,
        };
        if i64::from(port) == asked {
            return None;
        }
        listened.push(port.to_string());
    }
    Some(format!(
        "mysql-interfaces does not listen on port {asked}, only on {}",
        listened.join(", ")
    ))
}
