//! Errors of servers by server, account, schema and number, which are the key of their table.
//!
//! Bounded: when a new kind finds no room, the one that was seen longest ago goes.

use std::collections::HashMap;

use super::digests::{mix, mix_text};
use crate::topology::Server;

/// The errors of one worker.
#[derive(Clone, Debug)]
pub struct ErrorStats {
    rows: HashMap<u64, ErrorRow>,
    rows_max: usize,
    /// Keeps clients from choosing names that collide.
    secret: u64,
}

/// Where an error came from.
#[derive(Clone, Copy, Debug)]
pub struct ErrorSource<'a> {
    /// The server.
    pub server: &'a Server,
    /// Name of the account.
    pub user: &'a [u8],
    /// Address of the client; empty for a connection that is made for none.
    pub client: &'a [u8],
    /// The session's schema; empty for none.
    pub schema: &'a [u8],
}

/// A row of `stats_mysql_errors`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ErrorRow {
    /// `hostgroup`.
    pub hostgroup: u32,
    /// `hostname`.
    pub hostname: String,
    /// `port`.
    pub port: u16,
    /// `username`.
    pub user: Vec<u8>,
    /// `client_address` of the last one.
    pub client: Vec<u8>,
    /// `schemaname`.
    pub schema: Vec<u8>,
    /// `errno`.
    pub code: u16,
    /// `count_star`.
    pub count: u64,
    /// When the first one came, by the loops' clock.
    pub first_seen_us: u64,
    /// When the last one came.
    pub last_seen_us: u64,
    /// `last_error`.
    pub message: Vec<u8>,
}

impl ErrorStats {
    /// Nothing counted yet; `secret` is a random number.
    pub fn new(rows_max: usize, secret: u64) -> Self {
        Self { rows: HashMap::new(), rows_max, secret }
    }

    /// Counts an error that came at `now_us`.
    pub fn record(&mut self, now_us: u64, from: &ErrorSource<'_>, code: u16, message: &[u8]) {
        let message = message.get(..MESSAGE_BYTES_MAX).unwrap_or(message);
        let hash = self.hash(from, code);
        if !self.rows.contains_key(&hash) {
            self.make_room();
        }
        let row = self.rows.entry(hash).or_insert_with(|| ErrorRow {
            hostgroup: from.server.hostgroup.0,
            hostname: from.server.hostname.clone(),
            port: from.server.port,
            user: from.user.to_vec(),
            client: Vec::new(),
            schema: from.schema.to_vec(),
            code,
            count: 0,
            first_seen_us: now_us,
            last_seen_us: now_us,
            message: Vec::new(),
        });
        row.count += 1;
        row.last_seen_us = now_us;
        for (kept, new) in [(&mut row.client, from.client), (&mut row.message, message)] {
            kept.clear();
            kept.extend_from_slice(new);
        }
    }

    /// Adds what another worker counted; both have been made with the same secret, or nothing is
    /// recorded here.
    pub fn merge(&mut self, other: &Self) {
        for more in other.rows.values() {
            let hash = self.hash_of_row(more);
            match self.rows.get_mut(&hash) {
                Some(row) => row.merge(more),
                None => drop(self.rows.insert(hash, more.clone())),
            }
        }
    }

    /// Moves everything out; what follows is counted from zero.
    pub fn take(&mut self) -> Self {
        let empty = Self::new(self.rows_max, self.secret);
        std::mem::replace(self, empty)
    }

    /// Every row, in no order.
    pub fn rows(&self) -> impl Iterator<Item = &ErrorRow> {
        self.rows.values()
    }

    /// Bytes of memory in use.
    pub fn bytes(&self) -> usize {
        let texts = |row: &ErrorRow| {
            let names = row.user.len() + row.client.len() + row.schema.len();
            row.hostname.len() + names + row.message.capacity()
        };
        self.rows.capacity() * size_of::<(u64, ErrorRow)>()
            + self.rows.values().map(texts).sum::<usize>()
    }

