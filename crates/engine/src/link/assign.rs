//! What a `SET` makes of the state of a connection.

use wire::collation_table as collation;

use sql::{Assignment, Read, SetStatement, Value, ValueKind};

use super::reading::{client_of, modes_of};
use super::settings::{self, Settings};
use super::tracked_table::{Form, Tracked};
use super::{Charset, LinkState};

/// What became of a state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assigned {
    /// The state afterwards.
    pub state: LinkState,
    /// No server has to be asked whether it can be.
    pub is_certain: bool,
    /// The next transaction has characteristics of its own.
    pub next_transaction: bool,
    /// The last insert id, if it is set.
    pub insert_id: Option<u64>,
}

/// What a `SET` makes of a state; `None` when that cannot be had on another connection.
pub fn assigned(before: &LinkState, set: &SetStatement<'_>) -> Option<Assigned> {
    let mut work = Work {
        before,
        settings: before.settings.as_deref().cloned().unwrap_or_default(),
        written: Vec::new(),
        saves: false,
    };
    let mut state = before.clone();
    let (mut is_certain, mut next_transaction, mut insert_id) = (true, false, None);
    for assignment in &set.assignments {
        match assignment {
            Assignment::Names { charset, collation } => {
                let charset = Charset::named(charset, *collation)?;
                is_certain &= charset.is_everywhere();
                state.charset = charset;
                work.written.push(NAMES.into());
                work.settings.forget_charsets();
            }
            Assignment::Autocommit(on) => state.autocommit = *on,
            Assignment::Variable { name, value } if is_insert_id(name) => {
                insert_id = Some(std::str::from_utf8(value.raw).ok()?.parse().ok()?);
            }
            Assignment::Variable { name, value } => {
                is_certain = false;
                work.system_variable(name, value)?;
            }
            Assignment::UserVariable { name, value } => {
                is_certain &= value.kind != ValueKind::Expression;
                work.user_variable(name, value)?;
            }
            Assignment::SessionIsolation(level) => {
                is_certain = false;
                let value = format!("'{}'", level.name());
                work.put(b"transaction_isolation", Some(value.as_bytes()))?;
            }
            Assignment::SessionReadOnly(on) => {
                is_certain = false;
                let value: &[u8] = if *on { b"1" } else { b"0" };
                work.put(b"transaction_read_only", Some(value))?;
            }
            Assignment::NextTransaction => {
                is_certain = false;
                next_transaction = true;
            }
            Assignment::Global => is_certain = false,
            _ => return None,
        }
    }
    state.settings = work.settings.shared();
    if state.settings == before.settings {
        state.settings.clone_from(&before.settings);
    }
    Some(Assigned { state, is_certain, next_transaction, insert_id })
}

struct Work<'a> {
    before: &'a LinkState,
    settings: Settings,
    /// Names set by this statement.
    written: Vec<Box<[u8]>>,
    /// It is a user variable that is set.
    saves: bool,
}

