//! Query rules: compiled once from their rows, evaluated for every query.
//!
//! The outcome is a verdict, not an action: whether the destination is obeyed (a transaction may
//! pin the session elsewhere) is the session's decision. What columns a rule has is known to
//! `columns` alone, how a pattern is searched to `pattern` and `dialect`.

mod columns;
mod dialect;
mod pattern;
mod prefilter;

use std::collections::HashMap;
use std::sync::Arc;

use crate::config_fault::ConfigFault;
use crate::ids::HostgroupId;
use crate::rows::RuleRow;

use columns::{Actions, Conditions};
use pattern::PatternScratch;

/// Compiled rules in the order of their ids; immutable, shared by the workers, cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    rules: Arc<[Rule]>,
}

/// What a worker needs to evaluate a [`RuleSet`] without allocating and without locks, and how
/// often each rule matched.
///
/// A scratch adapts itself to the set it is used with; its hits then begin at 0. Harvest them
/// before a set is replaced.
#[derive(Clone, Debug, Default)]
pub struct RuleScratch {
    rules: Arc<[Rule]>,
    patterns: Vec<PatternScratch>,
    hits: Vec<u64>,
}

/// What rules look at.
#[derive(Clone, Copy, Debug)]
pub struct RuleInput<'a> {
    /// Client's user name.
    pub username: &'a [u8],
    /// Session's current schema; empty for none.
    pub schemaname: &'a [u8],
    /// Query text.
    pub text: &'a [u8],
}

/// What the rules decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RuleVerdict {
    /// Hostgroup of the last matching rule that named one.
    pub destination: Option<HostgroupId>,
    /// Whether a rule with `apply=1` ended the evaluation.
    pub applied: bool,
}

impl RuleSet {
    /// Compiles the active rows, or gives everything that is wrong with any row.
    pub fn compile(rows: &[RuleRow]) -> Result<Self, Vec<ConfigFault>> {
        let mut faults = duplicates(rows);
        let mut rules = Vec::with_capacity(rows.len());
        for (place, row) in rows.iter().enumerate() {
            let conditions = Conditions::compile(place, row, &mut faults);
            let actions = Actions::compile(place, row, &mut faults);
            if row.active == 1 {
                rules.push(Rule { id: row.rule_id, conditions, actions });
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        rules.sort_by_key(|rule| rule.id);
        Ok(Self { rules: rules.into() })
    }

    /// A scratch for this set, with all hits at 0.
    pub fn scratch(&self) -> RuleScratch {
        RuleScratch {
            rules: Arc::clone(&self.rules),
            patterns: self.rules.iter().map(|_| PatternScratch::default()).collect(),
            hits: vec![0; self.rules.len()],
        }
    }

    /// Evaluates the rules in ascending order of their ids: every matching rule overrides what
    /// earlier ones decided, until one with `apply=1` matched.
    pub fn route(&self, input: &RuleInput<'_>, scratch: &mut RuleScratch) -> RuleVerdict {
        if !Arc::ptr_eq(&self.rules, &scratch.rules) {
            *scratch = self.scratch();
        }
        let mut verdict = RuleVerdict::default();
        let notes = scratch.patterns.iter_mut().zip(&mut scratch.hits);
        for (rule, (pattern, hits)) in self.rules.iter().zip(notes) {
            if !rule.conditions.match_input(input, pattern) {
                continue;
            }
            *hits += 1;
            rule.actions.apply_to(&mut verdict);
            if verdict.applied {
                break;
            }
        }
        verdict
    }

    /// Ids of the active rules, in the order of [`RuleScratch::hits`].
    pub fn rule_ids(&self) -> impl Iterator<Item = i64> + '_ {
        self.rules.iter().map(|rule| rule.id)
    }

    /// Whether no rule is active.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

impl RuleScratch {
    /// How often each rule matched since the scratch was made.
    pub fn hits(&self) -> &[u64] {
        &self.hits
    }
}

#[derive(Debug)]
struct Rule {
    id: i64,
    conditions: Conditions,
    actions: Actions,
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

/// A fault of `mysql_query_rules`.
fn fault(place: usize, column: &str, reason: String) -> ConfigFault {
    ConfigFault { table: "mysql_query_rules", row: Some(place), column: column.into(), reason }
}

#[cfg(test)]
mod tests;
