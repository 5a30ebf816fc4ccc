//! The embedded servers of the demo and the configuration that puts Tidegate in front of them.
//!
//! Knows `demo_servers` and the columns of the tables; starts nothing of Tidegate itself.

use std::fmt::Write as _;
use std::fs::DirBuilder;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use demo_servers::{DemoServers, ServerOptions};

use crate::init;

/// A server as the demo shows it.
#[derive(Clone, Debug)]
pub(super) struct ShownServer {
    /// `@@hostname`.
    pub(super) name: &'static str,
    /// What it is, for people.
    pub(super) role: &'static str,
    /// Where it listens.
    pub(super) address: SocketAddr,
    /// Whether it takes writes.
    pub(super) writable: bool,
}

/// A query rule of the demo.
pub(super) struct Rule {
    /// `match_digest`.
    pub(super) pattern: &'static str,
    /// `destination_hostgroup`.
    pub(super) hostgroup: u32,
}

/// The rules, in order.
pub(super) const RULES: [Rule; 2] = [
    Rule { pattern: "^SELECT.*FOR UPDATE", hostgroup: 0 },
    Rule { pattern: "^SELECT", hostgroup: 1 },
];

/// Name, role and whether it takes writes.
const SERVERS: [(&str, &str, bool); 3] = [
    ("primary", "takes writes", true),
    ("replica-1", "read-only: refuses them with error 1290", false),
    ("replica-2", "read-only: refuses them with error 1290", false),
];

/// The embedded servers and the file that configures Tidegate for them; gone when dropped.
pub(super) struct Embedded {
    places: Vec<ShownServer>,
    configuration: PathBuf,
    directory: PathBuf,
    _servers: DemoServers,
}

impl Embedded {
    /// Starts the servers on free loopback ports and writes the configuration.
    pub(super) fn start() -> anyhow::Result<Self> {
        let directory = std::env::temp_dir().join(format!("tidegate-demo-{}", std::process::id()));
        DirBuilder::new()
            .mode(0o700)
            .create(&directory)
            .with_context(|| format!("cannot make {}", directory.display()))?;
        let options = SERVERS.map(|(name, _, writable)| ServerOptions {
            name: name.to_owned(),
            read_only: !writable,
        });
        let data = directory.join("data.db");
        let servers = DemoServers::start(&data, "demo", ("demo", "demo"), &options)
            .context("the embedded servers cannot be started")?;
        let places = SERVERS.iter().zip(servers.addresses());
        let places: Vec<ShownServer> = places
            .map(|(&(name, role, writable), address)| ShownServer { name, role, address, writable })
            .collect();
        let configuration = directory.join("tidegate.toml");
        init::write(&configuration, &text(&places))?;
        Ok(Self { places, configuration, directory, _servers: servers })
    }

    /// The servers, primary first.
    pub(super) fn places(&self) -> Vec<ShownServer> {
        self.places.clone()
    }

    /// The file for `config::load`.
    pub(super) fn configuration(&self) -> &Path {
        &self.configuration
    }
}

impl ShownServer {
    /// The hostgroup that the configuration puts it in.
    pub(super) fn hostgroup(&self) -> u8 {
        u8::from(!self.writable)
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        // a file left in the temporary directory harms nobody
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// A `tidegate.toml` with read/write split over the servers.
fn text(places: &[ShownServer]) -> String {
    let mut text = String::from(
        "# written by `tidegate demo`\n[mysql_variables]\ninterfaces = \"127.0.0.1:0\"\n\
         threads = 1\nstored_code = false  # there is none\n\
         monitor_username = \"demo\"\nmonitor_password = \"demo\"\n\n\
         [admin_variables]\nmysql_ifaces = \"127.0.0.1:0\"\n",
    );
    // writing to a string does not fail
    for place in places {
        let _ = write!(
            text,
            "\n[[mysql_servers]]  # {}\nhostgroup_id = {}\nhostname = \"{}\"\nport = {}\n",
            place.name,
            place.hostgroup(),
            place.address.ip(),
            place.address.port(),
        );
    }
    text.push_str(
        "\n[[mysql_users]]\nusername = \"demo\"\npassword = \"demo\"\ndefault_hostgroup = 0\n",
    );
    for (rule, id) in RULES.iter().zip(1..) {
        let _ = write!(
            text,
            "\n[[mysql_query_rules]]\nrule_id = {id}\nactive = 1\nmatch_digest = \"{}\"\n\
             destination_hostgroup = {}\napply = 1\n",
            rule.pattern, rule.hostgroup,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_of_the_demo_is_one_that_check_accepts() {
        let embedded = Embedded::start().unwrap();
        let loaded = crate::config::load(embedded.configuration()).unwrap();
        assert_eq!(loaded.draft.servers.len(), 3);
        assert_eq!(loaded.draft.servers[0].hostgroup_id, 0);
        assert_eq!(loaded.draft.rules.len(), RULES.len());
        assert_eq!(loaded.warnings, []);
        let directory = embedded.directory.clone();
        drop(embedded);
        assert!(!directory.exists());
    }
}
