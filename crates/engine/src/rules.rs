//! Query rules: compiled once from their rows, evaluated for every query.
//!
//! The outcome is a verdict, not an action: whether the destination is obeyed (a transaction may
//! pin the session elsewhere) is the session's decision. What a rule asks is known to `conditions`
//! alone, what it decides to `actions`, how a pattern is searched to `pattern` and `dialect`, the
//! order of things to `chain`. All the rest is about not looking at rules that cannot match.
//! `index` and `literals` find rules that can, `survey` finds what is the same for a digest and
//! client, and `memo` remembers it.
//!
//! What differs from ProxySQL, on purpose:
//! - a pattern, replacement or number that cannot be is a fault of the configuration; there it is
//!   logged, and the rule never matches or never rewrites;
//! - fast routing is left out when a rule with `apply=1` matched; there, when the last rule has it,
//!   matched or not;
//! - patterns are searched by a linear-time engine, or else by PCRE2, with PCRE's meaning; a search
//!   is given up at other limits than there. With RE2's spelling they are read as bytes too.

mod actions;
mod backtracking;
mod bits;
mod cells;
mod chain;
mod choice;
mod conditions;
mod dialect;
mod fast_routing;
mod index;
mod input;
mod literals;
mod memo;
mod observe;
mod pattern;
mod patterns;
mod prefilter;
mod reading;
mod replace;
mod scratch;
mod spelling;
mod survey;
mod verdict;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::config_fault::ConfigFault;
use crate::rows::RuleRow;
use crate::vars::Vars;

use actions::Actions;
use cells::{Cells, Found, fault};
use chain::{Chain, Places};
use conditions::Conditions;
use index::{FoundBy, Index};
use memo::Known;
use patterns::Patterns;
use survey::AskedColumns;

pub use fast_routing::FastRouting;
pub use input::{DigestRef, RuleInput};
pub use reading::{flags_of_attributes, meaning_of_pattern, server_names_of_attributes};

pub use observe::{Condition, Observer, RuleStep};
pub use scratch::RuleScratch;
pub use verdict::{Invalidation, Multiplex, RuleVerdict};

/// Compiled rules in the order of their ids; immutable, shared by the workers, cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct RuleSet(Arc<Compiled>);

#[derive(Debug, Default)]
struct Compiled {
    rules: Box<[Rule]>,
    index: Index,
    asked: AskedColumns,
    /// How often a chain may begin again after its flag changed.
    iterations: u32,
    /// Remembering is quicker than looking again.
    remembers: bool,
    slow: Box<[ConfigFault]>,
    patterns: Patterns,
    answering: Answering,
}

