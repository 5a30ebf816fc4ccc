//! `stats_tidegate_servers`: what keeps servers from being asked, though their status may not
//! say so. What traffic there was is `pool`'s; when a server stands still is the engine's to say.

use engine::stats::{Parts, ServerShare};
use engine::topology::{LastFault, Verified};

use super::{LiveTable, Row, Seen, int, pool, text};

pub(super) const TABLE: LiveTable = LiveTable {
    name: "stats_tidegate_servers",
    parts: Some(Parts { servers: true, ..Parts::NONE }),
    rows,
};

fn rows(seen: &Seen<'_>) -> Vec<Row> {
    pool::shares(seen).into_iter().map(|share| row_of(seen, share)).collect()
}

fn row_of(seen: &Seen<'_>, share: &ServerShare) -> Row {
    let (server, now_us) = (&share.server, seen.collected.now_us);
    let fault = match server.gauge.last_fault() {
        LastFault::None => String::new(),
        fault => fault.to_string(),
    };
    let shunned_us = server.gauge.shunned_until_us(now_us).saturating_sub(now_us);
    let still_us = match share.still_workers {
        0 => 0,
        _ => now_us.saturating_sub(share.still_since_us),
    };
    vec![
        int(server.hostgroup.0),
        text(server.hostname.as_str()),
        int(server.port),
        text(pool::status(seen, server)),
        text(fault),
        text(server.gauge.tls().map_or("", Verified::name)),
        int(shunned_us / 1000),
        int(share.still_workers),
        int(still_us / 1000),
    ]
}
