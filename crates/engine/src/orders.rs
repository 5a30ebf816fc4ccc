//! What the engine asks of the world, as data, in the order in which it must happen.
//!
//! This module decides nothing. Adding an order is an architectural change: `worker` carries orders
//! out, and has one arm for each.

use core::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;

use cache::CachedReply;
pub use cache::Flight;
use wire::connect::Compression;

use crate::ids::{HostgroupId, LaneId, SessionId};
use crate::login_checks::LoginCheck;
use crate::report::LogEvent;
use crate::topology::ServerRef;
use crate::vars::LeastTls;

/// One side of the proxy: a socket as the engine names it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum End {
    /// The client of a session.
    Client(SessionId),
    /// A backend connection.
    Lane(LaneId),
}

/// One effect.
#[derive(Debug)]
pub enum Order {
    /// Bytes `range` of what was just received go to `to` as they are.
    Relay {
        /// Receiver.
        to: End,
        /// Range in the bytes of the call that gave this order.
        range: Range<usize>,
    },
    /// Bytes the engine made, `range` of [`Orders::made`], go to `to`.
    Send {
        /// Receiver.
        to: End,
        /// Range in [`Orders::made`].
        range: Range<usize>,
    },
    /// An answer from the query cache goes to `to`, from where it is kept.
    SendCached {
        /// Receiver.
        to: End,
        /// What it is told.
        answer: Arc<CachedReply>,
    },
    /// The command that a session keeps (`Proxy::kept`) goes to a lane.
    SendKept {
        /// Whose command.
        session: SessionId,
        /// Receiver.
        lane: LaneId,
    },
    /// The data that goes out in front of it (`Proxy::kept_data`) goes to a lane.
    SendData {
        /// Whose data.
        session: SessionId,
        /// Receiver.
        lane: LaneId,
    },
    /// Compresses what is sent on a socket behind what was ordered so far, and decompresses what
    /// arrives behind what was taken of the bytes of this call.
    Compress(End, Compression),
    /// Puts TLS on a client's socket, for everything behind what was taken of the bytes of this
    /// call, of that version at least. What comes of it is told by `Proxy::on_secured` or
    /// `Proxy::on_insecure`.
    Secure(End, LeastTls),
    /// The same for a lane's, towards its server; what comes of it is told by
    /// `Proxy::on_lane_secured` or `Proxy::on_lane_insecure`.
    SecureLane {
        /// Whose socket.
        lane: LaneId,
        /// Whose TLS it is to be like.
        server: ServerRef,
        /// The same for this account, by the name that the server knows.
        account: Arc<str>,
        /// The host that the server sent it to; `None` for its own.
        host: Option<Arc<str>>,
        /// The server may prove by the password that its certificate is its own.
        may_prove: bool,
    },
    /// Opens a socket to a server for a lane; the answer is `Proxy::on_dialed`.
    Dial {
        /// The lane that will be known by that socket.
        lane: LaneId,
        /// Where to.
        server: ServerRef,
        /// The address of the place that the server sent it to; `None` for its own.
        at: Option<SocketAddr>,
    },
    /// Looks up the address of a name; the answer is `Proxy::on_looked_up`.
    LookUp(Arc<str>),
    /// Stops reading from a socket.
    Pause(End),
    /// Reads again; bytes not taken so far are offered again.
    Resume(End),
    /// Offers the bytes not taken so far again.
    Redeliver(End),
    /// Calls `Proxy::on_sent_more` where the socket of a session holds what was not received yet.
    AskForMore(SessionId),
    /// Calls `Proxy::on_deadline` with this end at this time (µs); an earlier one may still fire.
    Deadline {
        /// Whose deadline.
        end: End,
        /// When, in microseconds.
        at: u64,
    },
    /// Gives a lane (`Proxy::take_parcel`) to another worker, which tells its proxy of it
    /// (`Proxy::on_given`). Where the socket cannot be given it is closed, and the worker told that
    /// it may dial (`Proxy::on_permit`).
    Give {
        /// What its socket is known by.
        lane: LaneId,
        /// The hostgroup of its server.
        hostgroup: HostgroupId,
        /// Who gets it.
        worker: usize,
    },
    /// Asks all other workers for a lane (`Proxy::on_want`).
    Want {
        /// The hostgroup that somebody waits for.
        hostgroup: HostgroupId,
        /// Where.
        worker: usize,
        /// Whose lane it has to be, where it matters.
        of: Option<Arc<str>>,
    },
    /// Tells another worker that a flight has landed which somebody waits for there
    /// (`Proxy::on_landed`).
    Landed {
        /// Which worker.
        worker: usize,
        /// What has landed.
        flight: Arc<Flight>,
    },
    /// Closes a socket: after what was sent to it is out for a client, at once for a lane.
    Close(End),
    /// Hands a request to the worker that owns a connection id.
    Kill(KillRequest),
    /// Asks how many logins from an address failed in a row: it is a session's client's, and was
    /// not known when that arrived. Answered by [`Proxy::on_failed_logins`].
    ///
    /// [`Proxy::on_failed_logins`]: crate::proxy::Proxy::on_failed_logins
    CountFailedLogins {
        /// The session.
        session: SessionId,
        /// The address.
        client: Arc<str>,
    },
    /// Has PAM or LDAP say whether a password is right. Answered by [`Proxy::on_login_checked`],
    /// or by nothing where nobody waits for it any more.
    ///
    /// [`Proxy::on_login_checked`]: crate::proxy::Proxy::on_login_checked
    CheckLogin(Arc<LoginCheck>),
    /// Remembers by a client's address how its login ended; asked for by `Arrival::failed_logins`
    /// and [`Self::CountFailedLogins`].
    LoginEnded {
        /// The address.
        client: Arc<str>,
        /// Whether it was refused.
        failed: bool,
        /// How many addresses are remembered.
        addresses_max: u32,
        /// After how many failures in a row its clients are refused; 0 for never.
        failures_max: u32,
    },
    /// Something worth a log line.
    Report(LogEvent),
}

