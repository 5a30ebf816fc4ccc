//! What is allowed and yet hardly meant: rules that nothing reaches, patterns that find nothing,
//! hostgroups without servers.
//!
//! Takes a configuration that compiles; nothing here is an error. A finding is said only where it
//! can be shown, so that a sensible configuration has none. Whether one pattern says more than
//! another is asked of their automata, and where statements go is asked of the rules themselves.

mod actions;
mod addresses;
mod fast_routing;
mod flags;
mod hostgroups;
mod kinds_table;
mod language;
mod overlap;
mod patterns;
mod probes;
mod rule;
mod shape;
mod spelling;
mod users;

use engine::rows::RuleRow;
use engine::snapshot::{Draft, Snapshot};

pub use kinds_table::Kind;
use language::Language;
use rule::LintedRule;
use shape::DigestShape;

/// Something that is hardly meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What it is about.
    pub kind: Kind,
    /// Table of the admin interface.
    pub table: &'static str,
    /// Position of the row in its table, from 0; `None` when the finding is about the table.
    pub row: Option<usize>,
    /// The rule, when the row is one.
    pub rule_id: Option<i64>,
    /// Column of the row; empty when no single one is meant.
    pub column: &'static str,
    /// What is the matter.
    pub reason: String,
    /// What to do about it.
    pub suggestion: String,
}

/// Looks for everything that is hardly meant; by table, row and kind.
pub fn lint(draft: &Draft, snapshot: &Snapshot) -> Vec<Finding> {
    let lint = Lint::new(draft, snapshot);
    let mut findings = Findings(Vec::new());
    patterns::look(&lint, &mut findings);
    actions::look(&lint, &mut findings);
    flags::look(&lint, &mut findings);
    overlap::look(&lint, &mut findings);
    hostgroups::look(&lint, &mut findings);
    users::look(&lint, &mut findings);
    addresses::look(&lint, &mut findings);
    fast_routing::look(&lint, &mut findings);
    probes::look(&lint, &mut findings);
    let mut findings = findings.0;
    findings.sort_by_key(|finding| (finding.table, finding.rule_id, finding.row, finding.kind));
    findings
}

/// What is looked at.
struct Lint<'a> {
    draft: &'a Draft,
    snapshot: &'a Snapshot,
    /// Active rules by id.
    rules: Vec<LintedRule<'a>>,
    /// What digests never hold.
    shape: DigestShape,
    /// Anything that may be a statement; `None` never.
    statement: Option<Language>,
}

impl<'a> Lint<'a> {
    fn new(draft: &'a Draft, snapshot: &'a Snapshot) -> Self {
        let active = draft.rules.iter().enumerate().filter(|(_, row)| row.active == 1);
        let mut rules: Vec<_> = active
            .enumerate()
            .map(|(number, (place, row))| {
                LintedRule::new(place, row, &snapshot.vars, number < LANGUAGES_MAX)
            })
            .collect();
        rules.sort_by_key(|rule| rule.row.rule_id);
        let shape = DigestShape::of_digests(&snapshot.vars);
        Self { draft, snapshot, rules, shape, statement: Language::parse("[A-Za-z]") }
    }

    /// Users that may log in.
    fn users(&self) -> impl Iterator<Item = &'a engine::rows::UserRow> {
        self.draft.users.iter().filter(|user| user.active == 1 && user.frontend == 1)
    }

    /// The inactive rules.
    fn inactive(&self) -> impl Iterator<Item = &'a RuleRow> {
        self.draft.rules.iter().filter(|row| row.active != 1)
    }
}

/// What was found.
struct Findings(Vec<Finding>);

impl Findings {
    /// Adds a finding about a rule.
    fn rule(
        &mut self,
        kind: Kind,
        rule: &LintedRule<'_>,
        column: &'static str,
        (reason, suggestion): (String, impl Into<String>),
    ) {
        self.0.push(Finding {
            kind,
            table: "mysql_query_rules",
            row: Some(rule.place),
            rule_id: Some(rule.row.rule_id),
            column,
            reason,
            suggestion: suggestion.into(),
        });
    }

    /// Adds a finding about a row of another table, or about a table.
    fn row(
        &mut self,
        kind: Kind,
        (table, row, column): (&'static str, Option<usize>, &'static str),
        (reason, suggestion): (String, impl Into<String>),
    ) {
        let suggestion = suggestion.into();
        self.0.push(Finding { kind, table, row, rule_id: None, column, reason, suggestion });
    }

    /// Whether there is a finding about a rule already.
    fn has(&self, kind: Kind, rule: &LintedRule<'_>) -> bool {
        let id = Some(rule.row.rule_id);
        self.0.iter().any(|finding| finding.kind == kind && finding.rule_id == id)
    }
}

/// Rules whose patterns become automata; those of further rules are compared as texts.
const LANGUAGES_MAX: usize = 1_000;

#[cfg(test)]
mod tests;
