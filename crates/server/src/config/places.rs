//! Where in the file each value stood, so that faults found later can be shown in place.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use engine::config_fault::ConfigFault;

use super::fault::FileFault;

/// Table, row and column of the admin interface.
type Cell = (&'static str, Option<usize>, String);

/// The places of all values that were read.
#[derive(Default)]
pub(super) struct Places {
    cells: HashMap<Cell, Range<usize>>,
    rows: HashMap<(&'static str, Option<usize>), Range<usize>>,
    /// Cells with a fault already: what the engine says of the stand-in value is of no interest.
    faulty: Vec<Cell>,
    /// Rows that could not be read at all, likewise.
    unreadable: Vec<(&'static str, usize)>,
}

impl Places {
    /// Remembers where a row began.
    pub(super) fn row(&mut self, table: &'static str, row: Option<usize>, span: Range<usize>) {
        self.rows.insert((table, row), span);
    }

    /// Remembers where a value stood; the earlier place when the cell was given before.
    pub(super) fn cell(
        &mut self,
        table: &'static str,
        row: Option<usize>,
        column: &str,
        span: Range<usize>,
    ) -> Option<Range<usize>> {
        let cell = (table, row, column.to_owned());
        let before = self.cells.get(&cell).cloned();
        self.cells.insert(cell, span);
        before
    }

    /// Remembers that a cell has been reported.
    pub(super) fn reported(&mut self, table: &'static str, row: Option<usize>, column: &str) {
        self.faulty.push((table, row, column.to_owned()));
    }

    /// Remembers that a whole row has been reported.
    pub(super) fn unreadable(&mut self, table: &'static str, row: usize) {
        self.unreadable.push((table, row));
    }

    /// Forgets rows of a table; those behind them move up.
    pub(super) fn leave_out(&mut self, table: &'static str, rows: &BTreeSet<usize>) {
        let gone: Vec<usize> = rows.iter().copied().collect();
        let moved = |row: usize| match gone.binary_search(&row) {
            Ok(_) => None,
            Err(before) => Some(row - before),
        };
        let kept = |of: &'static str, row: Option<usize>| match row {
            Some(row) if of == table => moved(row).map(Some),
            row => Some(row),
        };
        let cells = std::mem::take(&mut self.cells).into_iter();
        self.cells = cells
            .filter_map(|((of, row, column), span)| Some(((of, kept(of, row)?, column), span)))
            .collect();
        let places = std::mem::take(&mut self.rows).into_iter();
        self.rows =
            places.filter_map(|((of, row), span)| Some(((of, kept(of, row)?), span))).collect();
        let faulty = std::mem::take(&mut self.faulty).into_iter();
        self.faulty =
            faulty.filter_map(|(of, row, column)| Some((of, kept(of, row)?, column))).collect();
        let unreadable = std::mem::take(&mut self.unreadable).into_iter();
        self.unreadable =
            unreadable.filter_map(|(of, row)| Some((of, kept(of, Some(row))??))).collect();
    }

    /// Where a cell's value stood.
    pub(super) fn find(
        &self,
        table: &'static str,
        row: Option<usize>,
        column: &str,
    ) -> Option<Range<usize>> {
        self.cells.get(&(table, row, column.to_owned())).cloned()
    }

    /// Where a row began; the start of the file for a row that is not written in it.
    pub(super) fn find_row(&self, table: &'static str, row: Option<usize>) -> Range<usize> {
        self.rows.get(&(table, row)).cloned().unwrap_or(0..0)
    }

    /// Puts a fault of the engine in its place, unless that place has one already.
    pub(super) fn locate(&self, fault: &ConfigFault, faults: &mut Vec<FileFault>) {
        let ConfigFault { table, row, column, reason } = fault;
        let unreadable = row.is_some_and(|row| self.unreadable.contains(&(*table, row)));
        if unreadable || self.faulty.contains(&(*table, *row, column.clone())) {
            return;
        }
        let span = self.find(table, *row, column);
        let span = span.unwrap_or_else(|| self.find_row(table, *row));
        let title = match column.as_str() {
            "" => format!("{table}: {reason}"),
            column => format!("{table}.{column}: {reason}"),
        };
        faults.push(FileFault::error(span, title));
    }
}
