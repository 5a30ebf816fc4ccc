//! What a worker tells of itself when it is asked: what it counted, and its sessions and lanes as
//! they are now, some at a time.

use wire::frame::HEADER_BYTES;

use crate::holds::Holds;
use crate::ids::{LaneId, SessionId};
use crate::lane::{Lane, Owner, Step};
use crate::proxy::Proxy;
use crate::session::{Phase, Running, Session, Stage, What};
use crate::slab::Slab;
use crate::stats::{
    DigestShare, LaneRow, Parts, PoolPage, QueryStats, RuleHits, ServerShare, SessionLane,
    SessionPage, SessionRow, Share, Walk,
};

/// Sessions or lanes that are looked at for one page.
const PAGE_SLOTS: u32 = 2048;
/// Of those, when each becomes a row.
const PAGE_ROWS: u32 = 256;
/// Bytes of a statement that are shown.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// What a worker has counted, as far as it is asked for.
pub(crate) fn share(proxy: &mut Proxy, parts: Parts) -> Share {
    let sessions = proxy.session_count();
    let (mirrors, mirrors_queued) = proxy.mirror_counts();
    let digest_bytes = proxy.query_stats.digests.bytes();
    // adding up takes a while: only for whoever looks at memory
    let (spare_bytes, other_bytes) = match parts.lanes {
        Some(_) => (spare_bytes(proxy), other_bytes(proxy)),
        None => (0, 0),
    };
    let (servers, rule_hits) = match parts.next_page {
        true => (Vec::new(), Vec::new()),
        false => (servers_of(proxy, parts), rule_hits_of(proxy)),
    };
    // so does looking through all sessions and lanes
    let counts_statements = parts.statements || (parts.lanes.is_some() && !parts.next_page);
    let (stmt_counts, statements) = match counts_statements {
        true => proxy.statements(parts.statements),
        false => Default::default(),
    };
    let QueryStats { digests, commands, errors, cached, repeats } = &mut proxy.query_stats;
    Share {
        now_us: proxy.now_us,
        counters: proxy.stats,
        sessions,
        lanes: proxy.lanes.len(),
        lanes_shared: proxy.pool.shared_count(),
        cache: proxy.offer.cache.figures(),
        mirrors,
        mirrors_queued,
        processor_ns: proxy.processor.time_ns(),
        rule_hits,
        stmt_counts,
        statements,
        commands: parts.commands.then(|| match parts.reset {
            true => std::mem::take(commands),
            false => commands.clone(),
        }),
        cached: parts.cached.then(|| match parts.reset {
            true => std::mem::take(cached),
            false => cached.clone(),
        }),
        repeats: parts.repeats.then(|| repeats.rows(proxy.now_us)),
        digests: parts.digests.then(|| DigestShare::of(digests, parts)),
        servers,
        errors: parts.errors.then(|| match parts.reset {
            true => errors.take(),
            false => errors.clone(),
        }),
        redirects: match parts.redirects {
            true => proxy.redirects.rows(proxy.now_us).collect(),
            false => Vec::new(),
        },
        other_bytes,
        session_page: parts.sessions.map(|walk| some_sessions(proxy, walk)).unwrap_or_default(),
        pool_page: parts.lanes.map(|walk| some_lanes(proxy, walk)).unwrap_or_default(),
        uptime_us: proxy.now_us.saturating_sub(proxy.started_us),
        digest_bytes,
        spare_bytes,
    }
}

fn spare_bytes(proxy: &Proxy) -> usize {
    let bytes = |list: &[Vec<u8>]| list.iter().map(Vec::capacity).sum::<usize>();
    bytes(&proxy.spare) + bytes(&proxy.spare_digests)
}

fn other_bytes(proxy: &Proxy) -> usize {
    proxy.server_stats.bytes() + proxy.query_stats.errors.bytes()
}

fn rule_hits_of(proxy: &Proxy) -> Vec<(i64, RuleHits)> {
    let hits = proxy.processor.hits().iter().zip(proxy.processor.limit_hits());
    let hits = hits.map(|(hits, limit_hits)| RuleHits { hits: *hits, limit_hits });
    proxy.snapshot.rules.rule_ids().zip(hits).collect()
}

