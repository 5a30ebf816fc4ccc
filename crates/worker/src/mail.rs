//! What other threads may ask of a worker.

use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use engine::ids::HostgroupId;
use engine::login_checks::{CheckOutcome, CheckTicket};
use engine::orders::{End, Flight, KillRequest};
use engine::proxy::{Parcel, Proxy};
use engine::rules::RuleScratch;
use engine::snapshot::Snapshot;
use engine::stats::{Parts, Share};
use io::{Addr, Detached, Driver, Edge, Listener, Mailbox};

use crate::{ServerAddresses, Worker};

/// A message to a worker.
pub enum Mail {
    /// The mailboxes of all workers, and which of them is this one's.
    Peers(Vec<Mailbox<Mail>>, usize),
    /// A lane of another worker.
    Given {
        /// Its socket.
        socket: Detached,
        /// The lane.
        parcel: Parcel,
    },
    /// Another worker's lane to this hostgroup was closed for this one.
    Permit(HostgroupId),
    /// Another worker's client waits for a lane.
    Want {
        /// Of which hostgroup.
        hostgroup: HostgroupId,
        /// Which worker.
        worker: usize,
        /// Whose lane it has to be, where it matters.
        of: Option<Arc<str>>,
    },
    /// Another configuration is in force.
    Snapshot {
        /// The configuration, made to follow the one before.
        snapshot: Arc<Snapshot>,
        /// Where its servers are.
        addresses: Arc<ServerAddresses>,
        /// As [`Worker::new`] is told.
        backlog_max: usize,
        /// Is given what came out of force; must not block. Never called if panics that no session
        /// or lane was at kept the worker from taking over: it decides by the new configuration,
        /// and connections made before it may not follow.
        tell: Box<dyn FnOnce(Replaced) + Send>,
    },
    /// Clients that come from now on have their TLS from there, or can have none.
    Acceptor(Option<Arc<tls::Acceptor>>),
    /// Servers are elsewhere now.
    Addresses(Arc<ServerAddresses>),
    /// A name has this address, or none.
    LookedUp(Arc<str>, Option<IpAddr>),
    /// PAM or LDAP has said whether a password is right, or nobody could say.
    LoginChecked(CheckTicket, CheckOutcome),
    /// What somebody waits for has landed on another worker.
    Landed(Arc<Flight>),
    /// A client of some worker wants a connection killed.
    Kill(KillRequest),
    /// Accept clients here, too.
    Listen {
        /// The listening socket.
        socket: OwnedFd,
        /// Where it listens.
        on: Addr,
    },
    /// Accept no clients there any more; those that came from there stay.
    Unlisten(Addr),
    /// End sessions as soon as they have no transaction open; the worker goes on.
    Pause,
    /// Sessions may be idle again.
    Resume,
    /// End every session at once; the worker goes on.
    EndSessions,
    /// An administrator wants a connection killed.
    KillNow {
        /// Which.
        request: KillRequest,
        /// Is told whether there is such a connection here; must not block.
        tell: Box<dyn FnOnce(bool) + Send>,
    },
    /// Connections to servers that are open now serve nobody new.
    FlushConnections {
        /// Of that user; of all where there is none.
        user: Option<Arc<str>>,
        /// Is told how many they are; must not block.
        tell: Box<dyn FnOnce(u64) + Send>,
    },
    /// Accept nothing more; end when the last session has ended.
    Drain,
    /// End now.
    Stop,
    /// Tell what was counted.
    Collect {
        /// How much of it.
        parts: Parts,
        /// Is told; must not block. Never called after a panic.
        tell: Box<dyn FnOnce(Share) + Send>,
    },
}

/// What came out of force. Letting go of it may take long; no worker should.
pub struct Replaced {
    /// The configuration.
    pub snapshot: Arc<Snapshot>,
    /// What was remembered for its rules, if they changed.
    pub scratch: Option<RuleScratch>,
}

