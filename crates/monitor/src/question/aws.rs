//! What servers of Amazon are asked, of Aurora and of RDS Multi-AZ, and what they answer.

use std::collections::BTreeSet;

use keeper::{AuroraAnswer, AuroraInstance, Endpoint};

use crate::answer::{ServerAnswer, Unanswered};

/// What a server of Aurora said of one of its cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplicaStatus {
    /// What the keeper makes of it.
    pub instance: AuroraInstance,
    /// `SESSION_ID`, or that it claims to write and another one does so later.
    pub session_id: Box<str>,
    /// `LAST_UPDATE_TIMESTAMP`, as told.
    pub updated: Box<str>,
    /// `CPU`, in whole percent.
    pub cpu: u64,
    /// How far it counts as behind by the rules of its row; 0 until the keeper has said.
    pub estimated_lag_ms: u64,
}

/// The servers of an Aurora cluster.
pub(super) const REPLICAS: &str = "SELECT SERVER_ID, SESSION_ID, LAST_UPDATE_TIMESTAMP, \
    REPLICA_LAG_IN_MILLISECONDS, CPU, \
    TIMESTAMPDIFF(MICROSECOND, LAST_UPDATE_TIMESTAMP, NOW(6)) age_us \
    FROM information_schema.REPLICA_HOST_STATUS";

/// The servers of a cluster of RDS Multi-AZ.
pub(super) const TOPOLOGY: &str = "SELECT id, endpoint, port FROM mysql.rds_topology";

/// `SESSION_ID` of the server that is written to.
const WRITES: &str = "MASTER_SESSION_ID";

/// What is shown in its place for all that say so, but for the one that said it last.
const WROTE: &str = "probably_former_MASTER_SESSION_ID";

/// How old a row may be.
const AGE_US: i64 = 180_000_000;

/// How far behind a row may say that a server is.
const LAG_MS: u64 = 600_000;

/// Characters of a text that are kept for hours.
const TEXT_CHARS: usize = 64;

/// Reads [`REPLICAS`]: each server once, by its latest row. Rows that are old or have no lag say
/// nothing; a name that is none makes all of it unbelievable.
pub(super) fn replicas(answer: &ServerAnswer) -> Result<Vec<ReplicaStatus>, Unanswered> {
    if !["SERVER_ID", "SESSION_ID", "age_us"].iter().all(|column| answer.has(column)) {
        return Err(Unanswered::Malformed);
    }
    let mut rows: Vec<_> = (0..answer.rows()).filter_map(|row| replica(answer, row)).collect();
    rows.sort_by(|(age, one), (other_age, other)| {
        (age, &one.instance.server_id).cmp(&(other_age, &other.instance.server_id))
    });
    let (mut ids, mut has_writer) = (BTreeSet::new(), false);
    let mut replicas = Vec::new();
    for (_, mut row) in rows {
        if !ids.insert(row.instance.server_id.clone()) {
            continue;
        }
        if row.instance.writes && std::mem::replace(&mut has_writer, true) {
            row.instance.writes = false;
            row.session_id = WROTE.into();
        }
        replicas.push(row);
    }
    let instances = replicas.iter().map(|row| row.instance.clone()).collect();
    match AuroraAnswer::is_sound(&AuroraAnswer { instances }) {
        true => Ok(replicas),
        false => Err(Unanswered::Malformed),
    }
}

/// One row, with its age in microseconds.
fn replica(answer: &ServerAnswer, row: usize) -> Option<(i64, ReplicaStatus)> {
    let text = |column| answer.value(row, column).unwrap_or_default();
    let kept = |column| text(column).chars().take(TEXT_CHARS).collect::<String>().into_boxed_str();
    // both are told with fractions
    let whole = |column| text(column).split('.').next().and_then(|it| it.parse::<u64>().ok());
    let age_us: i64 = text("age_us").parse().ok().filter(|age_us| *age_us <= AGE_US)?;
    let writes = text("SESSION_ID") == WRITES;
    let lag_ms = match writes {
        true => 0,
        false => whole("REPLICA_LAG_IN_MILLISECONDS").filter(|lag_ms| *lag_ms <= LAG_MS)?,
    };
    let server_id = text("SERVER_ID").to_owned();
    let status = ReplicaStatus {
        instance: AuroraInstance {
            server_id,
            writes,
            lag_ms,
            age_us: age_us.max(0).unsigned_abs(),
        },
        session_id: kept("SESSION_ID"),
        updated: kept("LAST_UPDATE_TIMESTAMP"),
        cpu: whole("CPU").unwrap_or(0),
        estimated_lag_ms: 0,
    };
    Some((age_us, status))
}

/// Reads [`TOPOLOGY`]: three servers that are called the first, the second and the third. Anything
/// else is no such cluster.
pub(super) fn topology(answer: &ServerAnswer) -> Result<Vec<Endpoint>, Unanswered> {
    let server = |row| {
        let hostname = answer.value(row, "endpoint")?.to_owned();
        Some(Endpoint { hostname, port: answer.value(row, "port")?.parse().ok()? })
    };
    let servers: Vec<_> = (0..answer.rows()).filter_map(server).collect();
    let has = |part: &&str| servers.iter().any(|server| server.hostname.contains(*part));
    let is_whole = answer.rows() == NAMES.len() && servers.len() == NAMES.len();
    match is_whole && NAMES.iter().all(has) {
        true => Ok(servers),
        false => Err(Unanswered::Malformed),
    }
}

/// What is in the endpoints of such a cluster.
const NAMES: [&str; 3] = ["-instance-1", "-instance-2", "-instance-3"];
