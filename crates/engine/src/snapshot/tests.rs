//! What may be in force together, and what is shared with the configuration before.

use super::*;
use crate::users::{Credential, ReadPassword};

fn draft() -> Draft {
    let server = |hostname: &str| ServerRow { hostname: hostname.into(), ..Default::default() };
    let rule = RuleRow {
        rule_id: 1,
        active: 1,
        match_digest: Some("^SELECT".into()),
        ..Default::default()
    };
    Draft {
        servers: vec![server("a"), server("b")],
        users: vec![UserRow { username: "app".into(), ..Default::default() }],
        rules: vec![rule],
        ..Draft::default()
    }
}

#[test]
fn clusters_are_refused_that_are_no_pair_or_have_no_program() {
    let row = |writer_hostgroup| ReplicationClusterRow {
        writer_hostgroup,
        ..ReplicationClusterRow::default()
    };
    let pair = ReplicationRow { reader_hostgroup: 1, ..ReplicationRow::default() };
    let program = ReplicationClusterRow { after_program: "x".into(), ..row(0) };
    let draft = Draft {
        replication: vec![pair],
        replication_clusters: vec![row(0), row(2), program],
        ..draft()
    };
    let faults = Snapshot::compile(&draft).map(drop).expect_err("refused");
    let told: Vec<_> = faults.iter().map(ToString::to_string).collect();
    let table = "tidegate_replication_clusters row";
    let unpaired = "mysql_replication_hostgroups has no row with the writer hostgroup 2";
    assert_eq!(
        told,
        [
            format!("{table} 2 column writer_hostgroup: {unpaired}"),
            format!("{table} 3 column after_program: not JSON: at character 1"),
        ]
    );
}

/// Which parts two configurations do not share.
fn differs(before: &Snapshot, after: &Snapshot) -> Vec<&'static str> {
    let parts = [
        ("vars", Arc::ptr_eq(&before.vars, &after.vars)),
        ("users", Arc::ptr_eq(&before.users, &after.users)),
        ("rules", Arc::ptr_eq(&before.rules, &after.rules)),
        ("fast_routing", Arc::ptr_eq(&before.fast_routing, &after.fast_routing)),
        ("topology", Arc::ptr_eq(&before.topology, &after.topology)),
        ("hostgroups", Arc::ptr_eq(&before.hostgroups, &after.hostgroups)),
        ("clusters", Arc::ptr_eq(&before.clusters, &after.clusters)),
    ];
    parts.into_iter().filter(|(_, same)| !same).map(|(name, _)| name).collect()
}

/// What a server has said of a password is right until that leaves its hostgroup.
#[test]
fn what_was_read_of_a_password_goes_with_its_server() {
    let row = |hostgroup_id, hostname: &str| ServerRow {
        hostgroup_id,
        hostname: hostname.into(),
        ..ServerRow::default()
    };
    let user = UserRow {
        username: "app".into(),
        attributes: r#"{"password_from": "servers"}"#.into(),
        ..UserRow::default()
    };
    let draft = |servers: Vec<ServerRow>, users: &UserRow| Draft {
        servers,
        users: vec![users.clone()],
        ..Draft::default()
    };
    let hash = b"*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
    let primary = Credential::read("mysql_native_password", hash).expect("a hash");
    let read = ReadPassword { primary, additional: None, server: ("one".into(), 3306) };
    let servers = [row(0, "one"), row(0, "two"), row(1, "three")];
    let first = Snapshot::compile(&draft(servers.to_vec(), &user)).expect("valid");
    let first = first.with_passwords([("app".into(), read)].into()).expect("valid");
    let has = |it: &Snapshot| !it.users.read_passwords().is_empty();
    for (servers, is_kept) in [
        (vec![row(0, "one")], true),
        (vec![row(1, "three"), row(0, "one")], true),
        (vec![row(0, "two")], false),
        (vec![row(0, "two"), ServerRow { port: 3307, ..row(0, "one") }], false),
        (vec![], false),
    ] {
        let next = first.recompile(&draft(servers.clone(), &user)).expect("valid");
        assert_eq!(has(&next), is_kept, "{servers:?}");
        let changed = UserRow { max_connections: 7, ..user.clone() };
        let next = first.recompile(&draft(servers, &changed)).expect("valid");
        assert_eq!(has(&next), is_kept);
    }
    // one that was found to be there, wherever it is typed, has the same passwords
    let elsewhere = first.recompile(&draft(vec![row(1, "one"), row(0, "two")], &user));
    assert!(has(&elsewhere.expect("valid")));
}

