//! Variables that were set on a connection, and how to bring another one's to the same values.
//!
//! Values are kept as the text that sets them, in a form that every server reads alike. Whether
//! an assignment may be kept is `assign`'s to say.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use sql::{HighBytes, Modes};

use super::reading::{PLAIN, client_of, modes_of, named_by};
use super::tracked_table::{Tracked, ValueForm, VariablePlace};

/// A variable that was set.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Setting {
    /// Small letters; that of a user variable begins with `@`.
    name: Box<[u8]>,
    /// The text of its value.
    value: Box<[u8]>,
}

/// Variables that were set, each once.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// By name.
    list: Vec<Setting>,
    /// Of all of them: what differs is known without a look at the values.
    hash: u64,
    /// Of those that a server may read a text by again, 0 where none of them is set.
    read_by: u64,
    bytes: usize,
    modes: Modes,
    /// Of the client's character set, if it was set alone.
    high_bytes: Option<HighBytes>,
}

/// How many variables are kept of a session, and how many bytes of names and values.
const SETTINGS_MAX: usize = 64;
const BYTES_MAX: usize = 4096;

/// How servers read texts, and more.
pub(super) const SQL_MODE: &[u8] = b"sql_mode";

/// What servers read texts by, beside character sets, and what they settle in a prepare.
pub(super) const READ_BY: [&[u8]; 14] = [
    SQL_MODE,
    b"old_mode",
    b"explicit_defaults_for_timestamp",
    b"default_week_format",
    b"div_precision_increment",
    b"explain_format",
    b"group_concat_max_len",
    b"in_predicate_conversion_threshold",
    b"lc_time_names",
    b"optimizer_switch",
    b"sql_if_exists",
    b"system_versioning_asof",
    b"time_zone",
    b"windowing_use_high_precision",
];

/// What acts while a statement runs, and on nothing that a server keeps of it. Whatever else is set
/// may be in what a connection has prepared.
pub(super) const NEVER_READ_BY: [&[u8]; 10] = [
    b"foreign_key_checks",
    b"innodb_lock_wait_timeout",
    b"interactive_timeout",
    b"lock_wait_timeout",
    b"max_execution_time",
    b"max_statement_time",
    b"net_read_timeout",
    b"net_write_timeout",
    b"transaction_isolation",
    b"wait_timeout",
];

/// The first sets the second as well.
pub(super) const JOIN_SIZE: &[u8] = b"max_join_size";
pub(super) const BIG_SELECTS: &[u8] = b"sql_big_selects";

/// The variable by which servers read texts.
pub(super) const CLIENT: &[u8] = b"character_set_client";

/// The variable by which servers write results.
pub(super) const RESULTS: &[u8] = b"character_set_results";

impl PartialEq for Settings {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.list == other.list
    }
}

impl Eq for Settings {}

impl Settings {
    /// Those of a connection that begins with this `sql_mode`; none where it is read as by default.
    pub fn of_mode(mode: &[u8]) -> Option<Arc<Self>> {
        let mut value = Vec::new();
        sql::quote(mode, &mut value);
        let is_plain = modes_of(&value) == Some(Modes::default());
        let mut settings = Self::default();
        settings.set(SQL_MODE, Some(&value));
        settings.shared().filter(|_| !is_plain)
    }

    /// These with an isolation level, as text in quotes.
    pub fn with_isolation(of: Option<&Self>, level: &str) -> Option<Arc<Self>> {
        let mut settings = of.cloned().unwrap_or_default();
        settings.set(b"transaction_isolation", Some(level.as_bytes()));
        settings.shared()
    }

    /// The system variables among them, with their values. User variables are read by their names
    /// alone, which a text shows.
    pub(super) fn of_reads(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let system = self.list.iter().filter(|setting| !setting.name.starts_with(b"@"));
        system.map(|setting| (&*setting.name, &*setting.value))
    }

    /// The value of a variable, if it was set.
    pub fn get(&self, name: &[u8]) -> Option<&[u8]> {
        let at = self.place(name).ok()?;
        self.list.get(at).map(|setting| &*setting.value)
    }

    /// Those of `have`, but the ones by which servers read texts, which are as in `then`.
    pub fn read_as_by(then: Option<&Self>, have: Option<&Arc<Self>>) -> Option<Arc<Self>> {
        let mut differ = differences(then, have.map(Arc::as_ref))
            .filter(|differs| is_read_by(differs.name))
            .peekable();
        if differ.peek().is_none() {
            return have.cloned();
        }
        let mut settings = have.map(|have| (**have).clone()).unwrap_or_default();
        for Difference { name, value } in differ {
            settings.set(name, value);
        }
        settings.shared()
    }

