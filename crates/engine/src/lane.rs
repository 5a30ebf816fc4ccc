//! A lane: one backend connection, and the queue of commands whose replies have not ended.
//!
//! The lane, not the session, knows where a reply ends and whose it is: the owner at the head of
//! the queue. It does not know what a reply means to that owner, nor which lane a session gets.
//!
//! A lane that is shared carries several sessions' commands. Commands at the front of its queue are
//! out; the commands behind are gathered while the server works, and go out together.

use core::net::SocketAddr;
use std::collections::VecDeque;
use std::sync::Arc;

use wire::result::{ReplyKind, ReplyTracker};
use wire::{Caps, Status};

use crate::backend::{BackendLogin, ServerTls};
use crate::holds::Holds;
use crate::ids::{HostgroupId, LaneId, SessionId};
use crate::link::{LinkState, ReadBy};
use crate::redirects::Via;
use crate::stats::Traffic;
use crate::stmt::OnLane;
use crate::topology::ServerRef;
use crate::users::Account;

pub mod depth;
pub mod history;
mod owed;
mod owner;
pub mod policy;
mod presented;

pub use owed::Owed;
pub use owner::{InFlight, Owner, Place, Step, Upkeep};
pub use presented::Presented;

/// Who may put commands on a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lease {
    /// Being opened, on behalf of a session that waits, if it still does.
    Dialing(Option<SessionId>),
    /// In the pool.
    Idle,
    /// One session's until it checks the lane in.
    Exclusive(SessionId),
    /// Of every session that has a command on it; never without a command.
    Shared,
    /// No session's any more: offered when the call is over in which that came to be.
    Freed,
    /// Nobody's: the proxy tests or resets it.
    Upkeep,
    /// The same, and that session's client waits until what the session left there is cleared away.
    Clearing(SessionId),
    /// One session's for good: bytes are relayed without looking.
    Relay(SessionId),
    /// Opened to kill a query of another connection, by the server's id; closed afterwards.
    Errand(u32),
}

/// A lane that a session keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// The hostgroup it was checked out for.
    pub hostgroup: HostgroupId,
    /// The lane.
    pub lane: LaneId,
    /// Why it is kept; nothing while a command runs on it.
    pub why: Holds,
    /// Those reasons that only code gives which nobody has read yet.
    pub presumed: Holds,
    /// The transaction that is open there was begun by a statement, data was changed in it, or it
    /// has a savepoint.
    pub own: bool,
}

/// Why a shared lane takes no further command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Closing {
    /// Somebody waits for a lane of his own.
    Yields,
    /// It is too old or one too many, its server is left, or it did not come to an end.
    Unfit,
}

/// What its server said of a connection when it was opened.
#[derive(Clone, Copy, Default)]
pub struct Greeted {
    /// The server's id of the connection.
    pub thread_id: u32,
    /// The server is a MariaDB, of a version in which an execution may name the statement prepared
    /// last without knowing its id.
    pub is_mariadb: bool,
}

/// When things happened to a connection, in microseconds.
#[derive(Clone, Copy)]
pub struct Times {
    /// It was opened.
    pub born_us: u64,
    /// It was last checked in.
    pub used_us: u64,
    /// It last answered a test.
    pub tested_us: u64,
    /// A byte came last; 0 when none did.
    pub heard_us: u64,
    /// The command at the head became the one that the server works on; while it is shared, or
    /// the proxy's own.
    pub turned_us: u64,
    /// Its timer fires; 0 when none is set.
    pub alarm_us: u64,
}

/// What sessions, and kills, have left on a connection.
#[derive(Clone, Copy, Default)]
pub struct Marks {
    /// A session has used it.
    pub used: bool,
    /// Errands under way to kill its query, which may come late and hit the next one.
    pub kills: u32,
    /// A kill was sent to it and no query of it was seen to be interrupted since.
    pub struck: bool,
    /// User variables were taken off it, which can be seen where one is read that is not set.
    pub traced: bool,
    /// Its server was asked to tell whenever anything changes in its session.
    pub tells_changes: bool,
    /// A `SET` failed on it of which a part may have been done, or a statement that may have run
    /// code: it is reset when its session lets go of it.
    pub unsure: bool,
    /// By which settings a MySQL has read the stored code that it keeps with the connection.
    pub code_read_by: Option<ReadBy>,
    /// Its server was made to show whether `autocommit` is on.
    pub reflagged: bool,
    /// It is closed when its session lets go of it.
    pub single_use: bool,
    /// Whose statement left warnings or an error there, which not every other one takes away.
    pub warned_by: Option<SessionId>,
    /// Its server ran an `init_connect` of its own when it began, which no reset repeats.
    pub init_connect: bool,
    /// Schemas were altered while a session kept it: it leaves its own when that lets go of it.
    pub schema_altered: bool,
    /// What its server has to do yet for the client that it is relayed to.
    pub owed: Owed,
}

