//! What all workers know together of one server: permits for backend connections, and failures.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::errno_table;
use super::verified::Verified;
use crate::server_error::Meaning;

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
    /// What it sent could not be decrypted or decompressed.
    Unreadable,
    /// It lacks a capability that the client had been offered.
    Capability,
    /// The operator wants no work done on it.
    Offline,
    /// Checks are against it, so that what ran on it was given up.
    Unfit,
    /// It is not the one to be written to, so that what ran on it was given up.
    Outdone,
    /// The proxy has no password for it: the account is stored hashed and nobody logged in yet.
    NoPassword,
    /// The public key that it shows is not one of those that it may have.
    PublicKey,
    /// TLS to it could not be had as it has to be.
    Tls,
    /// The account goes by an authentication plugin that is not spoken.
    Plugin,
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
            Self::Unfit => (9, 0),
            Self::Outdone => (10, 0),
            Self::Tls => (11, 0),
            Self::Plugin => (12, 0),
            Self::Unreadable => (13, 0),
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
            9 => Self::Unfit,
            10 => Self::Outdone,
            11 => Self::Tls,
            12 => Self::Plugin,
            13 => Self::Unreadable,
            _ => Self::None,
        }
    }

    /// Whether trying again cannot help until the configuration changes.
    pub fn is_final(self) -> bool {
        match self {
            Self::Server(_) => self.means(Meaning::FINAL),
            Self::Capability | Self::NoPassword | Self::PublicKey => true,
            Self::Tls | Self::Plugin => true,
            _ => false,
        }
    }

    /// Whether it is the server's own answer to who asks, so that the server is well.
    pub fn is_answer(self) -> bool {
        self.is_final() || self.is_full()
    }

    /// Whether the server is well and lets no more clients in: all that it allows are there.
    pub fn is_full(self) -> bool {
        self.means(Meaning::FULL.and(Meaning::ACCOUNT_FULL))
    }

    /// The same of the clients of all accounts.
    pub fn is_server_full(self) -> bool {
        self.is_full() && !self.is_account_full()
    }

    /// The same of the clients of one account.
    pub fn is_account_full(self) -> bool {
        self.means(Meaning::ACCOUNT_FULL)
    }

    fn means(self, any: Meaning) -> bool {
        let Self::Server(code) = self else { return false };
        u16::try_from(code).is_ok_and(|code| Meaning::of(code).is(any))
    }
}

impl std::fmt::Display for LastFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => f.write_str("no failure"),
            Self::Os(0) => f.write_str("connection closed"),
            Self::Os(NAME_UNKNOWN) => f.write_str("the host name is not known"),
            Self::Os(errno) => match errno_table::words(*errno) {
                Some(words) => write!(f, "{words} (errno {errno})"),
                None => write!(f, "errno {errno}"),
            },
            Self::Server(1045) => f.write_str("login refused (error 1045)"),
            Self::Server(code) => write!(f, "server error {code}"),
            Self::Timeout => f.write_str("connect timeout"),
            Self::Protocol => f.write_str("not the MySQL protocol"),
            Self::Unreadable => f.write_str("what it sent cannot be decrypted or decompressed"),
            Self::Offline => f.write_str("set OFFLINE_HARD"),
            Self::Unfit => f.write_str("shunned by its checks"),
            Self::Outdone => f.write_str("not the one to be written to (several_writers)"),
            Self::Capability => f.write_str("lacks a capability the client uses"),
            Self::NoPassword => f.write_str("password not known yet (account stored hashed)"),
            Self::Tls => {
                f.write_str("no TLS, or none that mysql-ssl_p2s_verify accepts (use_ssl = 1)")
            }
            Self::Plugin => f.write_str("an authentication plugin that is not spoken"),
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

impl DialLimits {
    /// The limits on those whose password no server has seen yet: they have a part of the
    /// connections that are under way, and none while others have so many.
    pub fn of_unproved(self) -> Self {
        Self { at_once: self.at_once.div_ceil(UNPROVED_SHARE), ..self }
    }
}

