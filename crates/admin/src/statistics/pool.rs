//! `stats_mysql_connection_pool`: connections and traffic by server.

use std::collections::HashMap;
use std::sync::Arc;

use engine::stats::{Parts, ServerShare};
use engine::topology::{Server, Status};
use keeper::Endpoint;

use super::{LiveTable, Row, Seen, int, text};

pub(super) const TABLE: LiveTable = LiveTable {
    name: "stats_mysql_connection_pool",
    parts: Some(Parts { servers: true, ..Parts::NONE }),
    rows,
};

/// What was told of each server when the table was last reset. Workers go on counting, so that
/// nothing is lost between two readings and other readers see no reset.
#[derive(Default, Debug)]
pub struct PoolSince(HashMap<(u32, String, u16), [u64; SUMS]>);

/// Columns that a reset begins anew: `ConnOK`, `ConnERR`, `Queries`, bytes sent and received.
const SUMS: usize = 5;

fn rows(seen: &Seen<'_>) -> Vec<Row> {
    let mut since = seen.pool_since();
    shares(seen).into_iter().map(|share| row_of(seen, share, &mut since)).collect()
}

/// What was told of each server, in order.
pub(super) fn shares<'a>(seen: &Seen<'a>) -> Vec<&'a ServerShare> {
    let mut shares: Vec<&ServerShare> = seen.collected.servers.values().collect();
    shares.sort_by_key(|share| key(&share.server));
    shares
}

fn row_of(seen: &Seen<'_>, share: &ServerShare, since: &mut PoolSince) -> Row {
    let (server, counters) = (&share.server, &share.counters);
    let traffic = counters.ended;
    let sums = [
        counters.opened,
        counters.failed,
        traffic.queries,
        traffic.bytes_sent,
        traffic.bytes_received,
    ];
    let endpoint = Endpoint { hostname: server.hostname.clone(), port: i64::from(server.port) };
    let latency_us = seen.runtime.and_then(|runtime| runtime.latency_us(&endpoint));
    let [opened, failed, queries, sent, received] = since.take(server, sums, seen.reset);
    vec![
        int(server.hostgroup.0),
        text(server.hostname.as_str()),
        int(server.port),
        text(status(seen, server)),
        int(counters.open.saturating_sub(share.idle)),
        int(share.idle),
        int(opened),
        int(failed),
        int(counters.used_max),
        int(queries),
        int(0),
        int(sent),
        int(received),
        int(latency_us.unwrap_or(counters.login_us)),
    ]
}

/// What is to be seen of a server now.
pub(super) fn status(seen: &Seen<'_>, server: &Server) -> &'static str {
    let in_force = seen.snapshot.topology.find(server.index);
    match in_force.filter(|found| Arc::ptr_eq(&found.gauge, &server.gauge)) {
        None => Status::OfflineHard.name(),
        Some(found) => found.state(seen.collected.now_us).shown(),
    }
}

fn key(server: &Server) -> (u32, String, u16) {
    (server.hostgroup.0, server.hostname.clone(), server.port)
}

impl PoolSince {
    /// What was added to these sums since the last reset; with `reset`, that is now.
    fn take(&mut self, server: &Server, sums: [u64; SUMS], reset: bool) -> [u64; SUMS] {
        let key = key(server);
        let before = self.0.get(&key).copied().unwrap_or_default();
        // a server that was removed and came back counts from zero
        let anew = sums.iter().zip(before).any(|(now, before)| *now < before);
        let mut grown = sums;
        if !anew {
            grown.iter_mut().zip(before).for_each(|(sum, before)| *sum -= before);
        }
        if reset {
            self.0.insert(key, sums);
        } else if anew {
            self.0.remove(&key);
        }
        grown
    }
}
