//! Reading the cells of a rule's row: from what was typed to what is meant, or a fault.

use std::sync::Arc;

use crate::config_fault::ConfigFault;
use crate::ids::HostgroupId;
use crate::rows::RuleRow;

use super::dialect::PatternRefusal;
use super::pattern::Options;
use super::patterns::{KnownPattern, Patterns};

/// One row while it is compiled; faults are collected.
pub(super) struct Cells<'a, 'b> {
    place: usize,
    pub(super) row: &'a RuleRow,
    found: &'a mut Found<'b>,
}

/// What rows were found to say.
#[derive(Default)]
pub(super) struct Found<'b> {
    /// Patterns in force.
    pub(super) before: Option<&'b Patterns>,
    /// Their own.
    pub(super) patterns: Patterns,
    /// What is wrong.
    pub(super) faults: Vec<ConfigFault>,
    /// Patterns that the linear-time engine does not have.
    pub(super) slow: Vec<ConfigFault>,
}

impl<'a, 'b> Cells<'a, 'b> {
    pub(super) fn new(place: usize, row: &'a RuleRow, found: &'a mut Found<'b>) -> Self {
        Self { place, row, found }
    }

    /// A pattern backtracks.
    pub(super) fn slow(&mut self, column: &str, why: &str) {
        let id = self.row.rule_id;
        let reason = format!("rule {id}: {why}; it is searched by PCRE2 within limits, slowly");
        self.found.slow.push(fault(self.place, column, reason));
    }

    /// A pattern of the row, taken over from before where it was there.
    pub(super) fn pattern(
        &mut self,
        text: &str,
        options: Options,
    ) -> Result<KnownPattern, PatternRefusal> {
        self.found.patterns.find(self.found.before, text, options)
    }

    pub(super) fn is_active(&self) -> bool {
        self.row.active == 1
    }

    pub(super) fn fault(&mut self, column: &str, reason: String) {
        self.found.faults.push(fault(self.place, column, reason));
    }

    /// A number of a column, when it is in range.
    pub(super) fn number(&mut self, column: &str, value: i64, min: u32, max: u32) -> Option<u32> {
        let number = u32::try_from(value).ok().filter(|number| (min..=max).contains(number));
        if number.is_none() {
            self.fault(column, format!("{value} is not allowed; allowed: {min} to {max}"));
        }
        number
    }

    /// A number of 31 bits from `min` on, as everything is that reads the admin interface.
    pub(super) fn optional(&mut self, column: &str, value: Option<i64>, min: u32) -> Option<u32> {
        self.number(column, value?, min, NUMBER_MAX)
    }

    pub(super) fn flag(&mut self, column: &str, value: i64) -> bool {
        if !matches!(value, 0 | 1) {
            self.fault(column, format!("{value} is not allowed; allowed: 0, 1"));
        }
        value == 1
    }

    pub(super) fn optional_flag(&mut self, column: &str, value: Option<i64>) -> Option<bool> {
        value.map(|value| self.flag(column, value))
    }

    pub(super) fn hostgroup(&mut self, column: &str, value: Option<i64>) -> Option<HostgroupId> {
        let number = value?;
        let id = u32::try_from(number).ok().filter(|id| *id <= NUMBER_MAX);
        if id.is_none() {
            self.fault(column, format!("{number} is no hostgroup; allowed: 0 to {NUMBER_MAX}"));
        }
        id.map(HostgroupId)
    }
}

/// A cell's text; the empty one is as none.
pub(super) fn text(cell: &Option<String>) -> Option<&str> {
    cell.as_deref().filter(|text| !text.is_empty())
}

pub(super) fn bytes(cell: &Option<String>) -> Option<Box<[u8]>> {
    text(cell).map(|text| text.as_bytes().into())
}

pub(super) fn message(cell: &Option<String>) -> Option<Arc<str>> {
    cell.as_deref().map(Arc::from)
}

/// A fault of `mysql_query_rules`.
pub(super) fn fault(place: usize, column: &str, reason: String) -> ConfigFault {
    ConfigFault { table: "mysql_query_rules", row: Some(place), column: column.into(), reason }
}

const NUMBER_MAX: u32 = i32::MAX.unsigned_abs();
