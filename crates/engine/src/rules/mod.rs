//! Query rules: compiled once from their rows, evaluated for every query.
//!
//! The outcome is a verdict, not an action: whether the destination is obeyed (a transaction may
//! pin the session elsewhere) is the session's decision. What a rule asks is known to `conditions`
//! alone, what it decides to `actions`, how a pattern is searched to `pattern` and `dialect`.

mod actions;
mod backtracking;
mod cells;
mod choice;
mod conditions;
mod dialect;
mod fast_routing;
mod input;
pub(crate) mod json;
mod observe;
mod pattern;
mod prefilter;
mod reading;
mod replace;
mod scratch;
mod spelling;
mod verdict;

use std::collections::HashMap;
use std::sync::Arc;

use crate::config_fault::ConfigFault;
use crate::rows::RuleRow;
use crate::vars::Vars;

use actions::Actions;
use cells::{Cells, Found, fault};
use conditions::Conditions;

pub use fast_routing::FastRouting;
pub use input::{DigestRef, RuleInput};
pub(crate) use reading::{flags_of_attributes, meaning_of_pattern};

pub use observe::{Condition, Observer, RuleStep};
pub use scratch::RuleScratch;
pub use verdict::{Multiplex, RuleVerdict};

/// Compiled rules in the order of their ids; immutable, shared by the workers, cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    rules: Arc<[Rule]>,
    /// How often a chain may begin again after its flag changed.
    iterations: u32,
    slow: Arc<[ConfigFault]>,
}

/// What is the same for all rules of a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RuleOptions {
    /// How patterns are read.
    pub engine: Engine,
    /// How often a chain may begin again after its flag changed; 0 goes through the rules once.
    pub iterations: u32,
}

/// What patterns are written for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Engine {
    /// PCRE.
    #[default]
    Pcre,
    /// RE2.
    Re2,
}

impl RuleOptions {
    /// What the variables say.
    pub fn of_vars(vars: &Vars) -> Self {
        let engine = if vars.query_processor_regex == 2 { Engine::Re2 } else { Engine::Pcre };
        Self { engine, iterations: vars.query_processor_iterations }
    }
}

impl RuleSet {
    /// Compiles the active rows, or gives everything that is wrong with any row.
    pub fn compile(rows: &[RuleRow], options: RuleOptions) -> Result<Self, Vec<ConfigFault>> {
        let mut found = Found { faults: duplicates(rows), slow: Vec::new() };
        let mut rules = Vec::with_capacity(rows.len());
        for (place, row) in rows.iter().enumerate() {
            let mut cells = Cells::new(place, row, &mut found);
            let conditions = Conditions::compile(&mut cells, options.engine);
            let actions = Actions::compile(&mut cells, &conditions);
            if row.active == 1 {
                rules.push(Rule { id: row.rule_id, conditions, actions });
            }
        }
        if !found.faults.is_empty() {
            return Err(found.faults);
        }
        rules.sort_by_key(|rule| rule.id);
        Ok(Self { rules: rules.into(), iterations: options.iterations, slow: found.slow.into() })
    }

    /// A scratch for this set, with all hits at 0.
    pub fn scratch(&self) -> RuleScratch {
        RuleScratch::new(&self.rules)
    }

    /// Evaluates the rules in ascending order of their ids: every matching rule overrides what
    /// earlier ones decided, until one with `apply=1` matched.
    pub fn evaluate<O: Observer>(
        &self,
        input: &RuleInput<'_>,
        scratch: &mut RuleScratch,
        observer: &mut O,
    ) -> RuleVerdict {
        if !scratch.is_of(&self.rules) {
            *scratch = self.scratch();
        }
        let mut chain = Chain {
            verdict: RuleVerdict { flag: input.flag_in, ..RuleVerdict::default() },
            random: input.random,
            iteration: 0,
        };
        let mut at = 0;
        while let Some(rule) = self.rules.get(at) {
            let before = chain.verdict.flag;
            chain.step(rule, at, input, scratch, observer);
            if chain.verdict.applied {
                break;
            }
            at += 1;
            if chain.verdict.flag != before && chain.iteration < self.iterations {
                chain.iteration += 1;
                at = 0;
            }
        }
        chain.verdict
    }

