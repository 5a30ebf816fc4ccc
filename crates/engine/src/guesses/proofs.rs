//! How many passwords of one address servers are asked about at the same time.
//!
//! A server may take long to refuse one, and as long as it does, the login has one of few
//! connections. Whoever has many of them leaves some: an address that has some already gets another
//! one only while more are free than it has. One address alone so has half of all. However many
//! guess from a few addresses, a password from any other one is looked at at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Guesses, network};
use crate::ids::HostgroupId;

/// A password that the servers of a hostgroup are asked about, until it is dropped.
#[derive(Debug)]
pub struct Proof {
    under_way: Arc<UnderWay>,
    of_address: usize,
    of_hostgroup: usize,
}

/// Passwords that servers are asked about, by place: of an address and a hostgroup, or of a
/// hostgroup.
#[derive(Debug)]
pub(super) struct UnderWay(Box<[AtomicU32]>);

/// As many addresses as guess at a time without disturbing each other.
const PLACES: usize = 1 << 14;

impl UnderWay {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self((0..PLACES).map(|_| AtomicU32::new(0)).collect()))
    }

    /// Counts one more; says how many there were.
    fn add(&self, place: usize) -> u32 {
        self.0.get(place).map_or(0, |count| count.fetch_add(1, Ordering::Relaxed))
    }
}

impl Drop for Proof {
    fn drop(&mut self) {
        for place in [self.of_address, self.of_hostgroup] {
            if let Some(count) = self.under_way.0.get(place) {
                count.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }
}

impl Guesses {
    /// Has the servers of a hostgroup, which may be asked about `most` at once, asked about a
    /// password from an address as it is written; `None` while that address has its share.
    pub fn begin_proof(&self, address: &str, hostgroup: HostgroupId, most: u32) -> Option<Proof> {
        let hostgroup = hostgroup.0.to_le_bytes();
        let place = |kind, of: &[u8]| self.place(kind, &[&hostgroup, of].concat()) % PLACES;
        let (of_address, of_hostgroup) = (place(3, &network(address)), place(4, b""));
        let under_way = self.under_way.clone();
        // counted in any case: given up, it is dropped
        let (own, all) = (under_way.add(of_address), under_way.add(of_hostgroup));
        let begun = Proof { under_way, of_address, of_hostgroup };
        (own == 0 || own < most.saturating_sub(all)).then_some(begun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: HostgroupId = HostgroupId(1);

    #[test]
    fn an_address_has_half_and_leaves_some_to_each_other_one() {
        let guesses = Guesses::new([7; 32]);
        let begin = |address: &str| guesses.begin_proof(address, HERE, 24);
        let all_of = |address: &str| std::iter::from_fn(|| begin(address)).collect::<Vec<_>>();
        let first = all_of("10.0.0.1");
        assert_eq!(first.len(), 12);
        let others: Vec<_> = ["10.0.0.2", "10.0.0.3", "10.0.0.4"].map(all_of).into();
        assert_eq!(others.iter().map(Vec::len).collect::<Vec<_>>(), [6, 3, 2]);
        // one more of any address, and no second one
        assert_eq!(all_of("10.0.0.5").len(), 1);
        assert_eq!(all_of("2001:db8::1").len(), 1);
        // another hostgroup is not touched
        assert!(guesses.begin_proof("10.0.0.1", HostgroupId(2), 24).is_some());
        // what has ended is free again
        drop((first, others));
        assert_eq!(all_of("10.0.0.6").len(), 12);
        assert_eq!(guesses.under_way.0.iter().map(|it| it.load(Ordering::Relaxed)).sum::<u32>(), 0);
    }

    #[test]
    fn an_address_without_any_gets_one_however_few_there_are() {
        let guesses = Guesses::new([7; 32]);
        let first = guesses.begin_proof("10.0.0.1", HERE, 0);
        assert!(first.is_some());
        assert!(guesses.begin_proof("10.0.0.1", HERE, 0).is_none());
        assert!(guesses.begin_proof("2001:db8::1", HERE, 0).is_some());
        let wide = guesses.begin_proof("2001:db8::2", HERE, 0);
        assert!(wide.is_some(), "the one before has ended");
        assert!(guesses.begin_proof("2001:db8::3", HERE, 0).is_none(), "one network");
    }
}
