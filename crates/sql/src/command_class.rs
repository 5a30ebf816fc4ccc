//! The rows of `stats_mysql_commands_counters`.
//!
//! A class is a [`Verb`], without the distinction between what is understood but not counted and
//! what is not understood.

use crate::{Facts, Verb};

/// What a statement is counted as.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CommandClass(Verb);

impl CommandClass {
    /// How many there are.
    pub const COUNT: usize = Verb::ALL.len() - 1;

    /// Every class, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        Verb::ALL.into_iter().filter(|verb| *verb != Verb::Other).map(Self)
    }

    /// Name in the `Command` column.
    pub const fn name(self) -> &'static str {
        self.0.name()
    }

    /// Position in the order of the table, less than [`CommandClass::COUNT`].
    pub const fn index(self) -> usize {
        match self.0 {
            Verb::Unknown => Self::COUNT - 1,
            verb => verb.index(),
        }
    }
}

impl From<Verb> for CommandClass {
    fn from(verb: Verb) -> Self {
        Self(if verb == Verb::Other { Verb::Unknown } else { verb })
    }
}

/// What the statement with these facts is counted as.
pub fn command_class(facts: &Facts) -> CommandClass {
    facts.verb.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts;

    #[test]
    fn the_table_has_a_row_for_every_class_in_its_order() {
        let names: Vec<&str> = CommandClass::all().map(CommandClass::name).collect();
        assert_eq!(names.len(), CommandClass::COUNT);
        assert_eq!(names.first(), Some(&"ALTER_TABLE"));
        assert_eq!(names[51..], ["USE", "SHOW", "UNKNOWN"]);
        for (index, class) in CommandClass::all().enumerate() {
            assert_eq!(class.index(), index, "{}", class.name());
        }
    }

    #[test]
    fn statements_are_counted_where_an_operator_looks_for_them() {
        for (text, name) in [
            ("select 1", "SELECT"),
            ("/* x */ (select 1) for update", "SELECT_FOR_UPDATE"),
            ("insert into t values (1)", "INSERT"),
            ("create temporary table t (a int)", "CREATE_TEMPORARY"),
            ("truncate t", "TRUNCATE_TABLE"),
            ("start transaction read only", "START_TRANSACTION"),
            ("rollback to savepoint s", "ROLLBACK_SAVEPOINT"),
            ("show table status", "SHOW_TABLE_STATUS"),
            ("do sleep(0)", "UNKNOWN"),
            ("nonsense", "UNKNOWN"),
            ("", "UNKNOWN"),
        ] {
            assert_eq!(command_class(&facts(text.as_bytes())).name(), name, "{text}");
        }
    }
}
