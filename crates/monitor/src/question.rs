//! What each check asks of a server, and what its answers say. Deliberately knows no connection.

mod aws;

use engine::vars::Vars;
use keeper::{AuroraAnswer, Endpoint, Failure, GaleraAnswer, GroupAnswer, GtidAnswer, Lag, Seen};

use crate::answer::{ServerAnswer, Unanswered};
use crate::plan::Check;
pub use aws::ReplicaStatus;

/// Which questions a server understands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dialect {
    /// MariaDB.
    MariaDb,
    /// MySQL that says `REPLICA`: 8.0.22 and later.
    Replica,
    /// MySQL before that.
    Slave,
    /// MySQL 5.7 and before, whose queue of a group's member has another name.
    Old,
}

impl Dialect {
    /// That of a server which greets with this version.
    pub(crate) fn of(version: &[u8], is_mariadb: bool) -> Self {
        if is_mariadb {
            return Self::MariaDb;
        }
        let text = String::from_utf8_lossy(version);
        let number = |part: &str| {
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            part.get(..digits).and_then(|digits| digits.parse().ok()).unwrap_or(0)
        };
        let mut parts = text.split('.').map(number);
        let parts: [u32; 3] = std::array::from_fn(|_| parts.next().unwrap_or(0));
        match parts {
            [..8, ..] => Self::Old,
            [8, 0, ..22] => Self::Slave,
            _ => Self::Replica,
        }
    }
}

/// What a check came to, beside what the keeper makes of it: as its log shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CheckFound {
    /// That there was an answer.
    Answer,
    /// `read_only`; `None` where that was not told.
    ReadOnly(Option<bool>),
    /// Seconds behind; `None` where the server does not know.
    Lag(Option<u64>),
    /// A member of a group.
    Group(GroupAnswer),
    /// A node of a Galera cluster.
    Galera(GaleraAnswer),
    /// The servers of an Aurora cluster.
    Aurora(Vec<ReplicaStatus>),
}

/// The statements of a check, in order; none for a ping and for what only connects.
pub(crate) fn statements(check: Check, dialect: Dialect, vars: &Vars) -> Vec<String> {
    match check {
        Check::Connect | Check::Ping => Vec::new(),
        Check::ReadOnly(check) => vec![check.query().to_owned()],
        Check::Gtids => vec![
            match dialect {
                Dialect::MariaDb => {
                    "SELECT CONCAT_WS(',',NULLIF(@@global.gtid_binlog_state,''),\
                     NULLIF(@@global.gtid_slave_pos,'')) gtids"
                }
                _ => "SELECT @@global.gtid_executed gtids",
            }
            .to_owned(),
        ],
        Check::Lag(_) if !vars.monitor_heartbeat.is_empty() => {
            vec![heartbeat(&vars.monitor_heartbeat)]
        }
        Check::Lag(_) => vec![
            match dialect {
                Dialect::MariaDb => "SHOW ALL SLAVES STATUS",
                Dialect::Replica => "SHOW REPLICA STATUS",
                Dialect::Slave | Dialect::Old => "SHOW SLAVE STATUS",
            }
            .to_owned(),
        ],
        Check::Group => vec![group(dialect)],
        Check::Aurora(_) => vec![aws::REPLICAS.to_owned()],
        Check::Rds => vec![aws::TOPOLOGY.to_owned()],
        Check::Galera => vec![GALERA_STATUS.to_owned(), GALERA_VARIABLES.to_owned()],
    }
}

/// How old the youngest row of a heartbeat table is, in microseconds, by the server's own clock.
fn heartbeat(table: &str) -> String {
    let quoted: Vec<_> = table
        .split('.')
        .map(|name| format!("`{}`", name.trim_matches('`').replace('`', "``")))
        .collect();
    format!(
        "SELECT GREATEST(0,TIMESTAMPDIFF(MICROSECOND,MAX(ts),SYSDATE(6))) behind_us FROM {}",
        quoted.join(".")
    )
}

