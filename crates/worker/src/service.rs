//! What happens on the loop, told to the proxy; what the proxy orders, done at once.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::orders::End;
use engine::proxy::{Arrival, Proxy};
use io::{Addr, Driver, Edge, Failure, Listener, Micros, Service, Sock};

use crate::orders::{TICK, timer_end};
use crate::{Mail, Worker};

/// How often idle lanes are looked over.
const TICK_EVERY: Micros = Micros::from_secs(1);

/// How often a call is made that panics without being at any session or lane.
const ATTEMPTS_MAX: u32 = 3;

/// Panics that a simulation plants.
#[derive(Clone)]
pub(crate) struct Panics {
    /// Asked whether the call panics here.
    strikes: Arc<dyn Fn() -> bool + Send + Sync>,
    /// A call is made in whose middle it may panic.
    armed: Arc<AtomicBool>,
}

impl Panics {
    fn strike(&self) {
        if (self.strikes)() {
            resume_unwind(Box::new("planted"));
        }
    }
}

impl Worker {
    /// Sets off what happens without any event; once, before the loop runs.
    pub fn start<D: Driver>(&mut self, io: &mut Edge<D>) {
        io.set_timer(TICK, Micros(io.now().0 + TICK_EVERY.0));
        let vars = &self.proxy.snapshot().vars;
        io.keep_alive(vars.keepalive_s());
        io.limit_rate(vars.bytes_per_s_to_client);
    }

    fn at<D: Driver>(&mut self, io: &Edge<D>) {
        self.proxy.set_now(io.now().0);
    }

    /// Tells the proxy something about one end. A panic costs that end's session and no other.
    pub(crate) fn tell<R>(
        &mut self,
        end: End,
        otherwise: R,
        call: impl FnOnce(&mut Proxy) -> R,
    ) -> R {
        let checked = |proxy: &mut Proxy| {
            let result = call(proxy);
            proxy.check_end(end);
            result
        };
        self.attempt(checked).unwrap_or_else(|| {
            self.proxy.on_panic(end);
            self.see_through(Proxy::on_rest);
            otherwise
        })
    }

    /// Tells the proxy something that is about no end; a panic is counted.
    pub(crate) fn mention<R>(&mut self, call: impl FnOnce(&mut Proxy) -> R) -> Option<R> {
        let result = self.attempt(call);
        if result.is_none() {
            self.proxy.on_stray_panic();
            self.see_through(Proxy::on_rest);
        }
        result
    }

    /// Has the proxy do what it may do again where it left off. A panic costs the session or lane
    /// that it was at, and the call is made anew for all others. `None` when nothing of that kind
    /// was in its way, again and again.
    pub(crate) fn see_through<R>(&mut self, call: impl Fn(&mut Proxy) -> R) -> Option<R> {
        let mut attempts_left = ATTEMPTS_MAX;
        while attempts_left > 0 {
            if let Some(result) = self.attempt(&call) {
                return Some(result);
            }
            attempts_left -= u32::from(!self.proxy.on_stray_panic());
        }
        // what was done of it may have left something
        if self.attempt(Proxy::on_rest).is_none() {
            self.proxy.on_stray_panic();
        }
        None
    }

    /// Calls the proxy; `None` when the call panicked.
    fn attempt<R>(&mut self, call: impl FnOnce(&mut Proxy) -> R) -> Option<R> {
        self.arm(true);
        let (proxy, planted) = (&mut self.proxy, &self.panics);
        let attempt = AssertUnwindSafe(|| {
            let strike = || planted.iter().for_each(Panics::strike);
            strike();
            let result = call(proxy);
            strike();
            result
        });
        let result = catch_unwind(attempt).ok();
        self.arm(false);
        self.panicked |= result.is_none();
        result
    }

    /// For simulations: before and after each call of the proxy, this is asked whether it panics.
    /// In debug builds, in front of each order too that a call about an end gives.
    pub fn plant_panics(&mut self, strikes: Arc<dyn Fn() -> bool + Send + Sync>) {
        let planted = Panics { strikes, armed: Arc::default() };
        #[cfg(debug_assertions)]
        for orders in [&mut self.orders, &mut self.proxy.orders] {
            let planted = planted.clone();
            orders.trap = Some(Arc::new(move || {
                if planted.armed.load(Ordering::Relaxed) {
                    planted.strike();
                }
            }));
        }
        self.panics = Some(planted);
    }

    /// Whether planted panics strike in the middle of what is called now.
    fn arm(&self, armed: bool) {
        if let Some(planted) = &self.panics {
            planted.armed.store(armed, Ordering::Relaxed);
        }
    }
}

