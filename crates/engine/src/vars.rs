//! The registry of variables: one row each, from which everything about a variable follows.
//!
//! A row says name, kind with range, default, unit, meaning and when a change acts. Parsing,
//! validation, the typed [`Vars`], listings and the reference pages are made from the rows. So a
//! new variable is one row in the table of its group plus its use. Names and defaults are
//! ProxySQL's; what differs is listed, with reasons, in this module's tests.
//!
//! Not here: where values are stored, and where in a file a wrong one stood.

mod admin_table;
mod backends_table;
mod cache_table;
mod charset_table;
mod field;
mod flow_table;
mod idle_table;
mod interface;
mod interfaces_tls;
mod key_hash;
mod listeners_table;
mod logging_table;
mod monitor_table;
mod networks;
mod own_table;
mod queries_table;
mod suggest;
mod typed;
mod value;

use crate::config_fault::ConfigFault;

pub use interface::Interface;
pub use interfaces_tls::{InterfacesTls, LeastTls, TlsDemand};
pub use key_hash::KeyHash;
pub use networks::Networks;
pub(crate) use suggest::misspelt;
pub use suggest::nearest;
pub use typed::{AfterRestart, Vars};
pub use value::{Value, credentials, password_in};

/// One variable: everything that is known of it but its current value.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Which prefix the name carries in the admin interface.
    pub family: Family,
    /// Name without its prefix, as in the configuration file.
    pub name: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// Value when nothing is configured, as text.
    pub default: &'static str,
    /// What its number counts.
    pub unit: Unit,
    /// When a change acts.
    pub effect: Effect,
    /// Whether its value is, or holds, a password: only administrators see it.
    pub secret: bool,
    /// One sentence on what it is for.
    pub doc: &'static str,
}

/// The two families of variables that Tidegate has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Family {
    /// `mysql-…`: how clients and servers are dealt with.
    Mysql,
    /// `admin-…`: the administrative side.
    Admin,
}

/// What may be verified of servers in TLS, by the operator's words.
pub const VERIFY: &[&str] = &["none", "ca", "identity", "password"];

/// What values a variable takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// A whole number between two bounds, both included.
    Int {
        /// Least allowed value.
        min: i64,
        /// Greatest allowed value.
        max: i64,
    },
    /// Any text; empty where that means "unset".
    Text,
    /// One of a few words.
    OneOf(&'static [&'static str]),
    /// Listening addresses, separated by `;`.
    Interfaces,
    /// What such addresses demand of TLS, separated by `;`.
    InterfacesTls,
    /// Accounts as `user:password`, separated by `;`.
    Credentials,
    /// Tokens or their `*` hashes, separated by `;`.
    Tokens,
    /// What public keys are known by, separated by `;`.
    KeyHashes,
    /// Networks, separated by `,`; `*` for all.
    Networks,
    /// An IP address of this machine.
    Ip,
    /// Set by Tidegate itself, never by an operator.
    ReadOnly,
}

/// What the number of a variable counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Nothing that needs a name.
    None,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Mebibytes.
    Mebibytes,
    /// Hundredths.
    Percent,
}

/// When a change of a variable acts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// With the next decision that looks at it.
    AtOnce,
    /// For connections made after the change.
    NewConnections,
    /// After a restart of the process.
    Restart,
    /// Accepted and carried so that configurations load, but nothing looks at it in this version.
    NotYet,
}

/// Every variable, in the order of the reference.
pub fn all() -> impl Iterator<Item = &'static Variable> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// The variable called `name`, with its prefix, such as `mysql-threads`.
pub fn find(name: &str) -> Option<&'static Variable> {
    let (family, short) = Family::split(name)?;
    find_in(family, short)
}

/// The variable of `family` called `short`, without prefix.
pub fn find_in(family: Family, short: &str) -> Option<&'static Variable> {
    all().find(|variable| variable.family == family && variable.name == short)
}

/// Validates a value for the variable called `name` (with its prefix).
pub fn parse(name: &str, text: &str) -> Result<(&'static Variable, Value), ConfigFault> {
    let Some((family, short)) = Family::split(name) else {
        let reason = format!("unknown variable; names begin with {PREFIXES}");
        return Err(ConfigFault {
            table: "global_variables",
            row: None,
            column: name.to_owned(),
            reason,
        });
    };
    let Some(variable) = find_in(family, short) else {
        return Err(family.unknown(short));
    };
    Ok((variable, variable.parse(text)?))
}

