//! Which loop listens where in the simulated network, and which connections wait there.
//! Deliberately knows nothing of bytes.

use std::collections::VecDeque;

use super::wires::Wires;
use crate::addr::Addr;
use crate::micros::Micros;
use crate::sockets::Listener;

/// From how many addresses connections come.
const HOSTS: usize = 3;

/// A place where somebody listens.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) owner: usize,
    pub(super) listener: Option<Listener>,
    pub(super) on: bool,
    pub(super) addr: Addr,
    pub(super) queue: VecDeque<(Micros, usize)>,
}

impl Wires {
    pub(super) fn listen(&mut self, addr: &Addr) -> usize {
        let id = self.fresh();
        let place = Place {
            owner: usize::MAX,
            listener: None,
            on: false,
            addr: addr.clone(),
            queue: VecDeque::new(),
        };
        self.places.insert(id, place);
        id
    }

    pub(super) fn own_place(&mut self, id: usize, owner: usize, listener: Listener) {
        if let Some(place) = self.places.get_mut(&id) {
            place.owner = owner;
            place.listener = Some(listener);
        }
        self.touch_place(id);
    }

    pub(super) fn set_accepting(&mut self, id: usize, on: bool) {
        if let Some(place) = self.places.get_mut(&id) {
            place.on = on;
        }
        self.touch_place(id);
    }

    pub(super) fn close_place(&mut self, id: usize) {
        self.touch_place(id);
        if let Some(place) = self.places.remove(&id) {
            for (_, end) in place.queue {
                self.close(end);
            }
        }
    }

    pub(super) fn set_stopped(&mut self, addr: &Addr, stopped: bool) {
        self.stopped.retain(|at| at != addr);
        if stopped {
            self.stopped.push(addr.clone());
        }
    }

    pub(super) fn accept(&mut self, id: usize) -> Result<(usize, Addr), i32> {
        let now = self.now;
        self.touch_place(id);
        let Some(place) = self.places.get_mut(&id) else { return Err(libc::EBADF) };
        if place.queue.front().is_none_or(|&(at, _)| at > now) {
            return Err(libc::EAGAIN);
        }
        let Some((_, end)) = place.queue.pop_front() else { return Err(libc::EAGAIN) };
        let from = match &place.addr {
            Addr::Tcp(_) => {
                // of two numbers for each connection
                let host = 1 + u8::try_from(end / 2 % HOSTS).unwrap_or(0);
                let port = 1024 + u16::try_from(end % 60_000).unwrap_or(0);
                Addr::Tcp(std::net::SocketAddr::from(([127, 0, 0, host], port)))
            }
            Addr::Unix(_) => Addr::Unix(std::path::PathBuf::new()),
        };
        Ok((end, from))
    }
}
