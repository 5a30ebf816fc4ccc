//! Names and defaults against the recorded ones, and what each kind accepts.

use super::*;

/// Name to value as ProxySQL 2.7.2 shows them, from the recording.
fn recorded() -> Vec<(String, String)> {
    let text = include_str!("../../../../testdata/admin.json");
    let (_, variables) = text.split_once("\"variables\": {").expect("the recording has variables");
    let (variables, _) = variables.split_once('}').expect("and they end");
    let unquote = |text: &str| text.trim().trim_matches(['"', ',']).to_owned();
    let pair = |line: &str| line.split_once("\": ").map(|(k, v)| (unquote(k), unquote(v)));
    variables.lines().filter_map(pair).collect()
}

/// Defaults of ours that differ from the recorded ones, and why.
const OTHER_DEFAULTS: &[(&str, &str, &str)] = &[
    ("mysql-server_version", "", "clients are told the version their servers really have"),
    ("admin-telnet_admin_ifaces", "", "an unset text is shown as the empty one, everywhere"),
    ("admin-telnet_stats_ifaces", "", "an unset text is shown as the empty one, everywhere"),
];

/// Rows of ours that the recording lacks, and why.
const NOT_RECORDED: &[(&str, &str)] = &[
    ("mysql-query_cache_binlog_max_lag_ms", "ours: nothing follows binary logs there"),
    ("mysql-monitor_accounts_interval", "ours: ProxySQL stores every password"),
    ("mysql-query_cache_coalesce_wait_ms", "ours: all who miss at once ask a server there"),
    ("mysql-query_cache_sample", "ours: there is no advice on the cache"),
    ("mysql-login_check_threads", "ours: nothing checks passwords by PAM or LDAP there"),
    ("mysql-login_check_queue_max", "ours: see login_check_threads"),
    ("mysql-login_check_timeout", "ours: see login_check_threads"),
    ("mysql-pam_service", "ours: see login_check_threads"),
    ("mysql-ldap_url", "ours: see login_check_threads"),
    ("mysql-ldap_starttls", "ours: see login_check_threads"),
    ("mysql-ldap_ca", "ours: see login_check_threads"),
    ("mysql-ldap_user_dn", "ours: see login_check_threads"),
    ("mysql-ldap_search_base", "ours: see login_check_threads"),
    ("mysql-ldap_search_filter", "ours: see login_check_threads"),
    ("mysql-ldap_search_dn", "ours: see login_check_threads"),
    ("mysql-ldap_search_secret", "ours: see login_check_threads"),
    ("mysql-interfaces_tls", "ours: no listener demands TLS there"),
    ("mysql-require_secure_transport", "ours, named as in MySQL's servers"),
    ("mysql-failed_connection_delay", "ours: wrong passwords take time"),
    ("mysql-failed_connections_threshold", "ours: see failed_connection_delay"),
    ("mysql-ssl_ca", "ours, named as in MySQL's servers: TLS towards clients"),
    ("mysql-ssl_cert", "likewise"),
    ("mysql-ssl_cipher", "likewise"),
    ("mysql-ssl_crl", "likewise"),
    ("mysql-ssl_key", "likewise"),
    ("mysql-tls_ciphersuites", "likewise"),
    ("mysql-tls_version", "likewise"),
    ("mysql-ssl_p2s_verify", "ours: ProxySQL verifies no name, and without ssl_p2s_ca nothing"),
    ("mysql-get_server_public_key", "ours, named as in MySQL's clients: ProxySQL always does"),
    ("mysql-server_public_keys", "ours: the keys that servers may show"),
    ("mysql-listen_backlog", "ours: how long the accept queue may get"),
    ("mysql-max_connects_per_server", "ours: ProxySQL opens as many as are asked for"),
    ("mysql-max_backend_connections_per_user", "ours: accounts share all that servers allow"),
    ("mysql-pipeline_depth", "ours: several sessions' commands on one connection"),
    ("mysql-pipeline_max_latency_us", "ours: see pipeline_depth"),
    ("mysql-pipeline_max_reply_bytes", "ours: see pipeline_depth"),
    ("mysql-pipeline_min_runs", "ours: see pipeline_depth"),
    ("mysql-pipeline_stall_us", "ours: see pipeline_depth"),
    ("mysql-kill_sessions_of_changed_users", "ours: off, as it is there"),
    ("mysql-unfinished_command_timeout_ms", "ours: nothing ends a half command there"),
    ("mysql-prepared_texts_memory_bytes_max", "ours: texts are bounded by number there"),
    ("mysql-query_processor_first_comment_parsing", "of ProxySQL 3"),
    ("mysql-query_digests_memory_bytes_max", "ours: ProxySQL's digest table has no bound"),
    ("mysql-shutdown_timeout_ms", "ours: a stop lets transactions end"),
    ("admin-restapi_address", "ours: ProxySQL serves on every address"),
    ("admin-require_secure_transport", "ours: TLS cannot be demanded there"),
    ("admin-proxy_protocol_networks", "ours: no header is taken there"),
    ("admin-restapi_authentication", "ours: ProxySQL asks HTTP clients for nothing"),
    ("admin-restapi_tokens", "ours: see restapi_authentication"),
    ("mysql-topology_recording", "ours: decisions there cannot be made again"),
    ("mysql-topology_recording_bytes_max", "ours: see topology_recording"),
    ("mysql-zone", "ours: servers there are in no zones"),
    ("mysql-follow_redirects", "ours: ProxySQL does not look at what a login's OK tells"),
    ("mysql-redirect_ttl_max_ms", "ours: see follow_redirects"),
    ("mysql-stored_code", "ours: ProxySQL does not look at definitions"),
    ("mysql-stored_code_refresh_interval_ms", "ours: ProxySQL does not look at definitions"),
    ("mysql-session_debug", "known to debug builds only; the recording is of a release build"),
    ("admin-debug", "known to debug builds only"),
    ("admin-debug_output", "known to debug builds only"),
    ("admin-version", "left out of the recording, as it changes with every build"),
];

