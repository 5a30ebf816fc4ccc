//! What is done to lanes that no session has. Lanes that are too old, too many, or about to be
//! closed by their server are closed; the others are tested now and then. Some are opened ahead of
//! need. A lane that its session left as no other could use it is reset.
//!
//! It happens once a second, but for resets. Which lane a session gets is `pool`'s.

use std::ops::Range;
use std::sync::Arc;

use wire::Caps;
use wire::command::{self, code};
use wire::frame::{Framed, next_packet};
use wire::reader::Reader;
use wire::result::{Event, ReplyKind};

use crate::error::{self, SqlError};
use crate::ids::LaneId;
use crate::lane::{Lane, Lease, Owner, Upkeep};
use crate::link::{Charset, LinkState};
use crate::orders::{End, Order};
use crate::pool;
use crate::proxy::Proxy;
use crate::report::LogEvent;
use crate::session::maintenance::defaults::QUESTION;
use crate::session::placing::dialing::Dial;
use crate::session::replying::reply::{error_in, slice};
use crate::topology::{LastFault, ServerRef};

/// How long a lane is unused before it counts as one too many.
const UNUSED_US: u64 = 10_000_000;

/// How long a lane is idle before its server is asked how long it may be.
const ASK_AFTER_US: u64 = 1_000_000;

/// Lanes that are opened ahead of need at a time.
const WARM_AT_ONCE: u32 = 4;

impl Proxy {
    /// Looks over the lanes that no session has; once a second.
    pub(crate) fn tend_lanes(&mut self) {
        let topology = self.snapshot.topology.clone();
        for server in topology.servers() {
            self.trim_idle(server);
            self.test_idle(server);
            self.warm(server);
            self.empty_shared(server);
            self.tend_still(server);
            self.probe(server);
        }
        self.survey_all();
    }

    /// Asks a shunned server for a connection, while others of its hostgroup serve, so that it does
    /// again as soon as it can.
    fn probe(&mut self, server: &ServerRef) {
        if !server.gauge.is_unproven() || !server.state(self.now_us).may_serve() {
            return;
        }
        let is_model = |lane: &&Lane| is_in_use(lane) && lane.server.hostgroup == server.hostgroup;
        let model = self.lanes.iter().map(|(_, lane)| lane).find(is_model).map(|lane| lane.id);
        if let Some(model) = model
            && server.gauge.begin_probe(self.now_us)
        {
            self.dial_like(model, server, None);
        }
    }

    /// How many idle connections to a server this worker keeps.
    fn idle_max(&self, server: &ServerRef) -> u32 {
        let vars = &self.snapshot.vars;
        let pct = self.snapshot.hostgroups.free_connections_pct(server.hostgroup, vars);
        let share = u64::from(server.max_connections) * u64::from(pct) / 100;
        // of all workers together
        u32::try_from(share.div_ceil(u64::from(vars.threads.max(1)))).unwrap_or(u32::MAX)
    }

    /// The age at which lanes are closed.
    fn lane_age_max_us(&self) -> u64 {
        match self.snapshot.vars.connection_max_age_ms {
            0 => u64::MAX,
            max_ms => max_ms * 1000,
        }
    }

    /// Closes idle lanes that are too old, too many and long unused, or too long idle for their
    /// server.
    fn trim_idle(&mut self, server: &ServerRef) {
        let keep = usize::try_from(self.idle_max(server)).unwrap_or(usize::MAX).max(1);
        let idle = self.pool.idle_of(server);
        let surplus = idle.len().saturating_sub(keep);
        let left = server.is_left();
        let max_age_us = self.lane_age_max_us();
        let idle_max_us = server.gauge.idle_max_us();
        let now_us = self.now_us;
        let is_spent = |(position, id): &(usize, &LaneId)| {
            let Some(lane) = self.lanes.get(**id) else { return false };
            let unused_us = now_us.saturating_sub(lane.times.used_us);
            left || lane.age_us(now_us) > max_age_us
                || (*position < surplus && unused_us > UNUSED_US)
                || lane.silent_us(now_us) >= idle_max_us.min(lane.state.wait_timeout_us() / 2)
        };
        let spent: Vec<_> = idle.iter().enumerate().filter(is_spent).map(|(_, id)| *id).collect();
        self.stats.lanes_expired += spent.len() as u64;
        self.with_each(spent, End::Lane, |proxy, id| proxy.close_lane(id));
    }

