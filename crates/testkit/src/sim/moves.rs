//! Another server takes the writes while clients are served: planned, while their hostgroup is held
//! and nothing is under way there, or because the one that took them is gone.
//!
//! Servers say whether they refuse writes, and the keeper decides by that where they stand. A
//! server that refuses writes finds fault with each one that reaches it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use engine::clusters::Check;
use engine::ids::HostgroupId;
use engine::rows::{ReplicationRow, ServerRow};
use engine::snapshot::Snapshot;
use engine::topology::Status;
use io::Micros;
use keeper::{Endpoint, Failure, Report, Seen};

use super::Trio;
use super::changes::{FIT, TIMES};

/// Of a thousand steps, how many begin a move where none is under way.
const MOVES_PER_MILLE: u64 = 10;

/// How long clients are held for a planned move that comes to nothing.
const HELD: Micros = Micros::from_secs(3);

/// After how long workers are told once more what they have not taken over.
const AGAIN: Micros = Micros::from_ms(500);

/// Which server takes the writes, and which one is to.
#[derive(Default)]
pub(super) struct Moves {
    /// The place of the one that does.
    primary: usize,
    under_way: Option<Move>,
    /// When the next one may begin, behind one that came to nothing: clients had to wait.
    not_before: Micros,
}

struct Move {
    /// The place of the one that is to.
    to: usize,
    stage: Stage,
    /// When the stage ends, or is begun anew.
    until: Micros,
    taken_over: Arc<AtomicUsize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Workers are told to hold the hostgroup.
    Holding,
    /// What was begun there ends.
    Draining,
    /// Workers are told who takes the writes.
    Placing,
}

impl Moves {
    /// The pair of hostgroups between which servers move.
    pub(super) fn pair() -> ReplicationRow {
        ReplicationRow { writer_hostgroup: 0, reader_hostgroup: 1, ..ReplicationRow::default() }
    }

    /// Whether a row is of a server that takes the writes, or is to.
    pub(super) fn needs(&self, row: &ServerRow) -> bool {
        let to = self.under_way.as_ref().map(|it| it.to);
        [Some(self.primary), to].into_iter().flatten().any(|at| row.hostname == hostname(at))
    }

    /// The place of the server that takes the writes.
    pub(super) fn primary(&self) -> usize {
        self.primary
    }

    /// The hostgroup that is held for a move.
    pub(super) fn held(&self) -> Option<HostgroupId> {
        self.under_way.as_ref().map(|_| WRITERS)
    }

    /// The server that may not come back yet: some worker may still take it for the primary.
    pub(super) fn gone(&self) -> Option<usize> {
        let is_placing = |it: &&Move| it.stage == Stage::Placing;
        self.under_way.as_ref().filter(is_placing).map(|_| self.primary)
    }
}

impl Trio {
    /// Begins a move now and then, and goes on with the one that is under way.
    pub(super) fn go_on_moving(&mut self, losses: bool) {
        let now = self.stage.net.now();
        let Some(Move { to, stage, until, taken_over }) = self.moves.under_way.take() else {
            if now > self.moves.not_before && self.dice.below(1000) < MOVES_PER_MILLE {
                self.begin_move(losses);
            }
            return;
        };
        let is_taken_over = taken_over.load(Ordering::Relaxed) == self.stage.workers.len();
        let is_late = now > until;
        match stage {
            Stage::Placing if is_taken_over => {
                self.moves.primary = to;
                self.follow_placed(BTreeSet::new());
                self.count("another server takes the writes");
            }
            Stage::Placing if is_late => self.place(to),
            Stage::Holding if is_taken_over => {
                self.go_on(to, Stage::Draining, (until, taken_over));
            }
            Stage::Holding | Stage::Draining if is_late => {
                self.follow_placed(BTreeSet::new());
                self.moves.not_before = Micros(now.0 + 3 * HELD.0);
                self.count("a server keeps the writes");
            }
            Stage::Draining if !self.is_in_use() => {
                // of a client that left in the middle of a command, its connection is gone already
                let lanes = self.stage.proxies().flat_map(|proxy| proxy.lanes());
                let known: BTreeSet<_> = lanes.map(|(_, lane)| lane.greeted.thread_id).collect();
                let servers = self.stage.servers.service_mut();
                servers.lose(self.moves.primary, |thread| !known.contains(&thread));
                servers.give_writes_to(to);
                self.catch_up(to);
                self.tell_read_only(to);
                self.place(to);
            }
            stage => self.go_on(to, stage, (until, taken_over)),
        }
    }