#[test]
fn only_what_changed_is_made_anew() {
    let first = Snapshot::compile(&draft()).expect("valid");
    let after = |change: fn(&mut Draft)| {
        let mut draft = draft();
        change(&mut draft);
        differs(&first, &first.recompile(&draft).expect("valid"))
    };
    assert_eq!(after(|_| {}), [""; 0]);
    assert_eq!(after(|draft| draft.rules.clear()), ["rules"]);
    assert_eq!(after(|draft| draft.servers.truncate(1)), ["topology"]);
    assert_eq!(after(|draft| draft.users.clear()), ["users"]);
    assert_eq!(after(|draft| draft.hostgroups.push(HostgroupRow::default())), ["hostgroups"]);
    let pair = |draft: &mut Draft| {
        let row = ReplicationRow { reader_hostgroup: 1, ..ReplicationRow::default() };
        draft.replication.push(row);
    };
    assert_eq!(after(pair), ["clusters"]);
    let variable = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let change = |pairs| {
        let draft = Draft { variables: pairs, ..draft() };
        differs(&first, &first.recompile(&draft).expect("valid"))
    };
    assert_eq!(change(variable("mysql-wait_timeout", "5")), ["vars"]);
    // how patterns are read is a variable
    assert_eq!(change(variable("mysql-query_processor_regex", "2")), ["vars", "rules"]);
}

#[test]
fn variables_that_need_a_restart_stay_and_are_told_each_time() {
    let with = |pairs: &[(&str, &str)]| {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Draft { variables: pairs.iter().map(own).collect(), ..draft() }
    };
    let running = Snapshot::compile(&with(&[("mysql-threads", "2")])).expect("valid");
    let wanted = with(&[("mysql-threads", "8"), ("mysql-wait_timeout", "5")]);
    let mut running = Arc::new(running);
    for _ in 0..2 {
        let (next, late) = running.at_run_time(running.recompile(&wanted).expect("valid"));
        assert_eq!((next.vars.threads, next.vars.wait_timeout_ms), (2, 5));
        let told: Vec<_> = late.iter().map(ToString::to_string).collect();
        assert_eq!(told, ["mysql-threads stays 2 until a restart; 8 is wanted"]);
        running = Arc::new(next);
    }
}

#[test]
fn nothing_comes_of_a_draft_with_a_fault_and_all_faults_are_told() {
    let first = Snapshot::compile(&draft()).expect("valid");
    let mut bad = draft();
    bad.servers.push(bad.servers[0].clone());
    bad.rules[0].match_digest = Some("(".into());
    let faults = first.recompile(&bad).err().expect("refused");
    let tables: Vec<_> = faults.iter().map(|fault| fault.table).collect();
    assert_eq!(tables, ["mysql_servers", "mysql_query_rules"]);
}

#[test]
fn accounts_of_ldap_need_a_server_that_variables_name() {
    let attributes = r#"{"password_from": "ldap", "backend_username": "ann"}"#;
    let [ann, eve] = ["ann", "eve"].map(|name| UserRow {
        username: name.into(),
        attributes: if name == "eve" { attributes } else { "" }.into(),
        ..UserRow::default()
    });
    let bare = Snapshot::compile(&Draft::default()).expect("valid");
    let users = Arc::new(Users::with_features(crate::login_checks::CheckFeatures::ALL));
    let bare = Snapshot { users, ..bare };
    let faults = |variables: &[(&str, &str)], rows: &[UserRow]| {
        let variables = variables.iter().map(|(name, it)| (format!("mysql-{name}"), (*it).into()));
        let draft =
            Draft { variables: variables.collect(), users: rows.into(), ..Draft::default() };
        let faults = bare.recompile(&draft).err().unwrap_or_default();
        faults.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let both = [ann.clone(), eve];
    let needs = [format!("mysql_users row 2 column attributes: {LDAP_NEEDS}")];
    let (url, named) = (("ldap_url", "ldaps://a"), ("ldap_user_dn", "uid={user}"));
    assert_eq!(faults(&[], &both), needs);
    assert_eq!(faults(&[url], &both), needs);
    assert!(faults(&[url, named], &both).is_empty() && faults(&[], &[ann]).is_empty());
    let open = faults(&[("ldap_url", "ldap://a"), ("ldap_starttls", "false"), named], &[]);
    assert!(open[0].starts_with("mysql_variables") && open[0].contains("ldap_url"), "{open:?}");
    let service = "`a/b` is no name of a file in /etc/pam.d";
    assert!(faults(&[("pam_service", "a/b")], &[])[0].ends_with(service));
}