    fn make_room(&mut self) {
        if self.rows.len() < self.rows_max {
            return;
        }
        let oldest = self.rows.iter().min_by_key(|(_, row)| row.last_seen_us);
        if let Some(hash) = oldest.map(|(hash, _)| *hash) {
            self.rows.remove(&hash);
        }
    }

    fn hash(&self, from: &ErrorSource<'_>, code: u16) -> u64 {
        let server = from.server;
        let place = (server.hostgroup.0, server.hostname.as_bytes(), server.port);
        self.hash_of(place, [from.user, from.schema], code)
    }

    fn hash_of_row(&self, row: &ErrorRow) -> u64 {
        let place = (row.hostgroup, row.hostname.as_bytes(), row.port);
        self.hash_of(place, [&row.user, &row.schema], row.code)
    }

    fn hash_of(&self, place: (u32, &[u8], u16), names: [&[u8]; 2], code: u16) -> u64 {
        let (hostgroup, hostname, port) = place;
        let numbers = u64::from(hostgroup) << 32 | u64::from(port) << 16 | u64::from(code);
        let hash = mix_text(mix(self.secret, numbers), hostname);
        names.iter().fold(hash, |hash, name| mix_text(hash, name))
    }
}

impl ErrorRow {
    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.first_seen_us = self.first_seen_us.min(other.first_seen_us);
        if other.last_seen_us >= self.last_seen_us {
            self.last_seen_us = other.last_seen_us;
            self.message.clone_from(&other.message);
            self.client.clone_from(&other.client);
        }
    }
}

/// Bytes of a message that are kept.
const MESSAGE_BYTES_MAX: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::ServerRow;
    use crate::topology::Topology;

    fn topology() -> Topology {
        let row = ServerRow { hostname: "db".into(), ..ServerRow::default() };
        Topology::compile(&[row]).expect("it is right")
    }

    fn source(server: &Server) -> ErrorSource<'_> {
        ErrorSource { server, user: b"app", client: b"10.0.0.1", schema: b"shop" }
    }

    #[test]
    fn an_error_is_counted_by_where_it_came_from_with_its_last_message() {
        let topology = topology();
        let from = source(&topology.servers()[0]);
        let (mut one, mut other) = (ErrorStats::new(9, 1), ErrorStats::new(9, 2));
        one.record(10, &from, 1064, b"near 'a'");
        one.record(20, &ErrorSource { client: b"10.0.0.2", ..from }, 1064, b"near 'b'");
        one.record(30, &from, 1146, b"no table");
        other.record(5, &from, 1064, b"near 'c'");
        other.record(6, &ErrorSource { user: b"eve", ..from }, 1064, b"near 'd'");
        one.merge(&other);
        let mut rows: Vec<_> = one
            .rows()
            .map(|row| (row.code, row.user.as_slice(), row.count, row.first_seen_us))
            .collect();
        rows.sort();
        let app = b"app".as_slice();
        assert_eq!(rows, [(1064, app, 3, 5), (1064, b"eve", 1, 6), (1146, app, 1, 30)]);
        let row = one.rows().find(|row| row.count == 3).expect("the first");
        assert_eq!((row.message.as_slice(), row.last_seen_us), (b"near 'b'".as_slice(), 20));
        assert_eq!(row.client, b"10.0.0.2");
        assert_eq!((one.take().rows().count(), one.rows().count()), (3, 0));
    }

    #[test]
    fn what_was_seen_longest_ago_gives_way() {
        let topology = topology();
        let from = source(&topology.servers()[0]);
        let mut errors = ErrorStats::new(2, 1);
        for (at, code) in [(1, 1), (2, 2), (3, 1), (4, 3)] {
            errors.record(at, &from, code, &[b'x'; 9000]);
        }
        let mut codes: Vec<_> = errors.rows().map(|row| row.code).collect();
        codes.sort();
        assert_eq!(codes, [1, 3]);
        assert!(errors.bytes() < 8 * 1024);
    }
}