    /// Shared lanes that are too old, or too many, come to rest, and then are closed as idle ones
    /// are.
    fn empty_shared(&mut self, server: &ServerRef) {
        let surplus = server.gauge.used() > server.max_connections;
        let max_age_us = self.lane_age_max_us();
        for id in self.pool.shared_of(server) {
            let Some(lane) = self.lanes.get_mut(*id) else { continue };
            if surplus || lane.age_us(self.now_us) > max_age_us {
                lane.close_unfit();
            }
        }
    }

    /// Asks idle lanes whether they are still there, and one of them how long it may be idle.
    fn test_idle(&mut self, server: &ServerRef) {
        let now_us = self.now_us;
        let interval_us = self.snapshot.vars.ping_interval_server_ms * 1000;
        let silent = |id: &LaneId| {
            let lane = self.lanes.get(*id);
            lane.map(|lane| (*id, lane.silent_us(now_us), lane.caps.contains(Caps::INTERACTIVE)))
        };
        let idle = self.pool.idle_of(server).iter().filter_map(silent);
        let mut asks = server.gauge.asks_idle_max(now_us);
        let mut due = Vec::new();
        for (id, silent_us, interactive) in idle {
            // a server closes interactive connections after another time
            if asks && !interactive && silent_us >= ASK_AFTER_US {
                due.push((id, Upkeep::IdleMax));
                asks = false;
            } else if silent_us >= interval_us {
                due.push((id, Upkeep::Ping));
            }
        }
        for (id, task) in due {
            if task == Upkeep::IdleMax {
                server.gauge.note_asked_idle_max(now_us);
            }
            self.test_lane(id, task);
        }
    }

    /// Asks an idle lane something, to see that it is there.
    pub(crate) fn test_lane(&mut self, id: LaneId, task: Upkeep) {
        let limit_us = self.snapshot.vars.ping_timeout_server_ms * 1000;
        self.stats.lane_pings += 1;
        self.begin_upkeep(id, limit_us);
        match task {
            Upkeep::IdleMax => self.send_upkeep_text(id, task, "SELECT @@wait_timeout"),
            _ => self.send_upkeep(id, task, code::PING),
        }
    }

    /// Opens lanes ahead of need, as those that there are.
    fn warm(&mut self, server: &ServerRef) {
        let (vars, hostgroups) = (&self.snapshot.vars, &self.snapshot.hostgroups);
        if !hostgroups.connection_warming(server.hostgroup, vars)
            || !server.state(self.now_us).is_serving()
            || self.pool.health.is_still(server.index)
        {
            return;
        }
        let wanted = self.idle_max(server).min(server.max_connections);
        for _ in 0..WARM_AT_ONCE {
            let open = self.server_stats.of(server.index).map_or(0, |counters| counters.open);
            if open >= wanted || !self.dial_ahead(server) {
                return;
            }
            self.stats.lanes_warmed += 1;
        }
    }

    /// Opens a lane like those that there are, for nobody; `false` where there is none, or no more
    /// may be.
    pub(crate) fn dial_ahead(&mut self, server: &ServerRef) -> bool {
        let is_model = |lane: &&Lane| is_in_use(lane) && lane.server.index == server.index;
        let model = self.lanes.iter().map(|(_, lane)| lane).find(is_model);
        let model = model.map(|lane| (lane.id, lane.state.chosen_schema().cloned()));
        model.is_some_and(|(model, schema)| self.dial_like(model, server, schema).is_some())
    }

