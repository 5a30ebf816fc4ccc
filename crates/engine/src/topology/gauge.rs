//! What all workers know together of one server: permits for backend connections, and failures.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Why a server last failed, small enough for an atomic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LastFault {
    /// Nothing failed since start.
    None,
    /// The operating system refused: an errno.
    Os(u32),
    /// The server answered the login with this MySQL error number.
    Server(u32),
    /// It did not answer in time.
    Timeout,
    /// It spoke no protocol that is understood.
    Protocol,
    /// It lacks a capability that the client had been offered.
    Capability,
    /// The operator wants no work done on it.
    Offline,
    /// The proxy has no password for it: the account is stored hashed and nobody logged in yet.
    NoPassword,
    /// The public key that it shows is not one of those that it may have.
    PublicKey,
}

/// Stands in the place of an errno for a name without an address; the system's end at 4095.
pub const NAME_UNKNOWN: u32 = 4096;

impl LastFault {
    fn pack(self) -> u64 {
        let (kind, code): (u64, u32) = match self {
            Self::None => (0, 0),
            Self::Os(errno) => (1, errno),
            Self::Server(code) => (2, code),
            Self::Timeout => (3, 0),
            Self::Protocol => (4, 0),
            Self::Capability => (5, 0),
            Self::NoPassword => (6, 0),
            Self::Offline => (7, 0),
            Self::PublicKey => (8, 0),
        };
        kind << 32 | u64::from(code)
    }

    fn unpack(packed: u64) -> Self {
        let code = u32::try_from(packed & 0xffff_ffff).unwrap_or(0);
        match packed >> 32 {
            1 => Self::Os(code),
            2 => Self::Server(code),
            3 => Self::Timeout,
            4 => Self::Protocol,
            5 => Self::Capability,
            6 => Self::NoPassword,
            7 => Self::Offline,
            8 => Self::PublicKey,
            _ => Self::None,
        }
    }

    /// Whether trying again cannot help until the configuration changes.
    pub fn is_final(self) -> bool {
        match self {
            Self::Server(code) => matches!(code, 1044 | 1045 | 1049 | 1251 | 1698 | 1862),
            Self::Capability | Self::NoPassword | Self::PublicKey => true,
            _ => false,
        }
    }

    /// Whether the server is well and lets no more clients in: all that it allows are there.
    pub fn is_full(self) -> bool {
        matches!(self, Self::Server(1040)) || self.is_account_full()
    }

    /// The same of the clients of one account.
    pub fn is_account_full(self) -> bool {
        matches!(self, Self::Server(1203 | 1226))
    }
}

impl std::fmt::Display for LastFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => f.write_str("no failure"),
            Self::Os(111) => f.write_str("connection refused (errno 111)"),
            Self::Os(0) => f.write_str("connection closed"),
            Self::Os(NAME_UNKNOWN) => f.write_str("the host name is not known"),
            Self::Os(errno) => write!(f, "errno {errno}"),
            Self::Server(1045) => f.write_str("login refused (error 1045)"),
            Self::Server(code) => write!(f, "server error {code}"),
            Self::Timeout => f.write_str("connect timeout"),
            Self::Protocol => f.write_str("not the MySQL protocol"),
            Self::Offline => f.write_str("set OFFLINE_HARD"),
            Self::Capability => f.write_str("lacks a capability the client uses"),
            Self::NoPassword => f.write_str("password not known yet (account stored hashed)"),
            Self::PublicKey => f.write_str(
                "no password is encrypted for its public key unless mysql-server_public_keys has \
                 that, or mysql-get_server_public_key is true",
            ),
        }
    }
}

/// How fast connections to a server may be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DialLimits {
    /// That may be under way to one server.
    pub at_once: u32,
    /// That may be begun in a second to all servers of a hostgroup.
    pub per_sec: u32,
}

/// Connections that were begun in the current second to the servers of a hostgroup.
#[derive(Default, Debug)]
pub struct Pace {
    /// The second in the upper half, the count in the lower one.
    begun: AtomicU64,
}