/// Whose queries rules may answer.
#[derive(Debug, Default)]
struct Answering {
    anybodys: bool,
    users: HashSet<Box<[u8]>>,
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
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
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
        Self::after(rows, options, None)
    }

    /// The same for rows that follow those of this set: patterns that stay are shared with it.
    pub fn recompile(
        &self,
        rows: &[RuleRow],
        options: RuleOptions,
    ) -> Result<Self, Vec<ConfigFault>> {
        Self::after(rows, options, Some(&self.0.patterns))
    }

    fn after(
        rows: &[RuleRow],
        options: RuleOptions,
        before: Option<&Patterns>,
    ) -> Result<Self, Vec<ConfigFault>> {
        let mut found = Found { faults: duplicates(rows), before, ..Found::default() };
        let mut rules = Vec::with_capacity(rows.len());
        for (place, row) in rows.iter().enumerate() {
            let mut cells = Cells::new(place, row, &mut found);
            let conditions = Conditions::compile(&mut cells, options.engine);
            let actions = Actions::compile(&mut cells, &conditions);
            if row.active == 1 {
                let found_by = FoundBy::default();
                rules.push(Rule { id: row.rule_id, place: 0, found_by, conditions, actions });
            }
        }
        if !found.faults.is_empty() {
            return Err(found.faults);
        }
        rules.sort_by_key(|rule: &Rule| rule.id);
        for (place, rule) in rules.iter_mut().enumerate() {
            rule.place = u32::try_from(place).unwrap_or(u32::MAX);
        }
        let index = Index::new(&mut rules);
        let asks = |rule: &Rule| rule.conditions.match_digest.is_some();
        let remembers = rules.len() > FEW || rules.iter().any(asks);
        Ok(Self(Arc::new(Compiled {
            asked: AskedColumns::of(&rules),
            answering: Answering::of(&rules),
            rules: rules.into(),
            index,
            iterations: options.iterations,
            remembers,
            slow: found.slow.into(),
            patterns: found.patterns,
        })))
    }

    /// A scratch for this set, with all hits at 0.
    pub fn scratch(&self) -> RuleScratch {
        RuleScratch::new(&self.0)
    }

    /// Whether a scratch is for this set.
    pub fn owns(&self, scratch: &RuleScratch) -> bool {
        scratch.is_of(&self.0)
    }

    /// Evaluates the rules in ascending order of their ids: every matching rule overrides what
    /// earlier ones decided, until one with `apply=1` matched.
    ///
    /// What does not depend on the text is found out once for each digest and client; to whoever
    /// watches it is all done anew.
    pub fn evaluate<O: Observer>(
        &self,
        input: &RuleInput<'_>,
        scratch: &mut RuleScratch,
        observer: &mut O,
    ) -> RuleVerdict {
        let set = &*self.0;
        if !scratch.is_of(&self.0) {
            *scratch = self.scratch();
        }
        let RuleScratch { work, memo, key, places, .. } = scratch;
        let chain = Chain::new(set, input);
        if O::WATCHES || !set.remembers {
            return chain.run(Places::All, work, observer);
        }
        set.asked.key_of(input, key);
        let known = match memo.find(key) {
            Some(slot) => memo.known(slot),
            None => memo.insert(key, set.survey(input, work, places)),
        };
        match known {
            Some(Known::Verdict(verdict, matched)) => {
                if O::COUNTS {
                    for place in matched {
                        work.count_hit(*place);
                        observer.on_match(*place, false);
                    }
                }
                verdict.clone()
            }
            Some(Known::AllPlaces(listed)) => chain.run(Places::Listed(listed), work, observer),
            Some(Known::Places(listed)) => {
                places.clear(set.rules.len());
                listed.iter().for_each(|place| places.insert(*place));
                set.index.find_by_text(input.text, places);
                chain.run(Places::Found(places), work, observer)
            }
            None => chain.run(Places::All, work, observer),
        }
    }

    /// Ids of the active rules, in the order of [`RuleScratch::hits`].
    pub fn rule_ids(&self) -> impl Iterator<Item = i64> + '_ {
        self.0.rules.iter().map(|rule| rule.id)
    }

    /// The patterns of active rules that need an engine which backtracks, each with the reason:
    /// they work, but slowly, and are given up when they reach a limit.
    pub fn slow_patterns(&self) -> &[ConfigFault] {
        &self.0.slow
    }

    /// Whether any active rule may change a text, which then has to be there as a whole.
    pub fn rewrites(&self) -> bool {
        self.0.rules.iter().any(|rule| rule.actions.replacement.is_some())
    }

    /// Whether any active rule may answer a query of this user in the place of a server, so that
    /// its rules must see the whole of it, as a server does.
    pub fn may_answer(&self, username: &[u8]) -> bool {
        let Answering { anybodys, users } = &self.0.answering;
        *anybodys || (!users.is_empty() && users.contains(username))
    }

    /// Whether no rule is active.
    pub fn is_empty(&self) -> bool {
        self.0.rules.is_empty()
    }
}

impl Answering {
    fn of(rules: &[Rule]) -> Self {
        let mut answering = Self::default();
        for rule in rules.iter().filter(|rule| rule.conditions.answers) {
            match &rule.conditions.username {
                Some(user) => {
                    answering.users.insert(user.clone());
                }
                None => answering.anybodys = true,
            }
        }
        answering
    }
}

/// One rule.
#[derive(Debug)]
struct Rule {
    id: i64,
    /// Its place in the order of the rules.
    place: u32,
    found_by: FoundBy,
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

/// Up to so many rules without `match_digest` are quicker looked at than remembered.
const FEW: usize = 8;

#[cfg(test)]
mod tests;