    /// Opens a lane with the login of another one, for nobody; `None` where no more may be.
    pub(crate) fn dial_like(
        &mut self,
        model: LaneId,
        server: &ServerRef,
        schema: Option<Arc<[u8]>>,
    ) -> Option<LaneId> {
        let model = self.lanes.get(model)?;
        let dial = Dial {
            server: server.clone(),
            account: model.account.clone(),
            class: model.class,
            schema,
            collation: model.collation,
            lease: Lease::Dialing(None),
            via: None,
            presented: self.presented_as(model.presented.as_deref(), server.hostgroup),
        };
        let (vars, hostgroups) = (&self.snapshot.vars, &self.snapshot.hostgroups);
        let limits = hostgroups.dial_limits(server.hostgroup, vars);
        let most = self.snapshot.backends_max(&dial.account);
        let may = server.may_dial(&limits, self.now_us)
            && pool::take_permits(&dial.server, &dial.account, most);
        may.then(|| self.open_lane(dial))
    }

    /// Makes a lane what it was after its login; `false` where closing it is the better way.
    pub(crate) fn reset_lane(&mut self, lane_id: LaneId) -> bool {
        let Some(names) = self.names_after_reset(lane_id) else { return false };
        let limit_us = self.snapshot.vars.connect_timeout_server_ms * 1000;
        self.with(End::Lane(lane_id), |proxy| {
            proxy.begin_upkeep(lane_id, limit_us);
            proxy.send_reset(lane_id);
            proxy.begin_again(lane_id, &names);
        });
        true
    }

    /// What brings a lane, when it has been reset, back to the character sets of its login; `None`
    /// where it is not to be used again.
    pub(crate) fn names_after_reset(&self, lane_id: LaneId) -> Option<String> {
        let lane = self.lanes.get(lane_id)?;
        let as_before = lane.may_be_once_reset() && !lane.marks.init_connect;
        let goes_on = as_before && !self.is_surplus(lane) && lane.is_quiet();
        // in which character set such a name would be read is not looked at
        let goes_on = goes_on && lane.state.schema.as_deref().is_none_or(<[u8]>::is_ascii);
        Charset::Collation(lane.collation.into()).statement().filter(|_| goes_on)
    }

    pub(crate) fn send_reset(&mut self, lane_id: LaneId) {
        self.send_upkeep(lane_id, Upkeep::Reset, code::RESET_CONNECTION);
    }

    /// Makes a lane that is being reset what it was after its login.
    pub(crate) fn begin_again(&mut self, lane_id: LaneId, names: &str) {
        let Some(lane) = self.lanes.get_mut(lane_id) else { return self.impossible(()) };
        lane.stmts.clear();
        (lane.marks.traced, lane.marks.unsure, lane.marks.tells_changes) = (false, false, false);
        (lane.marks.reflagged, lane.marks.code_read_by) = (false, None);
        let charset = Charset::Collation(lane.collation.into());
        lane.state = LinkState::new(lane.state.schema.clone(), charset);
        self.send_upkeep_text(lane_id, Upkeep::Names, names);
        self.choose_again(lane_id);
        self.send_init_connect(lane_id);
        self.send_upkeep_text(lane_id, Upkeep::Defaults, QUESTION);
    }

    /// Has a lane that was reset go to the schema that it is in: its server has forgotten the
    /// character set of that.
    fn choose_again(&mut self, lane_id: LaneId) {
        let Some(lane) = self.lanes.get_mut(lane_id) else { return self.impossible(()) };
        let Some(schema) = lane.state.chosen_schema() else { return };
        self.orders.send(End::Lane(lane_id), |out| command::write(out, code::INIT_DB, schema));
        lane.enqueue(Owner::Upkeep(Upkeep::SchemaAgain), ReplyKind::Simple);
    }

    /// Sends the statement for new connections, if there is one. It may take as long as a query
    /// waits for a connection.
    pub(crate) fn send_init_connect(&mut self, id: LaneId) {
        let Some(lane) = self.lanes.get_mut(id) else { return self.impossible(()) };
        let snapshot = self.snapshot.clone();
        let text = snapshot.hostgroups.init_connect(lane.server.hostgroup, &snapshot.vars);
        if text.is_empty() {
            return;
        }
        let limit_us = snapshot.vars.connect_timeout_server_max_ms * 1000;
        let at = self.now_us.saturating_add(limit_us).max(lane.times.alarm_us);
        lane.times.alarm_us = at;
        self.orders.push(Order::Deadline { end: End::Lane(id), at });
        self.send_upkeep_text(id, Upkeep::InitConnect, text);
    }

