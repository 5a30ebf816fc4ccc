//! What a `SET` makes of the state of a connection.

use wire::collation_table as collation;

use sql::{Assignment, Read, SetStatement, SetValue, ValueKind};

use super::reading::{PLAIN, client_of, is_padded, modes_of};
use super::settings::{self, Settings};
use super::tracked_table::{Tracked, ValueForm};
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
                is_certain &= is_skipped_where_unknown(name, value);
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
    fn system_variable(&mut self, name: &[u8], value: &SetValue<'_>) -> Option<()> {
        let lower = name.to_ascii_lowercase();
        // the proxy's own on every connection that is shared
        match lower.as_slice() {
            OF_THE_PROXY => return None,
            TELLS_SCHEMA => return (flag(self.resolved(value)?) == b"1").then_some(()),
            _ => {}
        }
        let tracked = Tracked::find(&lower);
        let name = tracked.map_or(&*lower, |tracked| tracked.name.as_bytes());
        if tracked.is_some_and(|tracked| tracked.of_charset) {
            return self.charset_variable(name, value);
        }
        self.unset_what_it_sets(name)?;
        let form = tracked.map(|tracked| tracked.form);
        if value.kind == ValueKind::Default {
            // the join size sets it, wherever that is set again
            let follows = name == settings::BIG_SELECTS && self.settings.has(settings::JOIN_SIZE);
            // the server's may be another one by now
            let is_told = name != settings::SQL_MODE;
            let is_what_it_says = form != Some(ValueForm::InvertedFlag) && !follows && is_told;
            return is_what_it_says.then(|| self.put(name, None))?;
        }
        let mut text = self.resolved(value)?;
        if name == settings::SQL_MODE {
            modes_of(&text)?;
            if text == b"0" {
                // what is computed of it is computed of its names
                text = b"''".into();
            }
        }
        match form {
            Some(ValueForm::Flag | ValueForm::InvertedFlag) => text = flag(text),
            Some(ValueForm::Isolation) => text = isolation(text),
            Some(ValueForm::Switches) if text == of_all(name) => return self.put(name, None),
            Some(ValueForm::Switches) => text = switched(self.settings.get(name), &text)?,
            Some(ValueForm::Verbatim) | None => {}
        }
        // reads ask for the insert id then, which only the connection has
        if name == b"sql_auto_is_null" && text != b"0" {
            return None;
        }
        self.put(name, Some(&text))
    }

    /// The server sets another variable with it, whatever that was.
    fn unset_what_it_sets(&mut self, name: &[u8]) -> Option<()> {
        match name {
            b"character_set_server" => self.put(b"collation_server", None),
            b"collation_server" => self.put(b"character_set_server", None),
            settings::JOIN_SIZE => self.put(settings::BIG_SELECTS, None),
            _ => Some(()),
        }
    }

    /// One of the character sets alone; they are not what variables of the server give.
    fn charset_variable(&mut self, name: &[u8], value: &SetValue<'_>) -> Option<()> {
        if matches!(value.kind, ValueKind::Default | ValueKind::Expression) {
            return None;
        }
        let text = self.resolved(value)?;
        if name == settings::CLIENT {
            client_of(&text)?;
        }
        // what servers tell the proxy would not be ASCII
        if name == settings::RESULTS && client_of(&text).is_some_and(is_padded) {
            return None;
        }
        // each of the two sets the other one
        match name {
            b"collation_connection" => self.put(b"character_set_connection", None)?,
            b"character_set_connection" => self.put(b"collation_connection", None)?,
            _ => {}
        }
        self.put(name, Some(&text))
    }

    fn user_variable(&mut self, name: &[u8], value: &SetValue<'_>) -> Option<()> {
        let name = [b"@", &*name.to_ascii_lowercase()].concat();
        self.saves = true;
        let text = self.resolved(value);
        self.saves = false;
        let mut text = text?;
        match value.kind {
            ValueKind::Null => text = settings::nulled(&name, self.settings.get(&name)),
            ValueKind::Text => text = self.of_charset(&text)?,
            ValueKind::Expression if is_of_the_moment(&text) => return None,
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
        // the one of binary strings has the name of a keyword, and there is no other
        if let Some(collation) = collation.filter(|collation| *collation != "binary") {
            given.extend_from_slice(format!(" COLLATE {collation}").as_bytes());
        }
        is_alone.then_some(given)
    }

    fn put(&mut self, name: &[u8], value: Option<&[u8]>) -> Option<()> {
        self.written.push(name.into());
        self.settings.set(name, value).then_some(())
    }

    fn resolved(&self, value: &SetValue<'_>) -> Option<Vec<u8>> {
        value.resolved(&mut |read, out| self.read(read, out).is_some())
    }

    /// Writes the value of a variable as it was before the statement.
    fn read(&self, read: Read<'_>, out: &mut Vec<u8>) -> Option<()> {
        let name = match read {
            Read::Session(name) => name.to_ascii_lowercase(),
            // another server, or another moment, may have another value
            Read::Global(_) => return None,
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
            // what is kept of it is less than its value
            (Some(_), Read::Session(_))
                if tracked.is_some_and(|tracked| tracked.form == ValueForm::Switches) =>
            {
                return None;
            }
            (Some(value), Read::User(_)) if settings::is_nulled(name, value) => {
                out.extend_from_slice(b"NULL");
            }
            (Some(value), Read::Session(_)) if self.saves && !is_as_told(name, value, tracked) => {
                return None;
            }
            (Some([b'\'', ..]), Read::Session(_)) if self.saves => {
                out.extend_from_slice(b"_utf8");
                out.extend_from_slice(set?);
            }
            // no value but to the variable that it was given to
            (Some([first, ..]), Read::Session(_)) if self.saves && first.is_ascii_alphabetic() => {
                return None;
            }
            (Some(value), _) => out.extend_from_slice(value),
            (None, Read::User(_)) => out.extend_from_slice(b"NULL"),
            (None, Read::Session(_)) if name == settings::SQL_MODE => {
                out.extend_from_slice(PLAIN.as_bytes());
            }
            (None, Read::Session(_)) if READ_GLOBALLY.contains(&name) => {
                out.extend_from_slice(b"@@global.");
                out.extend_from_slice(name);
            }
            _ => return None,
        }
        Some(())
    }
}

