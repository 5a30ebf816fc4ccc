//! What is asked, and what answers say.

use keeper::AuroraInstance;

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
    let said = |value| read_only(&ServerAnswer::of(&["read_only"], &[&[value]]));
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
    assert_eq!(read_only(&ServerAnswer::of(&["a"], &[&[None]])), Err(Unanswered::Malformed));
    assert_eq!(read_only(&ServerAnswer::of(&["read_only"], &[])), Err(Unanswered::Malformed));
}

#[test]
fn gtids_are_what_a_server_says_they_are() {
    let asked = |dialect| statements(Check::Gtids, dialect, &vars());
    assert_eq!(asked(Dialect::Replica), ["SELECT @@global.gtid_executed gtids"]);
    assert_eq!(asked(Dialect::Old), asked(Dialect::Replica));
    assert_eq!(
        asked(Dialect::MariaDb),
        ["SELECT CONCAT_WS(',',NULLIF(@@global.gtid_binlog_state,''),\
          NULLIF(@@global.gtid_slave_pos,'')) gtids"]
    );
    let said = |columns: &[&str], value| {
        let answer = ServerAnswer::of(columns, &[&[value]]);
        read(Check::Gtids, &[answer], (7, 1), &vars()).map(|(seen, _)| seen)
    };
    let told = Ok(GtidAnswer { gtids: "0-1-7".to_owned(), asked_us: 7 });
    assert_eq!(said(&["gtids"], Some("0-1-7")), Ok(Seen::Gtids(told)));
    assert_eq!(said(&["gtids"], None), Err(Unanswered::Malformed));
    assert_eq!(said(&["a"], Some("0-1-7")), Err(Unanswered::Malformed));
}

#[test]
fn the_channel_that_is_furthest_behind_counts() {
    let of = |rows: &[&[Option<&str>]]| {
        lag(&ServerAnswer::of(&["Channel_Name", "Seconds_Behind_Source"], rows), &vars())
    };
    let micros = |seconds: u64| Ok(Lag::Micros(seconds * 1_000_000));
    assert_eq!(of(&[]), Ok(Lag::NoReplica));
    assert_eq!(of(&[&[Some(""), Some("0")]]), micros(0));
    assert_eq!(of(&[&[Some("a"), Some("3")], &[Some("b"), Some("70")]]), micros(70));
    assert_eq!(of(&[&[Some("a"), Some("3")], &[Some("b"), None]]), Ok(Lag::Unknown));
    // not knowing counts for 60 s
    assert_eq!(of(&[&[Some("a"), Some("70")], &[Some("b"), None]]), micros(70));
    assert_eq!(of(&[&[Some("group_replication_applier"), None]]), Ok(Lag::NoReplica));
    let old = ServerAnswer::of(&["Seconds_Behind_Master"], &[&[Some("7")]]);
    assert_eq!(lag(&old, &vars()), micros(7));
    assert_eq!(lag(&ServerAnswer::of(&["x"], &[]), &vars()), Err(Unanswered::Malformed));
    let beat = |value| lag(&ServerAnswer::of(&["behind_us"], &[&[value]]), &vars());
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
        member(&ServerAnswer::of(&columns, &[&row]))
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
    let status = ServerAnswer::of(
        &columns,
        &[
            &[Some("wsrep_local_state"), Some("4")],
            &[Some("wsrep_local_recv_queue"), Some("9")],
            &[Some("wsrep_cluster_status"), Some("Primary")],
        ],
    );
    let plain = ServerAnswer::of(&columns, &[&[Some("read_only"), Some("OFF")]]);
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
        let variables = ServerAnswer::of(&columns, &[&[Some(name), Some(value)]]);
        assert_eq!(galera(&status, &variables), Ok(expected), "{name}={value}");
    }
    assert_eq!(galera(&plain, &plain), Err(Unanswered::Malformed), "no node of a cluster");
}

/// What is made of rows of id, session, age in seconds, and lag: each with `!` for the writer.
fn replicas(rows: &[(&str, &str, &str, &str)]) -> Result<Vec<String>, Unanswered> {
    let columns = ["SERVER_ID", "SESSION_ID", "LAST_UPDATE_TIMESTAMP", "age_us", "LAG", "CPU"]
        .map(|name| if name == "LAG" { "replica_lag_in_milliseconds" } else { name });
    let value = |text: &str| (text != "NULL").then(|| text.to_owned());
    let row = |(id, session, age, lag): &(&str, &str, &str, &str)| {
        [value(id), value(session), value("t"), value(age), value(lag), value("3.9")]
    };
    let rows: Vec<_> = rows.iter().map(row).collect();
    let rows: Vec<Vec<_>> =
        rows.iter().map(|row| row.iter().map(Option::as_deref).collect()).collect();
    let rows: Vec<_> = rows.iter().map(Vec::as_slice).collect();
    let told = |it: &ReplicaStatus| {
        let AuroraInstance { server_id, writes, lag_ms, .. } = &it.instance;
        assert_eq!((&*it.updated, it.cpu, it.estimated_lag_ms), ("t", 3, 0));
        format!("{server_id}{} {} {lag_ms}", if *writes { "!" } else { "" }, it.session_id)
    };
    let read = aws::replicas(&ServerAnswer::of(&columns, &rows))?;
    Ok(read.iter().map(told).collect())
}

