//! The log of one server, as far as it was read, and what its server has to be asked.
//!
//! Whoever relies on it is told of each change when it comes, and again once its server says that
//! it is visible. Where changes may go untold, whoever relies on it falls.

use std::collections::BTreeMap;
use std::sync::Arc;

use binlog::{Gtid, LogChange, Noted, Position, Why};
use engine::catalog::table_key;
use io::Micros;
use keeper::gtid_sets::GtidSet;

use crate::unseen::{Subject, Unseen};
use crate::{Cascades, FollowedGroup, Visible};

/// What is known of a log.
#[derive(Default, Debug)]
pub struct FollowedLog {
    condition: Condition,
    /// Goes up when whatever was told before may not be all there was to tell.
    generation: u64,
    /// Whoever is told, by hostgroup.
    told: BTreeMap<u32, Arc<FollowedGroup>>,
    cascades: Cascades,
    /// The number of the last change of a definition, and of the one up to which foreign keys were
    /// read.
    defined: u64,
    known_defined: u64,
    position: Position,
    unseen: Unseen,
    awaited: Vec<Awaited>,
    /// What is counted.
    pub figures: Figures,
}

/// How a stream is.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum Condition {
    /// It is being begun.
    #[default]
    Beginning,
    /// It is read.
    Following,
    /// It cannot be, for that reason.
    Failed(String),
}

/// What is counted of a stream.
#[derive(Clone, Default, Debug)]
pub struct Figures {
    /// Events that came.
    pub events: u64,
    /// Changes of tables.
    pub tables_changed: u64,
    /// Changes of any table.
    pub all_changed: u64,
    /// How often it began anew.
    pub reconnects: u64,
    /// The last transaction.
    pub gtid: Option<Gtid>,
    /// How long the last pulse took that was passed.
    pub lag: Micros,
}

/// Where a server is.
#[derive(Clone, Debug)]
pub struct LogStand {
    /// The end of its log.
    pub end: Position,
    /// What it has, as it was before that.
    pub has: Option<GtidSet>,
}

/// A pulse that has not been passed.
#[derive(Debug)]
struct Awaited {
    hostgroup: u32,
    pulse: u64,
    since: Micros,
    /// What the server has to have; `None` for what it has anyway.
    has: Option<GtidSet>,
    /// The server was asked since the pulse began.
    is_asked: bool,
    /// Where its log went to when it had that.
    end: Option<Position>,
}

/// What a server is to be asked, and what was known when that was said.
#[derive(Debug)]
pub struct LogQuestions {
    /// Where it is.
    pub stand: bool,
    /// What its readers can see.
    pub visible: bool,
    /// Its foreign keys and views.
    pub cascades: bool,
    numbers: u64,
    defined: u64,
    position: Position,
}

/// What a server says to that, each of it read behind [`FollowedLog::ask`].
#[derive(Default, Debug)]
pub struct LogAnswers {
    /// Where it is.
    pub stand: Option<LogStand>,
    /// What its readers can see.
    pub visible: Option<Visible>,
    /// Its foreign keys and views.
    pub cascades: Option<Cascades>,
}

impl FollowedLog {
    /// It is read from `visible` on, in front of which all is, and tells of every change from now
    /// on. Whether it had failed.
    pub fn stand(&mut self, visible: Position, cascades: Cascades) -> bool {
        let had_failed = matches!(self.condition, Condition::Failed(_));
        self.condition = Condition::Following;
        self.generation += 1;
        (self.position, self.cascades) = (visible, cascades);
        (self.defined, self.known_defined) = (0, 0);
        (self.unseen, self.awaited) = Default::default();
        self.figures.reconnects += u64::from(had_failed);
        had_failed
    }

    /// It does not tell of changes any more. Whether that is news.
    pub fn fail(&mut self, reason: String) -> bool {
        let is_known = matches!(&self.condition, Condition::Failed(known) if *known == reason);
        self.condition = Condition::Failed(reason);
        self.generation += 1;
        self.told.values().for_each(|group| group.fall());
        !is_known
    }

    /// How it is.
    pub fn condition(&self) -> &Condition {
        &self.condition
    }

    /// How far it was read.
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// How long the last pulse of a hostgroup took, or the one under way takes.
    pub fn lag(&self, hostgroup: u32, now: Micros) -> Micros {
        let awaited = self.awaited.iter().find(|awaited| awaited.hostgroup == hostgroup);
        let since = |it: &Awaited| now.since(it.since);
        awaited.map_or(self.figures.lag, |it| since(it).max(self.figures.lag))
    }

    /// The generation of a stream that tells of every change; `None` for one that does not.
    pub fn generation(&self) -> Option<u64> {
        let tells = self.condition == Condition::Following && !self.is_stale();
        tells.then_some(self.generation)
    }

    /// From now on changes are told to exactly these. Whoever is new, or told by others too, is to
    /// have fallen before, and to rely on this behind it.
    pub fn tell_to(&mut self, groups: BTreeMap<u32, Arc<FollowedGroup>>) {
        self.awaited.retain(|awaited| groups.contains_key(&awaited.hostgroup));
        self.told = groups;
    }

    /// Waits for a pulse in place of the one before, which is to have passed when the server's
    /// readers see what it then `has`, and all of that is told.
    pub fn await_pulse(
        &mut self,
        (hostgroup, pulse): (u32, u64),
        has: Option<GtidSet>,
        now: Micros,
    ) {
        self.awaited.retain(|awaited| awaited.hostgroup != hostgroup);
        let (since, is_asked, end) = (now, false, None);
        self.awaited.push(Awaited { hostgroup, pulse, since, has, is_asked, end });
    }

