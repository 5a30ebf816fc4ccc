//! The loops of a simulation and the steps between them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use engine::lane::Lease;
use engine::login_checks::LoginCheck;
use engine::proxy::{Offer, Proxy};
use engine::report::LogEvent;
use engine::snapshot::Snapshot;
use engine::stats::{Counters, Parts};
use engine::topology::Gauge;
use engine::users::Backends;
use io::{Addr, Loop, Micros, Options, SimDriver, SimNet, SimTurn};
use keeper::{Keeper, Wanted};
use worker::{CheckLogin, Mail, Outside, ServerAddresses, Shared, Worker};

use super::changes::draft;
use super::configurations::Configurations;
use super::following::SimFollower;
use super::moves::Moves;
use super::{RunFailure, SimFollowing, Simulator, Weather, rules};
use crate::board::{Board, SharedBoard};
use crate::client::Clients;
use crate::coverage::END_OF_ALL_SESSIONS;
use crate::data::{Followable, LoggedAs};
use crate::dice::Dice;
use crate::mysqld::{Manners, Mysqlds, three};
use crate::planted::{Crooked, Planted};

/// The most steps of a run.
const STEPS_MAX: u64 = 2_000_000;

/// In how many of a thousand steps an administrator asks something of workers that may panic.
const MAIL_PER_MILLE: u64 = 10;

/// How long nothing may reach any client while some still wait.
const PATIENCE: Micros = Micros::from_secs(100);

/// Clients and what they come to.
pub struct Trio {
    /// The clients.
    pub clients: Loop<SimDriver, Clients>,
    /// Everything else.
    pub stage: Stage,
    pub(super) seed: u64,
    pub(super) step: u64,
    /// Turns that the workers had taken when they were looked at last.
    looked_after: u64,
    /// What they had counted then.
    counted: Counters,
    pub(super) dice: Dice,
    /// Decides where servers stand.
    pub(super) keeper: Keeper,
    /// Which server takes the writes.
    pub(super) moves: Moves,
    pub(super) backlog_max: usize,
    /// Bytes that may be kept, if these are few.
    room: Option<u64>,
    /// Follows the servers' logs.
    follower: Option<SimFollower>,
}

/// The proxy and the servers on one network, with room for clients.
pub struct Stage {
    /// The network and the clock.
    pub net: SimNet,
    /// The proxy, a loop for each of its workers.
    pub workers: Vec<Loop<SimDriver, Crooked>>,
    /// The servers.
    pub servers: Loop<SimDriver, Mysqlds>,
    /// What was noted.
    pub board: SharedBoard,
    /// The configuration in force, or on its way to the workers.
    pub snapshot: Arc<Snapshot>,
    pub(super) configurations: Rc<Configurations>,
    pub(super) addresses: Arc<ServerAddresses>,
    /// Every server there ever was, by name.
    known: Vec<(String, Weak<Gauge>)>,
    /// What would have been logged.
    pub log: Arc<Mutex<Vec<LogEvent>>>,
    /// Where clients connect to.
    pub client_addr: Addr,
    /// The same for clients of the proxy's own machine.
    pub local_addr: Addr,
    /// Passwords that somebody else is to check.
    pub login_checks: Arc<Mutex<Vec<Arc<LoginCheck>>>>,
    pub(crate) shared: Arc<Shared>,
    /// What all workers offer, and keep.
    pub(super) offer: Arc<Offer>,
    pub(super) server_addrs: Vec<Addr>,
    /// How many panics were planted.
    strikes: Arc<AtomicU64>,
}