fn group(dialect: Dialect) -> String {
    let queue = match dialect {
        Dialect::Old => "COUNT_TRANSACTIONS_IN_QUEUE",
        _ => "COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE",
    };
    format!(
        "SELECT (SELECT MEMBER_STATE FROM performance_schema.replication_group_members \
           WHERE MEMBER_ID=@@server_uuid) member_state, \
         (SELECT COUNT(*) FROM performance_schema.replication_group_members) members, \
         (SELECT COUNT(*) FROM performance_schema.replication_group_members \
           WHERE MEMBER_STATE NOT IN ('ONLINE','RECOVERING')) lost, \
         @@global.read_only OR @@global.super_read_only read_only, \
         (SELECT GROUP_CONCAT(CONCAT(MEMBER_HOST,' ',MEMBER_PORT)) \
           FROM performance_schema.replication_group_members \
           WHERE MEMBER_STATE='ONLINE') online, \
         (SELECT {queue} FROM performance_schema.replication_group_member_stats \
           WHERE MEMBER_ID=@@server_uuid) transactions_behind"
    )
}

const GALERA_STATUS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN \
    ('wsrep_local_state','wsrep_local_recv_queue','wsrep_cluster_status')";

const GALERA_VARIABLES: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN \
    ('read_only','wsrep_desync','wsrep_reject_queries','wsrep_sst_donor_rejects_queries',\
    'pxc_maint_mode')";

/// What a check comes to that failed.
pub(crate) fn failed(check: Check, failure: Failure) -> Seen {
    match check {
        Check::Connect | Check::Ping => Seen::Ping(Err(failure)),
        Check::ReadOnly(check) => Seen::ReadOnly(check, Err(failure)),
        Check::Gtids => Seen::Gtids(Err(failure)),
        Check::Lag(hostgroup) => Seen::Lag(hostgroup, Err(failure)),
        Check::Group => Seen::Group(Err(failure)),
        Check::Galera => Seen::Galera(Err(failure)),
        Check::Aurora(writer) => Seen::Aurora(writer, Err(failure)),
        Check::Rds => Seen::Rds(Err(failure)),
    }
}

/// What the answers of a check say, which began then and took so long; or why they say nothing.
pub(crate) fn read(
    check: Check,
    answers: &[ServerAnswer],
    (began_unix_us, took_us): (u64, u64),
    vars: &Vars,
) -> Result<(Seen, CheckFound), Unanswered> {
    let first = answers.first().ok_or(Unanswered::Malformed);
    Ok(match check {
        Check::Connect | Check::Ping => (Seen::Ping(Ok(took_us)), CheckFound::Answer),
        Check::ReadOnly(by) => {
            let is = read_only(first?)?;
            (Seen::ReadOnly(by, Ok(is)), CheckFound::ReadOnly(Some(is)))
        }
        Check::Gtids => {
            let gtids = first?.value(0, "gtids").ok_or(Unanswered::Malformed)?.to_owned();
            (Seen::Gtids(Ok(GtidAnswer { gtids, asked_us: began_unix_us })), CheckFound::Answer)
        }
        Check::Lag(hostgroup) => {
            let lag = lag(first?, vars)?;
            let seconds = match lag {
                Lag::NoReplica | Lag::Unknown => None,
                Lag::Micros(lag_us) => Some(lag_us / 1_000_000),
            };
            (Seen::Lag(hostgroup, Ok(lag)), CheckFound::Lag(seconds))
        }
        Check::Group => {
            let answer = member(first?)?;
            // what is kept for hours has no need of names
            let found = GroupAnswer { members: Vec::new(), ..answer };
            (Seen::Group(Ok(answer)), CheckFound::Group(found))
        }
        Check::Galera => {
            let [status, variables] = answers else { return Err(Unanswered::Malformed) };
            let answer = galera(status, variables)?;
            (Seen::Galera(Ok(answer)), CheckFound::Galera(answer))
        }
        Check::Aurora(writer) => {
            let replicas = aws::replicas(first?)?;
            let instances = replicas.iter().map(|it| it.instance.clone()).collect();
            (Seen::Aurora(writer, Ok(AuroraAnswer { instances })), CheckFound::Aurora(replicas))
        }
        Check::Rds => (Seen::Rds(Ok(aws::topology(first?)?)), CheckFound::Answer),
    })
}

/// `0` and `OFF` are writers; everything else is not, NULL included.
fn read_only(answer: &ServerAnswer) -> Result<bool, Unanswered> {
    if answer.rows() != 1 || !answer.has("read_only") {
        return Err(Unanswered::Malformed);
    }
    let value = answer.value(0, "read_only");
    Ok(!value.is_some_and(|value| value == "0" || value.eq_ignore_ascii_case("OFF")))
}