#[test]
fn names_and_defaults_are_the_recorded_ones_except_the_listed() {
    let recorded = recorded();
    assert_eq!(recorded.len(), 211);
    for (name, value) in &recorded {
        let row = find(name).unwrap_or_else(|| panic!("{name} has no row"));
        let listed = OTHER_DEFAULTS.iter().find(|(other, ..)| other == name);
        let expected = listed.map_or(value.as_str(), |(_, own, _)| own);
        assert_eq!(row.default_value().to_string(), expected, "{name}");
        assert!(listed.is_none_or(|(_, own, _)| own != value), "{name} is listed but equal");
    }
}

#[test]
fn rows_beyond_the_recorded_names_are_listed_with_a_reason() {
    let recorded = recorded();
    let extra: Vec<String> = all()
        .map(Variable::full_name)
        .filter(|name| !recorded.iter().any(|(known, _)| known == name))
        .collect();
    let mut listed: Vec<&str> = NOT_RECORDED.iter().map(|(name, _)| *name).collect();
    listed.retain(|name| !extra.iter().any(|known| known == name));
    assert_eq!(listed, [""; 0], "listed, but recorded or without a row");
    assert_eq!(extra.len(), NOT_RECORDED.len(), "{extra:?}");
}

#[test]
fn every_name_is_unique_and_every_doc_is_one_sentence() {
    let mut names: Vec<String> = all().map(Variable::full_name).collect();
    names.sort();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    for row in all() {
        assert!(row.doc.ends_with('.') && row.doc.len() > 15, "{}: {}", row.name, row.doc);
        let first = row.doc.chars().next().expect("not empty");
        assert!(first.is_uppercase() || first.is_ascii_digit(), "{}: {}", row.name, row.doc);
    }
}

#[test]
fn every_default_is_a_value_its_own_row_accepts() {
    for row in all().filter(|row| row.kind != Kind::ReadOnly) {
        assert_eq!(row.parse(row.default).map(|v| v.to_string()), Ok(row.default.to_owned()));
    }
}

#[test]
fn a_field_takes_the_whole_range_of_its_variable() {
    for &name in Vars::FIELDS {
        let row = find(name).expect("a field's variable has a row");
        let bounds = match row.kind {
            Kind::Int { min, max } => vec![min.to_string(), max.to_string()],
            Kind::Bool => vec!["true".into(), "false".into()],
            _ => vec![row.default.to_owned()],
        };
        for value in bounds {
            let vars = Vars::from_pairs(&[(name.to_owned(), value.clone())]).expect("in range");
            assert_eq!(vars.value(name).map(Value::to_string), Some(value));
        }
    }
}

#[test]
fn a_variable_that_acts_has_a_field() {
    for row in all().filter(|row| row.effect != Effect::NotYet) {
        let name = row.full_name();
        assert!(Vars::FIELDS.contains(&name.as_str()), "{name} acts, but through nothing");
    }
}

#[test]
fn a_variable_without_effect_has_a_reason() {
    for row in all().filter(|row| row.effect == Effect::NotYet) {
        assert!(
            row.idle_reason().is_some(),
            "{} is accepted, and nobody knows why",
            row.full_name()
        );
    }
    for beginning in idle_table::REASONS.iter().flat_map(|(beginnings, _)| *beginnings) {
        let is_its = |row: &&Variable| {
            row.effect == Effect::NotYet && row.full_name().starts_with(beginning)
        };
        assert!(all().any(|row| is_its(&row)), "{beginning} is the reason of nothing");
    }
    let reason = |name| find(name).and_then(Variable::idle_reason);
    assert_eq!(reason("mysql-stacksize"), Some("the default stack is enough"));
    assert_eq!(reason("mysql-threads"), None);
}

