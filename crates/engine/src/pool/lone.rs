//! A client that asks alone, and without a pause, stays with a server for a while.
//!
//! Servers are taken in turn. For one client by itself, each of them then answers out of caches
//! that others have used since. With two replicas that costs a tenth of the time of a point select.

use crate::ids::{HostgroupId, SessionId};

/// Commands in succession after which a session counts as alone: who asks less often than this is
/// served in turn to the command.
const ALONE_AFTER: u32 = 512;

/// The longest time between two of them, in microseconds. After more there is nothing to gain.
const PAUSE_US: u64 = 1_000;

/// How long it stays with a server, in microseconds.
const STAY_US: u64 = 100_000;

/// The session that asked last, and where it is served if it is alone.
#[derive(Default, Debug)]
pub(super) struct Lone {
    who: Option<(SessionId, HostgroupId)>,
    asked_us: u64,
    /// Commands in succession.
    run: u32,
    /// Index of the server, and until when.
    stay: Option<(usize, u64)>,
}

impl Lone {
    /// A session asks for a lane of a hostgroup: the server that it stays with.
    pub(super) fn asks(
        &mut self,
        session: Option<SessionId>,
        hostgroup: HostgroupId,
        now_us: u64,
    ) -> Option<usize> {
        let who = session.map(|session| (session, hostgroup));
        let goes_on = who == self.who && now_us.saturating_sub(self.asked_us) <= PAUSE_US;
        self.asked_us = now_us;
        if !goes_on {
            *self = Self { who, asked_us: now_us, run: 0, stay: None };
            return None;
        }
        self.run = self.run.saturating_add(1);
        let (server, until_us) = self.stay?;
        (now_us < until_us).then_some(server)
    }

    /// The server that it was given in its turn.
    pub(super) fn is_given(&mut self, server: usize, now_us: u64) {
        let alone = self.who.is_some() && self.run >= ALONE_AFTER;
        self.stay = alone.then_some((server, now_us + STAY_US));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slab::Key;

    const READERS: HostgroupId = HostgroupId(1);

    fn session(number: u32) -> Option<SessionId> {
        Some(SessionId::new(number, 1))
    }

    /// Where a session is served from `from_us` on, asking every `pause_us`, where two servers are
    /// taken in turn.
    fn served(lone: &mut Lone, who: u32, from_us: u64, pause_us: u64, times: u64) -> Vec<usize> {
        let mut turn = 0;
        let one = |time: u64| {
            let now_us = from_us + time * pause_us;
            lone.asks(session(who), READERS, now_us).unwrap_or_else(|| {
                turn = 1 - turn;
                lone.is_given(turn, now_us);
                turn
            })
        };
        (0..times).map(one).collect()
    }

    fn changes(servers: &[usize]) -> usize {
        servers.windows(2).filter(|pair| pair[0] != pair[1]).count()
    }

    #[test]
    fn a_client_that_asks_without_a_pause_stays_a_tenth_of_a_second() {
        let served = served(&mut Lone::default(), 1, 0, 100, 5_000);
        let (first, rest) = served.split_at(512);
        assert_eq!(changes(first), 511);
        // 448 ms are left, and both servers get their share
        assert_eq!(changes(rest), 4);
        let first_share = rest.iter().filter(|server| **server == 0).count();
        assert!((1_000..=3_488).contains(&first_share), "{first_share}");
    }

    #[test]
    fn who_pauses_or_is_not_alone_is_served_in_turn() {
        assert_eq!(changes(&served(&mut Lone::default(), 1, 0, 1_001, 3_000)), 2_999);
        let mut lone = Lone::default();
        let mut servers = [0_usize; 2];
        let mut turn = 0;
        for time in 0..3_000_u32 {
            let now_us = u64::from(time) * 100;
            assert_eq!(lone.asks(session(time % 2), READERS, now_us), None);
            turn = 1 - turn;
            servers[turn] += 1;
            lone.is_given(turn, now_us);
        }
        assert_eq!(servers, [1_500, 1_500]);
        assert_eq!(lone.asks(None, READERS, 400_000), None);
    }

    #[test]
    fn another_hostgroup_is_another_matter() {
        let mut lone = Lone::default();
        served(&mut lone, 1, 0, 100, 600);
        assert!(lone.asks(session(1), READERS, 60_000).is_some());
        assert_eq!(lone.asks(session(1), HostgroupId(0), 60_100), None);
        assert_eq!(lone.asks(session(1), READERS, 60_200), None);
    }
}
