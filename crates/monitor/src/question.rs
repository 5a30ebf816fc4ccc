//! What each check asks of a server, and what its answers say. Deliberately knows no connection.

use engine::vars::Vars;
use keeper::{Failure, GaleraAnswer, GroupAnswer, Lag, Seen};

use crate::answer::{Answer, Unanswered};
use crate::plan::Check;

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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
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
}

/// The statements of a check, in order; none for a ping and for what only connects.
pub(crate) fn statements(check: Check, dialect: Dialect, vars: &Vars) -> Vec<String> {
    match check {
        Check::Connect | Check::Ping => Vec::new(),
        Check::ReadOnly(check) => vec![check.query().to_owned()],
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
        Check::Lag(hostgroup) => Seen::Lag(hostgroup, Err(failure)),
        Check::Group => Seen::Group(Err(failure)),
        Check::Galera => Seen::Galera(Err(failure)),
    }
}

/// What the answers of a check say, which took so long; or why they say nothing.
pub(crate) fn read(
    check: Check,
    answers: &[Answer],
    took_us: u64,
    vars: &Vars,
) -> Result<(Seen, Found), Unanswered> {
    let first = answers.first().ok_or(Unanswered::Malformed);
    Ok(match check {
        Check::Connect | Check::Ping => (Seen::Ping(Ok(took_us)), Found::Answer),
        Check::ReadOnly(by) => {
            let is = read_only(first?)?;
            (Seen::ReadOnly(by, Ok(is)), Found::ReadOnly(Some(is)))
        }
        Check::Lag(hostgroup) => {
            let lag = lag(first?, vars)?;
            let seconds = match lag {
                Lag::NoReplica | Lag::Unknown => None,
                Lag::Micros(lag_us) => Some(lag_us / 1_000_000),
            };
            (Seen::Lag(hostgroup, Ok(lag)), Found::Lag(seconds))
        }
        Check::Group => {
            let answer = member(first?)?;
            (Seen::Group(Ok(answer)), Found::Group(answer))
        }
        Check::Galera => {
            let [status, variables] = answers else { return Err(Unanswered::Malformed) };
            let answer = galera(status, variables)?;
            (Seen::Galera(Ok(answer)), Found::Galera(answer))
        }
    })
}

/// `0` and `OFF` are writers; everything else is not, NULL included.
fn read_only(answer: &Answer) -> Result<bool, Unanswered> {
    if answer.rows() != 1 || !answer.has("read_only") {
        return Err(Unanswered::Malformed);
    }
    let value = answer.value(0, "read_only");
    Ok(!value.is_some_and(|value| value == "0" || value.eq_ignore_ascii_case("OFF")))
}

