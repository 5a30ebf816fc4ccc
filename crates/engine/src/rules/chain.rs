//! Going through rules in their order: what one evaluation does.

use super::bits::Bits;
use super::index::FoundBy;
use super::observe::{Condition, Observer, RuleStep};
use super::scratch::Work;
use super::verdict::RuleVerdict;
use super::{Compiled, Rule, RuleInput};

/// How far an evaluation is.
pub(super) struct Chain<'a> {
    set: &'a Compiled,
    input: &'a RuleInput<'a>,
    verdict: RuleVerdict,
    random: u64,
    iteration: u32,
}

/// Which rules an evaluation looks at.
pub(super) enum Places<'a> {
    /// All.
    All,
    /// Those that are known to match if the text does; in ascending order.
    Listed(&'a [u32]),
    /// The same, and those that are found by the text, of which nothing else is known.
    Found(&'a mut Bits),
}

impl Places<'_> {
    /// The first that is not before `from`.
    fn next(&self, from: usize) -> Option<usize> {
        match self {
            Self::All => Some(from),
            Self::Listed(places) => {
                let before = |place: &u32| usize::try_from(*place).is_ok_and(|place| place < from);
                let next = places.get(places.partition_point(before))?;
                usize::try_from(*next).ok()
            }
            Self::Found(places) => places.next(from),
        }
    }

    /// Whether all conditions of a rule but its text are known to hold.
    fn is_known(&self, rule: &Rule) -> bool {
        !matches!(self, Self::All) && rule.found_by != FoundBy::Text
    }
}

impl<'a> Chain<'a> {
    pub(super) fn new(set: &'a Compiled, input: &'a RuleInput<'a>) -> Self {
        let verdict = RuleVerdict { flag: input.flag_in, ..RuleVerdict::default() };
        Self { set, input, verdict, random: input.random, iteration: 0 }
    }

    /// Goes to the end.
    pub(super) fn run<O: Observer>(
        mut self,
        mut places: Places<'_>,
        work: &mut Work,
        observer: &mut O,
    ) -> RuleVerdict {
        let mut from = 0;
        while let Some(place) = places.next(from) {
            let Some(rule) = self.set.rules.get(place) else { break };
            let flag_before = self.verdict.flag;
            let missed = self.miss(rule, place, places.is_known(rule), work);
            let rewritten = missed.is_none() && self.take(rule, place, work);
            if O::WATCHES {
                observer.on_rule(&RuleStep {
                    rule_id: rule.id,
                    flag_before,
                    flag_after: self.verdict.flag,
                    missed,
                    rewritten: rewritten.then_some(work.text.as_slice()),
                    applied: self.verdict.applied,
                    iteration: self.iteration,
                });
            } else if O::COUNTS && missed.is_none() {
                work.count_hit(rule.place);
                observer.on_match(rule.place, rule.actions.is_random());
            }
            if self.verdict.applied {
                break;
            }
            if rewritten && let Places::Found(places) = &mut places {
                self.set.index.find_by_text(&work.text, places);
            }
            from = place + 1;
            if self.verdict.flag != flag_before && self.iteration < self.set.iterations {
                self.iteration += 1;
                from = 0;
            }
        }
        self.verdict
    }

    /// The first column of a rule that does not match.
    fn miss(&self, rule: &Rule, place: usize, known: bool, work: &mut Work) -> Option<Condition> {
        let conditions = &rule.conditions;
        if conditions.flag_in != self.verdict.flag {
            return Some(Condition::FlagIn);
        }
        if !known {
            let missed = conditions.miss_of_stable(self.input, work.digests.get_mut(place)?);
            if missed.is_some() {
                return missed;
            }
        }
        let text = if self.verdict.rewritten { &work.text } else { self.input.text };
        let scratch = work.texts.get_mut(place)?;
        (!conditions.match_text(text, scratch)).then_some(Condition::MatchPattern)
    }

    /// Does what a matching rule says; whether it rewrote the text.
    fn take(&mut self, rule: &Rule, place: usize, work: &mut Work) -> bool {
        let actions = &rule.actions;
        self.verdict.flag = actions.next_flag(self.verdict.flag, self.random);
        if actions.is_random() {
            self.random = next_random(self.random);
        }
        actions.apply_to(&mut self.verdict);
        let rewritten = !self.input.execute && self.rewrite(rule, place, work);
        self.verdict.rewritten |= rewritten;
        rewritten
    }

    /// Rewrites the text as it stands, if the rule does and its pattern is found.
    fn rewrite(&self, rule: &Rule, place: usize, work: &mut Work) -> bool {
        let Some(replacement) = &rule.actions.replacement else { return false };
        let Some(pattern) = &rule.conditions.match_pattern else { return false };
        let Some(scratch) = work.texts.get_mut(place) else { return false };
        let text = if self.verdict.rewritten { work.text.as_slice() } else { self.input.text };
        work.next_text.clear();
        let replaced = pattern.replace(text, replacement, scratch, &mut work.next_text);
        if replaced {
            std::mem::swap(&mut work.text, &mut work.next_text);
        }
        replaced
    }
}

/// Another number from one, for the next choice of the same evaluation.
fn next_random(random: u64) -> u64 {
    let mixed = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
    mixed ^ (mixed >> 32)
}