impl Service for Worker {
    type Mail = Mail;

    fn on_accepted<D: Driver>(
        &mut self,
        io: &mut Edge<D>,
        listener: Listener,
        sock: Sock,
        from: Addr,
    ) {
        self.at(io);
        let (client, client_port): (Arc<str>, _) = match &from {
            Addr::Tcp(addr) => (addr.ip().to_string().into(), addr.port()),
            Addr::Unix(_) => ("localhost".into(), 0),
        };
        let shared = &self.outside.shared;
        let door = self.doors.get(listener.0 as usize).map(|door| door.told.clone());
        let unix = matches!(from, Addr::Unix(_));
        let arrival = Arrival {
            failed_logins: if unix { 0 } else { shared.hosts.failures(&client) },
            client,
            client_port,
            secure: unix,
            can_have_tls: self.acceptor.is_some() && !unix,
            proxy: door.unwrap_or_default(),
            connection: shared.next_connection(),
            random: (self.outside.random)(),
            clients: shared.enter(),
        };
        // the socket must be known before the greeting is sent to it
        let connection = arrival.connection;
        match self.attempt(|proxy| proxy.on_accepted(arrival)) {
            Some(id) => self.bind(End::Client(id), sock),
            None => {
                self.proxy.on_panic_at_arrival(connection);
                self.see_through(Proxy::on_rest);
                self.outside.shared.leave();
                io.close(sock);
            }
        }
        self.obey(io, &[]);
    }

    fn on_connected<D: Driver>(
        &mut self,
        io: &mut Edge<D>,
        sock: Sock,
        result: Result<(), Failure>,
    ) {
        self.at(io);
        let Some(end) = self.end(sock) else { return };
        if result.is_err() {
            self.unbind(end, sock);
        }
        if let End::Lane(lane) = end {
            let result = result.map_err(|failure| failure.errno);
            self.tell(end, (), |proxy| proxy.on_dialed(lane, result));
        }
        self.obey(io, &[]);
    }