    /// Whether reads may see what others have not committed.
    pub fn reads_uncommitted(&self) -> bool {
        const COMMITTED: [&[u8]; 3] =
            [b"'READ-COMMITTED'", b"'REPEATABLE-READ'", b"'SERIALIZABLE'"];
        self.get(b"transaction_isolation").is_some_and(|level| !COMMITTED.contains(&level))
    }

    /// How long a session's client may be silent, in microseconds, if it was set.
    pub fn wait_timeout_us(&self) -> Option<u64> {
        let seconds = std::str::from_utf8(self.get(b"wait_timeout")?).ok()?.parse::<u64>().ok()?;
        Some(seconds.max(1).saturating_mul(1_000_000))
    }

    /// Whether a variable was set.
    pub(super) fn has(&self, name: &[u8]) -> bool {
        self.place(name).is_ok()
    }

    /// Whether a user variable was set, to `NULL` or anything else; its name is without `@`.
    pub fn has_user_variable(&self, name: &[u8]) -> bool {
        let mut known = self.list.iter().filter_map(|setting| setting.name.strip_prefix(b"@"));
        known.any(|known| known.eq_ignore_ascii_case(name))
    }

    /// A number for those that a server may read a text by again, user variables among them where
    /// `all` are asked for; 0 where none of them is set.
    pub(super) fn read_by(&self, all: bool) -> u64 {
        if all { self.hash } else { self.read_by }
    }

    /// How texts are read where these are set.
    pub fn modes(&self) -> Modes {
        self.modes
    }

    /// What bytes from 0x80 up are in the client's character set; `None` where that was not set
    /// alone.
    pub(super) fn high_bytes(&self) -> Option<HighBytes> {
        self.high_bytes
    }

    /// Whether any of the character sets was set alone.
    pub(super) fn has_charsets(&self) -> bool {
        self.list.iter().any(|setting| is_of_charset(&setting.name))
    }

    /// Sets a variable; `None` for what a new connection has. `false` when there is no room.
    pub(super) fn set(&mut self, name: &[u8], value: Option<&[u8]>) -> bool {
        let place = self.place(name);
        if let Ok(at) = place {
            let old = self.list.remove(at);
            self.bytes -= old.name.len() + old.value.len();
        }
        if let Some(value) = value {
            let (Ok(at) | Err(at)) = place;
            self.bytes += name.len() + value.len();
            self.list.insert(at, Setting { name: name.into(), value: value.into() });
        }
        self.list.len() <= SETTINGS_MAX && self.bytes <= BYTES_MAX
    }

    /// Unsets the character sets that `SET NAMES` sets.
    pub(super) fn forget_charsets(&mut self) {
        self.list.retain(|setting| !is_of_charset(&setting.name));
        self.bytes = self.list.iter().map(|s| s.name.len() + s.value.len()).sum();
    }

    /// To be shared; `None` when nothing is set.
    pub(super) fn shared(mut self) -> Option<Arc<Self>> {
        if self.list.is_empty() {
            return None;
        }
        self.hash = hash_of(self.list.iter());
        let may_be_read_by =
            |set: &&Setting| !set.name.starts_with(b"@") && !NEVER_READ_BY.contains(&&*set.name);
        let mut read_by = self.list.iter().filter(may_be_read_by).peekable();
        self.read_by = if read_by.peek().is_some() { hash_of(read_by) } else { 0 };
        let modes = |value| modes_of(value).unwrap_or_else(|| named_by(value));
        self.modes = self.get(SQL_MODE).map(modes).unwrap_or_default();
        self.high_bytes = self.get(CLIENT).and_then(client_of).map(HighBytes::of);
        Some(Arc::new(self))
    }

    fn place(&self, name: &[u8]) -> Result<usize, usize> {
        self.list.binary_search_by(|setting| (*setting.name).cmp(name))
    }
}

/// A variable of which two connections have different values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Difference<'a> {
    name: &'a [u8],
    /// The value to arrive at; `None` for what a new connection has.
    value: Option<&'a [u8]>,
}

