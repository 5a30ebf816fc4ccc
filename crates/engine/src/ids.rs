//! Newtypes for everything that is counted or named, so that two numbers never meet by mistake.
//!
//! This module knows no behaviour: what an id stands for lives with its owner.

use std::fmt;

use crate::slab::Key;

/// Number of a hostgroup, as in `mysql_servers.hostgroup_id`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct HostgroupId(pub u32);

impl fmt::Display for HostgroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a client was told as its connection id; unique in the process while the session lasts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ConnectionId(pub u32);

/// The id a client knows a prepared statement by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ClientStmtId(pub u32);

/// The id a server gave a prepared statement on one connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ServerStmtId(pub u32);

macro_rules! slab_key {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $name {
            slot: u32,
            generation: u32,
        }

        impl Key for $name {
            fn new(slot: u32, generation: u32) -> Self {
                Self { slot, generation }
            }
            fn slot(self) -> u32 {
                self.slot
            }
            fn generation(self) -> u32 {
                self.generation
            }
        }
    };
}

slab_key!(
    /// A session of one worker, from accept to close.
    SessionId
);
impl SessionId {
    /// None of this worker's.
    pub const NOBODY: Self = Self { slot: u32::MAX, generation: u32::MAX };
}

slab_key!(
    /// A backend connection of one worker, from dial to close.
    LaneId
);
slab_key!(
    /// A text that a worker's sessions have prepared.
    StmtKey
);