#[test]
fn a_server_of_aurora_tells_of_all_that_are_alive() {
    let writer = ("a", "MASTER_SESSION_ID", "0", "NULL");
    let read = |row| replicas(&[writer, row]).expect("understood");
    let both = |other: &str| vec!["a! MASTER_SESSION_ID 0".to_owned(), other.to_owned()];
    let alone = vec!["a! MASTER_SESSION_ID 0".to_owned()];
    assert_eq!(read(("b", "s", "1", "19.4")), both("b s 19"));
    assert_eq!(read(("b", "s", "180000000", "600000")), both("b s 600000"));
    assert_eq!(read(("b", "s", "1", "0")), both("b s 0"));
    // a clock may be ahead
    assert_eq!(read(("b", "s", "1", "0"))[..1], replicas(&[("a", writer.1, "-5", "7")]).unwrap());
    for nothing in [
        ("b", "s", "180000001", "1"),
        ("b", "s", "NULL", "1"),
        ("b", "s", "x", "1"),
        ("b", "s", "1", "600001"),
        ("b", "s", "1", "-1"),
        ("b", "s", "1", "-0.5"),
        ("b", "s", "1", "NULL"),
        ("b", "MASTER_SESSION_ID", "180000001", "0"),
    ] {
        assert_eq!(read(nothing), alone, "{nothing:?}");
    }
    let long = "s".repeat(65);
    assert_eq!(read(("b", &long, "1", "0")), both(&format!("b {} 0", &long[1..])));
    assert_eq!(replicas(&[]), Ok(Vec::new()));
    let other = ServerAnswer::of(&["SERVER_ID", "SESSION_ID"], &[]);
    assert_eq!(aws::replicas(&other), Err(Unanswered::Malformed));
}

#[test]
fn of_several_that_claim_to_write_the_last_one_does_and_of_several_rows_the_last_counts() {
    let read = replicas(&[
        ("a", "MASTER_SESSION_ID", "9000000", "7"),
        ("b", "MASTER_SESSION_ID", "8999999", "7"),
        ("c", "old", "7", "70"),
        ("c", "new", "6", "60"),
    ]);
    let expected = ["c new 60", "b! MASTER_SESSION_ID 0", "a probably_former_MASTER_SESSION_ID 0"];
    assert_eq!(read.expect("understood"), expected);
}

#[test]
fn what_no_cluster_of_aurora_can_look_like_is_not_understood() {
    let long = "b".repeat(64);
    for id in ["", "b b", "b\n", "b\0", "b;DROP", "b/b", "-b", ".b", "bü", "NULL", &long] {
        let read = replicas(&[("a", "s", "1", "1"), (id, "s", "1", "1")]);
        let expected = if id == "NULL" { "" } else { id };
        assert_eq!(read, Err(Unanswered::Malformed), "{expected:?}");
    }
    let ids: Vec<_> = (0..2_000).map(|at| format!("b{at}")).collect();
    let rows: Vec<_> = ids.iter().map(|id| (id.as_str(), "s", "1", "1")).collect();
    assert_eq!(replicas(&rows), Err(Unanswered::Malformed));
    assert_eq!(replicas(&rows[..AuroraAnswer::INSTANCES_MAX]).map(|it| it.len()), Ok(64));
    // old rows are none
    let old: Vec<_> = ids.iter().map(|id| (id.as_str(), "s", "999999999", "1")).collect();
    assert_eq!(replicas(&old), Ok(Vec::new()));
}

#[test]
fn three_servers_that_are_numbered_are_a_cluster_of_rds() {
    let columns = ["id", "endpoint", "port"];
    let read = |rows: &[[&str; 2]]| {
        let rows: Vec<_> =
            rows.iter().map(|[name, port]| [None, Some(*name), Some(*port)]).collect();
        let rows: Vec<_> = rows.iter().map(<[_; 3]>::as_slice).collect();
        aws::topology(&ServerAnswer::of(&columns, &rows))
    };
    let [one, two, three] = ["x-instance-1.r", "x-instance-2.r", "x-instance-3.r"];
    let server = |hostname: &str| Endpoint { hostname: hostname.to_owned(), port: 3307 };
    let whole = [[one, "3307"], [two, "3307"], [three, "3307"]];
    assert_eq!(read(&whole), Ok([one, two, three].map(server).to_vec()));
    for other in [
        &whole[..2],
        &[whole[0], whole[1], whole[2], whole[0]],
        &[whole[0], whole[1], whole[1]],
        &[whole[0], whole[1], ["x.r", "3307"]],
        &[whole[0], whole[1], [three, "x"]],
        &[],
    ] {
        assert_eq!(read(other), Err(Unanswered::Malformed), "{other:?}");
    }
}
