//! Sessions that wait for a lane of a hostgroup, first come first served.
//!
//! Sessions that need a lane alone and sessions that may share one stand in lines of their own,
//! because room on a shared lane serves only the latter. Tickets say which session came first.
//! Copies of queries come after all clients. It does not know what a session needs of a lane.

use std::collections::VecDeque;

use crate::ids::SessionId;

/// The place of whoever waits: less for those who came before, never 0.
pub type Ticket = u64;

/// Which lanes serve whoever waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line {
    /// One of its own, or room on one that others use.
    Shares,
    /// One of its own.
    Alone,
    /// One of its own that no client wants.
    Copies,
}

/// The tickets from here on are for those who come; those below, for those who were served and
/// have to be served again.
pub const FIRST: Ticket = 1 << 40;

/// Those who wait to share a lane and came before somebody.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Before {
    /// How many they are.
    pub count: usize,
    /// The ticket of the last of them; 0 where there is none.
    pub last: Ticket,
}

/// Everybody who waits for a hostgroup.
#[derive(Debug)]
pub struct Queue {
    shares: VecDeque<(Ticket, SessionId)>,
    alone: VecDeque<(Ticket, SessionId)>,
    copies: VecDeque<(Ticket, SessionId)>,
    next: Ticket,
    next_again: Ticket,
    /// Who is going to be woken on behalf of all of them, though it may not wait any more.
    pub watcher: Option<SessionId>,
}

impl Queue {
    /// Nobody waits; tickets begin with this one.
    pub fn from_ticket(next: Ticket) -> Self {
        let (shares, alone, copies) = Default::default();
        Self { shares, alone, copies, next, next_again: 1, watcher: None }
    }

    /// The ticket of who comes next.
    pub fn next_ticket(&self) -> Ticket {
        self.next
    }

    /// Puts a session at the end of a line.
    pub fn push(&mut self, line: Line, session: SessionId) -> Ticket {
        let ticket = self.next;
        self.next += 1;
        self.line(line).push_back((ticket, session));
        ticket
    }

    /// Puts a session that was served before, and has to be again, in front of those who were not.
    pub fn push_again(&mut self, line: Line, session: SessionId) -> Ticket {
        let ticket = self.next_again;
        self.next_again += 1;
        // lanes have passed over who came to share before: such a ticket is not looked for there
        let line = if line == Line::Shares { Line::Alone } else { line };
        let line = self.line(line);
        let at = line.partition_point(|(other, _)| *other < ticket);
        line.insert(at, (ticket, session));
        ticket
    }

    fn line(&mut self, line: Line) -> &mut VecDeque<(Ticket, SessionId)> {
        match line {
            Line::Shares => &mut self.shares,
            Line::Alone => &mut self.alone,
            Line::Copies => &mut self.copies,
        }
    }

    /// Takes out whoever has a ticket; whether there was somebody.
    pub fn remove(&mut self, ticket: Ticket) -> bool {
        let lines = [&mut self.shares, &mut self.alone, &mut self.copies];
        for line in lines {
            // who comes first is mostly served first
            if line.front().is_some_and(|(first, _)| *first == ticket) {
                line.pop_front();
                return true;
            }
            if let Ok(at) = line.binary_search_by_key(&ticket, |(other, _)| *other) {
                line.remove(at);
                return true;
            }
        }
        false
    }

    /// Who comes first; a copy only where no client waits.
    pub fn first(&self) -> Option<(Ticket, SessionId)> {
        let first = match (self.shares.front(), self.alone.front()) {
            (Some(one), Some(other)) => Some(if one.0 < other.0 { one } else { other }),
            (one, other) => one.or(other),
        };
        first.or(self.copies.front()).copied()
    }

    /// Takes a session out wherever it is; how often it was there.
    pub fn remove_session(&mut self, session: SessionId) -> usize {
        let before = self.len();
        for line in [&mut self.shares, &mut self.alone, &mut self.copies] {
            line.retain(|(_, other)| *other != session);
        }
        before - self.len()
    }