impl Difference<'_> {
    /// Whether the variable is not set at the end: that comes first, because some variables set
    /// others.
    pub(super) fn is_unset(&self) -> bool {
        self.value.is_none()
    }

    /// Whether it is one of the character sets, which are set by `SET NAMES` first.
    pub(super) fn is_of_charset(&self) -> bool {
        is_of_charset(self.name)
    }

    /// Appends the assignment to a `SET`. `is_odd` where a server may read its strings in a
    /// character set in which it knows no values.
    pub(super) fn write(&self, text: &mut String, is_odd: bool) {
        if self.is_of_charset() {
            return;
        }
        let (name, value) = (String::from_utf8_lossy(self.name), self.value);
        let comma = if text.ends_with(' ') { "" } else { ", " };
        let tracked = Tracked::find(self.name);
        let place = tracked.map_or(VariablePlace::Both, |tracked| tracked.place);
        let value = match (value, tracked.map(|tracked| tracked.form)) {
            (Some(value), _) => written(value, is_odd),
            // as near to a variable that never was as one comes
            (None, _) if name.starts_with('@') => format!("_binary'',{name}=NULL").into(),
            // whatever this server begins with
            (None, _) if self.name == SQL_MODE => PLAIN.into(),
            (None, Some(ValueForm::InvertedFlag)) => format!("@@global.{name}").into(),
            (None, _) => "DEFAULT".into(),
        };
        *text += &match place {
            VariablePlace::Both => format!("{comma}{name}={value}"),
            VariablePlace::Renamed(mysql, mariadb) => {
                format!("{comma}/*!50720 {mysql}*//*M! {mariadb}*/={value}")
            }
            // the list must not begin with what is nothing to some servers
            VariablePlace::MySql | VariablePlace::MariaDb if comma.is_empty() => {
                *text += "@tidegate=NULL";
                return self.write(text, is_odd);
            }
            VariablePlace::MySql => format!("/*!50720 , {name}={value}*/"),
            VariablePlace::MariaDb => format!("/*M! , {name}={value}*/"),
        };
    }
}

/// The text that sets a user variable to `NULL` which had this value, if any: it keeps the type and
/// character set of what it was before.
pub(super) fn nulled(name: &[u8], before: Option<&[u8]>) -> Vec<u8> {
    let value = before.unwrap_or(b"_binary''");
    match is_nulled(name, value) {
        true => value.into(),
        false => [value, b",", name, b"=NULL"].concat(),
    }
}

/// Whether it is the text that sets this user variable to `NULL`.
pub(super) fn is_nulled(name: &[u8], value: &[u8]) -> bool {
    let assignment = value.strip_suffix(b"=NULL").and_then(|value| value.strip_suffix(name));
    assignment.is_some_and(|value| value.ends_with(b","))
}

/// Whether a connection that goes from `have` to `want` loses a user variable.
pub(super) fn loses_user_variable(want: Option<&Settings>, have: Option<&Settings>) -> bool {
    differences(want, have).any(|differs| differs.value.is_none() && differs.name.starts_with(b"@"))
}

/// Appends the character sets that were set one by one.
pub(super) fn write_charsets(want: Option<&Settings>, text: &mut String, is_odd: bool) {
    for setting in want.map_or(&[][..], |want| &want.list) {
        if is_of_charset(&setting.name) {
            write_assignment(setting, text, is_odd);
        }
    }
}

/// The same without the results'.
pub(super) fn write_charsets_of_texts(want: Option<&Settings>, text: &mut String) {
    let is_of_texts =
        |setting: &&Setting| is_of_charset(&setting.name) && *setting.name != *RESULTS;
    for setting in want.map_or(&[][..], |want| &want.list).iter().filter(is_of_texts) {
        write_assignment(setting, text, true);
    }
}

fn write_assignment(Setting { name, value }: &Setting, text: &mut String, is_odd: bool) {
    let (name, value) = (String::from_utf8_lossy(name), written(value, is_odd));
    *text += &format!(", {name}={value}");
}

/// A value as it is written where strings may be read in an odd character set.
fn written(value: &[u8], is_odd: bool) -> Cow<'_, str> {
    let said = String::from_utf8_lossy(value);
    match is_odd && value.starts_with(b"'") && value.is_ascii() {
        true => format!("_utf8mb4{said}").into(),
        false => said,
    }
}

/// The `sql_mode`, if it was set.
pub(super) fn sql_mode(of: Option<&Settings>) -> Option<&[u8]> {
    of.and_then(|of| of.get(SQL_MODE))
}

/// Appends the `sql_mode`, whether it was set or not.
pub(super) fn write_sql_mode(want: Option<&Settings>, text: &mut String) {
    Difference { name: SQL_MODE, value: sql_mode(want) }.write(text, true);
}

