//! A lane: one backend connection, and the queue of commands whose replies have not ended.
//!
//! The lane, not the session, knows where a reply ends and whose it is: the owner at the head of
//! the queue. It does not know what a reply means to that owner, nor which lane a session gets.

use std::collections::VecDeque;
use std::sync::Arc;

use wire::result::{ReplyKind, ReplyTracker};
use wire::{Caps, Status};

use crate::backend::BackendLogin;
use crate::holds::Holds;
use crate::ids::{ClientStmtId, HostgroupId, LaneId, SessionId};
use crate::link::LinkState;
use crate::topology::ServerRef;
use crate::users::Account;

/// Who may put commands on a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lease {
    /// Being opened, on behalf of a session that waits, if it still does.
    Dialing(Option<SessionId>),
    /// In the pool.
    Idle,
    /// One session's until it checks the lane in.
    Exclusive(SessionId),
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
}

/// A command of the proxy's own that moves a lane to a session's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// `COM_INIT_DB`.
    Schema,
    /// `SET NAMES`.
    Charset,
    /// `SET autocommit`.
    Autocommit,
    /// `SET last_insert_id`.
    InsertId,
    /// `COM_STMT_PREPARE` of a statement that the session prepared on another lane.
    Prepare(ClientStmtId),
}

/// Whose reply it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// The client of a session.
    Session(SessionId),
    /// Nobody's but the proxy's: moving the lane for a session.
    Step(SessionId, Step),
    /// Nobody's: it is read to its end and thrown away.
    Nobody,
}

/// A command on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InFlight {
    /// Whose reply comes back.
    pub owner: Owner,
    /// Which shape the reply has.
    pub kind: ReplyKind,
}

/// A backend connection.
pub struct Lane {
    /// Its key.
    pub id: LaneId,
    /// Where it goes.
    pub server: ServerRef,
    /// Whose login it uses.
    pub account: Arc<Account>,
    /// Capability class it was opened for.
    pub class: Caps,
    /// What was negotiated.
    pub caps: Caps,
    /// The login, while it lasts.
    pub login: Option<Box<BackendLogin>>,
    /// What the connection has now, everything on its way included.
    pub state: LinkState,
    /// Status flags of the last reply that told them.
    pub status: Status,
    /// Who may use it.
    pub lease: Lease,
    /// The server's id of the connection.
    pub thread_id: u32,
    /// When it was opened, in microseconds.
    pub born_us: u64,
    /// When it was last checked in, in microseconds.
    pub used_us: u64,
    /// Errands under way to kill its query, which may come late and hit the next one.
    pub kills: u32,
    /// A kill was sent to it and no query of it was seen to be interrupted since.
    pub struck: bool,
    /// No session has used it.
    pub fresh: bool,
    /// It is closed when its session lets go of it.
    pub single_use: bool,
    /// A command's end is still with the client.
    pub partial: bool,
    queue: VecDeque<InFlight>,
    tracker: ReplyTracker,
}

impl Lane {
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
            account: login.account().clone(),
            class: login.class(),
            caps: Caps::NONE,
            state: login.state(),
            login: Some(Box::new(login)),
            status: Status::default(),
            lease,
            thread_id: 0,
            born_us: now_us,
            used_us: now_us,
            kills: 0,
            struck: false,
            fresh: true,
            single_use: false,
            partial: false,
            queue: VecDeque::with_capacity(4),
            tracker: ReplyTracker::new(ReplyKind::Simple, Caps::NONE),
        }
    }

    /// Puts a command in the queue. Its bytes must go out in the same order.
    pub fn enqueue(&mut self, owner: Owner, kind: ReplyKind) {
        debug_assert!(self.login.is_none(), "no command before the login is over");
        if kind == ReplyKind::None {
            return;
        }
        if self.queue.is_empty() {
            self.tracker = ReplyTracker::new(kind, self.caps);
        }
        self.queue.push_back(InFlight { owner, kind });
    }

    /// The command whose reply comes next, and what follows that reply.
    pub fn head(&mut self) -> Option<(InFlight, &mut ReplyTracker)> {
        let head = *self.queue.front()?;
        Some((head, &mut self.tracker))
    }

    /// Takes the head off: its reply has ended.
    pub fn pop(&mut self) {
        self.queue.pop_front();
        if let Some(next) = self.queue.front() {
            self.tracker = ReplyTracker::new(next.kind, self.caps);
        }
    }

    /// The sequence number with which an error may take the place of the rest of the reply at the
    /// head; `None` in the middle of a packet.
    pub fn error_seq(&self) -> Option<u8> {
        self.tracker.is_between_packets().then(|| self.tracker.last_seq().wrapping_add(1))
    }

    /// The sequence number of the last packet of the reply at the head.
    pub fn last_seq(&self) -> u8 {
        self.tracker.last_seq()
    }

    /// What the results before the last one said, of a reply that ended with an error.
    pub fn status_so_far(&self) -> Option<Status> {
        self.tracker.status_so_far()
    }

    /// Whether nothing is on its way, in either direction.
    pub fn is_quiet(&self) -> bool {
        self.queue.is_empty() && !self.partial
    }

    /// Whether it may be given to any session.
    pub fn is_idle(&self) -> bool {
        self.lease == Lease::Idle
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
            self.lease != Lease::Idle || !self.status.contains(Status::IN_TRANS),
            "I-LANE-3: an idle lane has no transaction open"
        );
    }
}