/// The part of what a server has, one in so many, that those may have who have proved no password
/// yet.
pub(super) const UNPROVED_SHARE: u32 = 4;

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
    /// Connections with which it is to prove what clients show for passwords.
    proofs: AtomicU32,
    /// Seconds for which the server lets a connection be idle; 0 while that is not known.
    idle_max_s: AtomicU32,
    /// When it was asked for that.
    asked_us: AtomicU64,
    /// When it was last told that the statement for new connections failed.
    init_told_us: AtomicU64,
    /// When an error of it was last taken for a reason to check it.
    doubted_us: AtomicU64,
    /// When it is next asked, while it is shunned, whether it lets anybody in.
    probe_us: AtomicU64,
    /// How often it was asked since it was shunned.
    probes: AtomicU32,
    /// What its last pings took; 0 while that is not known.
    ping_us: AtomicU64,
    /// How far it is behind its primary; 0 where it is not, or nobody knows.
    lag_us: AtomicU64,
    /// The place in [`VERIFIED`] of what was last verified of it.
    verified: AtomicUsize,
}

/// What may have been verified of a server in TLS; nothing is known of the first.
const VERIFIED: [Option<Verified>; 5] = [
    None,
    Some(Verified::Nothing),
    Some(Verified::Authority),
    Some(Verified::Identity),
    Some(Verified::Password),
];

impl Gauge {
    /// The mean of what its last pings took, in microseconds; 0 while that is not known.
    pub fn ping_us(&self) -> u64 {
        self.ping_us.load(Ordering::Relaxed)
    }

    /// Its pings take so long, in microseconds.
    pub fn note_ping_us(&self, ping_us: u64) {
        self.ping_us.store(ping_us, Ordering::Relaxed);
    }

    /// How far it is behind its primary, in microseconds; 0 where it is not, or nobody knows.
    pub fn lag_us(&self) -> u64 {
        self.lag_us.load(Ordering::Relaxed)
    }

    /// It is so far behind its primary, in microseconds.
    pub fn note_lag_us(&self, lag_us: u64) {
        self.lag_us.store(lag_us, Ordering::Relaxed);
    }

    /// What was verified of it when a connection was last made; `None` where that has no TLS.
    pub fn tls(&self) -> Option<Verified> {
        VERIFIED.get(self.verified.load(Ordering::Relaxed)).copied().flatten()
    }

    /// A connection was made, for which that was verified.
    pub fn note_tls(&self, verified: Option<Verified>) {
        let place = VERIFIED.iter().position(|known| *known == verified);
        self.verified.store(place.unwrap_or(0), Ordering::Relaxed);
    }

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