/// Whether a variable that was given this value has it as it was written; servers make another one
/// of most.
fn is_as_told(name: &[u8], value: &[u8], tracked: Option<&Tracked>) -> bool {
    const COMBINED: [&[u8]; 4] = [b"'ANSI'", b"'MAXDB'", b"'POSTGRESQL'", b"'TRADITIONAL'"];
    match (name, value) {
        (b"time_zone", b"'SYSTEM'") => true,
        (b"time_zone", [b'\'', b'+' | b'-', h, i, b':', m, n, b'\'']) => {
            [h, i, m, n].into_iter().all(u8::is_ascii_digit) && value != b"'-00:00'"
        }
        (settings::SQL_MODE, [b'\'', mode @ .., b'\'']) => {
            let is_one = mode.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_');
            is_one && !COMBINED.contains(&value)
        }
        _ => tracked.is_some_and(|it| {
            matches!(it.form, ValueForm::Flag | ValueForm::InvertedFlag | ValueForm::Isolation)
        }),
    }
}

/// Makes servers tell of any change in their sessions.
pub(crate) const OF_THE_PROXY: &[u8] = b"session_track_state_change";

/// Makes servers tell of the schema, as every connection is asked to.
const TELLS_SCHEMA: &[u8] = b"session_track_schema";

/// Whether the type or character set of an expression's value may depend on when it is read: it is
/// a call, or a `NULL` that was put in.
fn is_of_the_moment(text: &[u8]) -> bool {
    text == b"NULL" || (!text.starts_with(b"_") && text.iter().any(|b| b"'(".contains(b)))
}

/// What stands for `SET NAMES` among the names that a statement sets.
const NAMES: &[u8] = b"NAMES";

fn is_insert_id(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"last_insert_id") || name.eq_ignore_ascii_case(b"identity")
}

/// Whether no server that knows the variable refuses the value, and others are not told of it.
fn is_skipped_where_unknown(name: &[u8], value: &SetValue<'_>) -> bool {
    let is = |word: &str| value.raw.trim_ascii().eq_ignore_ascii_case(word.as_bytes());
    let words = ["OFF", "OWN_GTID", "ALL_GTIDS", "'OFF'", "'OWN_GTID'", "'ALL_GTIDS'"];
    name.eq_ignore_ascii_case(b"session_track_gtids") && words.into_iter().any(is)
}

/// Variables whose value on a new connection is the global one, and that statements are known to
/// save or extend.
const READ_GLOBALLY: [&[u8]; 7] = [
    b"foreign_key_checks",
    b"group_concat_max_len",
    b"optimizer_switch",
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

/// The text of the value that a new connection has.
fn of_all(name: &[u8]) -> Vec<u8> {
    [b"@@global.", name].concat()
}

/// The text that gives any connection the switches which one has that had `before` and is told
/// `text`: what a text does not name it leaves as it was. `None` for what is no plain list.
fn switched(before: Option<&[u8]>, text: &[u8]) -> Option<Vec<u8>> {
    const OF_A_NEW_ONE: &[u8] = b"default";
    let new = items(text)?;
    let restarts = new.iter().any(|item| *item == OF_A_NEW_ONE);
    let before = before.filter(|_| !restarts).and_then(items);
    let mut all = before.unwrap_or(vec![OF_A_NEW_ONE.into()]);
    all.retain(|old| !new.iter().any(|item| switch_of(item) == switch_of(old)));
    all.extend(new);
    Some([b"'", &*all.join(&b','), b"'"].concat())
}

/// The items of a list in quotes, in small letters.
fn items(text: &[u8]) -> Option<Vec<Vec<u8>>> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'=');
    let text = text.strip_prefix(b"'")?.strip_suffix(b"'")?.to_ascii_lowercase();
    let items = text.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    let item = |item: &[u8]| (!item.is_empty() && item.iter().all(is_plain)).then(|| item.to_vec());
    items.map(item).collect()
}

/// The switch that an item turns.
fn switch_of(item: &[u8]) -> Option<&[u8]> {
    item.split(|byte| *byte == b'=').next()
}

#[cfg(test)]
mod tests;