/// The lag of the channel that is furthest behind. One that does not know its lag counts for as
/// much as it is configured to; those of a group are not looked at, its members tell that.
fn lag(answer: &ServerAnswer, vars: &Vars) -> Result<Lag, Unanswered> {
    if answer.has("behind_us") {
        let behind_us = answer.value(0, "behind_us").and_then(|text| text.parse().ok());
        return Ok(behind_us.map_or(Lag::Unknown, Lag::Micros));
    }
    let column = ["Seconds_Behind_Source", "Seconds_Behind_Master"]
        .into_iter()
        .find(|column| answer.has(column))
        .ok_or(Unanswered::Malformed)?;
    let unknown_us = u64::from(vars.monitor_lag_when_null_s) * 1_000_000;
    let mut furthest = Lag::NoReplica;
    for row in 0..answer.rows() {
        let channel = answer.value(row, "Channel_Name").unwrap_or_default();
        if channel.starts_with("group_replication_") {
            continue;
        }
        let seconds = answer.value(row, column).and_then(|text| text.parse::<u64>().ok());
        let own = seconds.map_or(Lag::Unknown, |seconds| Lag::Micros(seconds * 1_000_000));
        let us = |lag: Lag| match lag {
            Lag::NoReplica => None,
            Lag::Unknown => Some(unknown_us),
            Lag::Micros(lag_us) => Some(lag_us),
        };
        if us(own) > us(furthest) {
            furthest = own;
        }
    }
    Ok(furthest)
}

fn member(answer: &ServerAnswer) -> Result<GroupAnswer, Unanswered> {
    let count = |column| answer.value(0, column).and_then(|text| text.parse::<u64>().ok());
    let (Some(members), Some(lost)) = (count("members"), count("lost")) else {
        return Err(Unanswered::Malformed);
    };
    Ok(GroupAnswer {
        // a server that is in no group has no state there
        is_viable: answer.value(0, "member_state") == Some("ONLINE") && lost * 2 < members,
        read_only: count("read_only") != Some(0),
        behind: count("transactions_behind").unwrap_or(0),
        members: online(answer.value(0, "online").unwrap_or_default()),
    })
}

/// The members that are named, unless they are so many that their names were cut off.
fn online(text: &str) -> Vec<Endpoint> {
    let member = |text: &str| {
        let (hostname, port) = text.rsplit_once(' ')?;
        Some(Endpoint { hostname: hostname.to_owned(), port: port.parse().ok()? })
    };
    let is_whole = text.len() < GROUP_CONCAT_BYTES;
    text.split(',').filter(|_| is_whole).filter_map(member).collect()
}

/// What servers give of a list at most, if nobody has told them otherwise: `group_concat_max_len`.
const GROUP_CONCAT_BYTES: usize = 1024;

fn galera(status: &ServerAnswer, variables: &ServerAnswer) -> Result<GaleraAnswer, Unanswered> {
    let number = |name| status.named(name).and_then(|text| text.parse::<u64>().ok());
    let is_on = |name| {
        let value = variables.named(name).unwrap_or("OFF");
        value == "1" || value.eq_ignore_ascii_case("ON")
    };
    let differs = |name, from: &str| {
        variables.named(name).is_some_and(|value| !value.eq_ignore_ascii_case(from))
    };
    let local_state = number("wsrep_local_state").ok_or(Unanswered::Malformed)?;
    let cluster = status.named("wsrep_cluster_status").unwrap_or_default();
    Ok(GaleraAnswer {
        is_primary: cluster.eq_ignore_ascii_case("Primary"),
        local_state: u32::try_from(local_state).unwrap_or(u32::MAX),
        desync: is_on("wsrep_desync"),
        rejects_queries: differs("wsrep_reject_queries", "NONE"),
        donor_rejects: is_on("wsrep_sst_donor_rejects_queries"),
        in_maintenance: differs("pxc_maint_mode", "DISABLED"),
        read_only: is_on("read_only"),
        behind: number("wsrep_local_recv_queue").unwrap_or(0),
    })
}

#[cfg(test)]
mod tests;
