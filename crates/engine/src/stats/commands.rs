//! How often each class of statement ran and how long it took, as in
//! `stats_mysql_commands_counters`.

use sql::CommandClass;

/// Upper bounds of the columns `cnt_100us` to `cnt_10s`, in microseconds, included; what took
/// longer is in `cnt_INFs`.
pub const BOUNDS_US: [u64; 11] =
    [100, 500, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000, 10_000_000];

/// One row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CommandRow {
    /// `Total_Time_us`.
    pub time_us: u64,
    /// `Total_cnt`; the sum of the buckets.
    pub count: u64,
    /// `cnt_100us` to `cnt_INFs`; each statement is in one of them.
    pub buckets: [u64; BOUNDS_US.len() + 1],
}

impl CommandRow {
    /// Counts a statement that took so long.
    pub fn record(&mut self, elapsed_us: u64) {
        self.time_us = self.time_us.saturating_add(elapsed_us);
        self.count += 1;
        let bucket = BOUNDS_US.iter().position(|bound| elapsed_us <= *bound);
        if let Some(count) = self.buckets.get_mut(bucket.unwrap_or(BOUNDS_US.len())) {
            *count += 1;
        }
    }

    /// Adds what another one counted.
    pub fn merge(&mut self, other: &Self) {
        self.time_us = self.time_us.saturating_add(other.time_us);
        self.count += other.count;
        for (count, more) in self.buckets.iter_mut().zip(other.buckets) {
            *count += more;
        }
    }
}

/// A row for every class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommandCounters {
    rows: Box<[CommandRow; CommandClass::COUNT]>,
}

impl Default for CommandCounters {
    fn default() -> Self {
        Self { rows: Box::new([CommandRow::default(); CommandClass::COUNT]) }
    }
}

impl CommandCounters {
    /// Counts a statement of this class that took so long.
    pub fn record(&mut self, class: CommandClass, elapsed_us: u64) {
        if let Some(row) = self.rows.get_mut(class.index()) {
            row.record(elapsed_us);
        }
    }

    /// Adds what another worker counted.
    pub fn merge(&mut self, other: &Self) {
        for (row, more) in self.rows.iter_mut().zip(other.rows.iter()) {
            row.merge(more);
        }
    }

    /// Every class with its row, in the order of the table.
    pub fn rows(&self) -> impl Iterator<Item = (CommandClass, &CommandRow)> {
        CommandClass::all().zip(self.rows.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(text: &str) -> CommandClass {
        sql::command_class(&sql::facts(text.as_bytes()))
    }

    fn row(counters: &CommandCounters, name: &str) -> CommandRow {
        *counters.rows().find(|(class, _)| class.name() == name).expect("a row by that name").1
    }

    #[test]
    fn bounds_are_included_and_what_is_beyond_them_is_in_the_last_bucket() {
        let mut counters = CommandCounters::default();
        for elapsed_us in [0, 100, 101, 10_000_000, 10_000_001, u64::MAX / 2] {
            counters.record(class("select 1"), elapsed_us);
        }
        let select = row(&counters, "SELECT");
        assert_eq!(select.buckets, [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!((select.count, select.buckets.iter().sum::<u64>()), (6, 6));
        assert_eq!(select.time_us, 20_000_202 + u64::MAX / 2);
        assert_eq!(row(&counters, "INSERT"), CommandRow::default());
    }

    #[test]
    fn shares_add_up_class_by_class() {
        let (mut one, mut other) = (CommandCounters::default(), CommandCounters::default());
        one.record(class("select 1"), 5);
        other.record(class("select 1"), 700);
        other.record(class("nonsense"), 1);
        one.merge(&other);
        let select = row(&one, "SELECT");
        assert_eq!((select.count, select.time_us), (2, 705));
        assert_eq!(select.buckets[..3], [1, 0, 1]);
        assert_eq!(row(&one, "UNKNOWN").count, 1);
        assert_eq!(one.rows().count(), CommandClass::COUNT);
    }
}