    /// All of them with their tickets, line by line.
    pub(crate) fn tickets(&self) -> impl Iterator<Item = (Ticket, SessionId)> + '_ {
        self.shares.iter().chain(&self.alone).chain(&self.copies).copied()
    }

    /// Who has a ticket.
    pub(crate) fn place_of(&self, ticket: Ticket) -> Option<SessionId> {
        self.tickets().find(|(other, _)| *other == ticket).map(|(_, session)| session)
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.shares.len() + self.alone.len() + self.copies.len()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them, first come first; copies after all clients.
    pub fn iter(&self) -> impl Iterator<Item = SessionId> + '_ {
        let (mut shares, mut alone) = (self.shares.iter().peekable(), self.alone.iter().peekable());
        let clients = std::iter::from_fn(move || match (shares.peek(), alone.peek()) {
            (Some((one, _)), Some((other, _))) if one < other => shares.next(),
            (_, Some(_)) => alone.next(),
            (_, None) => shares.next(),
        });
        clients.chain(&self.copies).map(|(_, session)| *session)
    }

    /// Those whom only a lane of their own serves.
    pub fn alone(&self) -> impl Iterator<Item = SessionId> + '_ {
        self.alone.iter().chain(&self.copies).map(|(_, session)| *session)
    }

    /// How many those are whom only a lane of their own serves.
    pub fn alone_len(&self) -> usize {
        self.alone.len() + self.copies.len()
    }

    /// Those who may share.
    pub fn sharers(&self) -> impl Iterator<Item = SessionId> + '_ {
        self.shares.iter().map(|(_, session)| *session)
    }

    /// The first of those who may share that came after a ticket.
    pub fn next_to_share(&self, after: Ticket) -> Option<(Ticket, SessionId)> {
        match self.shares.front() {
            Some(first) if first.0 > after => Some(*first),
            _ => {
                let at = self.shares.partition_point(|(ticket, _)| *ticket <= after);
                self.shares.get(at).copied()
            }
        }
    }

    /// Those who may share and came before another one who may, or all of them.
    pub fn sharers_before(&self, other: Option<Ticket>) -> Before {
        let count = match other {
            None => self.shares.len(),
            Some(other) => self.shares.partition_point(|(ticket, _)| *ticket < other),
        };
        let last = count.checked_sub(1).and_then(|at| self.shares.get(at));
        Before { count, last: last.map_or(0, |(ticket, _)| *ticket) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slab::Key;

    fn session(number: u32) -> SessionId {
        SessionId::new(number, 1)
    }

    fn order(queue: &Queue) -> Vec<SessionId> {
        queue.iter().collect()
    }

    #[test]
    fn who_comes_first_is_first_in_whichever_line() {
        let mut queue = Queue::from_ticket(FIRST);
        let [a, b, c, d, e] = [1, 2, 3, 4, 5].map(session);
        queue.push(Line::Copies, a);
        let of_b = queue.push(Line::Alone, b);
        let of_c = queue.push(Line::Shares, c);
        queue.push(Line::Alone, d);
        let of_e = queue.push(Line::Shares, e);
        assert_eq!(order(&queue), [b, c, d, e, a]);
        assert_eq!((queue.alone().collect::<Vec<_>>(), queue.alone_len()), (vec![b, d, a], 3));
        assert_eq!(queue.next_to_share(0), Some((of_c, c)));
        assert_eq!(queue.next_to_share(of_c), Some((of_e, e)));
        assert_eq!(queue.next_to_share(of_e), None);
        let before = [None, Some(of_e), Some(of_c)].map(|other| queue.sharers_before(other));
        assert_eq!(before.map(|before| before.last), [of_e, of_c, 0]);
        assert_eq!(before.map(|before| before.count), [2, 1, 0]);
        assert!(queue.remove(of_c) && !queue.remove(of_c) && queue.remove(of_b));
        assert_eq!((order(&queue), queue.next_to_share(0)), (vec![d, e, a], Some((of_e, e))));
        assert_eq!((queue.remove_session(d), queue.remove_session(d), queue.len()), (1, 0, 2));
    }

    #[test]
    fn who_has_to_be_served_again_comes_before_those_who_were_not() {
        let mut queue = Queue::from_ticket(FIRST);
        let [a, b, c, d] = [1, 2, 3, 4].map(session);
        queue.push(Line::Alone, a);
        queue.push(Line::Shares, b);
        queue.push_again(Line::Shares, c);
        queue.push_again(Line::Alone, d);
        assert_eq!(order(&queue), [c, d, a, b]);
        // room where others are is not for who gave it up
        assert_eq!(queue.next_to_share(0).map(|(_, session)| session), Some(b));
    }
}