/// The lag of the channel that is furthest behind. One that does not know its lag counts for as
/// much as it is configured to; those of a group are not looked at, its members tell that.
fn lag(answer: &Answer, vars: &Vars) -> Result<Lag, Unanswered> {
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

fn member(answer: &Answer) -> Result<GroupAnswer, Unanswered> {
    let count = |column| answer.value(0, column).and_then(|text| text.parse::<u64>().ok());
    let (Some(members), Some(lost)) = (count("members"), count("lost")) else {
        return Err(Unanswered::Malformed);
    };
    Ok(GroupAnswer {
        // a server that is in no group has no state there
        is_viable: answer.value(0, "member_state") == Some("ONLINE") && lost * 2 < members,
        read_only: count("read_only") != Some(0),
        behind: count("transactions_behind").unwrap_or(0),
    })
}

fn galera(status: &Answer, variables: &Answer) -> Result<GaleraAnswer, Unanswered> {
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
mod tests {
    use super::*;

    fn vars() -> Vars {
        Vars::default()
    }

    #[test]
    fn a_version_says_which_questions_are_understood() {
        for (version, is_mariadb, dialect) in [
            (&b"10.11.6-MariaDB"[..], true, Dialect::MariaDb),
            (b"5.7.44-log", false, Dialect::Old),
            (b"8.0.21", false, Dialect::Slave),
            (b"8.0.22-13", false, Dialect::Replica),
            (b"8.4.0", false, Dialect::Replica),
            (b"9.7.1", false, Dialect::Replica),
        ] {
            assert_eq!(Dialect::of(version, is_mariadb), dialect);
        }
    }

    #[test]
    fn read_only_is_off_where_it_says_so_and_on_for_everything_else() {
        let said = |value| read_only(&Answer::of(&["read_only"], &[&[value]]));
        for (value, is) in [
            (Some("0"), false),
            (Some("OFF"), false),
            (Some("1"), true),
            (Some("ON"), true),
            (Some("3"), true),
            (None, true),
        ] {
            assert_eq!(said(value), Ok(is), "{value:?}");
        }
        assert_eq!(read_only(&Answer::of(&["a"], &[&[None]])), Err(Unanswered::Malformed));
        assert_eq!(read_only(&Answer::of(&["read_only"], &[])), Err(Unanswered::Malformed));
    }

    #[test]
    fn the_channel_that_is_furthest_behind_counts() {
        let of = |rows: &[&[Option<&str>]]| {
            lag(&Answer::of(&["Channel_Name", "Seconds_Behind_Source"], rows), &vars())
        };
        let micros = |seconds: u64| Ok(Lag::Micros(seconds * 1_000_000));
        assert_eq!(of(&[]), Ok(Lag::NoReplica));
        assert_eq!(of(&[&[Some(""), Some("0")]]), micros(0));
        assert_eq!(of(&[&[Some("a"), Some("3")], &[Some("b"), Some("70")]]), micros(70));
        assert_eq!(of(&[&[Some("a"), Some("3")], &[Some("b"), None]]), Ok(Lag::Unknown));
        // not knowing counts for 60 s
        assert_eq!(of(&[&[Some("a"), Some("70")], &[Some("b"), None]]), micros(70));
        assert_eq!(of(&[&[Some("group_replication_applier"), None]]), Ok(Lag::NoReplica));
        let old = Answer::of(&["Seconds_Behind_Master"], &[&[Some("7")]]);
        assert_eq!(lag(&old, &vars()), micros(7));
        assert_eq!(lag(&Answer::of(&["x"], &[]), &vars()), Err(Unanswered::Malformed));
        let beat = |value| lag(&Answer::of(&["behind_us"], &[&[value]]), &vars());
        assert_eq!(beat(Some("1500")), Ok(Lag::Micros(1500)));
        assert_eq!(beat(None), Ok(Lag::Unknown));
    }

    #[test]
    fn the_name_of_a_heartbeat_table_is_a_name_and_nothing_else() {
        let from = |table: &str| heartbeat(table).split(" FROM ").nth(1).map(str::to_owned);
        assert_eq!(from("percona.heartbeat").as_deref(), Some("`percona`.`heartbeat`"));
        assert_eq!(from("`p`.h`; DROP").as_deref(), Some("`p`.`h``; DROP`"));
    }

    #[test]
    fn a_member_is_viable_that_is_online_among_a_majority() {
        let columns = ["member_state", "members", "lost", "read_only", "transactions_behind"];
        let of = |row: &[Option<&str>]| member(&Answer::of(&columns, &[row]));
        let answer =
            |is_viable, read_only, behind| Ok(GroupAnswer { is_viable, read_only, behind });
        let n = Some;
        assert_eq!(of(&[n("ONLINE"), n("3"), n("1"), n("0"), n("7")]), answer(true, false, 7));
        assert_eq!(of(&[n("ONLINE"), n("4"), n("2"), n("0"), None]), answer(false, false, 0));
        assert_eq!(of(&[n("RECOVERING"), n("3"), n("0"), n("1"), None]), answer(false, true, 0));
        assert_eq!(of(&[None, n("0"), n("0"), n("1"), None]), answer(false, true, 0));
        assert_eq!(of(&[None, None, None, None, None]), Err(Unanswered::Malformed));
    }

    #[test]
    fn a_galera_server_says_all_that_its_status_and_variables_say() {
        let columns = ["Variable_name", "Value"];
        let status = Answer::of(
            &columns,
            &[
                &[Some("wsrep_local_state"), Some("4")],
                &[Some("wsrep_local_recv_queue"), Some("9")],
                &[Some("wsrep_cluster_status"), Some("Primary")],
            ],
        );
        let plain = Answer::of(&columns, &[&[Some("read_only"), Some("OFF")]]);
        let fine = GaleraAnswer {
            is_primary: true,
            local_state: 4,
            desync: false,
            rejects_queries: false,
            donor_rejects: false,
            in_maintenance: false,
            read_only: false,
            behind: 9,
        };
        assert_eq!(galera(&status, &plain), Ok(fine));
        for (name, value, expected) in [
            ("wsrep_desync", "ON", GaleraAnswer { desync: true, ..fine }),
            ("wsrep_reject_queries", "ALL", GaleraAnswer { rejects_queries: true, ..fine }),
            ("wsrep_sst_donor_rejects_queries", "ON", GaleraAnswer { donor_rejects: true, ..fine }),
            ("pxc_maint_mode", "SHUTDOWN", GaleraAnswer { in_maintenance: true, ..fine }),
            ("pxc_maint_mode", "DISABLED", fine),
            ("read_only", "ON", GaleraAnswer { read_only: true, ..fine }),
        ] {
            let variables = Answer::of(&columns, &[&[Some(name), Some(value)]]);
            assert_eq!(galera(&status, &variables), Ok(expected), "{name}={value}");
        }
        assert_eq!(galera(&plain, &plain), Err(Unanswered::Malformed), "no node of a cluster");
    }
}
