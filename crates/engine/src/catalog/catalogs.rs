//! What a worker knows for all accounts in all hostgroups: one [`Known`] each, and the numbers by
//! which its states are told apart.
//!
//! Pure. It decides when a state is another one; what is in it is [`Known`]'s.

use std::sync::Arc;

use sql::Modes;

use super::{Definitions, Finished, Known};
use crate::ids::HostgroupId;

/// What is known for all accounts of a worker.
#[derive(Debug, Default)]
pub struct Catalogs {
    list: Vec<Known>,
    last_epoch: u64,
}

/// How many there may be before names that no row has share one.
const MADE_MAX: usize = 256;

/// Names a [`Known`] of a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CatalogId(usize);

impl Catalogs {
    /// Whether an account that is made for a client's name may have one of its own.
    pub fn has_room_for(&self, user: &Arc<str>, hostgroup: HostgroupId) -> bool {
        let is = |known: &Known| known.hostgroup == hostgroup && known.user == *user;
        self.list.len() < MADE_MAX || self.list.iter().any(is)
    }

    /// Where an account's is, in a hostgroup.
    pub fn of(&mut self, user: &Arc<str>, hostgroup: HostgroupId) -> CatalogId {
        let is = |known: &Known| known.hostgroup == hostgroup && known.user == *user;
        let at = self.list.iter().position(is).unwrap_or_else(|| {
            self.list.push(Known::new(user.clone(), hostgroup));
            self.list.len() - 1
        });
        CatalogId(at)
    }

    /// One of them.
    pub fn get(&self, id: CatalogId) -> Option<&Known> {
        self.list.get(id.0)
    }

    /// One of them, to be asked.
    pub fn get_mut(&mut self, id: CatalogId) -> Option<&mut Known> {
        self.list.get_mut(id.0)
    }

    /// The state of what one of them knows, with what was defined up to now.
    #[inline]
    pub fn epoch(&mut self, id: CatalogId, definitions: &Definitions) -> Option<u64> {
        let known = self.list.get_mut(id.0)?;
        if known.is_behind(definitions) {
            self.last_epoch += 1;
            known.catch_up(definitions, self.last_epoch);
        }
        known.epoch(definitions)
    }

    /// A server missed a name of a text that this account sent to this hostgroup.
    pub fn miss(&mut self, id: CatalogId, text: &[u8], modes: Modes) {
        if let Some(known) = self.list.get_mut(id.0)
            && known.miss(text, modes)
            && known.is_read()
        {
            self.last_epoch += 1;
            known.epoch = self.last_epoch;
        }
    }

    /// All of them.
    pub fn ids(&self) -> impl Iterator<Item = CatalogId> + use<> {
        (0..self.list.len()).map(CatalogId)
    }

    /// A reading has ended.
    pub fn finish(&mut self, id: CatalogId, finished: Finished, definitions: &Definitions) {
        self.last_epoch += 1;
        let epoch = self.last_epoch;
        if let Some(known) = self.get_mut(id) {
            known.finish(finished, definitions, epoch);
        }
    }
}