/// The servers in force, and those that are not any more and still have connections.
fn servers_of(proxy: &mut Proxy, parts: Parts) -> Vec<ServerShare> {
    if !parts.servers {
        return Vec::new();
    }
    let topology = &proxy.snapshot.topology;
    let mut shares: Vec<ServerShare> =
        topology.servers().iter().map(|server| proxy.server_stats.share(server)).collect();
    let mut places = vec![None; topology.numbers()];
    for (at, share) in shares.iter().enumerate() {
        if let Some(place) = places.get_mut(share.server.index) {
            *place = Some(at);
        }
    }
    for (_, lane) in proxy.lanes.iter() {
        let index = lane.server.index;
        if places.len() <= index {
            places.resize(index + 1, None);
        }
        let Some(place) = places.get_mut(index) else { continue };
        let at = *place.get_or_insert_with(|| {
            shares.push(proxy.server_stats.share(&lane.server));
            shares.len() - 1
        });
        if let Some(share) = shares.get_mut(at) {
            share.counters.ended.merge(&lane.traffic);
            share.idle += u32::from(lane.is_idle());
        }
    }
    for share in &mut shares {
        share.still_since_us = proxy.pool.health.still_since_us(share.server.index);
        share.still_workers = u32::from(share.still_since_us < u64::MAX);
    }
    if parts.reset {
        proxy.server_stats.forget_maxima();
    }
    shares
}

fn some_sessions(proxy: &Proxy, walk: Walk) -> SessionPage {
    let slots_max = if walk.rows { PAGE_ROWS } else { PAGE_SLOTS };
    let (sessions, next) = proxy.sessions.some(walk.from, slots_max);
    let mut page = SessionPage { next, ..SessionPage::default() };
    if walk.from == 0 {
        page.statement_bytes = proxy.texts.bytes();
    }
    for (id, session) in sessions {
        page.bytes += size_of::<Session>() + session.serving.kept.capacity();
        page.bytes += session.serving.data.as_ref().map_or(0, |data| data.len());
        if let Some(stmts) = &session.stmts {
            page.statements += stmts.count();
            page.statement_bytes += stmts.bytes();
        }
        page.busy += usize::from(!matches!(session.phase, Phase::Idle));
        page.in_transaction += usize::from(session.in_transaction());
        page.pinned += usize::from(session.held_for(Holds::PINNING).is_some());
        if walk.rows {
            page.rows.push(row_of(id, session, &proxy.lanes, proxy.now_us));
        }
    }
    page
}

fn row_of(id: SessionId, session: &Session, lanes: &Slab<LaneId, Lane>, now_us: u64) -> SessionRow {
    let running = match &session.phase {
        Phase::Running(running) => Some(running),
        _ => None,
    };
    let lane_id = match &session.phase {
        Phase::Relaying(lane) | Phase::Dialing { lane: Some(lane) } => Some(*lane),
        Phase::Waiting(_) => None,
        _ => running.map(|running| running.lane).or(session.held.first().map(|held| held.lane)),
    };
    let lane = lane_id.and_then(|lane| lanes.get(lane));
    let shown = lane_id.and_then(|lane| lane_of(lane, session, lanes));
    let others = session.held.iter().filter(|held| Some(held.lane) != lane_id);
    let since_us = match &session.phase {
        Phase::Delayed(_) | Phase::Joined(_) | Phase::Waiting(_) | Phase::Running(_) => {
            session.serving.asked.since_us()
        }
        _ => None,
    };
    let since_us = since_us.unwrap_or(session.timing.idle_since_us);
    let account = session.account.as_ref();
    let hostgroup = match &session.phase {
        Phase::Waiting(waiting) => Some(waiting.job.hostgroup),
        _ => shown.as_ref().map(|lane| lane.hostgroup),
    };
    let transaction = Some(session.timing.transaction_since_us).filter(|since_us| *since_us > 0);
    SessionRow {
        worker: 0,
        connection: session.client.connection.0,
        user: account.map(|account| account.name.clone()),
        schema: session.want.schema.clone(),
        client: session.client.addr.clone(),
        client_port: session.client.port,
        hostgroup: hostgroup.or(account.map(|account| account.default_hostgroup)),
        lane: shown,
        local: None,
        others: others.filter_map(|held| lane_of(held.lane, session, lanes)).collect(),
        command: command_of(id, session, lane),
        time_ms: now_us.saturating_sub(since_us) / 1000,
        text: text_of(session),
        doing: session.doing(),
        autocommit: session.want.autocommit,
        transaction_us: transaction.map(|since_us| now_us.saturating_sub(since_us)),
        statements: session.stmts.as_ref().map_or(0, |stmts| stmts.count()),
    }
}

