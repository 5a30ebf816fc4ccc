//! When samples are taken, and what becomes of them.

use super::*;

/// What SQL finds, cells and rows with `|` and line ends between them.
fn found(admin: &Admin, sql: &str) -> String {
    let rows = admin.query(&Session::of_ourselves(), sql).expect("it is SQL").rows;
    let cell = |cell: Option<Vec<u8>>| String::from_utf8(cell.unwrap_or_default()).expect("text");
    let line = |row: Vec<_>| row.into_iter().map(cell).collect::<Vec<_>>().join("|");
    rows.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_sample_is_taken_when_its_interval_is_over_and_never_with_an_interval_of_0() {
    let mut admin = crate::fake_process::admin(&[
        ("admin-stats_system_cpu", "20"),
        ("admin-stats_system_memory", "0"),
        ("admin-stats_mysql_query_cache", "30"),
        ("admin-stats_mysql_query_digest_to_disk", "0"),
    ]);
    for second in [0, 19, 20, 39, 59, 60, 79, 80, 119, 120] {
        assert_eq!(admin.take_samples(HOUR + second), []);
    }
    let times = |table: &str| {
        let sql = format!("SELECT group_concat(timestamp - {HOUR}) FROM stats_history.{table}");
        found(&admin, &sql)
    };
    assert_eq!(times("system_cpu"), "20,59,79,119", "each begins with the one before");
    assert_eq!(times("mysql_connections"), "60,120");
    assert_eq!(times("mysql_query_cache"), "39,79,119");
    assert_eq!(times("myhgm_connections"), "60,120");
    assert_eq!(times("system_memory"), "");
    let counters = found(&admin, "SELECT count(*) FROM stats.stats_mysql_global");
    let recorded = "SELECT count(*), count(DISTINCT variable_id), min(variable_name <> '') \
                    FROM stats_history.history_mysql_status_variables \
                    JOIN stats_history.history_mysql_status_variables_lookup USING (variable_id) \
                    GROUP BY timestamp";
    let all = format!("{counters}|{counters}|1");
    assert_eq!(found(&admin, recorded), format!("{all}\n{all}"), "names are kept once");
}

#[test]
fn an_hour_becomes_the_mean_of_what_there_was_and_the_last_of_what_only_grows() {
    let mut admin = crate::fake_process::admin(&[("admin-stats_mysql_connections", "0")]);
    let add = |admin: &Admin, hour: i64, second: i64, connected: i64, questions: i64| {
        let sql = format!(
            "INSERT INTO stats_history.mysql_connections VALUES \
             ({}, 0, {connected}, 0, 0, 0, 0, 0, 0, 0, {questions}, 0, 0)",
            hour * HOUR + second
        );
        admin.store.database.own(&sql).expect("it is a row");
    };
    for (hour, second, connected, questions) in
        [(10, 0, 10, 5), (10, 3599, 21, 9), (11, 0, 100, 11), (11, 60, 100, 12)]
    {
        add(&admin, hour, second, connected, questions);
    }
    let hours = format!(
        "SELECT timestamp / {HOUR}, Client_Connections_connected, Questions \
         FROM stats_history.mysql_connections_hour ORDER BY 1"
    );
    assert_eq!(admin.take_samples(11 * HOUR + 90), []);
    assert_eq!(found(&admin, &hours), "10|15|9", "the hour that is not over is left out");
    // what is summed up stays, whatever comes late
    add(&admin, 10, 1800, 99, 99);
    assert_eq!(admin.take_samples(12 * HOUR), []);
    assert_eq!(found(&admin, &hours), "10|15|9\n11|100|12");
    let kept = "SELECT count(*) FROM stats_history.mysql_connections";
    let count = |admin: &Admin| found(admin, kept);
    assert_eq!(admin.take_samples(10 * HOUR + KEPT), []);
    assert_eq!(count(&admin), "5", "for seven days");
    assert_eq!(admin.take_samples(11 * HOUR + KEPT), []);
    assert_eq!(count(&admin), "2");
    assert_eq!(admin.take_samples(10 * HOUR + HOURS_KEPT), []);
    assert_eq!(found(&admin, &hours).lines().count(), 2, "for a year");
    assert_eq!(admin.take_samples(11 * HOUR + HOURS_KEPT), []);
    assert_eq!(found(&admin, &hours), "11|100|12");
}

#[test]
fn samples_of_the_cache_have_its_counters_and_become_hours() {
    let admin = crate::fake_process::admin(&[]);
    let names = [
        "count_GET",
        "count_GET_OK",
        "count_SET",
        "bytes_IN",
        "bytes_OUT",
        "Purged",
        "Entries",
        "Memory_bytes",
    ];
    let text = |text: String| Value::Text(text);
    for (second, first) in [(0, 10), (60, 20)] {
        let counter = |(at, name): (usize, &&str)| {
            vec![text(format!("Query_Cache_{name}")), text((first + at).to_string())]
        };
        let counters: Vec<Row> = names.iter().enumerate().map(counter).collect();
        let table = ("mysql_query_cache", counter_of_cache as fn(&str) -> String);
        admin.record_counters(table, HOUR + second, &counters).expect("it is a row");
    }
    let samples = "SELECT * FROM stats_history.mysql_query_cache";
    let rows = "3600|10|11|12|13|14|15|16|17\n3660|20|21|22|23|24|25|26|27";
    assert_eq!(found(&admin, samples), rows);
    let mut admin = admin;
    assert_eq!(admin.take_samples(2 * HOUR), []);
    let hours = "SELECT * FROM stats_history.mysql_query_cache_hour";
    let hour = "3600|20|21|22|23|24|25|21|22";
    assert_eq!(found(&admin, hours), hour, "what is there now is a mean");
}
