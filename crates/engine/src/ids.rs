//! Newtypes for everything that is counted or named, so that two numbers never meet by mistake.
//!
//! This module knows no behaviour: what an id stands for lives with its owner.

use std::fmt;

/// Number of a hostgroup, as in `mysql_servers.hostgroup_id`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct HostgroupId(pub u32);

impl fmt::Display for HostgroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