impl Family {
    /// The table of `tidegate.toml` that holds the family.
    pub fn table(self) -> &'static str {
        match self {
            Family::Mysql => "mysql_variables",
            Family::Admin => "admin_variables",
        }
    }

    /// The prefix of the family's names in the admin interface.
    pub fn prefix(self) -> &'static str {
        match self {
            Family::Mysql => "mysql-",
            Family::Admin => "admin-",
        }
    }

    /// Takes a full name apart.
    pub fn split(name: &str) -> Option<(Family, &str)> {
        [Family::Mysql, Family::Admin]
            .into_iter()
            .find_map(|family| Some((family, name.strip_prefix(family.prefix())?)))
    }

    /// The fault of naming a variable that the family does not have.
    pub fn unknown(self, short: &str) -> ConfigFault {
        let names = all().filter(|variable| variable.family == self).map(|variable| variable.name);
        let reason = match nearest(short, names) {
            Some(name) => format!("unknown variable; did you mean `{name}`?"),
            None => "unknown variable".to_owned(),
        };
        ConfigFault { table: self.table(), row: None, column: short.to_owned(), reason }
    }
}

impl Variable {
    /// The name with its prefix.
    pub fn full_name(&self) -> String {
        format!("{}{}", self.family.prefix(), self.name)
    }

    /// Validates `text` as a value of this variable.
    pub fn parse(&self, text: &str) -> Result<Value, ConfigFault> {
        value::parse(self.kind, text).map_err(|reason| self.fault(reason))
    }

    /// The default as a value.
    pub fn default_value(&self) -> Value {
        match self.kind {
            Kind::ReadOnly => Value::Text(self.default.to_owned()),
            kind => {
                value::parse(kind, self.default).expect("a test parses the default of every row")
            }
        }
    }

    /// What values are allowed, for people: `500 to 3600000 milliseconds`.
    pub fn allowed(&self) -> String {
        let allowed = value::allowed(self.kind);
        match self.unit.word() {
            "" => allowed,
            word => format!("{allowed} {word}"),
        }
    }

    /// Why nothing looks at it, when it is accepted without effect.
    pub fn idle_reason(&self) -> Option<&'static str> {
        let name = self.full_name();
        let fitting = idle_table::REASONS.iter().flat_map(|(beginnings, reason)| {
            let fits = beginnings.iter().filter(|beginning| name.starts_with(**beginning));
            fits.map(|beginning| (beginning.len(), *reason))
        });
        let longest = fitting.max_by_key(|(length, _)| *length).map(|(_, reason)| reason);
        longest.filter(|_| self.effect == Effect::NotYet)
    }

    /// A fault of this variable.
    pub fn fault(&self, reason: impl Into<String>) -> ConfigFault {
        ConfigFault {
            table: self.family.table(),
            row: None,
            column: self.name.to_owned(),
            reason: reason.into(),
        }
    }

    /// The same row with another unit.
    const fn unit(mut self, unit: Unit) -> Self {
        self.unit = unit;
        self
    }

    /// The same row, acting at a given time instead of not yet.
    const fn acts(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    /// The same row, with a value that only administrators see.
    const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }
}

impl Unit {
    /// The unit's name in the plural; empty for none.
    pub fn word(self) -> &'static str {
        match self {
            Unit::None => "",
            Unit::Milliseconds => "milliseconds",
            Unit::Seconds => "seconds",
            Unit::Bytes => "bytes",
            Unit::Mebibytes => "mebibytes",
            Unit::Percent => "percent",
        }
    }
}

/// A row of the `mysql-` family that nothing looks at yet.
const fn mysql(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    doc: &'static str,
) -> Variable {
    let family = Family::Mysql;
    let (unit, effect, secret) = (Unit::None, Effect::NotYet, false);
    Variable { family, name, kind, default, unit, effect, secret, doc }
}

/// A row of the `admin-` family that nothing looks at yet.
const fn admin(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    doc: &'static str,
) -> Variable {
    Variable { family: Family::Admin, ..mysql(name, kind, default, doc) }
}

/// A number between two bounds, both included.
const fn int(min: i64, max: i64) -> Kind {
    Kind::Int { min, max }
}

const PREFIXES: &str = "`mysql-` or `admin-`";

const TABLES: &[&[Variable]] = &[
    listeners_table::ROWS,
    charset_table::ROWS,
    backends_table::ROWS,
    queries_table::ROWS,
    cache_table::ROWS,
    flow_table::ROWS,
    logging_table::ROWS,
    monitor_table::ROWS,
    own_table::ROWS,
    admin_table::ROWS,
];

#[cfg(test)]
mod tests;
