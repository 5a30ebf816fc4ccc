//! What happens on the loop, told to the proxy; what the proxy orders, done at once.

use std::sync::Arc;

use engine::orders::End;
use engine::proxy::Arrival;
use io::{Addr, Driver, Edge, Failure, Listener, Micros, Service, Sock};

use crate::orders::{TICK, timer_end};
use crate::{Mail, Worker};

/// How often idle lanes are looked over.
const TICK_EVERY: Micros = Micros::from_secs(1);

impl Worker {
    /// Sets off what happens without any event; once, before the loop runs.
    pub fn start<D: Driver>(&mut self, io: &mut Edge<D>) {
        io.set_timer(TICK, Micros(io.now().0 + TICK_EVERY.0));
    }

    fn at<D: Driver>(&mut self, io: &Edge<D>) {
        self.proxy.set_now(io.now().0);
    }
}

impl Service for Worker {
    type Mail = Mail;

    fn on_accepted<D: Driver>(
        &mut self,
        io: &mut Edge<D>,
        _listener: Listener,
        sock: Sock,
        from: Addr,
    ) {
        self.at(io);
        let (client, local): (Arc<str>, _) = match from {
            Addr::Tcp(addr) => (addr.ip().to_string().into(), false),
            Addr::Unix(_) => ("localhost".into(), true),
        };
        let shared = &self.outside.shared;
        let arrival = Arrival {
            client,
            local,
            connection: shared.next_connection(),
            random: (self.outside.random)(),
            admitted: shared.admit(),
        };
        // the socket must be known before the greeting is sent to it
        let id = self.proxy.on_accepted(arrival);
        self.bind(End::Client(id), sock);
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
            self.proxy.on_dialed(lane, result.map_err(|failure| failure.errno));
        }
        self.obey(io, &[]);
    }

    fn on_bytes<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, bytes: &[u8]) -> usize {
        self.at(io);
        let taken = match self.end(sock) {
            Some(End::Client(id)) => self.proxy.on_client_bytes(id, bytes),
            Some(End::Lane(id)) => self.proxy.on_lane_bytes(id, bytes),
            None => bytes.len(),
        };
        self.obey(io, bytes);
        taken
    }

    fn on_gone<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, why: Option<Failure>) {
        self.at(io);
        let Some(end) = self.end(sock) else { return };
        self.unbind(end, sock);
        match end {
            End::Client(id) => self.proxy.on_client_gone(id),
            End::Lane(id) => {
                self.proxy.on_lane_gone(id, why.map_or(0, |failure| failure.errno));
            }
        }
        self.obey(io, &[]);
    }

    fn on_drained<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock) {
        self.at(io);
        let Some(end) = self.end(sock) else { return };
        if let Some(at) = self.congested.iter().position(|other| *other == end) {
            self.congested.swap_remove(at);
            self.proxy.on_drained(end);
            self.obey(io, &[]);
        }
    }

    fn on_timer<D: Driver>(&mut self, io: &mut Edge<D>, key: u64) {
        self.at(io);
        if key == TICK {
            self.proxy.on_tick();
            io.set_timer(TICK, Micros(io.now().0 + TICK_EVERY.0));
        } else {
            self.proxy.on_deadline(timer_end(key));
        }
        self.obey(io, &[]);
    }

    fn on_mail<D: Driver>(&mut self, io: &mut Edge<D>, mail: Mail) {
        self.at(io);
        self.open(io, mail);
        self.obey(io, &[]);
    }

    fn on_turn_end<D: Driver>(&mut self, io: &mut Edge<D>) {
        if self.draining && self.proxy.session_count() == 0 {
            io.stop();
        }
    }
}
