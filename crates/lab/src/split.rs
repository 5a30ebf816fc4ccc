//! The text of a proxy configuration for a cluster. The primary is hostgroup 0, the replicas are
//! hostgroup 1 (the primary when there are none). Plain reads go to 1, all else to 0. It knows the
//! columns of the tables, and nothing of what the proxy does with them.

use std::fmt::Write as _;

use crate::{Cluster, Flavour, Server};

/// What the configuration is to say beside the servers and rules.
#[derive(Debug, Clone, Default)]
pub struct SplitOptions {
    /// What `interfaces` is to be: addresses and socket paths separated by `;`.
    pub interfaces: String,
    /// Weights of the replicas in their order; 1 where there is none.
    pub weights: Vec<u32>,
    /// More lines for `[mysql_variables]`.
    pub variables: String,
    /// More tables at the end of the file.
    pub more: String,
}

/// A `tidegate.toml` with read/write split for `app`/`app` and fast forward for `ff`/`ff`.
pub fn split_toml(cluster: &Cluster, options: &SplitOptions) -> String {
    let mut text = format!("[mysql_variables]\ninterfaces = \"{}\"\n", options.interfaces);
    if cluster.software().flavour == Flavour::MySql {
        // it is our own, and made a key that nobody knows yet
        text += "get_server_public_key = true\n";
    }
    text += options.variables.trim_end();
    text += "\n\n";
    let readers = match cluster.replicas() {
        [] => std::slice::from_ref(cluster.primary()),
        replicas => replicas,
    };
    server_row(&mut text, 0, cluster.primary(), 1);
    for (index, reader) in readers.iter().enumerate() {
        server_row(&mut text, 1, reader, options.weights.get(index).copied().unwrap_or(1));
    }
    text += USERS_AND_RULES;
    text += &options.more;
    text
}

fn server_row(text: &mut String, hostgroup: u32, server: &Server, weight: u32) {
    let written = writeln!(
        text,
        "[[mysql_servers]]\nhostgroup_id = {hostgroup}\nhostname = \"{}\"\nport = {}\n\
         weight = {weight}\nmax_connections = 1000\n",
        server.host, server.port
    );
    debug_assert!(written.is_ok(), "writing to a string does not fail");
}

const USERS_AND_RULES: &str = "[[mysql_users]]
username = \"app\"
password = \"app\"
default_hostgroup = 0

[[mysql_users]]
username = \"ff\"
password = \"ff\"
default_hostgroup = 0
fast_forward = 1

[[mysql_query_rules]]
rule_id = 1
active = 1
match_digest = \"^SELECT.*FOR UPDATE\"
destination_hostgroup = 0
apply = 1

[[mysql_query_rules]]
rule_id = 2
active = 1
match_digest = \"^SELECT\"
destination_hostgroup = 1
apply = 1
";
