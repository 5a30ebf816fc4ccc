//! The columns of a rule: which of them ask, which of them act.
//!
//! A column is added here only: a field, its line in `compile`, and its line in `match_input` or
//! `apply_to`. Conditions stand in the order of their cost.

use super::pattern::{Pattern, PatternScratch};
use super::{RuleInput, RuleVerdict, fault};
use crate::config_fault::ConfigFault;
use crate::ids::HostgroupId;
use crate::rows::RuleRow;

/// What a query must satisfy, all of it; `None` and the empty text ask for nothing.
#[derive(Debug)]
pub(super) struct Conditions {
    username: Option<Box<[u8]>>,
    schemaname: Option<Box<[u8]>>,
    match_pattern: Option<Pattern>,
    negate_match_pattern: bool,
}

/// What a matching rule decides; `None` leaves to the verdict what it has.
#[derive(Debug)]
pub(super) struct Actions {
    destination: Option<HostgroupId>,
    apply: bool,
}

impl Conditions {
    pub(super) fn compile(place: usize, row: &RuleRow, faults: &mut Vec<ConfigFault>) -> Self {
        flag(place, "active", row.active, faults);
        Self {
            username: exact(row.username.as_deref()),
            schemaname: exact(row.schemaname.as_deref()),
            match_pattern: pattern(place, "match_pattern", row, faults),
            negate_match_pattern: flag(
                place,
                "negate_match_pattern",
                row.negate_match_pattern,
                faults,
            ),
        }
    }

    pub(super) fn match_input(&self, input: &RuleInput<'_>, scratch: &mut PatternScratch) -> bool {
        is_exactly(self.username.as_deref(), input.username)
            && is_exactly(self.schemaname.as_deref(), input.schemaname)
            && self.match_pattern.as_ref().is_none_or(|pattern| {
                pattern.is_match(input.text, scratch) != self.negate_match_pattern
            })
    }
}

impl Actions {
    pub(super) fn compile(place: usize, row: &RuleRow, faults: &mut Vec<ConfigFault>) -> Self {
        let destination = row.destination_hostgroup.and_then(|number| {
            let id = u32::try_from(number).ok().filter(|id| *id <= HOSTGROUP_MAX);
            if id.is_none() {
                let reason = format!("{number} is no hostgroup; allowed: 0 to {HOSTGROUP_MAX}");
                faults.push(fault(place, "destination_hostgroup", reason));
            }
            id.map(HostgroupId)
        });
        Self { destination, apply: flag(place, "apply", row.apply, faults) }
    }

    pub(super) fn apply_to(&self, verdict: &mut RuleVerdict) {
        if self.destination.is_some() {
            verdict.destination = self.destination;
        }
        verdict.applied = self.apply;
    }
}

/// Hostgroups are kept in 32 bits with a sign by everything that reads the admin interface.
const HOSTGROUP_MAX: u32 = i32::MAX.unsigned_abs();

fn exact(text: Option<&str>) -> Option<Box<[u8]>> {
    text.filter(|text| !text.is_empty()).map(|text| text.as_bytes().into())
}

fn is_exactly(asked: Option<&[u8]>, found: &[u8]) -> bool {
    asked.is_none_or(|asked| asked == found)
}

fn flag(place: usize, column: &str, value: i64, faults: &mut Vec<ConfigFault>) -> bool {
    if !matches!(value, 0 | 1) {
        faults.push(fault(place, column, format!("{value} is not allowed; allowed: 0, 1")));
    }
    value == 1
}

/// The pattern of an active row; that of an inactive one may be anything.
fn pattern(
    place: usize,
    column: &str,
    row: &RuleRow,
    faults: &mut Vec<ConfigFault>,
) -> Option<Pattern> {
    let text = row.match_pattern.as_deref().filter(|text| !text.is_empty())?;
    if row.active != 1 {
        return None;
    }
    match Pattern::compile(text) {
        Ok(pattern) => Some(pattern),
        Err(refusal) => {
            let reason = format!("rule {}: {refusal}", row.rule_id);
            faults.push(fault(place, column, reason));
            None
        }
    }
}