impl Stage {
    /// A stage without clients.
    pub fn new(
        seed: u64,
        simulator: &Simulator,
        weather: &Weather,
        bug: Option<Planted>,
        dice: &mut Dice,
    ) -> Self {
        let net = SimNet::new(seed, weather.faults.clone());
        let board = blank_board(weather);
        let (servers, server_addrs) = servers(&net, weather, bug, dice, &board);
        let configurations = simulator.configurations();
        let snapshot = Arc::new(configurations.compile(&draft(weather), None));
        let log = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::<Shared>::default();
        let client_addr = Addr::Tcp("10.0.0.9:6033".parse().expect("an address"));
        let local_addr = Addr::Unix("/run/proxy.sock".into());
        let login_checks = Arc::<Mutex<Vec<_>>>::default();
        let addresses = server_addrs.iter().cloned().chain([nobody()]).map(Some).collect();
        let addresses = Arc::new(ServerAddresses::new(addresses));
        let strikes = Arc::new(AtomicU64::new(0));
        let room = weather.shares.and_then(|shares| shares.room);
        let offer = simulator.offer_with_room(room);
        let workers = (0..weather.workers).map(|_| {
            let mut outside = outside(&shared, &addresses, &log, dice.split());
            outside.check_login = keeping(&login_checks);
            let decider = Proxy::new(snapshot.clone(), offer.clone(), dice.throw(), [7; 32]);
            let mut worker = Worker::new(decider, outside, weather.backlog_max);
            worker.add_door(&client_addr);
            worker.add_door(&local_addr);
            let often = Arc::new(AtomicU64::new(weather.panics_per_million));
            if weather.panics_per_million > 0 {
                plant_panics(&mut worker, dice.split(), often.clone(), strikes.clone());
            }
            let crooked = Crooked::new(worker, bug, dice.split(), board.clone(), often);
            let mut worker = Loop::new(net.driver(), crooked, Options::default());
            worker.add_listener(net.listen(&client_addr));
            worker.add_listener(net.listen(&local_addr));
            worker
        });
        let mut workers: Vec<_> = workers.collect();
        // whoever begins has the limit of the configuration, which has no little ones
        room.into_iter().for_each(|bytes| offer.cache.set_limit(bytes));
        let mailboxes: Vec<_> = workers.iter().map(Loop::mailbox).collect();
        for (number, (worker, mailbox)) in workers.iter_mut().zip(&mailboxes).enumerate() {
            let _ = mailbox.post(Mail::Peers(mailboxes.clone(), number));
            let (service, io) = worker.parts_mut();
            service.start(io);
        }
        let mut stage = Self {
            net,
            workers,
            servers,
            board,
            snapshot: snapshot.clone(),
            configurations,
            addresses,
            known: Vec::new(),
            log,
            client_addr,
            local_addr,
            login_checks,
            shared,
            offer,
            server_addrs,
            strikes,
        };
        stage.know(&snapshot);
        stage
    }

    /// Remembers the servers of a configuration, for their permits.
    pub(super) fn know(&mut self, snapshot: &Snapshot) {
        self.known.retain(|(_, gauge)| gauge.strong_count() > 0);
        for server in snapshot.topology.servers() {
            let gauge = Arc::downgrade(&server.gauge);
            if !self.known.iter().any(|(_, known)| known.ptr_eq(&gauge)) {
                self.known.push((server.to_string(), gauge));
            }
        }
    }

    /// One step with these clients; false when nothing will ever happen again.
    pub fn step(&mut self, clients: &mut dyn SimTurn) -> bool {
        let mut loops: Vec<&mut dyn SimTurn> = vec![clients];
        loops.extend(self.workers.iter_mut().map(|worker| worker as &mut dyn SimTurn));
        loops.push(&mut self.servers);
        self.net.step(&mut loops)
    }

    /// The deciders of all workers.
    pub fn proxies(&self) -> impl Iterator<Item = &Proxy> {
        self.workers.iter().map(|worker| worker.service().worker().proxy())
    }

    /// What all workers counted.
    pub fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        self.proxies().for_each(|proxy| sum.merge(&proxy.stats));
        sum
    }

    /// What all sessions do, for a failure's text.
    pub(super) fn doings(&self) -> Vec<String> {
        let sessions = self.proxies().flat_map(|proxy| proxy.sessions());
        sessions.map(|(_, session)| format!("{:?}", session.doing())).collect()
    }
}