    /// Counts one more connection that is to prove a password, unless there are `most`; whether it
    /// did.
    pub fn begin_proof(&self, most: u32) -> bool {
        let one_more = |proofs| (proofs < most).then_some(proofs + 1);
        self.proofs.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    /// Counts one less: the password is proved, or the connection is gone.
    pub fn end_proof(&self) {
        self.proofs.fetch_sub(1, Ordering::Relaxed);
    }

    /// Connections that are to prove passwords now.
    pub fn proofs(&self) -> u32 {
        self.proofs.load(Ordering::Relaxed)
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

    /// Whether nobody was let in since the server was shunned, be the time over or not.
    pub fn is_unproven(&self) -> bool {
        self.shunned_until_us.load(Ordering::Relaxed) != 0
    }

    /// Whether a server that was shunned is asked for a connection now, to see whether it lets
    /// anybody in: by one worker at a time, after pauses that double up to a second.
    pub fn begin_probe(&self, now_us: u64) -> bool {
        let due_us = self.probe_us.load(Ordering::Relaxed);
        if !self.is_unproven() || self.dialing() > 0 || due_us > now_us {
            return false;
        }
        let probes = self.probes.load(Ordering::Relaxed);
        let pause_us =
            (PROBE_AFTER_US << (probes + 1).min(PROBE_DOUBLINGS)).min(PROBE_PAUSE_MAX_US);
        let next_us = now_us.saturating_add(pause_us);
        let order = Ordering::Relaxed;
        if self.probe_us.compare_exchange(due_us, next_us, order, order).is_err() {
            return false;
        }
        self.probes.store(probes.saturating_add(1), Ordering::Relaxed);
        true
    }

    /// Why it last failed.
    pub fn last_fault(&self) -> LastFault {
        LastFault::unpack(self.last_fault.load(Ordering::Relaxed))
    }

    /// Notes a failed connect. Returns `true` when this failure shuns the server.
    ///
    /// `limit` failures within one second shun it for `recovery_us`, as `mysql-shun_on_failures`
    /// and `mysql-shun_recovery_time_sec` say; one, where nobody was let in since the last time.
    /// Faults of the account are not the server's, and one that is full serves those who are there.
    pub fn on_fault(&self, fault: LastFault, now_us: u64, limit: u32, recovery_us: u64) -> bool {
        self.last_fault.store(fault.pack(), Ordering::Relaxed);
        if fault.is_server_full() {
            self.full_until_us.store(now_us.saturating_add(FULL_PAUSE_US), Ordering::Relaxed);
        }
        if fault.is_answer() || recovery_us == 0 {
            return false;
        }
        if now_us.saturating_sub(self.window_us.load(Ordering::Relaxed)) > 1_000_000 {
            self.window_us.store(now_us, Ordering::Relaxed);
            self.window_faults.store(0, Ordering::Relaxed);
        }
        let faults = self.window_faults.fetch_add(1, Ordering::Relaxed) + 1;
        let unproven = self.is_unproven();
        if !unproven && faults < limit.max(1) || self.shunned_until_us(now_us) != 0 {
            return false;
        }
        if !unproven {
            self.probe_us.store(now_us.saturating_add(PROBE_AFTER_US), Ordering::Relaxed);
            self.probes.store(0, Ordering::Relaxed);
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

    /// Whether an error of it is a reason to check it, as none has been lately.
    pub fn tells_doubt(&self, now_us: u64) -> bool {
        let told_us = self.doubted_us.load(Ordering::Relaxed);
        let tells = told_us == 0 || now_us.saturating_sub(told_us) >= DOUBT_AGAIN_US;
        if tells {
            self.doubted_us.store(now_us.max(1), Ordering::Relaxed);
        }
        tells
    }

    /// Whether the server has just said that it lets no more clients in.
    pub fn is_full(&self, now_us: u64) -> bool {
        self.full_until_us.load(Ordering::Relaxed) > now_us
    }

    /// Notes a connect that worked. Returns whether the server was shunned before.
    pub fn on_success(&self) -> bool {
        self.last_fault.store(LastFault::None.pack(), Ordering::Relaxed);
        self.end_shun()
    }

    /// Notes that the server answers. Returns whether it was shunned before.
    pub fn end_shun(&self) -> bool {
        self.is_unproven() && self.shunned_until_us.swap(0, Ordering::Relaxed) != 0
    }
}

/// How long (µs) after a server was shunned it is asked whether it lets anybody in.
const PROBE_AFTER_US: u64 = 100_000;

/// How often the pause before it is asked again is doubled.
const PROBE_DOUBLINGS: u32 = 4;

/// The longest of these pauses.
const PROBE_PAUSE_MAX_US: u64 = 1_000_000;

/// How long (µs) a server is not asked for another connection that allows no more.
pub const FULL_PAUSE_US: u64 = 200_000;

/// How long before its server a connection is closed that is idle.
const IDLE_MARGIN_US: u64 = 5_000_000;

/// How often a failure is told that repeats itself.
const TELL_AGAIN_US: u64 = 10_000_000;

/// How often errors of a server may have it checked.
const DOUBT_AGAIN_US: u64 = 1_000_000;

/// How often a server is asked how long connections may be idle.
const ASK_AGAIN_US: u64 = 60_000_000;

#[cfg(test)]
mod tests;
