//! One arm for each order of the engine.
//!
//! Bytes that go to the same socket are sent by one system call. Few bytes wait for the end of the
//! turn, so that the receivers run when the worker has nothing left to do.

use std::sync::Arc;

use engine::ids::{HostgroupId, LaneId, SessionId};
use engine::orders::{End, Order};
use engine::report::LogEvent;
use engine::slab::Key;
use engine::topology::NAME_UNKNOWN;
use io::{Addr, Driver, Edge, Micros, Sock};

use crate::{Mail, Worker};

/// Most pieces that one send is gathered from.
const PARTS: usize = 16;

/// The key of the timer that fires once a second.
pub(crate) const TICK: u64 = u64::MAX;

/// The timer key of an end.
pub(crate) fn timer_key(end: End) -> u64 {
    let (kind, slot, generation) = match end {
        End::Client(id) => (0, id.slot(), id.generation()),
        End::Lane(id) => (1, id.slot(), id.generation()),
    };
    kind << 63 | u64::from(slot & 0x7fff_ffff) << 32 | u64::from(generation)
}

/// The end of a timer key.
pub(crate) fn timer_end(key: u64) -> End {
    let slot = (key >> 32) as u32 & 0x7fff_ffff;
    let generation = key as u32;
    match key >> 63 {
        0 => End::Client(Key::new(slot, generation)),
        _ => End::Lane(Key::new(slot, generation)),
    }
}

impl Worker {
    /// Carries out what the proxy has ordered; `data` is what was received in the call that led
    /// to it.
    pub(crate) fn obey<D: Driver>(&mut self, io: &mut Edge<D>, data: &[u8]) {
        while !self.proxy.orders.list.is_empty() || self.panicked {
            let mut orders = std::mem::take(&mut self.orders);
            std::mem::swap(&mut orders, &mut self.proxy.orders);
            self.proxy.stats.client_bytes_sent += std::mem::take(&mut orders.client_bytes);
            let mut at = 0;
            while at < orders.list.len() {
                at = self.carry_out(io, &mut orders, at, data);
            }
            orders.clear();
            self.orders = orders;
            if self.proxy.orders.list.is_empty() && std::mem::take(&mut self.panicked) {
                self.abandon_orphans(io);
            }
        }
    }

    /// Carries out the order at `at`, and orders behind it that go in the same send. Returns where
    /// to go on.
    fn carry_out<D: Driver>(
        &mut self,
        io: &mut Edge<D>,
        orders: &mut engine::orders::Orders,
        at: usize,
        data: &[u8],
    ) -> usize {
        if let Some(end) = receiver(&orders.list[at]) {
            return self.send(io, orders, at, end, data);
        }
        match &orders.list[at] {
            Order::Dial { lane, server, at } => {
                let (lane, server) = (*lane, server.clone());
                self.dial(io, lane, &server, at.map(Addr::Tcp).as_ref());
            }
            Order::Secure(end, least) => self.secure(io, *end, *least),
            Order::Compress(end, compression) => self.compress(io, *end, *compression),
            Order::SecureLane { lane, server, account, host, may_prove } => {
                let host = host.as_deref().unwrap_or(&server.hostname);
                self.secure_lane(io, *lane, (server, account), host, *may_prove);
            }
            Order::LookUp(name) => (self.outside.look_up)(name),
            Order::CheckLogin(check) => (self.outside.check_login)(check.clone()),
            Order::Pause(end) => self.sock(*end).into_iter().for_each(|sock| io.pause(sock)),
            Order::Resume(end) => self.sock(*end).into_iter().for_each(|sock| io.resume(sock)),
            Order::Redeliver(end) => self.sock(*end).into_iter().for_each(|it| io.redeliver(it)),
            Order::AskForMore(session) => {
                let (id, end) = (*session, End::Client(*session));
                if self.sock(end).is_some_and(|sock| io.has_unread(sock)) {
                    self.tell(end, (), |proxy| proxy.on_sent_more(id));
                }
            }
            Order::Deadline { end, at } => io.set_timer(timer_key(*end), Micros(*at)),
            Order::Close(end) => self.close(io, *end),
            Order::Give { lane, hostgroup, worker } => self.give(io, *lane, *hostgroup, *worker),
            Order::Want { .. } | Order::Landed { .. } | Order::Kill(_) => {
                self.tell_workers(&orders.list[at]);
            }
            Order::CountFailedLogins { session, client } => {
                self.count_failed_logins(*session, client)
            }
            Order::LoginEnded { client, failed: false, .. } => {
                self.outside.shared.hosts.forget(client);
            }
            Order::LoginEnded { client, addresses_max, failures_max, .. } => {
                let now_us = io.now().0;
                self.note_failed_login(client, now_us, (*addresses_max, *failures_max));
            }
            Order::Report(event) => (self.outside.log)(event),
            Order::Relay { .. }
            | Order::Send { .. }
            | Order::SendCached { .. }
            | Order::SendKept { .. }
            | Order::SendData { .. } => {}
        }
        at + 1
    }