impl Trio {
    /// A run that has not begun.
    pub fn new(seed: u64, simulator: &Simulator, weather: &Weather, bug: Option<Planted>) -> Self {
        let mut dice = Dice::new(seed);
        let stage = Stage::new(seed, simulator, weather, bug, &mut dice);
        let (to, board) = (stage.client_addr.clone(), stage.board.clone());
        let service = Clients::new(to, weather.habits, &mut dice, board);
        let mut clients = Loop::new(stage.net.driver(), service, Options::default());
        let (service, io) = clients.parts_mut();
        service.start(io);
        stage.board.borrow_mut().progress = stage.net.now();
        let counted = Counters::default();
        let mut keeper = Keeper::default();
        keeper.adopt(Wanted::of(&stage.snapshot), 0);
        let (step, looked_after, moves) = (0, 0, Moves::default());
        let backlog_max = weather.backlog_max;
        let following = weather.shares.and_then(|shares| shares.following);
        let follower = following.map(|kind| follower(kind, &stage, seed, bug));
        Self {
            clients,
            stage,
            seed,
            step,
            looked_after,
            counted,
            dice,
            keeper,
            moves,
            backlog_max,
            room: weather.shares.and_then(|shares| shares.room),
            follower,
        }
    }

    /// Runs until all clients have gone for good.
    pub fn run(&mut self, weather: &Weather) -> Result<(), RunFailure> {
        let mut mail = Dice::new(self.seed ^ 0x6d61_696c);
        let mut flushes = Dice::new(self.seed ^ 0x666c_7573_6800);
        let mut outside = Dice::new(self.seed ^ 0x6f75_7473_6964_6500);
        let flushes_per_mille = weather.shares.map_or(0, |shares| shares.flushes_per_mille);
        while !self.clients.service().are_over() {
            self.step()?;
            if weather.blows_per_mille > 0 && self.dice.below(1000) < weather.blows_per_mille {
                self.blow();
            }
            if flushes_per_mille > 0 && flushes.below(1000) < flushes_per_mille {
                self.flush();
            }
            if let Some(following) = weather.shares.and_then(|shares| shares.following)
                && outside.below(1000) < following.writes_per_mille
            {
                self.write_directly(&mut outside);
            }
            let changes = weather.changes_per_mille;
            if changes > 0 && self.dice.below(1000) < changes {
                self.change(weather);
            }
            if weather.habits.wander {
                self.go_on_moving(weather.losses);
            }
            if weather.panics_per_million > 0 && mail.below(1000) < MAIL_PER_MILLE {
                self.mail(&mut mail);
            }
            let waited =
                self.stage.net.now().0.saturating_sub(self.stage.board.borrow().progress.0);
            if waited > PATIENCE.0 {
                let doings = self.clients.service().doings().join("; ");
                let theirs = self.stage.doings();
                let what = format!("nothing comes any more: {doings}; the proxy is {theirs:?}");
                return Err(self.failure(what));
            }
        }
        Ok(())
    }

    /// One step, and a look at what must hold after it.
    pub fn step(&mut self) -> Result<(), RunFailure> {
        let went_on = self.stage.step(&mut self.clients);
        self.step += 1;
        if let Some(follower) = &mut self.follower {
            let now = self.stage.net.now();
            let moves = self.stage.offer.cache.follows().moves();
            follower.note_snapshot(&self.stage.snapshot, moves, now);
            follower.run_until(now, &mut self.stage.board.borrow_mut());
        }
        if !went_on || self.step > STEPS_MAX {
            return Err(self.failure("it never ends, or nothing happens any more".into()));
        }
        self.check()
    }

    pub(super) fn failure(&self, what: String) -> RunFailure {
        RunFailure { seed: self.seed, step: self.step, what }
    }

