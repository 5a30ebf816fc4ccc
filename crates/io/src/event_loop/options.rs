//! The settings and the counters of a loop. Deliberately without behaviour.

/// Settings of a loop.
#[derive(Clone, Debug)]
pub struct Options {
    /// Size of the one buffer that a loop receives into.
    pub recv_buffer_bytes: usize,
    /// The most connections taken from one listener in a turn.
    pub accept_burst: usize,
    /// Seconds of silence after which the system asks whether the other end of a TCP socket is
    /// there; 0 for its own, `None` for never.
    pub keepalive_s: Option<u32>,
    /// Bytes in a second that each accepted socket is sent at most; 0 for no limit.
    pub bytes_per_s_max: u32,
    /// The most messages waiting in the mailbox.
    pub mailbox_capacity: usize,
    /// The most messages handed over in a turn.
    pub mail_burst: usize,
    /// The most bytes of unused buffers kept for the next use.
    pub pooled_bytes_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            recv_buffer_bytes: 64 * 1024,
            accept_burst: 64,
            keepalive_s: None,
            bytes_per_s_max: 0,
            mailbox_capacity: 65_536,
            mail_burst: 256,
            pooled_bytes_max: 2 * 1024 * 1024,
        }
    }
}

/// What a loop has done since it was made.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct LoopStats {
    /// Turns.
    pub turns: u64,
    /// Time the last whole turn took, waiting left out, in microseconds.
    pub turn_us: u64,
    /// Events the driver reported.
    pub events: u64,
    /// Receives that brought bytes.
    pub recvs: u64,
    /// Bytes received.
    pub bytes_in: u64,
    /// Send calls that moved bytes.
    pub sends: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// Sends that left a backlog.
    pub sends_blocked: u64,
    /// Sends that waited for their time, as [`Options::bytes_per_s_max`] says.
    pub sends_paced: u64,
    /// Connections accepted.
    pub accepts: u64,
    /// Accepts that failed for want of descriptors or memory, or sockets that could not be watched.
    pub accept_failures: u64,
    /// Connects started.
    pub connects: u64,
    /// Timers fired.
    pub timers: u64,
    /// Messages handed over.
    pub mails: u64,
    /// Sockets open now.
    pub sockets: u64,
}
