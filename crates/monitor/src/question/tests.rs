//! What is asked, and what answers say.

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
    let columns = ["member_state", "members", "lost", "read_only", "transactions_behind", "online"];
    let of = |row: &[Option<&str>]| {
        let row: Vec<_> = row.iter().copied().chain([Some("a 3306,b.c 7")]).collect();
        member(&Answer::of(&columns, &[&row]))
    };
    let server = |hostname: &str, port| Endpoint { hostname: hostname.to_owned(), port };
    let members = vec![server("a", 3306), server("b.c", 7)];
    let answer = |is_viable, read_only, behind| {
        Ok(GroupAnswer { is_viable, read_only, behind, members: members.clone() })
    };
    let n = Some;
    assert_eq!(of(&[n("ONLINE"), n("3"), n("1"), n("0"), n("7")]), answer(true, false, 7));
    assert_eq!(of(&[n("ONLINE"), n("4"), n("2"), n("0"), None]), answer(false, false, 0));
    assert_eq!(of(&[n("RECOVERING"), n("3"), n("0"), n("1"), None]), answer(false, true, 0));
    assert_eq!(of(&[None, n("0"), n("0"), n("1"), None]), answer(false, true, 0));
    assert_eq!(of(&[None, None, None, None, None]), Err(Unanswered::Malformed));
    assert_eq!(online(""), []);
    assert_eq!(online("a b,c,:1 x,d 9"), [server("d", 9)]);
    assert_eq!(online(&"a 1,".repeat(256)), [], "it may be cut off");
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