#[test]
fn defaults_reach_the_typed_fields() {
    let vars = Vars::default();
    assert_eq!(vars.interfaces, [Interface::parse("0.0.0.0:6033").expect("valid")]);
    assert_eq!((vars.threads, vars.listen_backlog), (4, 4096));
    assert_eq!(vars.server_version, "");
    assert_eq!(vars.default_authentication_plugin, "mysql_native_password");
    assert_eq!(vars.max_allowed_packet, 67_108_864);
    assert_eq!(vars.wait_timeout_ms, 28_800_000);
    assert!(vars.multiplexing);
    assert_eq!(vars.threshold_resultset_size, 4_194_304);
}

#[test]
fn pairs_override_defaults_and_the_last_one_wins() {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let vars = Vars::from_pairs(&[
        pair("mysql-threads", "2"),
        pair("mysql-interfaces", "127.0.0.1:7001; /run/tidegate.sock"),
        pair("mysql-multiplexing", "0"),
        pair("admin-web_port", "7080"),
        pair("mysql-threads", "3"),
    ])
    .expect("all valid");
    assert_eq!(vars.threads, 3);
    assert!(!vars.multiplexing);
    assert_eq!(vars.interfaces.len(), 2);
    assert_eq!(vars.interfaces[1], Interface::Unix("/run/tidegate.sock".into()));
    assert_eq!(vars.value("admin-web_port"), Some(&Value::Int(7080)));
}

#[test]
fn all_faults_are_given_at_once_with_table_column_and_range() {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let faults = Vars::from_pairs(&[
        pair("mysql-threads", "0"),
        pair("mysql-thraeds", "4"),
        pair("admin-web_enabled", "yes"),
        pair("threads", "4"),
    ])
    .expect_err("four faults");
    let shown: Vec<String> = faults.iter().map(ConfigFault::to_string).collect();
    assert_eq!(
        shown,
        [
            "mysql_variables column threads: 0 is out of range; allowed are 1 to 255",
            "mysql_variables column thraeds: unknown variable; did you mean `threads`?",
            "admin_variables column web_enabled: `yes` is not true or false",
            "global_variables column threads: unknown variable; names begin with `mysql-` or \
             `admin-`",
        ]
    );
}

#[test]
fn a_listener_that_demands_tls_is_one_of_the_interfaces() {
    let with = |demands: &str, versions: &str| {
        let pairs = [
            ("mysql-interfaces_tls", demands),
            ("mysql-interfaces", "0.0.0.0:6033;127.0.0.1:6034"),
            ("mysql-tls_version", versions),
        ];
        let faults = Vars::from_pairs(&pairs.map(|(name, value)| (name.into(), value.into())));
        faults.map(drop).map_err(|faults| faults[0].to_string())
    };
    assert_eq!(with("127.0.0.1:6034 TLSv1.3; *:6033 required", "TLSv1.2,TLSv1.3"), Ok(()));
    let place = "mysql_variables column interfaces_tls: item 2, `0.0.0.0:6034 TLSv1.3`: ";
    let unknown = with("127.0.0.1:6034 required; *:6034 TLSv1.3", "");
    assert_eq!(unknown, Err(format!("{place}mysql-interfaces has no such address")));
    let place = "mysql_variables column interfaces_tls: item 1, `127.0.0.1:6034 TLSv1.3`: ";
    let unspoken = with("127.0.0.1:6034 TLSv1.3", "TLSv1.2");
    assert_eq!(unspoken, Err(format!("{place}mysql-tls_version is without TLSv1.3")));
}

#[test]
fn each_kind_says_what_it_allows() {
    for (name, text, reason) in [
        ("mysql-threads", "four", "`four` is not a number; allowed are 1 to 255"),
        ("mysql-threads", "256", "256 is out of range; allowed are 1 to 255"),
        (
            "mysql-default_authentication_plugin",
            "sha256_password",
            "`sha256_password` is not allowed; allowed are mysql_native_password, \
             caching_sha2_password",
        ),
        (
            "mysql-interfaces",
            "localhost",
            "`localhost` has no port; write ip:port, [ipv6]:port or /path/of.sock",
        ),
        (
            "mysql-interfaces",
            "localhost:6033",
            "`localhost` is not an IP address; write ip:port, [ipv6]:port or /path/of.sock",
        ),
        ("mysql-interfaces", "127.0.0.1:70000", "`70000` is not a port; allowed are 0 to 65535"),
        ("mysql-interfaces", "[::1]:6033;[::1]:6033", "`[::1]:6033` is named twice"),
        (
            "admin-admin_credentials",
            "admin",
            "account 1 has no password; write user:password, several separated by ;",
        ),
        (
            "admin-admin_credentials",
            ":x",
            "an account has no name; write user:password, several separated by ;",
        ),
        ("admin-version", "9", "is read-only"),
    ] {
        let fault = parse(name, text).expect_err(name);
        assert_eq!(fault.reason, reason, "{name}");
    }
}

