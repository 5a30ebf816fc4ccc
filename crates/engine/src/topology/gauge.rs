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
}

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
            _ => Self::None,
        }
    }

    /// Whether trying again cannot help until the configuration changes.
    pub fn is_final(self) -> bool {
        match self {
            Self::Server(code) => matches!(code, 1044 | 1045 | 1049 | 1251 | 1698 | 1862),
            Self::Capability | Self::NoPassword => true,
            _ => false,
        }
    }
}

impl std::fmt::Display for LastFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => f.write_str("no failure"),
            Self::Os(111) => f.write_str("connection refused (errno 111)"),
            Self::Os(0) => f.write_str("connection closed"),
            Self::Os(errno) => write!(f, "errno {errno}"),
            Self::Server(1045) => f.write_str("login refused (error 1045)"),
            Self::Server(code) => write!(f, "server error {code}"),
            Self::Timeout => f.write_str("connect timeout"),
            Self::Protocol => f.write_str("not the MySQL protocol"),
            Self::Offline => f.write_str("set OFFLINE_HARD"),
            Self::Capability => f.write_str("lacks a capability the client uses"),
            Self::NoPassword => f.write_str("password not known yet (account stored hashed)"),
        }
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
    /// and `mysql-shun_recovery_time_sec` say. Faults of the account are not the server's.
    pub fn on_fault(&self, fault: LastFault, now_us: u64, limit: u32, recovery_us: u64) -> bool {
        self.last_fault.store(fault.pack(), Ordering::Relaxed);
        if fault.is_final() {
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

    /// Notes a connect that worked.
    pub fn on_success(&self) {
        self.shunned_until_us.store(0, Ordering::Relaxed);
        self.last_fault.store(LastFault::None.pack(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_wrong_password_never_shuns_a_server() {
        let gauge = Gauge::default();
        for _ in 0..100 {
            assert!(!gauge.on_fault(LastFault::Server(1045), 1, 1, 1_000));
        }
        assert_eq!(gauge.last_fault(), LastFault::Server(1045));
    }
}