/// What matters while a connection is shared.
#[derive(Clone, Copy, Default)]
pub struct WhileShared {
    /// Why no further command is put on it.
    pub closing: Option<Closing>,
    /// Of those who wait to share a lane, it fits nobody up to this ticket.
    pub passed: u64,
    /// The command at the head was out when the reply before it ended.
    pub follows: bool,
}

/// A backend connection.
pub struct Lane {
    /// Its key.
    pub id: LaneId,
    /// Where it goes.
    pub server: ServerRef,
    /// The place that its server sent it to, where it is not at the server's own address.
    pub via: Option<Via>,
    /// Whose connection its server takes it for; `None` for the proxy's own.
    pub presented: Option<Box<Presented>>,
    /// Whose login it uses.
    pub account: Arc<Account>,
    /// Capability class it was opened for.
    pub class: Caps,
    /// What was negotiated.
    pub caps: Caps,
    /// The collation that it logged in with.
    pub collation: u8,
    /// The login, while it lasts.
    pub login: Option<Box<BackendLogin>>,
    /// What is known of its TLS, once it is logged in; `None` where it has none.
    pub tls: Option<Box<ServerTls>>,
    /// What its server said of it.
    pub greeted: Greeted,
    /// What the connection has now, everything on its way included.
    pub state: LinkState,
    /// Status flags of the last reply that told them.
    pub status: Status,
    /// Who may use it.
    pub lease: Lease,
    /// When things happened to it.
    pub times: Times,
    /// What was left on it.
    pub marks: Marks,
    /// What matters while it is shared.
    pub shared: WhileShared,
    /// A command's end is still with the client.
    pub partial: bool,
    /// What it was used for.
    pub traffic: Traffic,
    /// What is prepared on it.
    pub stmts: OnLane,
    /// The answer to a question of the proxy's own, as far as it has come.
    pub answer: Vec<u8>,
    queue: VecDeque<InFlight>,
    /// How many commands of the queue are out; more are only gathered on a shared lane.
    sent: usize,
    /// What the commands of the queue will take the server together, in microseconds.
    cost_us: u64,
    tracker: ReplyTracker,
}

/// Where a connection is: the number of its server, and the place that this sent it to.
pub type Spot = (usize, Option<SocketAddr>);

impl Lane {
    /// Chooses the schema that it is in again before it is used.
    pub(crate) fn leave_schema(&mut self) {
        self.marks.schema_altered = false;
        if self.state.schema.is_some() {
            self.state.choose_schema_again();
        }
    }

    /// Where it is: two connections of one server are told apart by the server's ids only there.
    pub fn spot(&self) -> Spot {
        (self.server.index, self.via.as_ref().map(|via| via.addr))
    }

    /// A lane about to be dialed, in the state that `login` asks for.
    pub fn dialing(
        id: LaneId,
        server: ServerRef,
        login: BackendLogin,
        lease: Lease,
        now_us: u64,
    ) -> Self {
        Self {
            id,
            server,
            via: None,
            presented: None,
            account: login.account().clone(),
            class: login.class(),
            caps: Caps::NONE,
            state: login.state(),
            collation: login.collation(),
            login: Some(Box::new(login)),
            tls: None,
            greeted: Greeted::default(),
            status: Status::default(),
            lease,
            times: Times {
                born_us: now_us,
                used_us: now_us,
                tested_us: now_us,
                heard_us: 0,
                turned_us: now_us,
                alarm_us: 0,
            },
            marks: Marks::default(),
            shared: WhileShared::default(),
            partial: false,
            traffic: Traffic::default(),
            stmts: OnLane::default(),
            answer: Vec::new(),
            queue: VecDeque::with_capacity(4),
            sent: 0,
            cost_us: 0,
            tracker: ReplyTracker::new(ReplyKind::Simple, Caps::NONE),
        }
    }

    /// The same at the place that its server sent it to, if there is one, with what it tells the
    /// server of its client.
    #[must_use]
    pub fn sent_to(self, via: Option<Via>, presented: Option<Box<Presented>>) -> Self {
        Self { via, presented, ..self }
    }

