//! Which server is the writer where several of a pair of hostgroups say that they take writes.
//!
//! Decides by their GTIDs, and by which was the writer before. Two servers are never asked at the
//! same moment: what one has that was asked later may be the other one's since. So a server proves
//! to have more only by an answer that was there before the other one was asked. That may be its
//! last but one, where both are asked in the same turn.
//!
//! A server that is typed as a writer and has not said what it is may take writes as well.

use std::collections::BTreeSet;

use engine::clusters::Pair;
use engine::hostgroups::SeveralWriters;
use engine::rows::ServerRow;

use crate::event::{Reason, StatusChange};
use crate::facts::Facts;
use crate::gtid_sets::GtidSet;
use crate::recording::recorded;
use crate::report::{Endpoint, GtidAnswer};
use crate::{Keeper, placement, wanted};

/// A server that says it takes writes, or is typed as a writer and has not said what it is.
pub(crate) struct Claim<'a> {
    pub(crate) server: Endpoint,
    pub(crate) is_heard: bool,
    /// What it has, the latest last.
    pub(crate) samples: &'a [Sample],
    /// It is typed in the hostgroup of writers.
    pub(crate) is_typed: bool,
}

/// The GTIDs of a server, as they were told.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Sample {
    pub(crate) gtids: String,
    /// When they were asked for, and when they were there.
    pub(crate) asked_us: u64,
    pub(crate) at_us: u64,
}

recorded!(Sample { gtids, asked_us, at_us } or default);

impl Sample {
    pub(crate) fn of(answer: &GtidAnswer, at_us: u64) -> Self {
        Self { gtids: answer.gtids.clone(), asked_us: answer.asked_us, at_us }
    }
}

/// Which servers of a pair say that they take writes, and which of them does.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Contest {
    pub(crate) claims: BTreeSet<Endpoint>,
    /// How many of them have not said so.
    pub(crate) unheard: u32,
    pub(crate) writer: Option<Endpoint>,
    pub(crate) because: Because,
}

recorded!(Contest { claims, unheard, writer, because } or default);

/// Why a server is the writer, or none is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Because {
    /// No other one says that it takes writes.
    #[default]
    Alone,
    /// It was the writer before, and no other one has all that it has and more.
    Before,
    /// It has all that the others have, and more.
    Newest,
    /// It has all that the others have, and is typed as the writer.
    Typed,
    /// It has all that the others have, and comes first.
    First,
    /// None has all that the others have.
    Diverged,
    /// It is not known of each what it has.
    Unknown,
    /// Several are not to be.
    Forbidden,
}

impl Contest {
    /// Whether a server that says it takes writes is none to be written to.
    pub(crate) fn is_outdone(&self, server: &Endpoint) -> bool {
        self.writer.as_ref() != Some(server)
            && (self.claims.len() > 1 || self.writer.is_some() && !self.claims.contains(server))
    }