/// The variables that have to be assigned to go from `have` to `want`, in that order.
pub(super) fn assignments<'a>(
    want: Option<&'a Settings>,
    have: Option<&'a Settings>,
) -> impl Iterator<Item = Difference<'a>> {
    let all = move || differences(want, have);
    let sized = all().any(|differs| differs.name == JOIN_SIZE);
    let selects = want.and_then(|want| want.get(BIG_SELECTS)).filter(|_| sized);
    let again = selects.map(|value| Difference { name: BIG_SELECTS, value: Some(value) });
    let is_again = move |differs: &Difference<'_>| again.is_some() && differs.name == BIG_SELECTS;
    let sets = all().filter(move |differs| !differs.is_unset() && !is_again(differs));
    all().filter(Difference::is_unset).chain(sets).chain(again)
}

/// The variables whose values differ, by name.
pub(super) fn differences<'a>(
    want: Option<&'a Settings>,
    have: Option<&'a Settings>,
) -> impl Iterator<Item = Difference<'a>> {
    let list = |settings: Option<&'a Settings>| settings.map_or(&[][..], |s| &s.list);
    let (mut want, mut have) = (list(want), list(have));
    std::iter::from_fn(move || {
        loop {
            let order = match (want.first(), have.first()) {
                (None, None) => return None,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(w), Some(h)) => w.name.cmp(&h.name),
            };
            let first = match order {
                Ordering::Greater => have.split_first(),
                _ => want.split_first(),
            };
            let (first, rest) = first?;
            let difference = Difference { name: &first.name, value: Some(&first.value) };
            match order {
                Ordering::Greater => {
                    have = rest;
                    return Some(Difference { value: None, ..difference });
                }
                Ordering::Less => want = rest,
                Ordering::Equal => {
                    want = rest;
                    let (other, others) = have.split_first()?;
                    have = others;
                    if other.value == first.value {
                        continue;
                    }
                }
            }
            return Some(difference);
        }
    })
}

fn hash_of<'a>(list: impl Iterator<Item = &'a Setting>) -> u64 {
    let mut hasher = DefaultHasher::new();
    list.for_each(|setting| setting.hash(&mut hasher));
    hasher.finish()
}

fn is_read_by(name: &[u8]) -> bool {
    READ_BY.contains(&name) || is_of_charset(name)
}

fn is_of_charset(name: &[u8]) -> bool {
    Tracked::find(name).is_some_and(|tracked| tracked.of_charset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, value: &str) -> Option<Arc<Settings>> {
        let mut settings = Settings::default();
        assert!(settings.set(name.as_bytes(), Some(value.as_bytes())), "{name}");
        settings.shared()
    }

    #[test]
    fn reads_see_what_is_committed_unless_another_level_may_be_set() {
        for (level, expected) in [
            ("'READ-COMMITTED'", false),
            ("'REPEATABLE-READ'", false),
            ("'SERIALIZABLE'", false),
            ("'READ-UNCOMMITTED'", true),
            ("0", true),
            ("@@GLOBAL.TX_ISOLATION", true),
        ] {
            let settings = of("transaction_isolation", level).expect("set");
            assert_eq!(settings.reads_uncommitted(), expected, "{level}");
        }
        assert!(!Settings::default().reads_uncommitted());
    }

    #[test]
    fn a_text_is_prepared_again_with_what_it_was_read_by_and_nothing_else() {
        for (name, then, now, is_read_by) in [
            ("sql_mode", "'ANSI'", "'STRICT_ALL_TABLES'", true),
            ("old_mode", "'UTF8_IS_UTF8MB3'", "''", true),
            ("character_set_client", "'latin1'", "'utf8mb4'", true),
            ("collation_connection", "'latin1_bin'", "'utf8mb4_bin'", true),
            ("explicit_defaults_for_timestamp", "OFF", "ON", true),
            ("div_precision_increment", "4", "10", true),
            ("max_join_size", "1", "2", false),
            ("lock_wait_timeout", "7", "8", false),
            ("@a", "1", "2", false),
        ] {
            let (then, now) = (of(name, then), of(name, now));
            let settings = Settings::read_as_by(then.as_deref(), now.as_ref());
            assert_eq!(settings, if is_read_by { then } else { now.clone() }, "{name}");
            let settings = Settings::read_as_by(None, now.as_ref());
            assert_eq!(
                settings,
                if is_read_by { None } else { now },
                "{name}: it was not set then"
            );
        }
    }
}
