//! How often passwords may be guessed. Wrong passwords are counted by the address that they come
//! from and the name that they are for. Beyond some of them, each further try waits before it is
//! looked at.
//!
//! A try takes its place before it is judged, and gives it back when it was right. So a client that
//! hangs up early, or sends many tries at once, learns nothing sooner. Right passwords cost
//! nothing. An address is never shut out: another name from there has places of its own. A client
//! with the right password for the same name competes for places with the guesses. A name counts
//! whether it exists or not, or the wait would tell.
//!
//! All workers share one table of fixed size. It has no addresses in it: what two of them happen
//! to share is a place that a secret chooses.

use core::net::Ipv6Addr;
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use std::sync::Arc;

use wire::auth::native::double_sha1;

mod proofs;

pub use proofs::Proof;
use proofs::UnderWay;

/// The places for guesses of all clients.
pub struct Guesses {
    /// By place: until when (µs) wrong passwords count, each for as long as one takes.
    owed_until_us: Box<[AtomicU64]>,
    /// What chooses places: it has taken in the secret, and costs less than a digest.
    places: DefaultHasher,
    secret: [u8; 32],
    /// Passwords that servers are asked about.
    under_way: Arc<UnderWay>,
}

/// Whose guesses are counted together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guesser(usize);

/// How fast wrong passwords may come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GuessLimits {
    /// That are judged at once; 0 sets no limit.
    pub at_once: u32,
    /// How long one counts, in microseconds: beyond the first ones, one is judged in that time.
    pub each_us: u64,
}

impl GuessLimits {
    /// The limits on passwords that an address shows as they are, for all names together. Each
    /// takes a worker the time of an RSA key; of those who share an address, several may log in so.
    pub fn of_address(self) -> Self {
        let at_once = self.at_once.saturating_mul(NAMES_AT_A_TIME);
        Self { at_once, each_us: self.each_us / u64::from(NAMES_AT_A_TIME) }
    }
}

impl Guesses {
    /// None made yet; `secret` is random, and the same as long as names that do not exist are to be
    /// asked the same.
    pub fn new(secret: [u8; 32]) -> Self {
        let owed_until_us = (0..PLACES).map(|_| AtomicU64::new(0)).collect();
        let mut places = DefaultHasher::new();
        places.write(&secret);
        Self { owed_until_us, places, secret, under_way: UnderWay::new() }
    }

    /// Who guesses at the password of `name` from an address as it is written.
    pub fn guesser(&self, address: &str, name: &[u8]) -> Guesser {
        let mut hasher = self.places.clone();
        hasher.write(&network(address));
        hasher.write_u8(0);
        hasher.write(name);
        Guesser(usize::try_from(hasher.finish() % PLACES as u64).unwrap_or(0))
    }

    /// Who shows the passwords themselves from an address as it is written, whatever the names.
    pub fn address(&self, address: &str) -> Guesser {
        Guesser(self.place(1, &network(address)))
    }

    /// Who shows certificates from an address as it is written, before there is a name.
    pub fn certificates(&self, address: &str) -> Guesser {
        Guesser(self.place(2, &network(address)))
    }

    /// A place that the secret chooses for something of a kind.
    fn place(&self, kind: u8, of: &[u8]) -> usize {
        let mut hasher = self.places.clone();
        hasher.write(of);
        hasher.write_u8(kind);
        usize::try_from(hasher.finish() % PLACES as u64).unwrap_or(0)
    }

    /// What nobody else knows.
    pub(crate) fn secret(&self) -> &[u8; 32] {
        &self.secret
    }

    /// A number for some bytes that is always the same, and that nobody else can compute.
    pub fn number_of(&self, bytes: &[u8]) -> u64 {
        let hash = double_sha1(&[self.secret.as_slice(), bytes].concat());
        hash.first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
    }

    /// Takes a place for one try; else says how many microseconds to wait at least.
    pub fn begin(&self, who: Guesser, now_us: u64, limits: GuessLimits) -> Result<(), u64> {
        let Some(owed) = self.owed_until_us.get(who.0).filter(|_| limits.at_once > 0) else {
            return Ok(());
        };
        let most_us = limits.each_us.saturating_mul(u64::from(limits.at_once));
        let mut wait_us = 0;
        let taken = owed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |until_us| {
            let until_us = until_us.max(now_us).saturating_add(limits.each_us);
            wait_us = until_us.saturating_sub(now_us.saturating_add(most_us));
            (wait_us == 0).then_some(until_us)
        });
        taken.map(|_| ()).map_err(|_| wait_us)
    }

    /// The try was right, or none: it does not count.
    pub fn give_back(&self, who: Guesser, limits: GuessLimits) {
        if let Some(owed) = self.owed_until_us.get(who.0).filter(|_| limits.at_once > 0) {
            let less = |until_us: u64| Some(until_us.saturating_sub(limits.each_us));
            let _ = owed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        }
    }
}

