//! The rows of a table, whatever their type.

use std::collections::BTreeSet;

use super::{Cell, Row, Table};
use crate::config_fault::ConfigFault;

/// Rows of one table; values go in the order of its columns.
pub trait TableRows {
    /// The table.
    fn table(&self) -> &'static Table;

    /// How many there are.
    fn count(&self) -> usize;

    /// The values of a row; none for one that is not there.
    fn cells(&self, row: usize) -> Vec<Cell>;

    /// The values of a row that says nothing.
    fn initial(&self) -> Vec<Cell>;

    /// Puts others in their place; values of a wrong type keep the default and are in the answer.
    fn replace(&mut self, rows: &mut dyn Iterator<Item = Vec<Cell>>) -> Vec<ConfigFault>;

    /// Takes some out.
    fn leave_out(&mut self, rows: &BTreeSet<usize>);
}

impl<R: Row> TableRows for Vec<R> {
    fn table(&self) -> &'static Table {
        R::TABLE
    }

    fn count(&self) -> usize {
        self.len()
    }

    fn cells(&self, row: usize) -> Vec<Cell> {
        self.get(row).map(cells).unwrap_or_default()
    }

    fn initial(&self) -> Vec<Cell> {
        cells(&R::default())
    }

    fn replace(&mut self, rows: &mut dyn Iterator<Item = Vec<Cell>>) -> Vec<ConfigFault> {
        let mut faults = Vec::new();
        self.clear();
        for (at, values) in rows.enumerate() {
            let mut row = R::default();
            let values = values.into_iter().chain(std::iter::repeat(Cell::Null));
            for ((field, column), value) in R::FIELDS.iter().zip(R::TABLE.columns).zip(values) {
                if let Err(reason) = (field.set)(&mut row, value) {
                    let (table, column) = (R::TABLE.name, column.name.to_owned());
                    faults.push(ConfigFault { table, row: Some(at), column, reason });
                }
            }
            self.push(row);
        }
        faults
    }

    fn leave_out(&mut self, rows: &BTreeSet<usize>) {
        let mut at = 0;
        self.retain(|_| {
            at += 1;
            !rows.contains(&(at - 1))
        });
    }
}

fn cells<R: Row>(row: &R) -> Vec<Cell> {
    R::FIELDS.iter().map(|field| (field.get)(row)).collect()
}
