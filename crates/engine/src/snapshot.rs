//! The configuration in force: compiled from rows as a whole, or not at all.
//!
//! A [`Draft`] is what was typed. A [`Snapshot`] is immutable and shared by all workers. Files and
//! databases are the loader's business.

use std::sync::Arc;

use crate::config_fault::ConfigFault;
use crate::rows::{FastRoutingRow, RuleRow, ServerRow, UserRow};
use crate::rules::{FastRouting, RuleOptions, RuleSet};
use crate::topology::Topology;
use crate::users::Users;
use crate::vars::Vars;

/// Rows exactly as typed.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Draft {
    /// `mysql_servers`.
    pub servers: Vec<ServerRow>,
    /// `mysql_users`.
    pub users: Vec<UserRow>,
    /// `mysql_query_rules`.
    pub rules: Vec<RuleRow>,
    /// `mysql_query_rules_fast_routing`.
    pub fast_routing: Vec<FastRoutingRow>,
    /// Global variables, names with their prefix.
    pub variables: Vec<(String, String)>,
}

/// A whole configuration, checked and compiled; its parts are shared, so a copy is cheap.
#[derive(Clone)]
pub struct Snapshot {
    /// Global variables.
    pub vars: Arc<Vars>,
    /// Accounts.
    pub users: Arc<Users>,
    /// Query rules.
    pub rules: Arc<RuleSet>,
    /// Where queries go that no rule with `apply=1` matched.
    pub fast_routing: Arc<FastRouting>,
    /// Hostgroups and servers.
    pub topology: Arc<Topology>,
}

impl Snapshot {
    /// Compiles a draft; every fault of every table is in the error.
    pub fn compile(draft: &Draft) -> Result<Self, Vec<ConfigFault>> {
        let mut faults = Vec::new();
        let topology = keep(Topology::compile(&draft.servers), &mut faults);
        let users = keep(Users::compile(&draft.users), &mut faults);
        let vars = keep(Vars::from_pairs(&draft.variables), &mut faults);
        let options = vars.as_ref().map(RuleOptions::of_vars).unwrap_or_default();
        let rules = keep(RuleSet::compile(&draft.rules, options), &mut faults);
        let fast_routing = keep(FastRouting::compile(&draft.fast_routing), &mut faults);
        match (topology, users, (rules, fast_routing), vars) {
            (Some(topology), Some(users), (Some(rules), Some(fast_routing)), Some(vars)) => {
                Ok(Self {
                    vars: Arc::new(vars),
                    users: Arc::new(users),
                    rules: Arc::new(rules),
                    fast_routing: Arc::new(fast_routing),
                    topology: Arc::new(topology),
                })
            }
            _ => Err(faults),
        }
    }
}

fn keep<T>(compiled: Result<T, Vec<ConfigFault>>, faults: &mut Vec<ConfigFault>) -> Option<T> {
    compiled.map_err(|mut found| faults.append(&mut found)).ok()
}