    /// Puts a command in the queue. Its bytes must go out in the same order.
    #[inline]
    pub fn enqueue(&mut self, owner: Owner, kind: ReplyKind) {
        debug_assert!(self.login.is_none(), "no command before the login is over");
        debug_assert_eq!(self.sent, self.queue.len(), "nothing waits to be sent before it");
        self.append(InFlight { owner, kind, cost_us: 0 });
        self.sent += 1;
    }

    /// Puts a session's command in the queue of a shared lane, to be sent with others.
    pub fn gather(&mut self, owner: SessionId, kind: ReplyKind, cost_us: u64) {
        debug_assert!(self.login.is_none() && self.lease == Lease::Shared);
        self.append(InFlight { owner: Owner::Session(owner), kind, cost_us });
    }

    fn append(&mut self, command: InFlight) {
        if self.queue.is_empty() {
            self.tracker = self.tracker_of(command.kind);
        }
        self.cost_us += command.cost_us;
        self.queue.push_back(command);
    }

    /// The next command that was gathered, which goes out now.
    pub fn send_gathered(&mut self) -> Option<InFlight> {
        let next = *self.queue.get(self.sent)?;
        self.sent += 1;
        Some(next)
    }

    /// The command whose reply comes next, and what follows that reply.
    pub fn head(&mut self) -> Option<(InFlight, &mut ReplyTracker)> {
        let head = *self.queue.front().filter(|_| self.sent > 0)?;
        Some((head, &mut self.tracker))
    }

    /// Whose reply comes next.
    pub fn next_owner(&self) -> Option<Owner> {
        self.queue.front().map(|head| head.owner)
    }

    /// Whether a reply is on its way that is for this owner.
    pub fn is_owed(&self, owner: Owner) -> bool {
        self.queue.iter().any(|command| command.owner == owner)
    }

    /// While it is shared: it takes no further command; if it took none already, that is why.
    pub fn close_unfit(&mut self) {
        self.shared.closing.get_or_insert(Closing::Unfit);
    }

    /// Whether a question about what a session's command left comes next, or is being answered.
    pub fn is_asked(&self) -> bool {
        matches!(self.next_owner(), Some(Owner::Step(_, Step::Diagnostics)))
    }

    /// Bytes of memory that it holds.
    pub fn bytes(&self) -> usize {
        let login = self.login.as_ref().map_or(0, |_| size_of::<BackendLogin>());
        size_of::<Self>() + self.queue.capacity() * size_of::<InFlight>() + login
    }

    /// Takes the head off: its reply has ended.
    pub fn pop(&mut self) {
        self.take(0);
        self.sent = self.sent.saturating_sub(1);
    }

    fn take(&mut self, at: usize) {
        let Some(taken) = self.queue.remove(at) else { return };
        self.cost_us = self.cost_us.saturating_sub(taken.cost_us);
        if at == 0
            && let Some(next) = self.queue.front()
        {
            self.tracker = self.tracker_of(next.kind);
        }
    }

    /// What follows a reply. Where several sessions have theirs one behind the other, each is known
    /// by the number that it begins with.
    fn tracker_of(&self, kind: ReplyKind) -> ReplyTracker {
        let tracker = ReplyTracker::new(kind, self.caps);
        if self.lease == Lease::Shared { tracker.counted() } else { tracker }
    }

    /// A session gives up its command on a shared lane: what was sent is answered to nobody.
    /// Returns where the command was.
    pub fn disown(&mut self, session: SessionId) -> Option<Place> {
        let at = self.position_of(session)?;
        let place = self.place_at(at);
        if place == Place::Gathered {
            self.take(at);
        } else if let Some(command) = self.queue.get_mut(at) {
            command.owner = Owner::Nobody;
            // nobody will be told what it warned of
            self.marks.warned_by = Some(SessionId::NOBODY);
        }
        Some(place)
    }

    /// Where a session's command is.
    pub fn place_of(&self, session: SessionId) -> Option<Place> {
        self.position_of(session).map(|at| self.place_at(at))
    }

    fn position_of(&self, session: SessionId) -> Option<usize> {
        self.queue.iter().position(|command| command.owner == Owner::Session(session))
    }

    fn place_at(&self, at: usize) -> Place {
        match at {
            at if at >= self.sent => Place::Gathered,
            0 => Place::Head,
            _ => Place::Behind,
        }
    }