impl Pace {
    /// The second that it is, and what was begun in it.
    fn count(&self, now_us: u64) -> (u64, u64) {
        let second = (now_us / 1_000_000) & 0xffff_ffff;
        let begun = self.begun.load(Ordering::Relaxed);
        (second, if begun >> 32 == second { begun & 0xffff_ffff } else { 0 })
    }

    /// Whether one more may be begun within this limit.
    pub fn has_room(&self, per_sec: u32, now_us: u64) -> bool {
        self.count(now_us).1 < u64::from(per_sec)
    }

    /// One more was begun.
    pub fn note(&self, now_us: u64) {
        // two workers in the same moment may count as one
        let (second, count) = self.count(now_us);
        self.begun.store(second << 32 | (count + 1), Ordering::Relaxed);
    }
}

/// What all workers know together of one server. Relaxed atomics, one line of cache each.
#[repr(align(128))]
#[derive(Default)]
pub struct Gauge {
    used: AtomicU32,
    shunned_until_us: AtomicU64,
    window_us: AtomicU64,
    window_faults: AtomicU32,
    last_fault: AtomicU64,
    /// When a failure was last told.
    told_us: AtomicU64,
    /// Until when it is not asked for more connections, because it allows no more.
    full_until_us: AtomicU64,
    /// Connections that are being opened.
    dialing: AtomicU32,
    /// Seconds for which the server lets a connection be idle; 0 while that is not known.
    idle_max_s: AtomicU32,
    /// When it was asked for that.
    asked_us: AtomicU64,
    /// When it was last told that the statement for new connections failed.
    init_told_us: AtomicU64,
}