    /// Tells other workers something. A full mailbox loses it, as a network would.
    fn tell_workers(&self, order: &Order) {
        let own = self.proxy.number();
        for (number, other) in self.peers.iter().enumerate() {
            let mail = match order {
                // whoever waits asks again
                Order::Want { hostgroup, worker, of } => {
                    let (hostgroup, worker, of) = (*hostgroup, *worker, of.clone());
                    Mail::Want { hostgroup, worker, of }
                }
                // whoever waits looks when its time is over
                Order::Landed { worker, flight } if *worker == number => {
                    Mail::Landed(flight.clone())
                }
                // this one has looked among its own, and the client can repeat it
                Order::Kill(request) if number != own => Mail::Kill(request.clone()),
                _ => continue,
            };
            let _ = other.post(mail);
        }
    }

    /// Sends everything from `at` on that goes to `end`, in one piece.
    fn send<D: Driver>(
        &mut self,
        io: &mut Edge<D>,
        orders: &engine::orders::Orders,
        at: usize,
        end: End,
        data: &[u8],
    ) -> usize {
        let mut parts: [&[u8]; PARTS] = [&[]; PARTS];
        let mut count = 0;
        let same = |order: &&Order| receiver(order) == Some(end);
        for (part, order) in parts.iter_mut().zip(orders.list[at..].iter().take_while(same)) {
            *part = match order {
                Order::Relay { range, .. } => &data[range.clone()],
                Order::Send { range, .. } => &orders.made[range.clone()],
                Order::SendCached { answer, .. } => &answer.reply,
                Order::SendKept { session, .. } => self.proxy.kept(*session),
                Order::SendData { session, .. } => self.proxy.kept_data(*session),
                _ => &[],
            };
            count += 1;
        }
        if let Some(sock) = self.sock(end) {
            let backlog = match end {
                End::Client(_) => io.queue(sock, &parts[..count]),
                End::Lane(_) => io.send(sock, &parts[..count]),
            };
            if backlog > self.backlog_max && !self.congested.contains(&end) {
                self.congested.push(end);
                self.tell(end, (), |proxy| proxy.on_congested(end));
            }
        }
        at + count
    }

    fn dial<D: Driver>(
        &mut self,
        io: &mut Edge<D>,
        lane: LaneId,
        server: &engine::topology::Server,
        at: Option<&Addr>,
    ) {
        let Some(addr) = at.or_else(|| self.outside.addresses.find(server)) else {
            return self.not_dialed(lane, NAME_UNKNOWN.cast_signed());
        };
        match io.connect(addr) {
            Ok(sock) => self.bind(End::Lane(lane), sock),
            Err(failure) => self.not_dialed(lane, failure.errno),
        }
    }

    /// Tells how many logins failed from an address that a proxy in front has told.
    fn count_failed_logins(&mut self, id: SessionId, client: &str) {
        let times = self.outside.shared.hosts.failures(client);
        self.tell(End::Client(id), (), |proxy| proxy.on_failed_logins(id, times));
    }