impl Work<'_> {
    fn system_variable(&mut self, name: &[u8], value: &Value<'_>) -> Option<()> {
        let lower = name.to_ascii_lowercase();
        // the proxy's own on every connection that is shared
        if lower == OF_THE_PROXY {
            return None;
        }
        let tracked = Tracked::find(&lower);
        let name = tracked.map_or(&*lower, |tracked| tracked.name.as_bytes());
        if tracked.is_some_and(|tracked| tracked.of_charset) {
            return self.charset_variable(name, value);
        }
        let form = tracked.map(|tracked| tracked.form);
        if value.kind == ValueKind::Default {
            let is_what_it_says = form != Some(Form::InvertedFlag);
            return is_what_it_says.then(|| self.put(name, None))?;
        }
        let mut text = self.resolved(value)?;
        if name == b"sql_mode" && modes_of(&text).is_none() {
            return None;
        }
        match form {
            Some(Form::Flag | Form::InvertedFlag) => text = flag(text),
            Some(Form::Isolation) => text = isolation(text),
            Some(Form::Verbatim) | None => {}
        }
        self.put(name, Some(&text))
    }

    /// One of the character sets alone; they are not what variables of the server give.
    fn charset_variable(&mut self, name: &[u8], value: &Value<'_>) -> Option<()> {
        if matches!(value.kind, ValueKind::Default | ValueKind::Expression) {
            return None;
        }
        let text = self.resolved(value)?;
        if name == settings::CLIENT {
            client_of(&text)?;
        }
        // each of the two sets the other one
        match name {
            b"collation_connection" => self.put(b"character_set_connection", None)?,
            b"character_set_connection" => self.put(b"collation_connection", None)?,
            _ => {}
        }
        self.put(name, Some(&text))
    }

    fn user_variable(&mut self, name: &[u8], value: &Value<'_>) -> Option<()> {
        let name = [b"@", &*name.to_ascii_lowercase()].concat();
        self.saves = true;
        let text = self.resolved(value);
        self.saves = false;
        let mut text = text?;
        match value.kind {
            ValueKind::Null => text = settings::nulled(&name, self.settings.get(&name)),
            ValueKind::Text => text = self.of_charset(&text)?,
            // what becomes of text in it depends on the character set of the moment
            ValueKind::Expression if text.contains(&b'\'') && !text.starts_with(b"_") => {
                return None;
            }
            _ => {}
        }
        self.put(&name, Some(&text))
    }

    /// A string that keeps the character set in which it was given.
    fn of_charset(&self, text: &[u8]) -> Option<Vec<u8>> {
        let is_alone = !self.settings.has_charsets() && !self.written.iter().any(|n| **n == *NAMES);
        let (charset, collation) = match self.before.charset {
            Charset::Named(charset) => (charset, None),
            Charset::Collation(id) => {
                let known = collation::find_id(id)?;
                (known.charset, Some(known.name))
            }
        };
        let mut given = format!("_{charset}").into_bytes();
        given.extend_from_slice(text);
        if let Some(collation) = collation {
            given.extend_from_slice(format!(" COLLATE {collation}").as_bytes());
        }
        is_alone.then_some(given)
    }

    fn put(&mut self, name: &[u8], value: Option<&[u8]>) -> Option<()> {
        self.written.push(name.into());
        self.settings.set(name, value).then_some(())
    }

    fn resolved(&self, value: &Value<'_>) -> Option<Vec<u8>> {
        value.resolved(&mut |read, out| self.read(read, out).is_some())
    }

    /// Writes the value of a variable as it was before the statement.
    fn read(&self, read: Read<'_>, out: &mut Vec<u8>) -> Option<()> {
        let name = match read {
            Read::Session(name) => name.to_ascii_lowercase(),
            Read::User(name) => [b"@", &*name.to_ascii_lowercase()].concat(),
        };
        let tracked = Tracked::find(&name);
        let name = tracked.map_or(&*name, |tracked| tracked.name.as_bytes());
        // whether it is read before or after it is set differs between servers
        if self.written.iter().any(|written| **written == *name) {
            return None;
        }
        let set = self.before.settings.as_deref().and_then(|settings| settings.get(name));
        match (set, read) {
            (Some(value), Read::User(_)) if settings::is_nulled(name, value) => {
                out.extend_from_slice(b"NULL");
            }
            (Some([b'\'', ..]), Read::Session(_)) if self.saves => {
                out.extend_from_slice(b"_utf8");
                out.extend_from_slice(set?);
            }
            (Some(value), _) => out.extend_from_slice(value),
            (None, Read::User(_)) => out.extend_from_slice(b"NULL"),
            (None, Read::Session(_)) if READ_GLOBALLY.contains(&name) => {
                out.extend_from_slice(b"@@global.");
                out.extend_from_slice(name);
            }
            _ => return None,
        }
        Some(())
    }
}

/// Makes servers tell of any change in their sessions.
pub(crate) const OF_THE_PROXY: &[u8] = b"session_track_state_change";

/// What stands for `SET NAMES` among the names that a statement sets.
const NAMES: &[u8] = b"NAMES";

fn is_insert_id(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"last_insert_id") || name.eq_ignore_ascii_case(b"identity")
}

/// Variables whose value on a new connection is the global one, and that statements are known to
/// save or extend.
const READ_GLOBALLY: [&[u8]; 8] = [
    b"foreign_key_checks",
    b"group_concat_max_len",
    b"optimizer_switch",
    b"sql_mode",
    b"sql_notes",
    b"time_zone",
    b"unique_checks",
    b"wait_timeout",
];

fn flag(text: Vec<u8>) -> Vec<u8> {
    let is = |words: [&[u8]; 3]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is([b"ON", b"'ON'", b"TRUE"]) {
        return b"1".into();
    }
    if is([b"OFF", b"'OFF'", b"FALSE"]) {
        return b"0".into();
    }
    text
}

fn isolation(text: Vec<u8>) -> Vec<u8> {
    text.to_ascii_uppercase()
}

#[cfg(test)]
mod tests;
