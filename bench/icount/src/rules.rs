//! Rules by the thousand.
//!
//! Decides what they look like: each asks for a table of its own, as a sharded application's do;
//! the last one sends every other select to the reader.

use std::hint::black_box;

use engine::route::{Query, QueryProcessor};
use engine::rows::RuleRow;
use engine::snapshot::{Draft, Snapshot};

use crate::packets;
use crate::scenario::Pass;
use crate::world::World;

/// What the rules look at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// `match_digest`
    Digest,
    /// `match_pattern`
    Text,
}

/// So many rules, the last of which is the one that a point select matches.
fn rules(count: i64, by: By) -> Vec<RuleRow> {
    (1..=count)
        .map(|rule_id| {
            let last = rule_id == count;
            let pattern = format!(r"^SELECT .* FROM orders_{rule_id}\b.*WHERE");
            let pattern = Some(if last { "^SELECT".into() } else { pattern });
            RuleRow {
                rule_id,
                active: 1,
                match_digest: pattern.clone().filter(|_| by == By::Digest),
                match_pattern: pattern.filter(|_| by == By::Text),
                destination_hostgroup: Some(i64::from(last)),
                apply: 1,
                ..RuleRow::default()
            }
        })
        .collect()
}

/// The same query again and again: everything that can be known of it is known.
pub(crate) fn warm(count: i64, by: By) -> Pass {
    let mut world = World::with_rules(rules(count, by));
    let session = world.log_in();
    let command = packets::query(packets::POINT_SELECT);
    let reply = packets::result(1);
    Box::new(move || assert_eq!(world.exchange(session, &command, &reply), reply.len()))
}

/// Never the same query: only the way to its route.
pub(crate) fn cold(count: i64, by: By) -> Pass {
    let draft = Draft { rules: rules(count, by), ..Draft::default() };
    let Ok(snapshot) = Snapshot::compile(&draft) else {
        unreachable!("the scenario's rules are valid")
    };
    let mut processor = QueryProcessor::new(&snapshot, 1);
    let mut number = 0;
    Box::new(move || {
        number += 1;
        let text = format!(
            "SELECT o.id, o.total, column_{number} FROM orders o JOIN lines l ON l.id = o.id \
             WHERE o.status = 'new' AND o.customer = 17"
        );
        black_box(processor.route(&snapshot, black_box(&query(text.as_bytes()))));
    })
}

/// A text made for a pattern that backtracks: a search is given up at its limit.
pub(crate) fn hostile() -> Pass {
    let rule = RuleRow {
        rule_id: 1,
        active: 1,
        match_pattern: Some("^(a+)+(?!b)$".into()),
        ..RuleRow::default()
    };
    let Ok(snapshot) = Snapshot::compile(&Draft { rules: vec![rule], ..Draft::default() }) else {
        unreachable!("the scenario's rule is valid")
    };
    let mut processor = QueryProcessor::new(&snapshot, 1);
    let text = [b"a".repeat(1000).as_slice(), b"!"].concat();
    Box::new(move || {
        black_box(processor.route(&snapshot, black_box(&query(&text))));
    })
}

fn query(text: &[u8]) -> Query<'_> {
    Query {
        username: b"app",
        schemaname: b"shop",
        client_addr: b"127.0.0.1",
        proxy_addr: b"127.0.0.1",
        proxy_port: 6033,
        server_name: b"",
        flag_in: 0,
        text,
        digest: None,
        execute: false,
        annotations: true,
        modes: Default::default(),
        modes_known: true,
    }
}
