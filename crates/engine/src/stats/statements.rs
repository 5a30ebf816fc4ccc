//! Prepared statements, as they are now.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// A text that is prepared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StmtRow {
    /// Unique in the process, from 1.
    pub number: u64,
    /// The account.
    pub user: Arc<str>,
    /// The schema that its names are looked up in; empty for none.
    pub schema: Arc<[u8]>,
    /// Of account, schema and text together.
    pub hash: u64,
    /// The text.
    pub text: Box<[u8]>,
    /// Statements of clients.
    pub clients: u64,
    /// Backend connections that it is prepared on.
    pub servers: u64,
    /// Columns of its result.
    pub columns: u16,
    /// Parameters.
    pub params: u16,
}

/// How many prepared statements there are.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StmtCounts {
    /// Statements of clients.
    pub client_total: u64,
    /// Texts that a client has.
    pub client_unique: u64,
    /// Statements on backend connections.
    pub server_total: u64,
    /// Texts that a backend connection has.
    pub server_unique: u64,
    /// The largest number of a text.
    pub max_number: u64,
    /// Texts that are known.
    pub cached: u64,
}

impl StmtCounts {
    /// Adds what another worker has. A text that several workers have counts for each of them.
    pub fn merge(&mut self, other: &Self) {
        self.client_total += other.client_total;
        self.client_unique += other.client_unique;
        self.server_total += other.server_total;
        self.server_unique += other.server_unique;
        self.max_number = self.max_number.max(other.max_number);
        self.cached += other.cached;
    }
}

/// Prepared texts by [`StmtRow::hash`]: whatever else tells two of them apart, they are one row.
#[derive(Clone, Default, Debug)]
pub struct StmtRows(BTreeMap<u64, StmtRow>);

impl StmtRows {
    /// Adds a text to those with the same hash; the smallest number stands for all of them.
    pub fn add(&mut self, row: StmtRow) {
        let StmtRow { number, clients, servers, .. } = row;
        match self.0.entry(row.hash) {
            Entry::Vacant(place) => {
                place.insert(row);
            }
            Entry::Occupied(mut place) => {
                let sum = place.get_mut();
                sum.number = sum.number.min(number);
                sum.clients += clients;
                sum.servers += servers;
            }
        }
    }

    /// Adds what another worker has.
    pub fn merge(&mut self, other: &Self) {
        other.iter().for_each(|row| self.add(row.clone()));
    }

    /// Every text.
    pub fn iter(&self) -> impl Iterator<Item = &StmtRow> {
        self.0.values()
    }
}