impl Worker {
    pub(crate) fn open<D: Driver>(&mut self, io: &mut Edge<D>, mail: Mail) {
        match mail {
            Mail::Peers(peers, number) => {
                self.proxy.on_peers(number, peers.len());
                self.peers = peers;
            }
            Mail::Given { socket, parcel } => {
                if let Some(sock) = io.attach(socket) {
                    match self.mention(|proxy| proxy.on_given(parcel)) {
                        Some(lane) => self.bind(End::Lane(lane), sock),
                        None => io.close(sock),
                    }
                }
            }
            Mail::Permit(hostgroup) => {
                self.mention(|proxy| proxy.on_permit(hostgroup));
            }
            Mail::Want { hostgroup, worker, of } => {
                self.mention(|proxy| proxy.on_want(hostgroup, worker, of.as_deref()));
            }
            Mail::Snapshot { snapshot, addresses, backlog_max, tell } => {
                self.outside.addresses = addresses;
                self.backlog_max = backlog_max;
                io.keep_alive(snapshot.vars.keepalive_s());
                io.limit_rate(snapshot.vars.bytes_per_s_to_client);
                let _ = self.take_over(&snapshot).map(tell);
            }
            Mail::Acceptor(acceptor) => self.secure_with(acceptor),
            Mail::Addresses(addresses) => self.outside.addresses = addresses,
            Mail::LookedUp(name, addr) => {
                self.mention(|proxy| proxy.on_looked_up(&name, addr));
            }
            Mail::LoginChecked(ticket, outcome) => self.login_checked(&ticket, outcome),
            Mail::Landed(flight) => drop(self.see_through(|proxy| proxy.on_landed(&flight))),
            Mail::Kill(request) => {
                self.mention(|proxy| proxy.on_kill(&request));
            }
            Mail::Listen { socket, on } => {
                if !self.draining && io.take_listener(socket).is_some() {
                    self.add_door(&on);
                }
            }
            Mail::Unlisten(on) => self.unlisten(io, &on),
            Mail::Pause => drop(self.see_through(Proxy::drain)),
            Mail::Resume if !self.draining => self.proxy.stop_draining(),
            Mail::Resume => {}
            Mail::EndSessions => drop(self.see_through(Proxy::close_all)),
            Mail::Drain => {
                self.draining = true;
                io.pause_accepting();
                self.see_through(Proxy::drain);
            }
            Mail::Stop => {
                io.pause_accepting();
                self.see_through(Proxy::close_all);
                io.stop();
            }
            Mail::Collect { parts, tell } => {
                if let Some(mut share) = self.mention(|proxy| proxy.share(parts)) {
                    self.say_where(io, &mut share);
                    tell(share);
                }
            }
            Mail::FlushConnections { user, tell } => tell(self.flush(user.as_deref())),
            Mail::KillNow { request, tell } => {
                tell(self.mention(|proxy| proxy.on_kill(&request)).unwrap_or(false));
            }
        }
    }

    fn login_checked(&mut self, ticket: &CheckTicket, outcome: CheckOutcome) {
        let end = End::Client(ticket.session);
        self.tell(end, (), |proxy| proxy.on_login_checked(ticket, outcome));
    }

    fn unlisten<D: Driver>(&mut self, io: &mut Edge<D>, on: &Addr) {
        for (at, door) in (0_u32..).zip(&mut self.doors) {
            if door.open.as_ref() == Some(on) {
                door.open = None;
                io.remove_listener(Listener(at));
            }
        }
    }

    fn flush(&mut self, user: Option<&str>) -> u64 {
        self.see_through(|proxy| proxy.flush_connections(user)).unwrap_or(0)
    }

    fn take_over(&mut self, next: &Arc<Snapshot>) -> Option<Replaced> {
        let snapshot = self.proxy.snapshot().clone();
        let scratch = self.see_through(|proxy| proxy.on_snapshot(&snapshot, next))?;
        Some(Replaced { snapshot, scratch })
    }

    /// After a panic, when all orders are carried out: whoever has no socket is given up, and
    /// sockets of which the proxy knows nothing are closed.
    pub(crate) fn abandon_orphans<D: Driver>(&mut self, io: &mut Edge<D>) {
        let unknown = |end: &End| !self.proxy.knows(*end);
        let unknown: Vec<_> = self.ends.iter().flatten().copied().filter(unknown).collect();
        unknown.into_iter().for_each(|end| self.close(io, end));
        let orphans: Vec<_> = self.proxy.ends().filter(|end| self.sock(*end).is_none()).collect();
        if !orphans.is_empty() {
            orphans.into_iter().for_each(|end| self.proxy.on_orphan(end));
            self.see_through(Proxy::on_rest);
        }
    }

    /// Adds what only sockets know.
    fn say_where<D: Driver>(&self, io: &Edge<D>, share: &mut Share) {
        let local = |lane| io.local(self.sock(End::Lane(lane))?);
        for row in &mut share.session_page.rows {
            row.local = match row.lane.as_ref().and_then(|used| local(used.lane)) {
                Some((_, Addr::Tcp(addr))) => Some((addr.ip().to_string(), addr.port())),
                _ => None,
            };
        }
        for row in &mut share.pool_page.rows {
            row.fd = local(row.lane).map(|(fd, _)| fd);
        }
    }
}