    /// A server has all that was written before it takes the writes.
    fn catch_up(&self, to: usize) {
        if let Some(data) = &mut self.stage.board.borrow_mut().data {
            data.catch_up(to, self.stage.net.now());
        }
    }

    fn begin_move(&mut self, losses: bool) {
        let rows = &self.stage.snapshot.draft.servers;
        let serves = |at: &usize| {
            let is_it =
                |row: &&ServerRow| row.hostname == hostname(*at) && Status::Online.is_set(row);
            *at != self.moves.primary && rows.iter().any(|row| is_it(&row))
        };
        let others: Vec<_> = (0..self.stage.server_addrs.len()).filter(serves).collect();
        if others.is_empty() {
            return;
        }
        let to = others[self.dice.index(others.len())];
        if losses && self.dice.percent(50) {
            let gone = self.stage.server_addrs[self.moves.primary].clone();
            self.stage.net.stop(&gone);
            self.stage.net.kill(&gone);
            self.stage.net.start(&self.stage.server_addrs[to].clone());
            let servers = self.stage.servers.service_mut();
            servers.lose(self.moves.primary, |_| true);
            servers.give_writes_to(to);
            self.catch_up(to);
            self.count("the server that takes the writes is gone");
            self.tell_read_only(to);
            return self.place(to);
        }
        let taken_over = self.follow_placed(BTreeSet::from([WRITERS]));
        let until = Micros(self.stage.net.now().0 + HELD.0);
        self.go_on(to, Stage::Holding, (until, taken_over));
    }

    fn go_on(&mut self, to: usize, stage: Stage, (until, taken_over): (Micros, Arc<AtomicUsize>)) {
        self.moves.under_way = Some(Move { to, stage, until, taken_over });
    }

    /// Tells the workers where servers stand now; their clients are held until all know.
    fn place(&mut self, to: usize) {
        let taken_over = self.follow_placed(BTreeSet::from([WRITERS]));
        let until = Micros(self.stage.net.now().0 + AGAIN.0);
        self.go_on(to, Stage::Placing, (until, taken_over));
    }

    /// What checks come to where that server takes the writes.
    fn tell_read_only(&mut self, primary: usize) {
        let at_us = self.stage.net.now().0;
        for at in 0..self.stage.server_addrs.len() {
            let server = endpoint(at);
            let outcome = match at == self.moves.primary {
                // it says so as one that is closed, or does not answer
                true if self.dice.percent(50) => Err(Failure::NoAnswer),
                _ => Ok(at != primary),
            };
            let times = if outcome.is_err() { TIMES } else { 1 };
            let told = [(Seen::ReadOnly(Check::ReadOnly, outcome), times)];
            // none takes the writes that is slow or lags
            let fit = FIT.into_iter().map(|seen| (seen, TIMES)).filter(|_| at == primary);
            for (seen, times) in told.into_iter().chain(fit) {
                let report = Report { at_us, server: server.clone(), seen };
                (0..times).for_each(|_| drop(self.keeper.hear(&report)));
            }
        }
    }

    /// Hands every worker what the keeper has decided, with these hostgroups held. Gives how many
    /// have taken it over.
    fn follow_placed(&mut self, held: BTreeSet<HostgroupId>) -> Arc<AtomicUsize> {
        let snapshot = Snapshot::clone(&self.stage.snapshot);
        let placed = snapshot.place(self.keeper.decided(), &self.stage.snapshot);
        let next = placed.expect("rows that are valid").holding(held);
        self.stage.follow_with(Arc::new(next), self.backlog_max)
    }

    /// Whether a connection to a server that takes writes is in use, on its way to another worker,
    /// or not known by the number that the server gave it.
    fn is_in_use(&self) -> bool {
        let primary = &self.stage.server_addrs[self.moves.primary];
        let name = primary.to_string();
        let mut lanes = self.stage.proxies().flat_map(|proxy| proxy.lanes());
        self.stage.net.between_loops(primary) > 0
            || lanes.any(|(_, lane)| match lane.server.hostgroup == WRITERS {
                true => !lane.is_idle(),
                false => lane.greeted.thread_id == 0 && lane.server.to_string() == name,
            })
    }

    fn count(&self, what: &'static str) {
        let mut board = self.stage.board.borrow_mut();
        board.count(what);
        board.tell(|| what.to_owned());
    }
}

const WRITERS: HostgroupId = HostgroupId(0);

/// The name of the server at that place.
fn hostname(at: usize) -> String {
    format!("10.0.0.{}", at + 1)
}

fn endpoint(at: usize) -> Endpoint {
    Endpoint { hostname: hostname(at), port: 3306 }
}
