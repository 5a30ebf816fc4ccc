//! The query rules of a run: a read/write split, and one rule for each thing that a rule can do.
//! Which statements they are for is decided by the names of tables, in `client`.

use engine::rows::{RuleRow, ServerRow};

use crate::shared_questions::{BRIDGED_MS, FOLLOWED_MS, KEPT_MS, MIXED_MS, STALE_MS};

/// The hostgroup whose server is never there.
const NOBODY: i64 = 5;

/// The port of the server that is never there.
pub(super) const NOBODY_PORT: u16 = 3999;

/// What a rule tells clients that it refuses.
pub(crate) const REFUSAL: &str = "not in this house";

/// What a rule tells clients whose statement it answers.
pub(crate) const ANSWER: &str = "taken care of";

fn rule(rule_id: i64, pattern: &str) -> RuleRow {
    RuleRow { rule_id, active: 1, match_pattern: Some(pattern.into()), ..RuleRow::default() }
}

/// A rule that sends statements of this table to that one.
fn renaming(rule_id: i64, flag: i64, table: &str, to: &str) -> RuleRow {
    RuleRow {
        flag_in: flag,
        replace_pattern: Some(to.into()),
        ..rule(rule_id, &format!("\\b{table}\\b"))
    }
}

/// Writes and locking reads go to hostgroup 0, other reads to hostgroup 1.
pub(super) fn split() -> Vec<RuleRow> {
    let to = |rule_id, pattern: &str, hostgroup| RuleRow {
        destination_hostgroup: Some(hostgroup),
        apply: 1,
        ..rule(rule_id, pattern)
    };
    vec![to(901, "FOR UPDATE$", 0), to(902, "^SELECT", 1)]
}

/// Everything that rules can do, and then the split.
pub(super) fn all() -> Vec<RuleRow> {
    [deeds(), split()].concat()
}

fn deeds() -> Vec<RuleRow> {
    let reads = |row: RuleRow| RuleRow { destination_hostgroup: Some(1), apply: 1, ..row };
    vec![
        renaming(10, 0, "wrong_t", "t"),
        RuleRow { error_msg: Some(REFUSAL.into()), ..rule(20, r"\bforbidden_t\b") },
        RuleRow { ok_msg: Some(ANSWER.into()), ..rule(30, r"\bignored_t\b") },
        RuleRow { delay: Some(3), retries: Some(2), ..rule(40, r"\bslow_t\b") },
        RuleRow { timeout: Some(3), ..rule(50, r"\bbrief_t\b") },
        RuleRow { flag_out: Some(3), ..rule(60, r"\bchained_t\b") },
        reads(renaming(61, 3, "chained_t", "t")),
        RuleRow { next_query_flag_in: Some(9), ..rule(70, r"\bfirst_t\b") },
        RuleRow { next_query_flag_in: Some(0), ..reads(renaming(71, 9, "second_t", "t")) },
        RuleRow { mirror_hostgroup: Some(1), ..rule(80, r"\btwice_t\b") },
        RuleRow { mirror_hostgroup: Some(NOBODY), ..rule(81, r"\btwice_nowhere_t\b") },
        RuleRow { mirror_flag_out: Some(7), ..rule(82, r"\btwice_changed_t\b") },
        reads(renaming(83, 7, "twice_changed_t", "mirrored_t")),
        RuleRow { multiplex: Some(0), ..rule(90, r"\bsticky_t\b") },
        RuleRow { multiplex: Some(1), ..rule(91, r"\bshared_t\b") },
    ]
}

/// Answers that several clients may be told.
pub(super) fn shared() -> Vec<RuleRow> {
    let (kept, bridged) = (Some(KEPT_MS), Some(BRIDGED_MS));
    let stale = format!(r#"{{"serve_stale_ms": {STALE_MS}}}"#);
    let joint = r#"{"coalesce": true}"#.to_owned();
    vec![
        RuleRow { cache_ttl: kept, ..rule(100, r"\bkept_t\b") },
        RuleRow { attributes: joint, ..rule(101, r"\bjoint_t\b") },
        RuleRow {
            cache_ttl: bridged,
            cache_empty_result: Some(0),
            attributes: stale,
            ..rule(102, r"\bbridged_t\b")
        },
    ]
}

/// Answers that end with a change of what they read.
pub(super) fn followed() -> Vec<RuleRow> {
    let (followed, mixed) = (Some(FOLLOWED_MS), Some(MIXED_MS));
    let live = format!(r#"{{"invalidate": "binlog", "serve_stale_ms": {STALE_MS}}}"#);
    let by_time_else = r#"{"invalidate": "binlog_or_ttl"}"#.to_owned();
    let home = r#"{"invalidate": "binlog"}"#.to_owned();
    vec![
        RuleRow { cache_ttl: followed, attributes: live, ..rule(103, r"^SELECT.*\blive_t\b") },
        RuleRow {
            cache_ttl: mixed,
            attributes: by_time_else,
            ..rule(104, r"^SELECT.*\bmixed_t\b")
        },
        RuleRow {
            cache_ttl: followed,
            attributes: home,
            destination_hostgroup: Some(0),
            apply: 1,
            ..rule(105, r"^SELECT.*\bhome_t\b")
        },
    ]
}

/// Tables that no server may ever be asked for.
pub(crate) const NEVER_SEEN: [&str; 5] =
    ["wrong_t", "forbidden_t", "ignored_t", "chained_t", "second_t"];

/// The server that is never there.
pub(super) fn nobody() -> ServerRow {
    ServerRow {
        hostgroup_id: NOBODY,
        hostname: "10.0.0.66".into(),
        port: i64::from(NOBODY_PORT),
        ..ServerRow::default()
    }
}