    /// Whether a pulse of a hostgroup is still awaited.
    pub fn awaits(&self, hostgroup: u32, pulse: u64) -> bool {
        self.awaited.iter().any(|it| it.hostgroup == hostgroup && it.pulse == pulse)
    }

    fn is_stale(&self) -> bool {
        self.defined != self.known_defined
    }

    /// Whether there is a change that may not be visible yet.
    pub fn has_unseen(&self) -> bool {
        !self.unseen.is_empty()
    }

    /// Whether there is something to ask the server about.
    pub fn asks(&self) -> bool {
        let is_new = |awaited: &Awaited| awaited.end.is_none();
        self.has_unseen() || self.awaited.iter().any(is_new) || self.is_stale()
    }

    /// Tells what a log told, which is told again when it is visible; `false` where too much waits
    /// for that. The ends of XA transactions are not taken for visible for as long as `hidden`.
    pub fn note(&mut self, noted: Noted<'_>, hidden: Micros, now: Micros) -> bool {
        let Noted { at, gtid, change } = noted;
        let mut hidden_until = None;
        let subject = match change {
            LogChange::Table { schema, table } => {
                self.figures.tables_changed += 1;
                Subject::Table(table_key(schema, table))
            }
            LogChange::All(why) => {
                self.figures.all_changed += 1;
                match why {
                    Why::Statement | Why::UnnamedTable => {}
                    Why::Xa => hidden_until = Some(now + hidden),
                    Why::Definition | Why::Incident | Why::UnknownEvent(_) => {
                        self.defined = self.unseen.numbers() + 1;
                        self.told.values().for_each(|group| group.fall());
                    }
                }
                Subject::All
            }
        };
        self.tell(subject);
        self.unseen.push((at, gtid), subject, hidden_until)
    }

    /// All that an event tells has been noted: it was read up to there.
    pub fn end_event(&mut self, position: &Position, gtid: Option<&Gtid>, now: Micros) {
        self.figures.events += 1;
        self.figures.gtid = gtid.cloned();
        self.position.clone_from(position);
        self.settle(now);
    }

    /// What its server is to be asked now.
    pub fn ask(&mut self) -> LogQuestions {
        self.awaited.iter_mut().for_each(|awaited| awaited.is_asked = true);
        LogQuestions {
            stand: self.awaited.iter().any(|awaited| awaited.end.is_none()),
            visible: self.has_unseen(),
            cascades: self.is_stale() && self.unseen.are_seen(self.defined),
            numbers: self.unseen.numbers(),
            defined: self.defined,
            position: self.position.clone(),
        }
    }

    /// Its server has said that; whether that came to anything. Fails where the log is not the one
    /// that was read.
    pub fn told(
        &mut self,
        asked: LogQuestions,
        told: LogAnswers,
        now: Micros,
    ) -> Result<bool, String> {
        let LogQuestions { numbers, defined, position, .. } = asked;
        let LogAnswers { stand, visible, cascades } = told;
        if stand.as_ref().is_some_and(|stand| !stand.end.is_behind_or_at(&position)) {
            return Err(format!("its log ends in front of {position}: it has begun anew"));
        }
        let mut came_to_something = cascades.is_some();
        if let Some(cascades) = cascades {
            (self.cascades, self.known_defined) = (cascades, defined);
            self.generation += 1;
        }
        if let Some(visible) = visible {
            came_to_something |= self.note_visible(&visible, numbers, now);
        }
        if let Some(stand) = stand {
            came_to_something |= self.note_stand(&stand);
        }
        self.settle(now);
        Ok(came_to_something)
    }

    /// Tells again of the first so many changes that are visible; whether there were any.
    pub(crate) fn note_visible(&mut self, visible: &Visible, numbers: u64, now: Micros) -> bool {
        let seen = self.unseen.take(visible, numbers, now);
        seen.iter().for_each(|subject| self.tell(*subject));
        !seen.is_empty()
    }

    /// Tells all hostgroups of a change, with what follows from it.
    fn tell(&self, subject: Subject) {
        for group in self.told.values() {
            match subject {
                Subject::All => group.followed.changed_all(),
                Subject::Table(table) => {
                    group.followed.changed(table);
                    self.cascades.children(table).for_each(|child| group.followed.changed(child));
                }
            }
        }
    }

    /// The server was there when it was asked; whether any pulse's position is known by that.
    fn note_stand(&mut self, stand: &LogStand) -> bool {
        let mut is_any = false;
        for awaited in self.awaited.iter_mut().filter(|it| it.is_asked && it.end.is_none()) {
            let has_all = awaited
                .has
                .as_ref()
                .is_none_or(|wanted| stand.has.as_ref().is_some_and(|has| has.covers(wanted)));
            if has_all {
                awaited.end = Some(stand.end.clone());
                is_any = true;
            }
        }
        is_any
    }

    /// Notes the pulses that have been passed.
    fn settle(&mut self, now: Micros) {
        let Self { awaited, position, unseen, .. } = self;
        let has_passed = |awaited: &mut Awaited| {
            let end = awaited.end.as_ref();
            end.is_some_and(|end| position.is_behind_or_at(end) && unseen.is_seen_up_to(end))
        };
        let passed: Vec<_> = awaited.extract_if(.., has_passed).collect();
        for Awaited { hostgroup, since, .. } in passed {
            self.figures.lag = now.since(since);
            if let Some(group) = self.told.get(&hostgroup) {
                group.wake();
            }
        }
    }
}

#[cfg(test)]
mod tests;