/// A lane that a session uses, with the reasons for which it keeps that one.
fn lane_of(id: LaneId, session: &Session, lanes: &Slab<LaneId, Lane>) -> Option<SessionLane> {
    let lane = lanes.get(id)?;
    let held = session.held.iter().find(|held| held.lane == id);
    Some(SessionLane {
        lane: id,
        hostgroup: held.map_or(lane.server.hostgroup, |held| held.hostgroup),
        server: lane.server.clone(),
        thread_id: lane.greeted.thread_id,
        holds: held.map_or(Holds::NONE, |held| held.why),
    })
}

/// The `command` of the process list.
fn command_of(id: SessionId, session: &Session, lane: Option<&Lane>) -> &'static str {
    match &session.phase {
        Phase::Idle => "Sleep",
        Phase::Greeting { .. }
        | Phase::Presented { .. }
        | Phase::Securing { .. }
        | Phase::Login(_)
        | Phase::Unjudged(_)
        | Phase::Checking(_) => "Connecting client",
        Phase::Clearing(_) => "Resetting connection",
        Phase::Delayed(_) => "Delay",
        Phase::Waiting(_) | Phase::Dialing { .. } => "Connect",
        Phase::Relaying(_) => "Fast forward",
        Phase::Joined(_)
        | Phase::Collecting(_)
        | Phase::Skipping { .. }
        | Phase::Discarding { .. } => "Query",
        Phase::Running(Running { stage: Stage::Aligning { .. }, .. }) => {
            match lane.and_then(Lane::next_owner) {
                Some(Owner::Step(owner, step)) if owner == id => match step {
                    Step::Schema | Step::Leave => "InitDB",
                    Step::Settings | Step::Aside => "Setting variables",
                    Step::Autocommit => "Changing autocommit",
                    Step::InsertId => "Setting variable last_insert_id",
                    Step::Prepare(_) => "Prepare",
                    Step::Again | Step::Diagnostics => "Query",
                },
                _ => "Query",
            }
        }
        Phase::Running(running) => match running.job.what {
            What::Prepare(_) => "Prepare",
            What::Execute(_) => "Execute",
            What::LoginSchema => "Connecting client",
            What::Replication => "Binlog Dump",
            _ => "Query",
        },
    }
}

/// The statement that a session has under way.
fn text_of(session: &Session) -> Option<Vec<u8>> {
    let job = match &session.phase {
        Phase::Running(running) => running.job,
        Phase::Waiting(waiting) => waiting.job,
        Phase::Delayed(delayed) => delayed.job,
        Phase::Joined(joined) => joined.job,
        _ => return None,
    };
    let text = match job.what {
        What::Execute(stmt) => &session.handle(stmt)?.text.text,
        _ => session.serving.kept.get(HEADER_BYTES + 1..)?,
    };
    Some(text.get(..TEXT_BYTES_MAX).unwrap_or(text).to_vec())
}

fn some_lanes(proxy: &Proxy, walk: Walk) -> PoolPage {
    let slots_max = if walk.rows { PAGE_ROWS } else { PAGE_SLOTS };
    let (lanes, next) = proxy.lanes.some(walk.from, slots_max);
    let mut page = PoolPage { next, ..PoolPage::default() };
    for (id, lane) in lanes {
        page.bytes += lane.bytes();
        if walk.rows && lane.is_idle() {
            page.rows.push(idle_row(id, lane, proxy.now_us));
        }
    }
    page
}

fn idle_row(id: LaneId, lane: &Lane, now_us: u64) -> LaneRow {
    LaneRow {
        worker: 0,
        lane: id,
        fd: None,
        server: lane.server.clone(),
        user: lane.account.name.clone(),
        schema: lane.state.chosen_schema().cloned(),
        autocommit: lane.state.autocommit,
        idle_ms: now_us.saturating_sub(lane.times.used_us) / 1000,
        age_ms: lane.age_us(now_us) / 1000,
        thread_id: lane.greeted.thread_id,
        charset: lane.state.charset.name(),
        settings: lane.state.settings.clone(),
        traffic: lane.traffic,
    }
}
