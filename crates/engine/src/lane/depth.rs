//! How many commands the shared lanes of a server carry each: found by trying.
//!
//! A deep lane spares sends; a shallow one makes use of a server that can do several things at a
//! time. Which of them counts is seen in how long commands take from the client's point of view.
//! The depth in use is held against its neighbours every now and then. The deeper one wins unless
//! it costs time. Times differ by themselves, so a shallower one has to win twice in succession.

/// Looks for the depth at which commands take the least time.
#[derive(Clone, Debug)]
pub struct Depth {
    now: usize,
    trial: Option<Trial>,
    /// Average time at the depth in use; 0 when not measured yet.
    usual_us: u64,
    window: Window,
    /// Windows until the next trial.
    rest: u32,
    next_up: bool,
    /// The last trial was of a shallower depth, which took less time.
    won: bool,
}

/// A neighbour being tried.
#[derive(Clone, Copy, Debug)]
struct Trial {
    depth: usize,
    /// The first window still has commands of before.
    settled: bool,
}

#[derive(Clone, Copy, Default, Debug)]
struct Window {
    since_us: u64,
    commands: u64,
    took_us: u64,
}

/// The least time and the least number of commands that are compared.
const WINDOW_US: u64 = 50_000;
const WINDOW_COMMANDS: u64 = 200;

/// Windows between two trials.
const REST: u32 = 12;

/// The depth to begin with.
const FIRST: usize = 8;

impl Default for Depth {
    fn default() -> Self {
        let window = Window::default();
        let (rest, next_up, won) = (REST / 2, true, false);
        Self { now: FIRST, trial: None, usual_us: 0, window, rest, next_up, won }
    }
}

impl Depth {
    /// The depth at this moment, at most `max`.
    pub fn limit(&self, max: usize) -> usize {
        self.trial.map_or(self.now, |trial| trial.depth).min(max)
    }

    /// A command that shared a lane ended so long after its client had asked.
    pub fn note(&mut self, took_us: u64, now_us: u64, max: usize) {
        let window = &mut self.window;
        window.commands += 1;
        window.took_us += took_us;
        let span_us = now_us.saturating_sub(window.since_us);
        if window.commands < WINDOW_COMMANDS || span_us < WINDOW_US {
            return;
        }
        let average_us = (window.took_us / window.commands).max(1);
        self.window = Window { since_us: now_us, ..Window::default() };
        self.end_window(average_us, max);
    }

    fn end_window(&mut self, average_us: u64, max: usize) {
        let Some(trial) = &mut self.trial else {
            self.usual_us = match self.usual_us {
                0 => average_us,
                usual_us => (3 * usual_us + average_us) / 4,
            };
            self.rest = self.rest.saturating_sub(1);
            if self.rest == 0 {
                self.begin_trial(max);
            }
            return;
        };
        if !std::mem::replace(&mut trial.settled, true) {
            return;
        }
        let is_deeper = trial.depth > self.now;
        let depth = trial.depth;
        // a deeper lane is taken at the same price, a shallower one has to be worth it
        let percent = if is_deeper { 105 } else { 85 };
        let wins = average_us <= self.usual_us * percent / 100;
        let is_sure = is_deeper || self.won;
        self.won = wins && !is_sure;
        self.rest = if wins { REST / 4 } else { REST };
        self.next_up = is_deeper == wins;
        if wins && is_sure {
            self.now = depth;
            self.usual_us = average_us;
        }
        self.trial = None;
    }

    fn begin_trial(&mut self, max: usize) {
        self.now = self.now.clamp(1, max.max(1));
        let up = (self.now * 2).min(max);
        let down = (self.now / 2).max(1);
        let wanted = if self.next_up { up } else { down };
        let other = if self.next_up { down } else { up };
        let depth = if wanted == self.now { other } else { wanted };
        self.rest = REST;
        if depth != self.now {
            self.trial = Some(Trial { depth, settled: false });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clients that ask again as soon as they are answered, and a server that does `cores` things
    /// at a time; a send costs everybody something.
    fn settles_at(clients: u64, cores: u64, work_us: u64, send_us: u64) -> usize {
        let mut depth = Depth::default();
        let mut now_us = 0;
        let mut seen = [0_u32; 17];
        for round in 0..400_000 {
            let limit = depth.limit(16);
            let lanes = clients.div_ceil(limit as u64);
            // a batch of a lane is half of its commands
            let each_us = work_us + send_us * 2 / (limit as u64 + 1);
            let took_us = clients * each_us / lanes.min(cores);
            now_us += took_us / clients;
            depth.note(took_us, now_us, 16);
            if round > 200_000 {
                seen[limit] += 1;
            }
        }
        (0..17).max_by_key(|limit| seen[*limit]).unwrap_or(0)
    }

    #[test]
    fn a_server_that_is_busy_gets_deep_lanes() {
        assert_eq!(settles_at(64, 2, 100, 100), 16);
        assert_eq!(settles_at(64, 1, 100, 0), 16);
    }

    #[test]
    fn a_server_with_room_gets_many_lanes() {
        assert!(settles_at(64, 64, 100, 20) <= 2);
        assert!(settles_at(16, 8, 100, 5) <= 2);
    }

    /// How many of a hundred windows have that depth where it makes no difference, and times differ
    /// by a third either way.
    fn share_of(wanted: usize) -> u32 {
        let mut depth = Depth::default();
        let (mut now_us, mut random, mut share) = (0, 0x2545_f491_4f6c_dd1d_u64, 0);
        for window in 0..2_000 {
            (0..7).for_each(|_| random = random.rotate_left(9) ^ random.wrapping_mul(5));
            let took_us = 1_000 + random % 667;
            for _ in 0..250 {
                now_us += 250;
                depth.note(took_us, now_us, 16);
            }
            share += u32::from(window >= 100 && depth.limit(16) == wanted);
        }
        share / 19
    }

    #[test]
    fn chance_makes_no_lane_shallow() {
        let deepest = share_of(16);
        assert!(deepest >= 80, "{deepest} of 100");
    }

    #[test]
    fn it_never_exceeds_what_is_configured() {
        assert_eq!(Depth::default().limit(4), 4);
    }
}
