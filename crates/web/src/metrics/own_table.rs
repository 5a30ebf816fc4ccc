//! The families that are Tidegate's own.

use engine::stats::LogStreamRow;

use super::families_table::endpoint;
use super::text::{Series, seconds};
use super::{Family, FamilySource, MetricKind, counter, gauge};
use crate::health;
use crate::view::View;

/// Every one of them.
pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "tidegate_command_duration_seconds",
        kind: MetricKind::Histogram,
        help: "Time from a command to the end of its answer, by class of statement.",
        source: FamilySource::Series(|v, s| {
            for (class, row) in v.collected.commands.rows().filter(|(_, row)| row.count > 0) {
                s.histogram(&[("command", &class.name())], &row.buckets, row.time_us);
            }
        }),
    },
    Family {
        name: "tidegate_server_duration_seconds",
        kind: MetricKind::Histogram,
        help: "Time from a command to the end of its answer, by server and class of statement.",
        source: FamilySource::Series(|v, s| {
            for share in v.collected.servers.values() {
                let (hostgroup, endpoint) = (share.server.hostgroup.0, endpoint(&share.server));
                for (class, row) in &share.counters.classes {
                    s.histogram(
                        &[
                            ("hostgroup", &hostgroup),
                            ("endpoint", &endpoint),
                            ("command", &class.name()),
                        ],
                        &row.buckets,
                        row.time_us,
                    );
                }
            }
        }),
    },
    counter("tidegate_queries_total", "Commands by what became of them.", |v, s| {
        let counters = &v.collected.counters;
        s.add(&[("outcome", &"ok")], counters.ok);
        s.add(&[("outcome", &"error")], counters.err);
        s.add(&[("outcome", &"killed")], counters.killed);
    }),
    counter("tidegate_query_rule_hits_total", "Times a rule matched.", |v, s| {
        for (rule_id, hits) in &v.collected.rule_hits {
            s.add(&[("rule_id", rule_id)], hits.hits);
        }
    }),
    counter(
        "tidegate_login_checks_total",
        "Logins by what came of asking PAM or LDAP about their passwords.",
        |v, s| {
            let counters = &v.collected.counters;
            s.add(&[("outcome", &"right")], counters.login_checks_right);
            s.add(&[("outcome", &"wrong")], counters.login_checks_wrong);
            s.add(&[("outcome", &"failed")], counters.login_checks_failed);
            s.add(&[("outcome", &"timed_out")], counters.login_checks_timed_out);
            s.add(&[("outcome", &"full")], counters.login_checks_full);
        },
    ),
    counter(
        "tidegate_logins_held_up_total",
        "Logins that had to wait because of wrong passwords before.",
        |v, s| s.one(v.collected.counters.logins_held_up),
    ),
    counter(
        "tidegate_long_commands_refused_total",
        "Long commands refused: a worker keeps too many that are not complete.",
        |v, s| s.one(v.collected.counters.long_commands_refused),
    ),
    counter(
        "tidegate_newcomers_gave_way_total",
        "Clients that had not logged in and gave way to others, as the process was full.",
        |v, s| s.one(v.collected.counters.newcomers_gave_way),
    ),
    counter(
        "tidegate_queries_retried_total",
        "Commands sent again because their backend connection broke.",
        |v, s| s.one(v.collected.counters.retried),
    ),
    counter("tidegate_queries_timed_out_total", "Queries longer than they may be.", |v, s| {
        s.one(v.collected.counters.timed_out);
    }),
    counter(
        "tidegate_checkouts_waited_total",
        "Checkouts that waited for a dial or another session.",
        |v, s| s.one(v.collected.counters.checkouts_waited),
    ),
    counter(
        "tidegate_checkouts_limited_total",
        "Of those, such whose user had as many connections as it may.",
        |v, s| s.one(v.collected.counters.checkouts_limited),
    ),
    counter("tidegate_lanes_lost_total", "Backend connections that broke in use.", |v, s| {
        s.one(v.collected.counters.lanes_lost);
    }),
    counter(
        "tidegate_lanes_dropped_total",
        "Backend connections closed because their state could not be repaired.",
        |v, s| s.one(v.collected.counters.lanes_dropped),
    ),
    counter(
        "tidegate_holds_total",
        "Sessions that kept a backend connection for something other than a transaction.",
        |v, s| s.one(v.collected.counters.pins),
    ),
    counter(
        "tidegate_held_total",
        "Times that a session began to keep a backend connection, by reason.",
        |v, s| {
            for (reason, count) in v.collected.counters.holds.pairs() {
                s.add(&[("reason", &reason)], count);
            }
        },
    ),
    counter(
        "tidegate_shared_total",
        "What came of reads on connections that are shared.",
        |v, s| of_family(v, s, "shared_", "event"),
    ),
    counter("tidegate_unshared_total", "Reads that shared no connection, by reason.", |v, s| {
        of_family(v, s, "unshared_", "reason");
    }),
    gauge("tidegate_lanes_shared", "Backend connections that several sessions use now.", |v, s| {
        s.one(v.collected.lanes_shared);
    }),
    counter("tidegate_shuns_total", "Times a server was shunned.", |v, s| {
        s.one(v.collected.counters.shuns);
    }),
    counter(
        "tidegate_server_stalls_total",
        "Times a worker found that a server stood still.",
        |v, s| s.one(v.collected.counters.server_stalls),
    ),
    counter(
        "tidegate_diagnostics_total",
        "Diagnostics kept to free a backend connection, and what was asked of them.",
        |v, s| of_family(v, s, "diagnostics_", "event"),
    ),
    counter("tidegate_queries_delayed_total", "Queries that a rule made wait.", |v, s| {
        s.one(v.collected.counters.delayed);
    }),
    counter("tidegate_mirrors_total", "Copies of queries, by what became of them.", |v, s| {
        let c = &v.collected.counters;
        for (event, count) in
            [("sent", c.mirrored), ("failed", c.mirrors_failed), ("dropped", c.mirrors_dropped)]
        {
            s.add(&[("event", &event)], count);
        }
    }),
    counter("tidegate_panics_total", "Sessions lost to a defect; any is one.", |v, s| {
        s.one(v.collected.counters.panics);
    }),
    counter(
        "tidegate_defects_total",
        "Calls that lacked what they were about; any is one.",
        |v, s| {
            s.one(v.collected.counters.defects);
        },
    ),
    counter(
        "tidegate_proxy_headers_total",
        "Clients whose address a header of the PROXY protocol told.",
        |v, s| s.one(v.collected.counters.proxy_headers),
    ),
    counter(
        "tidegate_proxy_headers_refused_total",
        "Clients refused for a header of the PROXY protocol.",
        |v, s| s.one(v.collected.counters.proxy_headers_refused),
    ),
    counter("tidegate_tls_clients_total", "Clients whose TLS handshake succeeded.", |v, s| {
        s.one(v.collected.counters.tls_clients);
    }),
    counter("tidegate_tls_failures_total", "Clients whose TLS came to nothing.", |v, s| {
        s.one(v.collected.counters.tls_failures);
    }),
    counter(
        "tidegate_server_tls_failures_total",
        "Connections to servers that could not be as secure as they have to be.",
        |v, s| s.one(v.collected.counters.server_tls_failures),
    ),
    counter(
        "tidegate_denied_without_tls_total",
        "Logins refused because account or listener demand TLS, or another certificate.",
        |v, s| s.one(v.collected.counters.denied_without_tls),
    ),
    Family {
        name: "tidegate_certificate_not_after_seconds",
        kind: MetricKind::Gauge,
        help: "Until when certificates for TLS are good, in seconds since 1970.",
        source: FamilySource::Series(|v, s| {
            for (file, not_after_s) in &v.certificates {
                s.add(&[("file", file)], not_after_s);
            }
        }),
    },
    gauge(
        "tidegate_query_cache_stream_following",
        "1 while a server's binary log is followed closely enough for a hostgroup.",
        |v, s| of_streams(v, s, |stream| u64::from(stream.state == "following")),
    ),
    gauge(
        "tidegate_query_cache_stream_lag_milliseconds",
        "How long the last write took to be seen in a server's binary log.",
        |v, s| of_streams(v, s, |stream| stream.lag_ms),
    ),
    counter(
        "tidegate_query_cache_stream_events_total",
        "Events that were read of a server's binary log.",
        |v, s| of_streams(v, s, |stream| stream.events),
    ),
    counter(
        "tidegate_query_cache_stream_tables_changed_total",
        "Events that told of a change of one table.",
        |v, s| of_streams(v, s, |stream| stream.tables_changed),
    ),
    counter(
        "tidegate_query_cache_stream_all_changed_total",
        "Events that told of a change of any table.",
        |v, s| of_streams(v, s, |stream| stream.all_changed),
    ),
    counter(
        "tidegate_query_cache_stream_reconnects_total",
        "Times that a server's binary log was followed again.",
        |v, s| of_streams(v, s, |stream| stream.reconnects),
    ),
    counter("tidegate_log_lines_lost_total", "Lines that standard error did not take.", |v, s| {
        s.one(v.log_lines_lost);
    }),
    gauge("tidegate_hostgroup_servers", "Servers of a hostgroup, by use.", |v, s| {
        for (hostgroup, servers) in v.snapshot.topology.groups() {
            let now_us = v.collected.now_us;
            let usable = servers.iter().filter(|server| server.state(now_us).is_serving()).count();
            s.add(&[("hostgroup", &hostgroup.0), ("state", &"usable")], usable);
            let unusable = servers.len() - usable;
            s.add(&[("hostgroup", &hostgroup.0), ("state", &"unusable")], unusable);
        }
    }),
    gauge("tidegate_ready", "1 when /readyz says so.", |v, s| {
        s.one(u8::from(health::unready(v).is_empty()));
    }),
    gauge("tidegate_workers_answering", "Workers that answered this scrape.", |v, s| {
        s.one(v.answered);
    }),
    gauge("process_resident_memory_bytes", "Memory that the process holds.", |v, s| {
        s.one(v.system.resident_bytes);
    }),
    counter("process_cpu_seconds_total", "Processor time that the process has used.", |v, s| {
        s.one(seconds(v.system.cpu_ms * 1000));
    }),
];

/// A number of each stream.
fn of_streams(view: &View, series: &mut Series<'_>, number: fn(&LogStreamRow) -> u64) {
    for stream in &view.log_streams {
        let endpoint = format!("{}:{}", stream.hostname, stream.port);
        let labels: [(_, &dyn std::fmt::Display); 2] =
            [("hostgroup", &stream.hostgroup), ("endpoint", &endpoint)];
        series.add(&labels, number(stream));
    }
}

/// The counters whose names begin so, by the rest of their names.
fn of_family(view: &View, series: &mut Series<'_>, prefix: &str, label: &str) {
    for (name, count) in view.collected.counters.pairs() {
        if let Some(rest) = name.strip_prefix(prefix) {
            series.add(&[(label, &rest)], count);
        }
    }
}
