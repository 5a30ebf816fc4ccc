//! What rows come to, and what is wrong with them.

use super::*;

fn pair(writer: i64, reader: i64) -> ReplicationRow {
    ReplicationRow {
        writer_hostgroup: writer,
        reader_hostgroup: reader,
        ..ReplicationRow::default()
    }
}

fn galera(hostgroups: [i64; 4]) -> GaleraRow {
    let [writer_hostgroup, backup_writer_hostgroup, reader_hostgroup, offline_hostgroup] =
        hostgroups;
    GaleraRow {
        writer_hostgroup,
        backup_writer_hostgroup,
        reader_hostgroup,
        offline_hostgroup,
        ..GaleraRow::default()
    }
}

#[test]
fn check_types_have_the_names_and_queries_of_proxysql() {
    for (name, check) in Check::ALL {
        assert_eq!(Check::named(&name.to_ascii_uppercase()), Some(check));
        assert!(check.query().ends_with(" read_only"), "{name}");
    }
    assert_eq!(Check::named("writable"), None);
}

#[test]
fn a_program_is_an_absolute_path_with_arguments() {
    assert_eq!(program(""), Ok(Vec::new()));
    let words = Ok(vec!["/bin/a".to_owned(), "b c".to_owned()]);
    assert_eq!(program(r#"["/bin/a", "b c"]"#), words);
    let wrong = ["[]", "[\"a\"]", "[\"/a\", 1]", "\"/a\"", "{}"];
    wrong.iter().for_each(|text| assert_eq!(program(text), Err(NO_PROGRAM.into()), "{text}"));
    assert_eq!(program("/bin/a"), Err("not JSON: at character 1".into()));
    assert!(program("[\"/a\\u0000\"]").is_err());
}

#[test]
fn only_active_rows_hold() {
    let idle = GaleraRow { active: 0, ..galera([5, 6, 7, 8]) };
    let rows = [GaleraRow { max_writers: 2, ..galera([1, 2, 3, 4]) }, idle];
    let made = Clusters::compile(&[pair(10, 20)], &[], &rows, &[]).expect("valid");
    let expected = Pair { writer: 10, reader: 20, check: Check::ReadOnly };
    assert_eq!(made.pairs, [expected]);
    let members: Vec<_> = made.members.iter().map(|it| (it.kind, it.hostgroups())).collect();
    assert_eq!(members, [(ClusterKind::Galera, [1, 2, 3, 4])]);
    assert_eq!((made.members[0].max_writers, made.members[0].max_behind), (2, 0));
}

#[test]
fn every_fault_is_named_with_its_row_and_column() {
    let odd = ReplicationRow { check_type: "writable".into(), ..pair(1, 2) };
    let wrong = GaleraRow {
        max_writers: -1,
        writer_is_also_reader: 3,
        max_transactions_behind: -2,
        ..galera([1, 1, 3, -4])
    };
    let faults = Clusters::compile(&[odd, pair(1, 1), pair(3, 2)], &[], &[wrong], &[]);
    let told: Vec<_> = faults.expect_err("refused").iter().map(ToString::to_string).collect();
    let pairs = |row: u32, text: &str| format!("mysql_replication_hostgroups row {row} {text}");
    let galera = |text: &str| format!("mysql_galera_hostgroups row 1 column {text}");
    let names = Check::ALL.map(|(name, _)| name).join(", ");
    assert_eq!(
        told,
        [
            pairs(1, &format!("column check_type: 'writable' is none of {names}")),
            pairs(2, "column writer_hostgroup: another row has 1 already"),
            pairs(2, "column reader_hostgroup: 1 is its writer_hostgroup too"),
            pairs(3, "column reader_hostgroup: another row has 2 already"),
            galera("backup_writer_hostgroup: 1 is its writer_hostgroup too"),
            galera("offline_hostgroup: -4 is not in 0..2147483647"),
            galera("writer_is_also_reader: 3 is not in 0..2"),
            galera("max_writers: -1 is below 0"),
            galera("max_transactions_behind: -2 is below 0"),
        ]
    );
}

fn aurora(writer_hostgroup: i64, reader_hostgroup: i64) -> AuroraRow {
    let domain_name = ".abc.eu-west-1.rds.amazonaws.com".to_owned();
    AuroraRow { writer_hostgroup, reader_hostgroup, domain_name, ..AuroraRow::default() }
}

#[test]
fn rows_of_aurora_have_the_defaults_of_proxysql() {
    let idle = AuroraRow { active: 0, ..aurora(10, 20) };
    let rows = [idle, aurora(1, 2)];
    let made = Clusters::compile(&[pair(10, 20)], &[], &[], &rows).expect("valid");
    let expected = Aurora {
        writer: 1,
        reader: 2,
        port: 3306,
        domain: ".abc.eu-west-1.rds.amazonaws.com".into(),
        max_lag_ms: 600_000,
        every_ms: 1_000,
        limit_ms: 800,
        writer_is_read: false,
        reader_weight: 1,
        add_lag_ms: 30,
        min_lag_ms: 30,
        lag_checks: 1,
    };
    assert_eq!(made.aurora, [expected]);
    assert!(made.has(2) && made.find_aurora(1).is_some() && made.find_aurora(10).is_none());
}

#[test]
fn every_fault_of_a_row_of_aurora_is_named() {
    let wrong = AuroraRow {
        domain_name: "abc.com".into(),
        aurora_port: 0,
        max_lag_ms: 9,
        check_interval_ms: 99,
        check_timeout_ms: 3_001,
        writer_is_also_reader: 2,
        new_reader_weight: -1,
        add_lag_ms: 600_001,
        min_lag_ms: -1,
        lag_num_checks: 17,
        ..aurora(10, 10)
    };
    let odd = AuroraRow { domain_name: ".a b".into(), ..aurora(10, 30) };
    let faults = Clusters::compile(&[pair(10, 20)], &[], &[], &[wrong, odd]);
    let told: Vec<_> = faults.expect_err("refused").iter().map(ToString::to_string).collect();
    let shared = "servers move to and from 10 by another table too";
    let expected = [
        (1, format!("writer_hostgroup: {shared}")),
        (1, format!("reader_hostgroup: {shared}")),
        (1, "reader_hostgroup: 10 is its writer_hostgroup too".to_owned()),
        (1, "domain_name: 'abc.com' is no domain that begins with a dot".to_owned()),
        (1, "aurora_port: 0 is not in 1..65535".to_owned()),
        (1, "max_lag_ms: 9 is not in 10..600000".to_owned()),
        (1, "check_interval_ms: 99 is not in 100..600000".to_owned()),
        (1, "check_timeout_ms: 3001 is not in 80..3000".to_owned()),
        (1, "writer_is_also_reader: 2 is not in 0..1".to_owned()),
        (1, "new_reader_weight: -1 is not in 0..10000000".to_owned()),
        (1, "add_lag_ms: 600001 is not in 0..600000".to_owned()),
        (1, "min_lag_ms: -1 is not in 0..600000".to_owned()),
        (1, "lag_num_checks: 17 is not in 1..16".to_owned()),
        (2, format!("writer_hostgroup: {shared}")),
        (2, "writer_hostgroup: another row has 10 already".to_owned()),
        (2, "domain_name: '.a b' is no domain that begins with a dot".to_owned()),
    ];
    let expected =
        expected.map(|(row, text)| format!("mysql_aws_aurora_hostgroups row {row} column {text}"));
    assert_eq!(told, expected);
}