/// A client's `KILL`, on its way to the worker whose session it names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KillRequest {
    /// Whose session, or sessions.
    pub whose: Whose,
    /// `true` for `KILL QUERY`, which leaves the session alive.
    pub query_only: bool,
    /// Only sessions of this user are touched; `None` is an administrator's, of any.
    pub user: Option<Vec<u8>>,
}

/// What a `KILL` names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Whose {
    /// One connection, by the id that its client was told.
    Connection(u32),
    /// All connections of a user.
    User(Vec<u8>),
}

/// The orders of one call, with the bytes that they send.
#[derive(Default)]
pub struct Orders {
    /// What is to be done, first to last.
    pub list: Vec<Order>,
    /// Bytes made by the engine, by range.
    pub made: Vec<u8>,
    /// How many bytes are to go to clients; whoever carries the orders out takes the number.
    pub client_bytes: u64,
    /// For simulations: called in front of each order, in the middle of whatever gives it.
    #[cfg(debug_assertions)]
    pub trap: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl Orders {
    /// Adds an order.
    pub fn push(&mut self, order: Order) {
        #[cfg(debug_assertions)]
        if let Some(trap) = &self.trap {
            trap();
        }
        self.list.push(order);
    }

    /// Sends what `write` appends.
    pub fn send(&mut self, to: End, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.made.len();
        write(&mut self.made);
        let range = start..self.made.len();
        if !range.is_empty() {
            self.count(to, range.len());
            self.push(Order::Send { to, range });
        }
    }

    /// Sends an answer from the query cache.
    pub(crate) fn send_cached(&mut self, to: End, answer: Arc<CachedReply>) {
        self.count(to, answer.reply.len());
        self.push(Order::SendCached { to, answer });
    }

    fn count(&mut self, to: End, bytes: usize) {
        if let End::Client(_) = to {
            self.client_bytes += bytes as u64;
        }
    }

    /// Relays a range of what was received, joined with the order before where it continues it.
    pub fn relay(&mut self, to: End, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        self.count(to, range.len());
        if let Some(Order::Relay { to: last, range: before }) = self.list.last_mut()
            && *last == to
            && before.end == range.start
        {
            before.end = range.end;
            return;
        }
        self.push(Order::Relay { to, range });
    }

    /// Tells a log line.
    pub fn report(&mut self, event: LogEvent) {
        self.push(Order::Report(event));
    }

    /// Forgets what was ordered for ends that go, but not that they go: of one that is out of the
    /// books already, nobody would say so again.
    pub fn drop_for(&mut self, goes: impl Fn(End) -> bool) {
        self.list.retain(|order| match order {
            Order::Relay { to: end, .. }
            | Order::Send { to: end, .. }
            | Order::SendCached { to: end, .. }
            | Order::Secure(end, _)
            | Order::Compress(end, _)
            | Order::Pause(end)
            | Order::Resume(end)
            | Order::Redeliver(end)
            | Order::Deadline { end, .. } => !goes(*end),
            Order::AskForMore(session) | Order::CountFailedLogins { session, .. } => {
                !goes(End::Client(*session))
            }
            Order::CheckLogin(check) => !goes(End::Client(check.ticket.session)),
            Order::SendKept { session, lane } | Order::SendData { session, lane } => {
                !goes(End::Client(*session)) && !goes(End::Lane(*lane))
            }
            Order::SecureLane { lane, .. }
            | Order::Dial { lane, .. }
            | Order::Give { lane, .. } => !goes(End::Lane(*lane)),
            Order::Close(_)
            | Order::Want { .. }
            | Order::Landed { .. }
            | Order::LookUp(_)
            | Order::Kill(_)
            | Order::LoginEnded { .. }
            | Order::Report(_) => true,
        });
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        /// What a turn hardly ever needs more of.
        const MADE_BYTES_KEPT: usize = 1 << 20;
        self.list.clear();
        self.made.clear();
        self.made.shrink_to(MADE_BYTES_KEPT);
    }
}
