//! Which clients may wait to log in, and when a password is judged.
//!
//! Clients before their login cost an attacker nothing. So an address has few of them, the one that
//! has waited longest gives way, and this machine keeps slots of its own. Passwords of an address
//! are judged one at a time, and the later, the more of them were wrong. A client that hangs up
//! before that has not learned whether its password was right, and takes no other's turn. Knows no
//! bytes and sends nothing.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;

use io::{Addr, Micros, Sock};

/// What is known of those who are not in.
#[derive(Default)]
pub(super) struct Entrance {
    /// Those who wait, in the order in which they came.
    waiting: VecDeque<(Sock, Origin)>,
    judged: HashMap<Origin, Judged>,
}

/// Where a client comes from, as far as clients are counted by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Origin {
    /// A Unix socket.
    Socket,
    /// An address; of IPv6 a network of 64 bits, which one owner has.
    Ip(IpAddr),
    /// The same, as a proxy in front tells it: never this machine.
    Told(IpAddr),
}

/// Whether a client that comes may wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Admission {
    /// It may.
    Granted,
    /// It may, and that one may not any more.
    InPlaceOf(Sock),
    /// It may not.
    Refused,
}

/// When a password is judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// At once.
    Now,
    /// When [`Entrance::next`] names its client.
    Later,
    /// Not: its time would be over before.
    Never,
}

/// The passwords of an origin.
#[derive(Default)]
struct Judged {
    /// How many were wrong, since one was right for the name that all of them were for.
    wrong: u32,
    /// A number of the name that all wrong ones were for; `None` when there were several.
    name: Option<u64>,
    /// When the next one may be judged.
    next_at: Micros,
    /// Clients whose passwords wait for that.
    queue: VecDeque<Sock>,
}

impl Origin {
    /// The origin of an address.
    pub(super) fn of(address: &Addr) -> Self {
        match address {
            Addr::Unix(_) => Self::Socket,
            Addr::Tcp(address) => Self::Ip(io::network_of(address.ip())),
        }
    }

    /// The origin of a client whose address a proxy in front tells.
    pub(super) fn told(from: IpAddr) -> Self {
        Self::Told(io::network_of(from))
    }

    /// Whether it is this machine.
    fn is_local(self) -> bool {
        match self {
            Self::Socket => true,
            Self::Ip(ip) => ip.is_loopback(),
            Self::Told(_) => false,
        }
    }
}

impl Entrance {
    /// A client comes where so many are already, those who wait among them.
    pub(super) fn admit(&mut self, sock: Sock, origin: Origin, clients: usize) -> Admission {
        let alike = self.waiting.iter().filter(|(_, other)| *other == origin).count();
        let room = if origin.is_local() { CLIENTS_MAX } else { CLIENTS_MAX - LOCAL_KEPT };
        let way = if alike >= WAITING_MAX {
            self.take_oldest(|other| other == origin)
        } else if clients < room {
            self.waiting.push_back((sock, origin));
            return Admission::Granted;
        } else {
            // this machine's give way to nobody else
            let of_others = self.take_oldest(|other| !other.is_local());
            of_others.or_else(|| self.take_oldest(|_| origin.is_local()))
        };
        let Some(other) = way else { return Admission::Refused };
        self.waiting.push_back((sock, origin));
        Admission::InPlaceOf(other)
    }

    /// A client waits no more: it is in, or gone.
    pub(super) fn leave(&mut self, sock: Sock, origin: Origin) {
        self.waiting.retain(|(other, _)| *other != sock);
        if let Some(judged) = self.judged.get_mut(&origin) {
            judged.queue.retain(|other| *other != sock);
        }
    }

    /// A password has come.
    pub(super) fn on_password(&mut self, sock: Sock, origin: Origin, now: Micros) -> Turn {
        self.forget_old(now);
        let Some(judged) = self.judged.get_mut(&origin) else { return Turn::Now };
        if judged.queue.is_empty() && judged.next_at <= now {
            return Turn::Now;
        }
        if judged.next_at.0.saturating_sub(now.0) + judged.queued_us() > LOGIN_LIMIT.0 {
            return Turn::Never;
        }
        judged.queue.push_back(sock);
        Turn::Later
    }

    /// Whose password of an origin is judged next, and when.
    pub(super) fn next(&self, origin: Origin) -> Option<(Sock, Micros)> {
        let judged = self.judged.get(&origin)?;
        Some((*judged.queue.front()?, judged.next_at))
    }

    /// The password of a name was wrong: how many there were since one was right.
    pub(super) fn fail(&mut self, origin: Origin, user: &str, now: Micros) -> u32 {
        let judged = self.judged.entry(origin).or_default();
        let name = number_of(user);
        judged.name = Some(name).filter(|name| judged.wrong == 0 || judged.name == Some(*name));
        judged.wrong += 1;
        judged.next_at = now + delay(judged.wrong);
        judged.wrong
    }

    /// The password of a name was right: wrong ones for it alone are forgiven. Those for others are
    /// not, or whoever has an account could guess at another one without waiting.
    pub(super) fn succeed(&mut self, origin: Origin, user: &str) {
        if let Some(judged) = self.judged.get_mut(&origin)
            && judged.name == Some(number_of(user))
        {
            (judged.wrong, judged.next_at) = (0, Micros(0));
        }
    }

    fn forget_old(&mut self, now: Micros) {
        self.judged.retain(|_, judged| !judged.is_over(now));
        if self.judged.len() >= ORIGINS_MAX {
            // whoever has so many addresses is slowed down by none; but memory has an end
            self.judged.retain(|_, judged| !judged.queue.is_empty());
        }
    }

    fn take_oldest(&mut self, fits: impl Fn(Origin) -> bool) -> Option<Sock> {
        let at = self.waiting.iter().position(|(_, origin)| fits(*origin))?;
        self.waiting.remove(at).map(|(sock, _)| sock)
    }
}

impl Judged {
    /// Time that the queue takes from when the next one is judged, if all are wrong.
    fn queued_us(&self) -> u64 {
        let after = (1..).take(self.queue.len()).map(|more| delay(self.wrong + more).0);
        after.sum()
    }

    fn is_over(&self, now: Micros) -> bool {
        self.queue.is_empty() && (self.wrong == 0 || now.0 > self.next_at.0 + FORGOTTEN.0)
    }
}

/// A number for a name, however long that is.
fn number_of(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

/// Time between the judging of a password and of the next one, after so many that were wrong.
fn delay(times: u32) -> Micros {
    let doubled = DELAY_MIN.0 << times.saturating_sub(1).min(DOUBLINGS_MAX);
    Micros(doubled.min(DELAY_MAX.0))
}

/// Time that a client has to log in.
pub(super) const LOGIN_LIMIT: Micros = Micros::from_secs(10);
/// Clients at a time.
const CLIENTS_MAX: usize = 1024;
/// Of these, slots that only this machine's may have.
const LOCAL_KEPT: usize = 64;
/// Clients of one origin that are not in.
const WAITING_MAX: usize = 32;
/// Origins whose wrong passwords are counted.
const ORIGINS_MAX: usize = 4096;
/// After the first wrong password, twice that after the next.
const DELAY_MIN: Micros = Micros::from_ms(50);
/// Never longer.
const DELAY_MAX: Micros = Micros::from_ms(5000);
/// Enough to come from the one to the other.
const DOUBLINGS_MAX: u32 = 10;
/// After so long without another, wrong passwords are forgotten.
const FORGOTTEN: Micros = Micros::from_ms(600_000);

#[cfg(test)]
mod tests;