    fn check(&mut self) -> Result<(), RunFailure> {
        if let Some(what) = self.stage.board.borrow().trouble.first() {
            return Err(self.failure(what.clone()));
        }
        let turns = self.stage.workers.iter().map(|worker| worker.stats().turns).sum();
        if turns == self.looked_after {
            return Ok(());
        }
        self.looked_after = turns;
        self.stage.proxies().for_each(Proxy::check_invariants);
        self.check_counters()?;
        let mut lanes: BTreeMap<*const Gauge, u32> = BTreeMap::new();
        let mut numbers: BTreeMap<usize, *const Gauge> = BTreeMap::new();
        for (_, lane) in self.stage.proxies().flat_map(|proxy| proxy.lanes()) {
            let gauge = Arc::as_ptr(&lane.server.gauge);
            *lanes.entry(gauge).or_default() += 1;
            if *numbers.entry(lane.server.index).or_insert(gauge) != gauge {
                return Err(self.failure(format!("{} has another's number", lane.server)));
            }
        }
        for (server, gauge) in &self.stage.known {
            let Some(gauge) = gauge.upgrade() else { continue };
            let live = lanes.get(&Arc::as_ptr(&gauge)).copied().unwrap_or(0);
            // it is a server of several hostgroups, each with permits of its own
            let most = live + self.given_to_no_one_yet(server);
            let used = gauge.used();
            if !(live..=most).contains(&used) {
                let what = format!("{server}: {used} permits for {most} backend connections");
                return Err(self.failure(what));
            }
        }
        self.check_accounts()?;
        self.check_room()?;
        let (panics, struck) =
            (self.stage.counters().panics, self.stage.strikes.load(Ordering::Relaxed));
        if panics != struck {
            return Err(self.failure(format!("{panics} panics, of which {struck} were planted")));
        }
        let log = self.stage.log.lock().expect("nobody panics with the log in hand");
        let broken = |event: &&LogEvent| match event {
            LogEvent::Broken { what, .. } => !what.starts_with("a panic"),
            LogEvent::ServerFault { .. } => true,
            _ => false,
        };
        match log.iter().find(broken) {
            Some(event) => Err(self.failure(event.to_string())),
            None => Ok(()),
        }
    }

    /// Nothing is counted down.
    fn check_counters(&mut self) -> Result<(), RunFailure> {
        let counted = self.stage.counters();
        let both = self.counted.pairs().zip(counted.pairs());
        if let Some(((name, before), (_, after))) = both.into_iter().find(|(a, b)| b.1 < a.1) {
            return Err(self.failure(format!("{name} was {before} and is {after}")));
        }
        self.counted = counted;
        Ok(())
    }

    /// What is kept, and on its way, takes no more than it may.
    fn check_room(&self) -> Result<(), RunFailure> {
        let Some(most) = self.room else { return Ok(()) };
        let figures = self.stage.offer.cache.figures();
        let bytes = figures.bytes + figures.underway;
        match bytes > most {
            true => Err(self.failure(format!("{bytes} bytes are kept, {most} may be"))),
            false => Ok(()),
        }
    }

    /// Accounts have as many permits as connections, and no more than they may, but for kills.
    fn check_accounts(&self) -> Result<(), RunFailure> {
        let mut live: BTreeMap<(usize, *const Backends), (u32, u32)> = BTreeMap::new();
        for (_, lane) in self.stage.proxies().flat_map(|proxy| proxy.lanes()) {
            let whose = (lane.server.index, Arc::as_ptr(&lane.account.backends));
            let (all, kills) = live.entry(whose).or_default();
            *all += 1;
            *kills += u32::from(matches!(lane.lease, Lease::Errand(_)));
        }
        let most = self.stage.board.borrow().limits.backends_of_account.unwrap_or(u32::MAX);
        for server in self.stage.snapshot.topology.servers() {
            let given = self.given_to_no_one_yet(&server.to_string());
            for account in self.stage.snapshot.users.iter() {
                let whose = (server.index, Arc::as_ptr(&account.backends));
                let (all, kills) = live.get(&whose).copied().unwrap_or_default();
                let open = account.backends.open(server.index);
                if all - kills > most || !(all..=all + given).contains(&open) {
                    let name = &account.name;
                    let what = format!("{server}: {open} permits of {name}, {all} connections");
                    return Err(self.failure(what));
                }
            }
        }
        Ok(())
    }

