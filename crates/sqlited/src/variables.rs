//! System variables: which exist, what may be assigned, what they read as.
//!
//! Most are only remembered, as drivers set them and read them back. Those with an effect
//! (`autocommit`, `read_only`, `foreign_key_checks`, `innodb_lock_wait_timeout`) take it elsewhere;
//! a value that would change what statements mean (`ANSI_QUOTES`) is refused rather than ignored.

use std::collections::BTreeMap;

use rusqlite::types::Value;

use crate::fault::Fault;
use crate::variables_table::ALL;

/// A system variable.
#[derive(Debug)]
pub(crate) struct Definition {
    /// Its name, lower case.
    pub(crate) name: &'static str,
    /// What its values are.
    pub(crate) kind: Kind,
    /// Its value while none is set.
    pub(crate) default: &'static str,
    /// Where it may be set.
    pub(crate) settable: Settable,
}

/// What the values of a variable are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// ON and OFF, kept as 1 and 0.
    Flag,
    /// A number.
    Integer,
    /// Anything.
    Text,
    /// The name of a character set.
    Charset,
    /// The name of a collation.
    Collation,
    /// A list of modes.
    SqlMode,
    /// UTC under one of its names.
    TimeZone,
    /// An isolation level.
    Isolation,
    /// Read from the server or the session.
    Computed,
}

/// Where a variable may be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Settable {
    /// By SESSION and GLOBAL.
    Both,
    /// By GLOBAL only.
    Global,
    /// By SESSION only.
    Session,
    /// Not at all.
    Nowhere,
}

/// A row of the table.
pub(crate) const fn define(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    settable: Settable,
) -> Definition {
    Definition { name, kind, default, settable }
}

/// Values that differ from the defaults.
pub(crate) type Values = BTreeMap<&'static str, String>;

/// The variable called `name`, or that was once called so.
pub(crate) fn find(name: &str) -> Result<&'static Definition, Fault> {
    let current = match name {
        "tx_isolation" => "transaction_isolation",
        "tx_read_only" => "transaction_read_only",
        other => other,
    };
    ALL.binary_search_by(|definition| definition.name.cmp(current))
        .ok()
        .and_then(|at| ALL.get(at))
        .ok_or_else(|| Fault::unknown_variable(name))
}

impl Definition {
    /// The text to remember for `value`; `None` goes back to the default.
    pub(crate) fn accept(&self, value: Option<&Value>) -> Result<Option<String>, Fault> {
        let Some(value) = value else { return Ok(None) };
        let text = match value {
            Value::Null if self.kind == Kind::Charset => "binary".to_owned(),
            Value::Null => return Err(self.wrong_value("NULL")),
            Value::Integer(number) => number.to_string(),
            Value::Real(number) => number.to_string(),
            Value::Text(text) => text.clone(),
            Value::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        };
        let known = match self.kind {
            Kind::Flag => return self.flag(&text).map(Some),
            Kind::Integer | Kind::Computed => text.parse::<f64>().is_ok(),
            Kind::Charset => {
                if wire::collation_table::find_charset_default(text.as_bytes()).is_none() {
                    return Err(Fault::new(
                        1115,
                        b"42000",
                        format!("Unknown character set: '{text}'"),
                    ));
                }
                true
            }
            Kind::Collation => {
                if wire::collation_table::find_name(text.as_bytes()).is_none() {
                    return Err(Fault::new(1273, b"HY000", format!("Unknown collation: '{text}'")));
                }
                true
            }
            Kind::SqlMode => {
                let upper = text.to_ascii_uppercase();
                let refused = ["ANSI", "ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "PIPES_AS_CONCAT"];
                if let Some(mode) = upper.split(',').find(|mode| refused.contains(&mode.trim())) {
                    return Err(Fault::unsupported(&format!("sql_mode {mode}")));
                }
                true
            }
            Kind::TimeZone => ["SYSTEM", "+00:00", "UTC", "-00:00", "Etc/UTC", "GMT"]
                .iter()
                .any(|zone| zone.eq_ignore_ascii_case(&text)),
            Kind::Isolation => return self.isolation(&text).map(Some),
            Kind::Text => true,
        };
        if known { Ok(Some(text)) } else { Err(self.wrong_value(&text)) }
    }

    /// The value in a SELECT.
    pub(crate) fn value(&self, text: &str) -> Value {
        match self.kind {
            Kind::Flag | Kind::Integer => {
                text.parse().map_or_else(|_| Value::Text(text.to_owned()), Value::Integer)
            }
            _ => Value::Text(text.to_owned()),
        }
    }

    /// The value in SHOW VARIABLES.
    pub(crate) fn shown(&self, text: &str) -> String {
        match (self.kind, text) {
            (Kind::Flag, "1") => "ON".to_owned(),
            (Kind::Flag, _) => "OFF".to_owned(),
            _ => text.to_owned(),
        }
    }

    fn flag(&self, text: &str) -> Result<String, Fault> {
        match text.to_ascii_lowercase().as_str() {
            "1" | "on" | "true" => Ok("1".to_owned()),
            "0" | "off" | "false" => Ok("0".to_owned()),
            _ => Err(self.wrong_value(text)),
        }
    }

    fn isolation(&self, text: &str) -> Result<String, Fault> {
        let level = text.to_ascii_uppercase().replace(' ', "-");
        let known = ["READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"];
        if known.contains(&level.as_str()) { Ok(level) } else { Err(self.wrong_value(text)) }
    }

    fn wrong_value(&self, text: &str) -> Fault {
        Fault::new(
            1231,
            b"42000",
            format!("Variable '{}' can't be set to the value of '{text}'", self.name),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_so_that_it_can_be_searched() {
        assert!(ALL.windows(2).all(|pair| pair[0].name < pair[1].name));
    }

    #[test]
    fn flags_take_every_way_to_write_them_and_nothing_else() {
        let autocommit = find("autocommit").unwrap();
        let off = Value::Text("OFF".into());
        assert_eq!(autocommit.accept(Some(&off)), Ok(Some("0".into())));
        assert_eq!(autocommit.accept(Some(&Value::Integer(1))), Ok(Some("1".into())));
        assert_eq!(autocommit.accept(Some(&Value::Integer(7))).unwrap_err().code, 1231);
        assert_eq!(autocommit.shown("1"), "ON");
    }

    #[test]
    fn what_would_be_ignored_is_refused() {
        let mode = find("sql_mode").unwrap();
        let ansi = Value::Text("STRICT_TRANS_TABLES,ANSI_QUOTES".into());
        assert_eq!(mode.accept(Some(&ansi)).unwrap_err().code, 1235);
        let zone = find("time_zone").unwrap();
        assert_eq!(zone.accept(Some(&Value::Text("Europe/Paris".into()))).unwrap_err().code, 1231);
        assert_eq!(find("nonsense").unwrap_err().code, 1193);
    }
}