impl Gauge {
    /// Takes a permit for one more backend connection, if there is one left.
    pub fn take_permit(&self, max: u32) -> bool {
        // nobody may see more than there are: a connection too many is closed when it comes back
        let one_more = |used| (used < max).then_some(used + 1);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    /// Gives a permit back.
    pub fn give_permit(&self) {
        self.used.fetch_sub(1, Ordering::Relaxed);
    }

    /// Backend connections now, those being opened included.
    pub fn used(&self) -> u32 {
        self.used.load(Ordering::Relaxed)
    }

    /// Connections that are being opened now.
    pub fn dialing(&self) -> u32 {
        self.dialing.load(Ordering::Relaxed)
    }

    /// The opening of a connection began.
    pub fn begin_dial(&self) {
        self.dialing.fetch_add(1, Ordering::Relaxed);
    }

    /// A connection stands, or cannot be had.
    pub fn end_dial(&self) {
        self.dialing.fetch_sub(1, Ordering::Relaxed);
    }

    /// How long (µs) a connection may be idle before it is closed, well before the server does it:
    /// a command on its way just then would be lost, and nobody could say whether it was executed.
    pub fn idle_max_us(&self) -> u64 {
        match self.idle_max_s.load(Ordering::Relaxed) {
            0 => u64::MAX,
            seconds => {
                let idle_max_us = u64::from(seconds) * 1_000_000;
                (idle_max_us / 2).max(idle_max_us.saturating_sub(IDLE_MARGIN_US))
            }
        }
    }

    /// Whether the server is to be asked how long a connection may be idle.
    pub fn asks_idle_max(&self, now_us: u64) -> bool {
        let asked_us = self.asked_us.load(Ordering::Relaxed);
        asked_us == 0 || now_us.saturating_sub(asked_us) >= ASK_AGAIN_US
    }

    /// The server is being asked.
    pub fn note_asked_idle_max(&self, now_us: u64) {
        self.asked_us.store(now_us.max(1), Ordering::Relaxed);
    }

    /// The server has said for how many seconds a connection may be idle.
    pub fn note_idle_max(&self, seconds: u64) {
        self.idle_max_s.store(u32::try_from(seconds).unwrap_or(u32::MAX), Ordering::Relaxed);
    }

    /// Until when (µs) the server is left out because connects failed; 0 when it is not.
    pub fn shunned_until_us(&self, now_us: u64) -> u64 {
        let until = self.shunned_until_us.load(Ordering::Relaxed);
        if until > now_us { until } else { 0 }
    }

    /// Why it last failed.
    pub fn last_fault(&self) -> LastFault {
        LastFault::unpack(self.last_fault.load(Ordering::Relaxed))
    }

    /// Notes a failed connect. Returns `true` when this failure shuns the server.
    ///
    /// `limit` failures within one second shun it for `recovery_us`, as `mysql-shun_on_failures`
    /// and `mysql-shun_recovery_time_sec` say. Faults of the account are not the server's, and one
    /// that is full serves those who are there.
    pub fn on_fault(&self, fault: LastFault, now_us: u64, limit: u32, recovery_us: u64) -> bool {
        self.last_fault.store(fault.pack(), Ordering::Relaxed);
        if fault.is_full() && !fault.is_account_full() {
            self.full_until_us.store(now_us.saturating_add(FULL_PAUSE_US), Ordering::Relaxed);
        }
        if fault.is_final() || fault.is_full() {
            return false;
        }
        if now_us.saturating_sub(self.window_us.load(Ordering::Relaxed)) > 1_000_000 {
            self.window_us.store(now_us, Ordering::Relaxed);
            self.window_faults.store(0, Ordering::Relaxed);
        }
        let faults = self.window_faults.fetch_add(1, Ordering::Relaxed) + 1;
        if faults < limit.max(1) || self.shunned_until_us(now_us) != 0 {
            return false;
        }
        self.shunned_until_us.store(now_us.saturating_add(recovery_us), Ordering::Relaxed);
        true
    }

    /// Whether a failed connect is worth a line in the log, asked before [`Gauge::on_fault`] notes
    /// it: one that repeats itself is told now and then. Those of accounts are each another's.
    pub fn tells(&self, fault: LastFault, now_us: u64) -> bool {
        let told_us = self.told_us.load(Ordering::Relaxed);
        let lately = told_us != 0 && now_us.saturating_sub(told_us) < TELL_AGAIN_US;
        if lately && !fault.is_final() && fault == self.last_fault() {
            return false;
        }
        self.told_us.store(now_us.max(1), Ordering::Relaxed);
        true
    }

    /// Whether it is worth a line in the log that the statement for new connections failed.
    pub fn tells_init_connect(&self, now_us: u64) -> bool {
        let told_us = self.init_told_us.load(Ordering::Relaxed);
        let tells = told_us == 0 || now_us.saturating_sub(told_us) >= TELL_AGAIN_US;
        if tells {
            self.init_told_us.store(now_us.max(1), Ordering::Relaxed);
        }
        tells
    }

    /// Whether the server has just said that it lets no more clients in.
    pub fn is_full(&self, now_us: u64) -> bool {
        self.full_until_us.load(Ordering::Relaxed) > now_us
    }

    /// Notes a connect that worked.
    pub fn on_success(&self) {
        self.shunned_until_us.store(0, Ordering::Relaxed);
        self.last_fault.store(LastFault::None.pack(), Ordering::Relaxed);
    }
}

/// How long (µs) a server is not asked for another connection that allows no more.
pub const FULL_PAUSE_US: u64 = 200_000;

/// How long before its server a connection is closed that is idle.
const IDLE_MARGIN_US: u64 = 5_000_000;

/// How often a failure is told that repeats itself.
const TELL_AGAIN_US: u64 = 10_000_000;

/// How often a server is asked how long connections may be idle.
const ASK_AGAIN_US: u64 = 60_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_counts_within_a_second() {
        let pace = Pace::default();
        for _ in 0..3 {
            assert!(pace.has_room(3, 5_000_000));
            pace.note(5_000_000);
        }
        assert!(!pace.has_room(3, 5_999_999));
        assert!(pace.has_room(3, 6_000_000));
    }