#[test]
fn hashes_stand_in_lists_of_accounts_whatever_their_salt_has() {
    let hash = |rounds: &str| format!("$A${rounds}$;salt:of;20 letters;{}", "h".repeat(43));
    let (one, slow) = (hash("005"), hash("015"));
    let list = format!("ann:clear;bob:{one};;sue:;tom:{one}");
    let known: Vec<_> = credentials(&list).collect();
    assert_eq!(known, [("ann", "clear"), ("bob", &*one), ("sue", ""), ("tom", &*one)]);
    assert_eq!(password_in(&list, "tom"), Some(&*one));
    assert_eq!(password_in(&list, "salt"), None, "it is within a hash");
    let parse = |text: &str| parse("admin-stats_credentials", text).map(|(_, it)| it.to_string());
    let good = format!("bob:{one};ann:x");
    assert_eq!(parse(&good), Ok(good.clone()));
    for (text, why) in [
        ("ann:x;bob:$A$005$short".to_owned(), "account 2 has $A$, and no hash of 70 bytes"),
        (format!("bob:{}", &one[..69]), "account 1 has $A$, and no hash of 70 bytes"),
        (format!("bob:{slow}"), "the hash of account 1 has more than 20,000 rounds"),
    ] {
        assert_eq!(parse(&text).expect_err("refused").reason, why);
    }
}

#[test]
fn spellings_become_canonical() {
    for (name, text, canonical) in [
        ("mysql-have_ssl", "TRUE", "true"),
        ("mysql-have_ssl", "0", "false"),
        ("mysql-default_session_track_gtids", "own_gtid", "OWN_GTID"),
        ("mysql-init_connect", "(null)", ""),
        ("mysql-interfaces", "*:6033; [0:0:0:0:0:0:0:1]:6034 ;", "0.0.0.0:6033;[::1]:6034"),
    ] {
        let (_, value) = parse(name, text).expect(name);
        assert_eq!(value.to_string(), canonical);
    }
}

#[test]
fn a_unix_socket_path_longer_than_the_system_takes_is_refused() {
    let path = format!("/{}", "x".repeat(107));
    let reason = Interface::parse(&path).expect_err("108 bytes");
    assert!(reason.ends_with("has 108 bytes; a Unix socket's may have 107"), "{reason}");
    assert!(Interface::parse(&path[..107]).is_ok());
}

#[test]
fn the_nearest_name_is_offered_only_when_it_is_near() {
    let names = ["threads", "interfaces", "weight", "wait_timeout"];
    for (typed, meant) in [
        ("thread", Some("threads")),
        ("thraeds", Some("threads")),
        ("WEIGTH", Some("weight")),
        ("wait_time", Some("wait_timeout")),
        ("colour", None),
        ("", None),
    ] {
        assert_eq!(nearest(typed, names), meant, "{typed}");
    }
    let long = "a".repeat(64);
    assert_eq!(nearest(&format!("{}b", &long[1..]), [long.as_str()]), Some(long.as_str()));
    assert_eq!(nearest(&format!("{long}b"), [long.as_str()]), None);
}

#[test]
fn allowed_values_are_told_with_their_unit() {
    let allowed = |name: &str| find(name).expect(name).allowed();
    assert_eq!(allowed("mysql-wait_timeout"), "0 to 1728000000 milliseconds");
    assert_eq!(allowed("mysql-threads"), "1 to 255");
    assert_eq!(allowed("mysql-multiplexing"), "true or false");
}

#[test]
fn a_token_that_is_a_slow_hash_is_refused_without_being_shown() {
    let compiled = |tokens: &str| {
        let row = ("admin-restapi_tokens".into(), tokens.into());
        Vars::from_pairs(&[row]).map(|vars| vars.restapi_tokens)
    };
    let fault = compiled("one; $A$005$secret").expect_err("refused")[0].to_string();
    let reason = "token 2 begins with $A$, as hashes of caching_sha2_password do, which no token \
                  is compared with; allowed are tokens or their * hashes, separated by ;";
    assert!(fault.contains(reason) && !fault.contains("secret"), "{fault}");
    assert_eq!(compiled("one; *AB; $A").ok().as_deref(), Some("one; *AB; $A"));
}