    /// Backend connections that one worker has let go and no other taken over.
    fn given_to_no_one_yet(&self, server: &str) -> u32 {
        let addr = self.stage.server_addrs.iter().find(|addr| addr.to_string() == *server);
        addr.map_or(0, |addr| self.stage.net.between_loops(addr) as u32)
    }

    /// Something breaks.
    fn blow(&mut self) {
        let addr = self.dice.pick(&self.stage.server_addrs).clone();
        match self.dice.below(8) {
            0 | 1 => {
                self.stage.net.kill(&addr);
            }
            2 => self.stage.net.stop(&addr),
            3 | 4 => {
                let addrs = self.stage.server_addrs.iter().enumerate();
                let comes = addrs.filter(|(at, _)| Some(*at) != self.moves.gone());
                comes.for_each(|(_, addr)| self.stage.net.start(addr));
            }
            5 => self.stage.net.stall(&addr, Micros::from_ms(self.dice.within(1..=3000))),
            6 => {
                self.stage.net.stop(&addr);
                self.stage.net.kill(&addr);
            }
            _ => {
                self.stage.net.kill(&self.stage.client_addr.clone());
            }
        }
        let mut board = self.stage.board.borrow_mut();
        board.count("blow");
        board.tell(|| format!("a blow on {addr}"));
    }

    /// Somebody writes to the server that takes writes, past the proxy.
    fn write_directly(&self, dice: &mut Dice) {
        let mut board = self.stage.board.borrow_mut();
        let (at, now) = (self.moves.primary(), self.stage.net.now());
        let logged_as = match dice.below(20) {
            0 => LoggedAs::Definition,
            1 | 2 => LoggedAs::Text,
            _ => LoggedAs::Rows,
        };
        let tables = dice.within(1..=15) as u8;
        if let Some(data) = &mut board.data {
            data.write((at, now), (tables, logged_as), None);
        }
        board.count("followed table written past the proxy");
    }

    /// Nothing is followed any more.
    pub(super) fn end_following(&mut self) {
        if let Some(mut follower) = self.follower.take() {
            follower.end();
        }
    }

    /// An administrator has the proxy forget all answers.
    fn flush(&self) {
        self.stage.offer.cache.flush();
        let mut board = self.stage.board.borrow_mut();
        board.flushed = Some(self.stage.net.now());
        board.count("flush");
        board.tell(|| "what is kept is flushed".into());
    }

    /// An administrator asks something of all workers.
    fn mail(&mut self, dice: &mut Dice) {
        let kind = dice.below(10);
        let mut board = self.stage.board.borrow_mut();
        for worker in &self.stage.workers {
            let mailbox = worker.mailbox();
            let posted = match kind {
                0 => mailbox.post(Mail::EndSessions).is_ok(),
                1 => mailbox.post(Mail::Pause).is_ok() && mailbox.post(Mail::Resume).is_ok(),
                _ => {
                    let parts = Parts {
                        digests: true,
                        commands: true,
                        reset: dice.percent(50),
                        ..Parts::NONE
                    };
                    mailbox.post(Mail::Collect { parts, tell: Box::new(drop) }).is_ok()
                }
            };
            assert!(posted, "the mailbox has room");
        }
        board.count(match kind {
            0 => END_OF_ALL_SESSIONS,
            1 => "pause",
            _ => "collect",
        });
    }

    /// From now on nothing breaks.
    pub(super) fn calm_down(&mut self) {
        self.stage.net.set_faults(io::Faults::none());
        self.stage.server_addrs.iter().for_each(|addr| self.stage.net.start(addr));
        self.stage.servers.service_mut().behave(Manners::default());
    }