    #[test]
    fn connections_are_closed_before_their_server_does_it() {
        let gauge = Gauge::default();
        assert!(gauge.asks_idle_max(7) && gauge.idle_max_us() == u64::MAX);
        gauge.note_asked_idle_max(7);
        assert!(!gauge.asks_idle_max(60_000_006) && gauge.asks_idle_max(60_000_007));
        for (said, closed_us) in [(3, 1_500_000), (8, 4_000_000), (28_800, 28_795_000_000)] {
            gauge.note_idle_max(said);
            assert_eq!(gauge.idle_max_us(), closed_us);
        }
    }

    #[test]
    fn permits_stop_at_the_limit_and_come_back() {
        let gauge = Gauge::default();
        assert!(gauge.take_permit(2) && gauge.take_permit(2));
        assert!(!gauge.take_permit(2));
        gauge.give_permit();
        assert!(gauge.take_permit(2));
        assert_eq!(gauge.used(), 2);
    }

    #[test]
    fn only_a_burst_of_failures_shuns_and_time_heals() {
        let gauge = Gauge::default();
        let refused = LastFault::Os(111);
        assert!(!gauge.on_fault(refused, 10, 2, 1_000));
        assert!(!gauge.on_fault(refused, 2_000_000, 2, 1_000));
        assert!(gauge.on_fault(refused, 2_000_001, 2, 1_000));
        assert_eq!(gauge.shunned_until_us(2_000_002), 2_001_001);
        assert_eq!(gauge.shunned_until_us(2_001_001), 0);
        assert_eq!(gauge.last_fault(), refused);
    }

    #[test]
    fn a_failure_that_repeats_itself_is_told_now_and_then() {
        let gauge = Gauge::default();
        let told = |fault, now_us| {
            let tells = gauge.tells(fault, now_us);
            gauge.on_fault(fault, now_us, 3, 1_000);
            tells
        };
        let (refused, denied) = (LastFault::Os(111), LastFault::Server(1045));
        assert!(told(refused, 10) && !told(refused, 11) && !told(refused, 10_000_009));
        assert!(told(refused, 10_000_010) && told(LastFault::Timeout, 10_000_011));
        assert!(told(denied, 10_000_012) && told(denied, 10_000_013), "another account, perhaps");
        gauge.on_success();
        assert!(told(refused, 10_000_014), "it had worked in between");
    }

    #[test]
    fn a_statement_for_new_connections_that_fails_is_told_now_and_then() {
        let gauge = Gauge::default();
        let told = [5, 6, 10_000_004, 10_000_005].map(|now_us| gauge.tells_init_connect(now_us));
        assert_eq!(told, [true, false, false, true]);
    }

    #[test]
    fn a_server_that_is_full_is_not_shunned_and_left_alone_for_a_moment() {
        let gauge = Gauge::default();
        for now_us in 1..100 {
            assert!(!gauge.on_fault(LastFault::Server(1040), now_us, 1, 1_000));
        }
        assert_eq!(gauge.shunned_until_us(99), 0);
        assert!(gauge.is_full(99 + FULL_PAUSE_US - 1) && !gauge.is_full(99 + FULL_PAUSE_US));
        // an account that is at its limit keeps no other one from coming in
        let gauge = Gauge::default();
        assert!(!gauge.on_fault(LastFault::Server(1226), 1, 1, 1_000) && !gauge.is_full(1));
        assert!(!gauge.on_fault(LastFault::Server(1203), 1, 1, 1_000) && !gauge.is_full(1));
    }

    #[test]
    fn a_name_without_an_address_is_told_in_words() {
        assert_eq!(LastFault::Os(NAME_UNKNOWN).to_string(), "the host name is not known");
    }

    #[test]
    fn a_wrong_password_never_shuns_a_server() {
        let gauge = Gauge::default();
        for _ in 0..100 {
            assert!(!gauge.on_fault(LastFault::Server(1045), 1, 1, 1_000));
        }
        assert_eq!(gauge.last_fault(), LastFault::Server(1045));
    }
}