    /// A new lane can be used: it is offered when the call is over.
    pub(crate) fn lane_opened(&mut self, id: LaneId) {
        let Some(lane) = self.lanes.get(id) else { return self.impossible(()) };
        if let Lease::Dialing(Some(dialer)) = lane.lease {
            self.refuse_misfit(dialer, id);
        }
        self.dues.opened(id);
    }

    /// The statement for new connections did not do: the lane goes, and whoever dialed it is told.
    fn init_connect_failed(&mut self, id: LaneId, said: SqlError) {
        let Some(lane) = self.lanes.get(id) else { return self.impossible(()) };
        let (server, account, lease) = (lane.server.clone(), lane.account.clone(), lane.lease);
        let dialer = match lease {
            Lease::Dialing(dialer) => dialer,
            _ => None,
        };
        let place = self.snapshot.hostgroups.place_of_init_connect(server.hostgroup);
        let error = error::init_connect_failed(place, &server, said);
        self.note_server_error(dialer, (&server, &account), error.code, error.message.as_bytes());
        if server.gauge.tells_init_connect(self.now_us) {
            let event =
                LogEvent::InitConnectFailed { server: server.clone(), error: error.clone() };
            self.orders.report(event);
        }
        self.drop_lane(id);
        if let Some(dialer) = dialer {
            self.refuse_waiting(dialer, &error);
        }
        self.wake_first(server.hostgroup);
    }

    /// A lane is the proxy's own from now on, for at most so long.
    pub(crate) fn begin_upkeep(&mut self, id: LaneId, limit_us: u64) {
        let at = self.now_us.saturating_add(limit_us);
        if let Some(lane) = self.lanes.get_mut(id) {
            lane.lease = Lease::Upkeep;
            lane.times.alarm_us = at;
            lane.times.turned_us = self.now_us;
            self.pool.remove_idle(&lane.server, id);
            self.orders.push(Order::Deadline { end: End::Lane(id), at });
        }
    }

    fn send_upkeep(&mut self, id: LaneId, task: Upkeep, code: u8) {
        self.orders.send(End::Lane(id), |out| command::write(out, code, &[]));
        if let Some(lane) = self.lanes.get_mut(id) {
            lane.enqueue(Owner::Upkeep(task), ReplyKind::Simple);
        }
    }

    pub(crate) fn send_upkeep_text(&mut self, id: LaneId, task: Upkeep, text: &str) {
        self.orders.send(End::Lane(id), |out| command::write_query(out, text.as_bytes()));
        if let Some(lane) = self.lanes.get_mut(id) {
            lane.enqueue(Owner::Upkeep(task), ReplyKind::Result);
        }
    }

