//! Changes that a log has told of and that may not be visible on their server yet: a server sends
//! a transaction before it commits it. Each is told again when it is visible.
//!
//! Decides which are, of what the server says. Asks nothing.

use binlog::{Gtid, Position};
use io::Micros;
use keeper::gtid_sets::GtidSet;

/// What has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Subject {
    /// A table, by the key of its names.
    Table(u64),
    /// Any table.
    All,
}

/// What a server says of what its readers can see.
#[derive(Debug)]
pub enum Visible {
    /// MySQL's `gtid_executed`; `None` where it is empty.
    Executed(Option<GtidSet>),
    /// The place up to which a snapshot of MariaDB sees everything.
    UpTo(Position),
}

#[derive(Debug)]
struct UnseenChange {
    /// Goes up with each event.
    number: u64,
    at: Position,
    gtid: Option<Gtid>,
    subject: Subject,
    /// It is not taken for visible earlier, whatever the server says.
    hidden_until: Option<Micros>,
}

/// All of a stream, in the order of its log.
#[derive(Default, Debug)]
pub(crate) struct Unseen {
    changes: Vec<UnseenChange>,
    numbers: u64,
}

/// How many there are at most: a server that confirms none for that long is followed anew.
const CHANGES_MAX: usize = 1 << 16;

impl Unseen {
    /// One more; `false` where there are too many.
    pub(crate) fn push(
        &mut self,
        (at, gtid): (&Position, Option<&Gtid>),
        subject: Subject,
        hidden_until: Option<Micros>,
    ) -> bool {
        self.numbers += 1;
        let number = self.numbers;
        let of_same = self.changes.iter_mut().rev().take_while(|it| it.gtid.as_ref() == gtid);
        let same = of_same.into_iter().find(|it| it.subject == subject);
        match same {
            // the last event of a transaction counts
            Some(same) if gtid.is_some() => {
                same.number = number;
                same.at.clone_from(at);
                same.hidden_until = same.hidden_until.max(hidden_until);
            }
            _ => {
                let (at, gtid) = (at.clone(), gtid.cloned());
                self.changes.push(UnseenChange { number, at, gtid, subject, hidden_until });
            }
        }
        self.changes.len() <= CHANGES_MAX
    }

    /// How many changes there have been: those are older than a question that is asked now.
    pub(crate) const fn numbers(&self) -> u64 {
        self.numbers
    }

    /// Whether there are none.
    pub(crate) const fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Whether all of the first so many are visible.
    pub(crate) fn are_seen(&self, numbers: u64) -> bool {
        self.changes.iter().all(|change| change.number > numbers)
    }

    /// Takes out what is visible by the answer to a question that was asked behind `numbers`.
    pub(crate) fn take(&mut self, visible: &Visible, numbers: u64, now: Micros) -> Vec<Subject> {
        let is_visible = |change: &UnseenChange| {
            let is_hidden = change.hidden_until.is_some_and(|until| now < until);
            let is_seen = match visible {
                Visible::UpTo(place) => place.is_behind_or_at(&change.at),
                Visible::Executed(set) => change.gtid.as_ref().is_some_and(|gtid| {
                    let own = GtidSet::parse(&gtid.to_string());
                    set.as_ref().zip(own).is_some_and(|(set, own)| set.covers(&own))
                }),
            };
            change.number <= numbers && !is_hidden && is_seen
        };
        let taken = self.changes.extract_if(.., |change| is_visible(change));
        taken.map(|change| change.subject).collect()
    }

    /// Whether all that stands in front of a place is visible.
    pub(crate) fn is_seen_up_to(&self, place: &Position) -> bool {
        !self.changes.iter().any(|change| place.is_behind_or_at(&change.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(offset: u64) -> Position {
        Position { file: b"b.000001".to_vec(), offset }
    }

    fn maria(number: u64) -> Gtid {
        Gtid::MariaDb { domain: 0, server: 1, number }
    }

    const A: Subject = Subject::Table(1);
    const B: Subject = Subject::Table(2);

    #[test]
    fn a_change_is_visible_behind_its_place_in_a_snapshot() {
        let (mut unseen, now) = (Unseen::default(), Micros(1));
        assert!(unseen.push((&at(10), Some(&maria(1))), A, None));
        assert!(unseen.push((&at(20), Some(&maria(2))), B, None));
        let numbers = unseen.numbers();
        assert!(unseen.take(&Visible::UpTo(at(9)), numbers, now).is_empty());
        assert!(!unseen.is_seen_up_to(&at(10)) && unseen.is_seen_up_to(&at(9)));
        assert_eq!(unseen.take(&Visible::UpTo(at(10)), numbers, now), [A]);
        assert!(unseen.is_seen_up_to(&at(10)) && !unseen.is_seen_up_to(&at(20)));
        assert_eq!(unseen.take(&Visible::UpTo(at(20)), numbers, now), [B]);
        assert!(unseen.is_empty());
    }

    #[test]
    fn a_change_is_visible_when_its_transaction_is_executed() {
        let (mut unseen, now) = (Unseen::default(), Micros(1));
        let gtid = |number| Gtid::MySql { origin: [0xab; 16], tag: String::new(), number };
        unseen.push((&at(10), Some(&gtid(3))), A, None);
        unseen.push((&at(20), Some(&gtid(4))), Subject::All, None);
        let executed = |to: &str| {
            let uuid = "abababab-abab-abab-abab-abababababab";
            Visible::Executed(GtidSet::parse(&format!("{uuid}:{to}")))
        };
        let numbers = unseen.numbers();
        assert!(unseen.take(&Visible::Executed(None), numbers, now).is_empty());
        assert!(unseen.take(&executed("1-2"), numbers, now).is_empty());
        // those of a replica's threads may be executed in another order
        assert_eq!(unseen.take(&executed("1-2:4"), numbers, now), [Subject::All]);
        assert_eq!(unseen.take(&executed("1-4"), numbers, now), [A]);
    }

    #[test]
    fn an_answer_says_nothing_of_what_came_behind_its_question() {
        let (mut unseen, now) = (Unseen::default(), Micros(1));
        unseen.push((&at(10), Some(&maria(1))), A, None);
        let numbers = unseen.numbers();
        assert!(!unseen.are_seen(numbers) && unseen.are_seen(0));
        unseen.push((&at(15), Some(&maria(1))), A, None);
        assert!(unseen.take(&Visible::UpTo(at(99)), numbers, now).is_empty(), "its last event");
        assert_eq!(unseen.take(&Visible::UpTo(at(99)), unseen.numbers(), now), [A], "once");
    }

    #[test]
    fn what_is_hidden_waits_whatever_is_said() {
        let (mut unseen, now) = (Unseen::default(), Micros(1));
        let until = now + Micros::from_secs(1);
        unseen.push((&at(10), Some(&maria(1))), Subject::All, Some(until));
        let numbers = unseen.numbers();
        assert!(unseen.take(&Visible::UpTo(at(99)), numbers, now).is_empty());
        assert_eq!(unseen.take(&Visible::UpTo(at(99)), numbers, until), [Subject::All]);
    }

    #[test]
    fn there_are_never_too_many() {
        let mut unseen = Unseen::default();
        let many = u64::try_from(CHANGES_MAX).expect("a number");
        let mut push = |number| unseen.push((&at(number), Some(&maria(number))), A, None);
        assert!((0..many).all(&mut push) && !push(many));
    }
}