    /// All servers close their connections.
    pub(super) fn kill_servers(&mut self) {
        for addr in &self.stage.server_addrs {
            self.stage.net.stop(addr);
            self.stage.net.kill(addr);
        }
    }
}

fn servers(
    net: &SimNet,
    weather: &Weather,
    bug: Option<Planted>,
    dice: &mut Dice,
    board: &SharedBoard,
) -> (Loop<SimDriver, Mysqlds>, Vec<Addr>) {
    let mut list = three(|| dice.percent(30));
    list.iter_mut().for_each(|server| {
        (server.bug, server.seats) = (bug, weather.limits.seats);
    });
    let count = list.len();
    let service = Mysqlds::new(list, weather.manners, dice.split(), board.clone());
    let mut servers = Loop::new(net.driver(), service, Options::default());
    let mut addrs = Vec::new();
    for at in 0..count {
        let addr = Addr::Tcp(([10, 0, 0, at as u8 + 1], 3306).into());
        servers.add_listener(net.listen(&addr));
        addrs.push(addr);
    }
    (servers, addrs)
}

/// Follows the logs of the servers, which have tables for that from now on.
fn follower(kind: SimFollowing, stage: &Stage, seed: u64, bug: Option<Planted>) -> SimFollower {
    let mut dice = Dice::new(seed ^ 0x6c6f_6773_0000_0000);
    let data = Followable::new(kind.delays, kind.in_order, kind.unseen_max_us(), dice.split());
    stage.board.borrow_mut().data = Some(data);
    SimFollower::new(kind, (&stage.snapshot, stage.offer.cache.follows()), dice, bug)
}

/// What is to be noted in a run of that kind.
fn blank_board(weather: &Weather) -> SharedBoard {
    let Weather { losses, limits, stored_code, .. } = *weather;
    // what gives way to others may be told no more, and something older be
    let has_room = weather.shares.is_some_and(|shares| shares.room.is_none());
    let in_turn = has_room && weather.panics_per_million == 0;
    let board = Board { losses, limits, stored_code, in_turn, ..Board::default() };
    Rc::new(RefCell::new(board))
}

/// Has calls of the proxy panic so often, of a million.
fn plant_panics(worker: &mut Worker, dice: Dice, often: Arc<AtomicU64>, strikes: Arc<AtomicU64>) {
    let dice = Mutex::new(dice);
    worker.plant_panics(Arc::new(move || {
        let mut dice = dice.lock().expect("nobody panics with the dice in hand");
        let struck = dice.below(1_000_000) < often.load(Ordering::Relaxed);
        strikes.fetch_add(u64::from(struck), Ordering::Relaxed);
        struck
    }));
}

/// Keeps the passwords that somebody else is to check, for a test to say what comes of them.
fn keeping(checks: &Arc<Mutex<Vec<Arc<LoginCheck>>>>) -> CheckLogin {
    let checks = checks.clone();
    Box::new(move |check| checks.lock().expect("nobody panics with them in hand").push(check))
}

fn outside(
    shared: &Arc<Shared>,
    addresses: &Arc<ServerAddresses>,
    log: &Arc<Mutex<Vec<LogEvent>>>,
    mut dice: Dice,
) -> Outside {
    let log = log.clone();
    Outside {
        connectors: Arc::default(),
        shared: shared.clone(),
        addresses: addresses.clone(),
        look_up: Box::new(|_| {}),
        check_login: Box::new(|_| {}),
        random: Box::new(move || dice.bytes20()),
        log: Box::new(move |event| {
            if let Ok(mut log) = log.lock() {
                log.push(event.clone());
            }
        }),
    }
}

/// Where the server is that is never there.
pub(super) fn nobody() -> Addr {
    Addr::Tcp(([10, 0, 0, 66], rules::NOBODY_PORT).into())
}