    fn on_bytes<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, bytes: &[u8]) -> usize {
        self.at(io);
        self.tell_secured(io, self.end(sock));
        let taken = match self.end(sock) {
            Some(end) => self.tell(end, bytes.len(), |proxy| match end {
                End::Client(id) => proxy.on_client_bytes(id, bytes),
                End::Lane(id) => proxy.on_lane_bytes(id, bytes),
            }),
            None => bytes.len(),
        };
        self.obey(io, bytes);
        taken
    }

    fn on_end<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock) -> bool {
        self.at(io);
        let Some(end @ End::Client(id)) = self.end(sock) else { return false };
        let stays = self.tell(end, true, |proxy| proxy.on_client_end(id));
        self.obey(io, &[]);
        stays
    }

    fn on_hung_up<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, is_gone: bool) {
        self.at(io);
        // what a server sent before it ended is of use
        let Some(end @ End::Client(id)) = self.end(sock) else { return };
        if is_gone {
            self.unbind(end, sock);
            io.close(sock);
            self.tell(end, (), |proxy| proxy.on_client_gone(id));
        } else {
            self.tell(end, (), |proxy| proxy.on_client_hung_up(id));
        }
        self.obey(io, &[]);
    }

    fn on_gone<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, why: Option<Failure>) {
        self.at(io);
        let Some(end) = self.end(sock) else { return };
        let is_told = self.tell_insecure(end);
        if let (Some(failure), End::Client(id)) = (why, end)
            && failure.is_deaf()
        {
            // it is told why, so that its socket is needed
            self.tell(end, (), |proxy| proxy.on_client_garbled(id));
            return self.obey(io, &[]);
        }
        self.unbind(end, sock);
        if is_told {
            return self.obey(io, &[]);
        }
        let errno = why.map_or(0, |failure| failure.errno);
        let unreadable = why.is_some_and(|failure| failure.is_unreadable());
        self.tell(end, (), |proxy| match end {
            End::Client(id) => {
                if unreadable {
                    proxy.on_client_unreadable(id);
                }
                proxy.on_client_gone(id);
            }
            End::Lane(id) if unreadable => proxy.on_lane_unreadable(id),
            End::Lane(id) => proxy.on_lane_gone(id, errno),
        });
        self.obey(io, &[]);
    }

    fn on_drained<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock) {
        self.at(io);
        let Some(end) = self.end(sock) else { return };
        if let Some(at) = self.congested.iter().position(|other| *other == end) {
            self.congested.swap_remove(at);
            self.tell(end, (), |proxy| proxy.on_drained(end));
            self.obey(io, &[]);
        }
    }

    fn on_timer<D: Driver>(&mut self, io: &mut Edge<D>, key: u64) {
        self.at(io);
        if key == TICK {
            self.mention(Proxy::on_tick);
            let shared = self.outside.shared.clone();
            self.mention(|proxy| proxy.on_overall(|new| shared.add(new)));
            io.set_timer(TICK, Micros(io.now().0 + TICK_EVERY.0));
        } else {
            let end = timer_end(key);
            self.tell(end, (), |proxy| proxy.on_deadline(end));
        }
        self.obey(io, &[]);
    }

    fn on_mail<D: Driver>(&mut self, io: &mut Edge<D>, mail: Mail) {
        self.at(io);
        self.open(io, mail);
        self.obey(io, &[]);
    }

    fn on_turn_end<D: Driver>(&mut self, io: &mut Edge<D>) {
        self.outside.shared.note_turn(io.stats().turn_us);
        while let Some(lane) = self.proxy.next_batch() {
            self.tell(End::Lane(lane), (), |proxy| proxy.send_batch(lane));
            self.obey(io, &[]);
        }
        if self.draining && self.proxy.session_count() == 0 {
            io.stop();
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::AtomicU32;

    use engine::orders::Order;
    use engine::proxy::Offer;
    use engine::snapshot::{Draft, Snapshot};

    use super::*;
    use crate::{Outside, ServerAddresses, Shared};

    pub(crate) fn worker() -> Worker {
        let snapshot = Snapshot::compile(&Draft::default()).expect("nothing is wrong in nothing");
        let key = wire::auth::rsa::ServerKey::generate().expect("a key can be made");
        let offer = Offer::new(b"8.0.11", wire::Caps::PROTOCOL_41, key);
        let outside = Outside {
            connectors: Arc::default(),
            shared: Arc::<Shared>::default(),
            addresses: Arc::new(ServerAddresses::default()),
            look_up: Box::new(|_| {}),
            check_login: Box::new(|_| {}),
            random: Box::new(|| [1; 20]),
            log: Box::new(|_| {}),
        };
        Worker::new(Proxy::new(Arc::new(snapshot), Arc::new(offer), 1, [0; 32]), outside, 1 << 16)
    }

    fn arrival(connection: u32) -> Arrival {
        Arrival {
            client: "127.0.0.1".into(),
            client_port: 5,
            secure: false,
            can_have_tls: false,
            proxy: Default::default(),
            connection: engine::ids::ConnectionId(connection),
            random: [7; 20],
            clients: 1,
            failed_logins: 0,
        }
    }

    #[test]
    fn a_panic_costs_its_own_session_and_nothing_that_was_ordered_for_others() {
        let mut worker = worker();
        let first = worker.proxy.on_accepted(arrival(1));
        let second = worker.proxy.on_accepted(arrival(2));
        worker.proxy.orders.clear();
        let taken = worker.tell(End::Client(first), 5, |proxy| {
            for id in [first, second] {
                proxy.orders.send(End::Client(id), |out| out.push(7));
            }
            panic!("planted")
        });
        assert_eq!(taken, 5);
        let left: Vec<_> = worker.proxy.sessions().map(|(id, _)| id).collect();
        assert_eq!(left, [second]);
        assert_eq!(worker.proxy.stats.panics, 1);
        let orders = &worker.proxy.orders;
        let told: Vec<_> = orders.list.iter().map(|order| format!("{order:?}")).collect();
        let sent = Order::Send { to: End::Client(second), range: 1..2 };
        let closed = Order::Close(End::Client(first));
        assert_eq!(told.first(), Some(&format!("{sent:?}")));
        assert_eq!(told.last(), Some(&format!("{closed:?}")));
        assert_eq!((told.len(), orders.made.get(1)), (3, Some(&7)), "{told:?}");
    }

    #[test]
    fn who_arrives_while_the_proxy_panics_is_nowhere() {
        let mut worker = worker();
        let asked = AtomicU32::new(0);
        worker.plant_panics(Arc::new(move || asked.fetch_add(1, Ordering::Relaxed) == 1));
        let arrived = worker.attempt(|proxy| proxy.on_accepted(arrival(1)));
        assert!(arrived.is_none());
        worker.proxy.on_panic_at_arrival(engine::ids::ConnectionId(1));
        assert_eq!((worker.proxy.session_count(), worker.proxy.stats.panics), (0, 1));
    }
}