    /// The sessions that have commands on it, first come first, and whether each was sent.
    pub fn sharers(&self) -> impl Iterator<Item = (SessionId, bool)> + '_ {
        self.queue.iter().enumerate().filter_map(|(at, command)| match command.owner {
            Owner::Session(id) => Some((id, at < self.sent)),
            Owner::Step(..) | Owner::Upkeep(_) | Owner::Nobody => None,
        })
    }

    /// Commands on it.
    pub fn depth(&self) -> usize {
        self.queue.len()
    }

    /// Commands on it that are out.
    pub fn in_flight(&self) -> usize {
        self.sent
    }

    /// What its commands will take the server, in microseconds.
    pub fn cost_us(&self) -> u64 {
        self.cost_us
    }

    /// The sequence number with which an error may take the place of the rest of the reply at the
    /// head; `None` where none fits.
    pub fn error_seq(&self) -> Option<u8> {
        self.tracker.takes_error().then(|| self.tracker.last_seq().wrapping_add(1))
    }

    /// The sequence number of the last packet of the reply at the head.
    pub fn last_seq(&self) -> u8 {
        self.tracker.last_seq()
    }

    /// What the results before the last one said, of a reply that ended with an error.
    pub fn status_so_far(&self) -> Option<Status> {
        self.tracker.status_so_far()
    }

    /// The insert id that they told last; 0 for none.
    pub fn insert_id_so_far(&self) -> u64 {
        self.tracker.insert_id_so_far()
    }

    /// Whether nothing is on its way, in either direction.
    pub fn is_quiet(&self) -> bool {
        self.queue.is_empty() && !self.partial
    }

    /// Since when nothing has come for the command at the head; while it is shared, or the proxy's
    /// own.
    pub fn waits_since_us(&self) -> u64 {
        self.times.heard_us.max(self.times.turned_us)
    }

    /// How long ago it was opened.
    pub fn age_us(&self, now_us: u64) -> u64 {
        now_us.saturating_sub(self.times.born_us)
    }

    /// For how long nothing was heard of it while nobody used it.
    pub fn silent_us(&self, now_us: u64) -> u64 {
        now_us.saturating_sub(self.times.used_us.max(self.times.tested_us))
    }

    /// Whether it may be given to any session.
    pub fn is_idle(&self) -> bool {
        self.lease == Lease::Idle
    }

    /// Whether somebody else may have it: its server is in use, no transaction is open there, no
    /// kill can hit whoever has it next, and it was not opened for one session.
    pub fn may_be_passed_on(&self) -> bool {
        self.may_be_once_reset() && !self.status.contains(Status::IN_TRANS)
    }

    /// Its server reads stored code by these settings, if it has none yet: a MySQL keeps it so.
    /// Where it may keep some that it has read by others, the connection is for nobody until it is
    /// reset.
    #[cold]
    pub fn note_code_read(&mut self, read_by: ReadBy) {
        if self.greeted.is_mariadb {
            return;
        }
        let before = self.marks.code_read_by.replace(read_by);
        self.marks.unsure |= before.is_some_and(|before| before != read_by);
    }

    /// Whether its server keeps stored code that it has read by other settings than it has now.
    #[inline]
    pub fn keeps_other_code(&self) -> bool {
        self.marks.code_read_by.is_some() && self.has_changed_since_code()
    }

    #[cold]
    fn has_changed_since_code(&self) -> bool {
        self.marks.code_read_by != Some(self.state.read_by(false))
    }

    /// Whether somebody else may have it once a reset has ended what is open there.
    pub fn may_be_once_reset(&self) -> bool {
        let marks = &self.marks;
        !self.server.is_left() && marks.kills == 0 && !(marks.struck || marks.single_use)
    }

    /// Checks what must always hold.
    pub fn check_invariants(&self) {
        debug_assert!(
            self.login.is_none() || self.queue.is_empty(),
            "I-LANE-1: nothing is queued before the login is over"
        );
        debug_assert!(
            self.lease != Lease::Idle || self.is_quiet(),
            "I-LANE-2: an idle lane has nothing on its way"
        );
        debug_assert!(
            (self.sent == self.queue.len() || self.lease == Lease::Shared)
                && self.sent <= self.queue.len(),
            "I-LANE-4: only a shared lane gathers commands"
        );
        debug_assert!(
            self.lease != Lease::Shared || !self.queue.is_empty(),
            "I-LANE-5: a shared lane has commands"
        );
        debug_assert!(
            self.lease != Lease::Idle || !self.status.contains(Status::IN_TRANS),
            "I-LANE-3: an idle lane has no transaction open"
        );
        debug_assert!(
            !matches!(self.lease, Lease::Idle | Lease::Shared) || !self.keeps_other_code(),
            "I-LANE-6: for others, stored code was read by the settings that there are"
        );
    }
}