    /// A part of the answer to a command of the proxy's own.
    pub(crate) fn on_upkeep_part(
        &mut self,
        id: LaneId,
        task: Upkeep,
        range: Range<usize>,
        event: Event,
        bytes: &[u8],
    ) {
        if matches!(task, Upkeep::Defaults | Upkeep::Schema)
            && !self.note_upkeep_answer(id, range.clone(), bytes)
        {
            return self.on_server_fault(id, "its answer to a short question never ends");
        }
        match (event, task) {
            (event, Upkeep::Catalog(part)) => {
                self.on_survey_part(id, part, bytes.get(range).unwrap_or_default(), &event);
            }
            (Event::Err { .. }, Upkeep::CatalogRead) => {
                self.lose_lane(id, LastFault::Protocol);
            }
            (Event::Err { .. }, Upkeep::IdleMax) => {
                // whoever cannot say it is not asked again soon
                self.pop(id, None);
                self.upkeep_over(id);
            }
            (Event::Err { .. }, Upkeep::Defaults) => {
                self.pop(id, None);
                if self.note_defaults(id) {
                    self.begins(id);
                }
            }
            (Event::Err { at, .. }, Upkeep::InitConnect) => {
                self.pop(id, None);
                let error = error_in(slice(bytes, range.start + at.start..range.start + at.end));
                self.init_connect_failed(id, error);
            }
            (Event::End(end), Upkeep::InitConnect) if end.resultsets > 0 => {
                self.pop(id, None);
                self.init_connect_failed(id, error::init_connect_gives_rows());
            }
            (Event::Err { .. }, _) => {
                self.drop_lane(id);
            }
            (Event::End(end), _) => {
                self.pop(id, Some(end.status));
                let Some(lane) = self.lanes.get_mut(id) else { return self.impossible(()) };
                match task {
                    Upkeep::IdleMax => {
                        let reply = bytes.get(range).unwrap_or_default();
                        if let Some(seconds) = number_in(reply, lane.caps) {
                            lane.server.gauge.note_idle_max(seconds);
                        }
                        self.upkeep_over(id);
                    }
                    Upkeep::Ping | Upkeep::Catalog(_) => self.upkeep_over(id),
                    Upkeep::CatalogRead => self.survey_answered(id),
                    Upkeep::Reset => self.reset_answered(id),
                    Upkeep::Schema => self.schema_told(id),
                    Upkeep::Names | Upkeep::SchemaAgain | Upkeep::InitConnect => {}
                    Upkeep::Defaults => {
                        if self.note_defaults(id) {
                            self.begins(id);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    /// It is known what a lane begins with, which is new or was reset.
    fn begins(&mut self, id: LaneId) {
        let Some(lane) = self.lanes.get_mut(id) else { return self.impossible(()) };
        if let Lease::Dialing(_) = lane.lease {
            lane.times.alarm_us = 0;
            return self.lane_opened(id);
        }
        self.stats.lanes_reset += 1;
        self.upkeep_over(id);
    }

    /// A lane has done what it was asked: it is any session's again when the call is over.
    pub(crate) fn upkeep_over(&mut self, id: LaneId) {
        let Some(lane) = self.lanes.get_mut(id) else { return self.impossible(()) };
        lane.times.alarm_us = 0;
        lane.times.tested_us = self.now_us;
        self.dues.tended(id);
    }

    /// A command of the proxy's own was not answered in time.
    pub(crate) fn check_upkeep(&mut self, id: LaneId) {
        let due = self.lanes.get(id).is_some_and(|lane| lane.times.alarm_us <= self.now_us);
        if due {
            self.stats.lane_pings_failed += 1;
            self.lose_lane(id, LastFault::Timeout);
        }
    }
}

/// Whether a lane's login is over, and it serves sessions.
pub(crate) fn is_in_use(lane: &Lane) -> bool {
    matches!(lane.lease, Lease::Idle | Lease::Exclusive(_) | Lease::Shared)
}

/// The number in a result of one row and one column; `None` where the bytes are not all of it.
fn number_in(reply: &[u8], caps: Caps) -> Option<u64> {
    std::str::from_utf8(value_in(reply, caps)?).ok()?.parse().ok()
}

/// The value in such a result.
pub(crate) fn value_in(reply: &[u8], caps: Caps) -> Option<&[u8]> {
    row_in(reply, caps, 1)?.lenenc_bytes().ok()
}

/// The row of a result of one row and so many columns.
pub(crate) fn row_in(reply: &[u8], caps: Caps, columns: usize) -> Option<Reader<'_>> {
    let row_at = columns + if caps.contains(Caps::DEPRECATE_EOF) { 1 } else { 2 };
    let mut rest = reply;
    for at in 0..=row_at {
        let Framed::Packet(packet) = next_packet(rest) else { return None };
        if usize::from(packet.seq) != at + 1 {
            return None;
        }
        if at == row_at {
            return Some(Reader::new(packet.payload));
        }
        rest = rest.get(packet.len..)?;
    }
    None
}