/// The part of an address that whoever has it cannot change at will: all of one of IPv4, the first
/// 64 bits of one of IPv6.
fn network(address: &str) -> Cow<'_, [u8]> {
    // its first part has four digits at most
    let may_be_wide = address.bytes().take(5).any(|byte| byte == b':');
    let Some(wide) = may_be_wide.then(|| address.parse::<Ipv6Addr>().ok()).flatten() else {
        return Cow::Borrowed(address.as_bytes());
    };
    Cow::Owned(match wide.to_ipv4_mapped() {
        Some(narrow) => narrow.to_string().into(),
        None => wide.octets().into_iter().take(8).collect(),
    })
}

/// For so many names passwords may come from one address as fast as for one.
const NAMES_AT_A_TIME: u32 = 10;

/// Half a megabyte: as many addresses and names as guess at a time without disturbing each other.
const PLACES: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: GuessLimits = GuessLimits { at_once: 3, each_us: 100 };

    #[test]
    fn beyond_the_first_tries_one_is_judged_in_the_time_that_each_counts() {
        let guesses = Guesses::new([7; 32]);
        let who = guesses.guesser("10.0.0.1", b"app");
        for _ in 0..3 {
            assert_eq!(guesses.begin(who, 1000, LIMITS), Ok(()));
        }
        // whoever hangs up has taken the place all the same
        assert_eq!(guesses.begin(who, 1000, LIMITS), Err(100));
        assert_eq!(guesses.begin(who, 1099, LIMITS), Err(1));
        assert_eq!(guesses.begin(who, 1100, LIMITS), Ok(()));
        assert_eq!(guesses.begin(who, 1100, LIMITS), Err(100));
        // all is forgotten in time
        assert_eq!(guesses.begin(who, 9000, LIMITS), Ok(()));
        assert_eq!(guesses.begin(who, 9000, LIMITS), Ok(()));
    }

    #[test]
    fn right_passwords_cost_nothing_and_0_sets_no_limit() {
        let guesses = Guesses::new([7; 32]);
        let who = guesses.guesser("10.0.0.1", b"app");
        for _ in 0..100 {
            assert_eq!(guesses.begin(who, 1000, LIMITS), Ok(()));
            guesses.give_back(who, LIMITS);
        }
        let none = GuessLimits { at_once: 0, ..LIMITS };
        assert!((0..100).all(|_| guesses.begin(who, 1000, none).is_ok()));
    }

    #[test]
    fn passwords_themselves_count_for_all_names_of_an_address_together() {
        let guesses = Guesses::new([7; 32]);
        let all = guesses.address("10.0.0.1");
        let limits = LIMITS.of_address();
        assert_eq!(limits, GuessLimits { at_once: 30, each_us: 10 });
        assert!((0..30).all(|_| guesses.begin(all, 1000, limits).is_ok()));
        assert_eq!(guesses.begin(all, 1000, limits), Err(10));
        assert_eq!(guesses.begin(all, 1010, limits), Ok(()));
        // neither another address nor a name of this one is touched
        assert_eq!(guesses.begin(guesses.address("10.0.0.2"), 1000, limits), Ok(()));
        assert_eq!(guesses.begin(guesses.guesser("10.0.0.1", b"app"), 1000, LIMITS), Ok(()));
        // nor are certificates
        assert_eq!(guesses.begin(guesses.certificates("10.0.0.1"), 1000, limits), Ok(()));
        assert_eq!(guesses.address("2001:db8::1"), guesses.address("2001:db8::ffff:2"));
        assert_eq!(LIMITS.of_address().at_once / LIMITS.at_once, NAMES_AT_A_TIME);
    }

    #[test]
    fn addresses_and_names_count_by_themselves_and_a_network_of_ipv6_as_one() {
        let guesses = Guesses::new([7; 32]);
        let who = |address, name| guesses.guesser(address, name);
        assert_ne!(who("10.0.0.1", b"app"), who("10.0.0.2", b"app"));
        assert_ne!(who("10.0.0.1", b"app"), who("10.0.0.1", b"web"));
        assert_eq!(who("2001:db8::1", b"app"), who("2001:db8::ffff:2", b"app"));
        assert_ne!(who("2001:db8::1", b"app"), who("2001:db8:0:1::1", b"app"));
        assert_eq!(who("::ffff:10.0.0.1", b"app"), who("10.0.0.1", b"app"));
        assert_ne!(who("::ffff:10.0.0.1", b"app"), who("::ffff:10.0.0.2", b"app"));
    }
}