    /// Remembers that a login from an address failed, and logs when it is one too many.
    fn note_failed_login(&mut self, client: &Arc<str>, now_us: u64, (addresses, most): (u32, u32)) {
        let failures = self.outside.shared.hosts.note_error(client, now_us, addresses as usize);
        if failures == most && self.proxy.admits_client_line() {
            let client = client.to_string();
            (self.outside.log)(&LogEvent::HostRefused { client, failures });
        }
    }

    fn not_dialed(&mut self, lane: LaneId, errno: i32) {
        self.tell(End::Lane(lane), (), |proxy| proxy.on_dialed(lane, Err(errno)));
    }

    pub(crate) fn close<D: Driver>(&mut self, io: &mut Edge<D>, end: End) {
        let Some(sock) = self.sock(end) else { return };
        self.unbind(end, sock);
        match end {
            End::Client(_) => io.close_drained(sock),
            End::Lane(_) => io.close(sock),
        }
    }

    fn give<D: Driver>(
        &mut self,
        io: &mut Edge<D>,
        lane: LaneId,
        hostgroup: HostgroupId,
        worker: usize,
    ) {
        let Some(parcel) = self.proxy.take_parcel(lane) else { return };
        let end = End::Lane(lane);
        let Some(sock) = self.sock(end) else { return };
        self.unbind(end, sock);
        let mail = match io.detach(sock) {
            Some(socket) => Mail::Given { socket, parcel },
            None => {
                drop(parcel);
                Mail::Permit(hostgroup)
            }
        };
        if let Some(other) = self.peers.get(worker) {
            // a full mailbox closes the lane and frees its permit; whoever waits looks again
            let _ = other.post(mail);
        }
    }

    pub(crate) fn sock(&self, end: End) -> Option<Sock> {
        let (table, slot) = match end {
            End::Client(id) => (&self.clients, id.slot()),
            End::Lane(id) => (&self.lanes, id.slot()),
        };
        let sock = (*table.get(slot as usize)?)?;
        (self.ends.get(sock.index()).copied().flatten() == Some(end)).then_some(sock)
    }

    /// What a socket is.
    pub(crate) fn end(&self, sock: Sock) -> Option<End> {
        let end = self.ends.get(sock.index()).copied().flatten()?;
        (self.sock(end) == Some(sock)).then_some(end)
    }

    pub(crate) fn bind(&mut self, end: End, sock: Sock) {
        put(&mut self.ends, sock.index(), end);
        match end {
            End::Client(id) => put(&mut self.clients, id.slot() as usize, sock),
            End::Lane(id) => put(&mut self.lanes, id.slot() as usize, sock),
        }
    }

    /// A socket is nobody's any more.
    pub(crate) fn unbind(&mut self, end: End, sock: Sock) {
        if let Some(place) = self.ends.get_mut(sock.index()) {
            *place = None;
        }
        self.congested.retain(|other| *other != end);
        self.securing.remove(&end);
        let (table, slot) = match end {
            End::Client(id) => {
                self.outside.shared.leave();
                (&mut self.clients, id.slot())
            }
            End::Lane(id) => (&mut self.lanes, id.slot()),
        };
        if let Some(place) = table.get_mut(slot as usize) {
            *place = None;
        }
    }
}

fn put<T: Clone>(table: &mut Vec<Option<T>>, at: usize, value: T) {
    if table.len() <= at {
        table.resize(at + 1, None);
    }
    table[at] = Some(value);
}

/// The end that gets bytes by an order.
fn receiver(order: &Order) -> Option<End> {
    match order {
        Order::Relay { to, .. } | Order::Send { to, .. } | Order::SendCached { to, .. } => {
            Some(*to)
        }
        Order::SendKept { lane, .. } | Order::SendData { lane, .. } => Some(End::Lane(*lane)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_key_names_one_end_and_never_the_tick() {
        for end in [
            End::Client(Key::new(0, 0)),
            End::Client(Key::new(7, u32::MAX)),
            End::Lane(Key::new(0, 0)),
            End::Lane(Key::new(0x7fff_fffe, 3)),
        ] {
            assert_eq!(timer_end(timer_key(end)), end);
            assert_ne!(timer_key(end), TICK);
        }
    }
}