    /// What becomes of it with these claims. `is_sure`: no other server may have been the writer.
    pub(crate) fn after(
        &self,
        claims: &[Claim<'_>],
        policy: SeveralWriters,
        is_sure: bool,
    ) -> Self {
        let (writer, because) = match claims {
            // whoever was the writer is one again when it answers
            [] => return Self { claims: BTreeSet::new(), unheard: 0, ..self.clone() },
            [one] => (Some(one.server.clone()).filter(|_| one.is_heard && is_sure), Because::Alone),
            _ if policy == SeveralWriters::NewestGtid => self.judged(claims, is_sure),
            _ => self.only_one(claims),
        };
        let unheard = claims.iter().filter(|claim| !claim.is_heard).count();
        let unheard = u32::try_from(unheard).unwrap_or(u32::MAX);
        let claims: BTreeSet<_> = claims.iter().map(|claim| claim.server.clone()).collect();
        // whoever has won stays with the reason it won by
        let is_as_before = writer == self.writer && claims == self.claims && writer.is_some();
        let because = if is_as_before { self.because } else { because };
        Self { claims, unheard, writer, because }
    }

    /// Who is the writer by what they have.
    fn judged(&self, claims: &[Claim<'_>], is_sure: bool) -> (Option<Endpoint>, Because) {
        let before = claims.iter().find(|claim| self.writer.as_ref() == Some(&claim.server));
        let known = Known::of(claims).filter(|_| is_sure);
        let newest = known.as_deref().and_then(newest).map(|it| it.server);
        let (server, because) = match (newest, before.map(|it| &it.server)) {
            (newest, Some(before)) if newest.is_none_or(|it| it == before) => {
                (Some(before), Because::Before)
            }
            (Some(newest), _) => (Some(newest), Because::Newest),
            (None, _) => match known.as_deref() {
                Some(known) => first(known),
                None => (written_unheard(claims), Because::Before),
            },
        };
        match server {
            None if because == Because::Before => (None, Because::Unknown),
            server => (server.cloned(), because),
        }
    }

    /// Who is the writer where several are not to be.
    fn only_one(&self, claims: &[Claim<'_>]) -> (Option<Endpoint>, Because) {
        let mut heard = claims.iter().filter(|claim| claim.is_heard).map(|claim| &claim.server);
        match (heard.next(), heard.next()) {
            (Some(only), None) if self.writer.as_ref() == Some(only) => {
                (Some(only.clone()), Because::Before)
            }
            _ => (None, Because::Forbidden),
        }
    }
}

/// The server that alone is typed as a writer, where it has not said what it is: clients write
/// there until it does.
fn written_unheard<'a>(claims: &'a [Claim<'_>]) -> Option<&'a Endpoint> {
    let mut typed = claims.iter().filter(|claim| claim.is_typed);
    let only = typed.next().filter(|_| typed.next().is_none())?;
    Some(&only.server).filter(|_| !only.is_heard)
}

/// A claim whose GTIDs are known.
struct Known<'a> {
    server: &'a Endpoint,
    /// What it has, and how that was told.
    last: (&'a Sample, GtidSet),
    /// The same of the time before.
    before: Option<(&'a Sample, GtidSet)>,
    is_typed: bool,
}

impl<'a> Known<'a> {
    /// All of them; `None` where those of any are not known.
    fn of(claims: &'a [Claim<'a>]) -> Option<Vec<Self>> {
        let known = |claim: &'a Claim<'a>| {
            let read = |sample: &'a Sample| Some((sample, GtidSet::parse(&sample.gtids)?));
            let (last, others) = claim.samples.split_last()?;
            Some(Self {
                server: &claim.server,
                last: read(last)?,
                before: others.last().and_then(read),
                is_typed: claim.is_typed,
            })
        };
        claims.iter().map(known).collect()
    }

    /// Whether it certainly has all that another one has, and more.
    fn is_ahead_of(&self, other: &Self) -> bool {
        let (asked, has) = &other.last;
        [Some(&self.last), self.before.as_ref()]
            .into_iter()
            .flatten()
            .any(|(told, own)| told.at_us <= asked.asked_us && own.covers(has) && !has.covers(own))
    }

    fn covers_all(&self, of: &[Self]) -> bool {
        of.iter().all(|other| self.last.1.covers(&other.last.1))
    }
}

/// Who certainly has all that the others have, and more.
fn newest<'a, 'b>(claims: &'b [Known<'a>]) -> Option<&'b Known<'a>> {
    claims.iter().find(|one| {
        let mut others = claims.iter().filter(|other| other.server != one.server);
        others.all(|other| one.is_ahead_of(other))
    })
}

/// Who is the writer where nobody was, and nobody certainly has more: what is typed decides among
/// servers that have the same as far as is known.
fn first<'a>(claims: &[Known<'a>]) -> (Option<&'a Endpoint>, Because) {
    let mut leading = claims.iter().filter(|claim| claim.covers_all(claims)).peekable();
    if leading.peek().is_none() {
        return (None, Because::Diverged);
    }
    let mut typed = claims.iter().filter(|claim| claim.is_typed);
    let (found, because) = match (typed.next(), typed.next()) {
        (Some(only), None) => (leading.find(|claim| claim.server == only.server), Because::Typed),
        _ => (leading.next(), Because::First),
    };
    match found {
        Some(found) => (Some(found.server), because),
        None => (None, Because::Unknown),
    }
}

/// A contest that has changed.
pub(crate) struct Settled {
    pair: Pair,
    reason: Reason,
    /// Servers that take writes and are none to be written to, or were.
    told: BTreeSet<Endpoint>,
}

impl Keeper {
    /// Whether a server of a pair takes writes, and is none to be written to.
    pub(crate) fn is_outdone(&self, pair: &Pair, server: &Endpoint) -> bool {
        self.contests.get(&pair.writer).is_some_and(|contest| contest.is_outdone(server))
    }

