//! In which hostgroups servers are, by their roles.

use std::collections::{BTreeMap, HashSet};

use engine::clusters::Pair;
use engine::rows::ServerRow;
use engine::topology::Status;

use crate::report::Endpoint;
use crate::wanted::Wanted;

/// What a server is in a pair of hostgroups.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum PlacementRole {
    /// What its rows say.
    #[default]
    AsTyped,
    /// It was found to take writes, and was no writer.
    Promoted {
        /// It is a reader as well.
        reads: bool,
    },
    /// It was found to take none, and was a writer.
    Demoted,
}

impl PlacementRole {
    /// Its role when it was found to refuse writes or to take them; `None` where nothing changes.
    pub(crate) fn after(
        self,
        read_only: bool,
        wanted: &Wanted,
        pair: &Pair,
        server: &Endpoint,
    ) -> Option<Self> {
        let (writes, reads) = match self {
            Self::AsTyped => (
                wanted.live_row(pair.writer, server).is_some(),
                wanted.live_row(pair.reader, server).is_some(),
            ),
            Self::Promoted { reads } => (true, reads),
            Self::Demoted => (false, true),
        };
        match read_only {
            false if !writes && reads => {
                Some(Self::Promoted { reads: wanted.limits.writer_is_also_reader })
            }
            true if writes => Some(Self::Demoted),
            _ => None,
        }
    }
}

/// The rows that are in force with those roles.
pub(crate) fn rows(
    wanted: &Wanted,
    roles: &BTreeMap<(i64, Endpoint), PlacementRole>,
) -> Vec<ServerRow> {
    let role = |writer: i64, server: &Endpoint| {
        roles.get(&(writer, server.clone())).copied().unwrap_or_default()
    };
    // a writer that was OFFLINE_HARD comes back with what its row as a reader says
    let is_left_out = |row: &ServerRow| {
        let server = Endpoint::of(row);
        wanted.clusters.pairs.iter().any(|pair| match role(pair.writer, &server) {
            PlacementRole::AsTyped => false,
            PlacementRole::Promoted { .. } if row.hostgroup_id == pair.writer => {
                wanted.live_row(pair.writer, &server).is_none()
            }
            PlacementRole::Promoted { reads } => row.hostgroup_id == pair.reader && !reads,
            PlacementRole::Demoted => row.hostgroup_id == pair.writer,
        })
    };
    let is_here = |row: &&ServerRow| !is_left_out(row) && !wanted.is_in_cluster(row);
    let mut rows: Vec<_> = wanted.servers.iter().filter(is_here).cloned().collect();
    let there: HashSet<_> = rows.iter().map(|row| (row.hostgroup_id, Endpoint::of(row))).collect();
    for ((writer, server), role) in roles {
        let Some(pair) = wanted.pair_of(*writer) else { continue };
        let places = match role {
            PlacementRole::AsTyped => [None, None],
            PlacementRole::Promoted { reads } => [Some(pair.writer), reads.then_some(pair.reader)],
            PlacementRole::Demoted => [None, Some(pair.reader)],
        };
        let missing = |hostgroup: &i64| !there.contains(&(*hostgroup, server.clone()));
        let copies = places.into_iter().flatten().filter(missing);
        rows.extend(copies.filter_map(|hostgroup| copy(wanted, pair, server, hostgroup)));
    }
    rows
}

/// The row of a server in the one hostgroup of a pair, made of its row in the other.
pub(crate) fn copy(
    wanted: &Wanted,
    pair: &Pair,
    server: &Endpoint,
    hostgroup: i64,
) -> Option<ServerRow> {
    let other = if hostgroup == pair.writer { pair.reader } else { pair.writer };
    let from = wanted.live_row(other, server).or_else(|| wanted.live_row(hostgroup, server))?;
    Some(copied(from, hostgroup))
}

/// A row for another hostgroup: the server comes there as one that serves, unless it is to stop.
pub(crate) fn copied(row: &ServerRow, hostgroup: i64) -> ServerRow {
    let mut row = ServerRow { hostgroup_id: hostgroup, ..row.clone() };
    if Status::Shunned.is_set(&row) {
        row.status = Status::Online.name().to_owned();
    }
    row
}
