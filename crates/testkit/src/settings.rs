//! Variables of a session as they come to: what both ends of a simulation believe of them, each
//! for itself. Knows no statements.

use std::collections::BTreeMap;
use std::fmt;

/// Variables of a session that have another value than on a new connection. A text of a user
/// variable is followed by the number of its collation, as in `x~45`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Settings(BTreeMap<String, String>);

/// System variables and what they are on a new connection.
pub(crate) const FRESH: [(&str, &str); 6] = [
    ("foreign_key_checks", "1"),
    ("group_concat_max_len", "1048576"),
    ("sql_mode", "STRICT_TRANS_TABLES"),
    ("time_zone", "SYSTEM"),
    ("transaction_isolation", "REPEATABLE-READ"),
    ("wait_timeout", "28800"),
];

/// The value of a system variable on a new connection.
pub(crate) fn fresh(name: &str) -> Option<&'static str> {
    FRESH.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

impl Settings {
    /// The value of a variable; nothing for a user variable that was not set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).or_else(|| fresh(name))
    }

    /// Sets a variable; `None` for what a new connection has.
    pub fn set(&mut self, name: &str, value: Option<&str>) {
        match value.filter(|value| fresh(name) != Some(*value)) {
            Some(value) => self.0.insert(name.into(), value.into()),
            None => self.0.remove(name),
        };
    }

    /// The value of a system variable as a user variable keeps it.
    pub(crate) fn saved(&self, name: &str) -> Option<String> {
        let value = self.get(name)?;
        let is_text = value.is_empty() || value.contains(|c: char| !c.is_ascii_digit());
        Some(if is_text { format!("{value}~{SYSTEM_COLLATION}") } else { value.into() })
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("-");
        }
        self.0.iter().try_for_each(|(name, value)| write!(f, "{name}:{value}|"))
    }
}

/// The collation of a system variable's text: the default of `utf8`.
const SYSTEM_COLLATION: u16 = 33;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_from_a_new_connection_is_told() {
        let mut settings = Settings::default();
        assert_eq!(settings.to_string(), "-");
        settings.set("sql_mode", Some(""));
        settings.set("@a", Some("5"));
        assert_eq!(settings.to_string(), "@a:5|sql_mode:|");
        assert_eq!(settings.saved("sql_mode").unwrap(), "~33");
        assert_eq!(settings.saved("time_zone").unwrap(), "SYSTEM~33");
        assert_eq!(settings.saved("group_concat_max_len").unwrap(), "1048576");
        settings.set("sql_mode", Some("STRICT_TRANS_TABLES"));
        settings.set("@a", None);
        assert_eq!(settings, Settings::default());
    }
}
