//! Query rules: compiled once from their rows, evaluated for every query.
//!
//! The outcome is a verdict, not an action: whether the destination is obeyed (a transaction may
//! pin the session elsewhere) is the session's decision.

use crate::config_fault::ConfigFault;
use crate::ids::HostgroupId;
use crate::rows::RuleRow;

/// Compiled rules in the order of their ids; immutable and shared by the workers.
#[derive(Debug, Default)]
pub struct RuleSet {}

/// What a worker needs to evaluate one [`RuleSet`] without allocating: make it with
/// [`RuleSet::scratch`] whenever the set changes.
#[derive(Debug, Default)]
pub struct RuleScratch {
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
    /// Compiles the active rows, or gives everything that is wrong with them.
    pub fn compile(_rows: &[RuleRow]) -> Result<Self, Vec<ConfigFault>> {
        Ok(Self::default())
    }

    /// A scratch for this set, with all hits at 0.
    pub fn scratch(&self) -> RuleScratch {
        RuleScratch::default()
    }

    /// Evaluates the rules in ascending order of their ids.
    pub fn route(&self, _input: &RuleInput<'_>, _scratch: &mut RuleScratch) -> RuleVerdict {
        RuleVerdict::default()
    }

    /// Ids of the rules, in the order of [`RuleScratch::hits`].
    pub fn rule_ids(&self) -> impl Iterator<Item = i64> + '_ {
        std::iter::empty()
    }
}

impl RuleScratch {
    /// How often each rule matched since the scratch was made.
    pub fn hits(&self) -> &[u64] {
        &self.hits
    }
}