    /// Ids of the active rules, in the order of [`RuleScratch::hits`].
    pub fn rule_ids(&self) -> impl Iterator<Item = i64> + '_ {
        self.rules.iter().map(|rule| rule.id)
    }

    /// The patterns of active rules that need an engine which backtracks, each with the reason:
    /// they work, but slowly, and find nothing when they reach a limit.
    pub fn slow_patterns(&self) -> &[ConfigFault] {
        &self.slow
    }

    /// Whether no rule is active.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

/// How far an evaluation is.
struct Chain {
    verdict: RuleVerdict,
    random: u64,
    iteration: u32,
}

impl Chain {
    /// Looks at one rule.
    fn step<O: Observer>(
        &mut self,
        rule: &Rule,
        place: usize,
        input: &RuleInput<'_>,
        scratch: &mut RuleScratch,
        observer: &mut O,
    ) {
        let flag_before = self.verdict.flag;
        let missed = self.miss(rule, place, input, scratch);
        let mut rewritten = false;
        if missed.is_none() {
            if !O::WATCHES {
                scratch.count_hit(place);
            }
            if rule.actions.flag_choice.is_some() {
                self.verdict.flag = rule.actions.next_flag(flag_before, self.random);
                self.random = next_random(self.random);
            } else if let Some(flag) = rule.actions.flag_out {
                self.verdict.flag = flag;
            }
            rule.actions.apply_to(&mut self.verdict);
            if !input.execute && self.rewrite(rule, place, input, scratch) {
                rewritten = true;
                self.verdict.rewritten = true;
            }
        }
        if O::WATCHES {
            observer.on_rule(&RuleStep {
                rule_id: rule.id,
                flag_before,
                flag_after: self.verdict.flag,
                missed,
                rewritten: rewritten.then_some(scratch.text.as_slice()),
                applied: self.verdict.applied,
                iteration: self.iteration,
            });
        }
    }

    fn miss(
        &self,
        rule: &Rule,
        place: usize,
        input: &RuleInput<'_>,
        scratch: &mut RuleScratch,
    ) -> Option<Condition> {
        let conditions = &rule.conditions;
        if conditions.flag_in != self.verdict.flag {
            return Some(Condition::FlagIn);
        }
        let missed = conditions.miss_of_stable(input, scratch.digests.get_mut(place)?);
        if missed.is_some() {
            return missed;
        }
        let text = if self.verdict.rewritten { &scratch.text } else { input.text };
        let pattern = scratch.texts.get_mut(place)?;
        (!conditions.match_text(text, pattern)).then_some(Condition::MatchPattern)
    }

    /// Rewrites the text as it stands, if the rule does and its pattern is found.
    fn rewrite(
        &self,
        rule: &Rule,
        place: usize,
        input: &RuleInput<'_>,
        scratch: &mut RuleScratch,
    ) -> bool {
        let Some(replacement) = &rule.actions.replacement else { return false };
        let Some(pattern) = &rule.conditions.match_pattern else { return false };
        let Some(memory) = scratch.texts.get_mut(place) else { return false };
        let text = if self.verdict.rewritten { scratch.text.as_slice() } else { input.text };
        scratch.next_text.clear();
        let replaced = pattern.replace(text, replacement, memory, &mut scratch.next_text);
        if replaced {
            std::mem::swap(&mut scratch.text, &mut scratch.next_text);
        }
        replaced
    }
}

/// One rule.
#[derive(Debug)]
struct Rule {
    id: i64,
    conditions: Conditions,
    actions: Actions,
}

/// Another number from one, for the next choice of the same evaluation.
fn next_random(random: u64) -> u64 {
    let mixed = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
    mixed ^ (mixed >> 32)
}

/// A fault for every row whose id an earlier row has.
fn duplicates(rows: &[RuleRow]) -> Vec<ConfigFault> {
    let mut seen = HashMap::with_capacity(rows.len());
    let mut faults = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        if let Some(earlier) = seen.insert(row.rule_id, place) {
            let reason = format!("rule {} is in row {} already", row.rule_id, earlier + 1);
            faults.push(fault(place, "rule_id", reason));
        }
    }
    faults
}

#[cfg(test)]
mod tests;