    /// Says anew which servers are the writers; gives what has changed.
    pub(crate) fn settle(&mut self) -> Vec<Settled> {
        let mut settled = Vec::new();
        for (writer, policy) in self.wanted.several_writers.clone() {
            let Some(pair) = self.wanted.pair_of(writer).copied() else { continue };
            let before = self.contests.get(&writer).cloned().unwrap_or_default();
            // who answers first is no more the writer than who has not been asked yet
            let is_sure = before.writer.is_some() || self.knows_pair(writer);
            let contest = before.after(&self.claims(&pair), policy, is_sure);
            if contest == before {
                continue;
            }
            let outdone = |of: &Contest| {
                of.claims.iter().filter(|it| of.is_outdone(it)).cloned().collect::<BTreeSet<_>>()
            };
            let told = &outdone(&before) | &outdone(&contest);
            let count = u32::try_from(contest.claims.len()).unwrap_or(u32::MAX);
            let reason = Reason::SeveralWriters {
                count: count.saturating_sub(contest.unheard),
                unheard: contest.unheard,
                writer: contest.writer.clone(),
                because: contest.because,
            };
            self.contests.insert(writer, contest);
            settled.push(Settled { pair, reason, told });
        }
        settled
    }

    /// Has servers be where a contest puts them. One that stays where it was is told, too. `own` is
    /// a server of which something was seen, and what that comes to by itself.
    pub(crate) fn follow(
        &mut self,
        settled: &Settled,
        own: Option<(&Endpoint, Reason)>,
        at_us: u64,
    ) -> Vec<StatusChange> {
        self.judge_all();
        let mut events = self.decide(at_us, &settled.reason);
        if let Some((server, reason)) = own.filter(|(server, _)| !settled.told.contains(server)) {
            let its = events.iter_mut().filter(|event| event.server == *server);
            its.for_each(|event| event.reason = reason.clone());
            events.sort_by_key(|event| event.server != *server);
        }
        let pair = [settled.pair.writer, settled.pair.reader];
        for placed in self.decided.iter().filter(|it| pair.contains(&it.row.hostgroup_id)) {
            let hostgroup = placed.row.hostgroup_id;
            let Some(server) = settled.told.iter().find(|it| wanted::is_of(&placed.row, it)) else {
                continue;
            };
            if events.iter().all(|it| it.server != *server || it.hostgroup != hostgroup) {
                let status = Some(placed.told().to_owned());
                events.push(StatusChange {
                    at_us,
                    hostgroup,
                    server: server.clone(),
                    from: status.clone(),
                    to: status,
                    reason: settled.reason.clone(),
                });
            }
        }
        events
    }

    /// The servers of a pair that say they take writes and answer, or may do so.
    fn claims(&self, pair: &Pair) -> Vec<Claim<'_>> {
        let all = self.facts.iter();
        let heard = all.filter_map(|(server, facts)| self.claim(pair, server, facts));
        let typed = self.wanted.servers.iter().filter(|row| row.hostgroup_id == pair.writer);
        let is_unheard = |server: &Endpoint| {
            let facts = self.facts.get(server);
            !self.deposed.contains(server)
                && facts.is_none_or(|it| it.read_only(pair.check).is_none() && !it.is_silent())
        };
        let unheard = typed.filter(|row| wanted::is_in_use(row)).map(Endpoint::of);
        let unheard = unheard.filter(is_unheard).map(|server| Claim {
            server,
            is_heard: false,
            samples: &[],
            is_typed: true,
        });
        heard.chain(unheard).collect()
    }

    /// Copies of the rows of servers that take writes in a pair and are not to: they are told of in
    /// the hostgroup of writers, and lose what goes on there.
    pub(crate) fn outdone_rows(&self) -> Vec<ServerRow> {
        let mut rows = Vec::new();
        for (writer, contest) in &self.contests {
            let Some(pair) = self.wanted.pair_of(*writer) else { continue };
            let outdone = contest.claims.iter().filter(|it| contest.is_outdone(it));
            rows.extend(outdone.filter_map(|it| placement::copy(&self.wanted, pair, it, *writer)));
        }
        rows
    }

    fn claim<'a>(&self, pair: &Pair, server: &'a Endpoint, facts: &'a Facts) -> Option<Claim<'a>> {
        let says_so = facts.read_only(pair.check) == Some(false) && facts.is_heard(pair.check);
        // few say so, and rows are looked through
        if !says_so || self.deposed.contains(server) {
            return None;
        }
        let is_typed = self.wanted.live_row(pair.writer, server).is_some();
        let is_of_pair = is_typed || self.wanted.live_row(pair.reader, server).is_some();
        is_of_pair.then(|| Claim {
            server: server.clone(),
            is_heard: true,
            samples: facts.samples(),
            is_typed,
        })
    }
}
