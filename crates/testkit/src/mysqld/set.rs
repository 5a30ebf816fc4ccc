//! `SET` as a fake server does it: all of a statement, or nothing. Understands what a simulation's
//! clients and the proxy write, and calls everything else nonsense.

use wire::collation_table as collations;

use super::Reaction;
use super::conn::Conn;
use crate::answer;
use crate::board::Board;
use crate::planted::Planted;
use crate::settings::fresh;

/// What one assignment does.
enum Deed {
    Collation(u16),
    Autocommit(bool),
    InsertId(u64),
    TellsChanges(bool),
    Variable(String, Option<String>),
}

/// How the `SET` of a last insert id ends that clears warnings too.
const LONG_FORM: &str = " FROM (SELECT 1) AS t)";

/// The variable in which the proxy keeps a mode that it does not know.
const ASIDE: &str = "@tidegate_mode";

/// Why a statement does nothing.
enum Refusal {
    /// The value is none of that variable's.
    Value,
    Nonsense,
}

impl Conn {
    /// Does what stands behind `SET `.
    pub(super) fn on_set(&mut self, text: &str, board: &mut Board) -> Reaction {
        let replays = !text.starts_with("/*s");
        if text.contains(ASIDE) {
            return self.on_aside(text.starts_with(ASIDE), board);
        }
        let text = for_mariadb(text);
        // it reads a table
        self.warned = self.warned.filter(|_| !text.contains(LONG_FORM));
        let deeds: Result<Vec<_>, _> = cut(&text).map(|part| self.deed(part.trim())).collect();
        match deeds {
            // a bug that is looked for
            Ok(_) if replays && self.forgets(board) => {}
            Ok(deeds) => deeds.into_iter().for_each(|deed| self.does(deed)),
            Err(Refusal::Value) => return Reaction::Reply(wrong_value()),
            Err(Refusal::Nonsense) => {
                self.complain(board, &format!("SET {text}"));
                return Reaction::Reply(answer::error(1064, "nonsense"));
            }
        }
        if self.transaction.is_none() {
            self.commit(None, board);
        }
        board.count(if replays { "server: settings replayed" } else { "server: settings" });
        Reaction::Reply(self.plain_ok(&[]))
    }

    /// By what it reads texts is put aside, or brought back.
    fn on_aside(&mut self, puts: bool, board: &mut Board) -> Reaction {
        if puts {
            self.aside = Some((self.collation, self.settings.get("sql_mode").map(Into::into)));
        } else if let Some((collation, mode)) = &self.aside {
            self.collation = *collation;
            self.settings.set("sql_mode", mode.as_deref());
        } else {
            self.complain(board, "a SET of what was not put aside");
        }
        board.count("server: put aside or brought back");
        Reaction::Reply(self.plain_ok(&[]))
    }

    fn does(&mut self, deed: Deed) {
        match deed {
            Deed::Collation(id) => self.collation = id,
            Deed::Autocommit(on) => {
                self.autocommit = on;
                if on {
                    self.transaction = None;
                }
            }
            Deed::TellsChanges(on) => self.tells_changes = on,
            // a bug that is looked for
            Deed::InsertId(_) if self.bug == Some(Planted::InsertIdNotBrought) => {}
            Deed::InsertId(id) => self.insert_id = id,
            Deed::Variable(name, value) => self.settings.set(&name, value.as_deref()),
        }
    }

    fn deed(&self, text: &str) -> Result<Deed, Refusal> {
        if let Some(names) = text.strip_prefix("NAMES ") {
            return Ok(Deed::Collation(collation(names).ok_or(Refusal::Nonsense)?));
        }
        if let Some(level) = text.strip_prefix("SESSION TRANSACTION ISOLATION LEVEL ") {
            let level = Some(level.replace(' ', "-"));
            return Ok(Deed::Variable("transaction_isolation".into(), level));
        }
        let (name, value) = text.split_once('=').ok_or(Refusal::Nonsense)?;
        let (name, value) = (name.trim().trim_start_matches("SESSION "), value.trim());
        match name {
            // the texts' character set, of which the next part has the collation
            "character_set_client" => Ok(Deed::Collation(self.collation)),
            "character_set_connection" => {
                collation(value).map(Deed::Collation).ok_or(Refusal::Nonsense)
            }
            "collation_connection" => {
                let found = collations::find_name(value.as_bytes());
                found.map(|found| Deed::Collation(found.id)).ok_or(Refusal::Nonsense)
            }
            "autocommit" => Ok(Deed::Autocommit(value == "1")),
            "last_insert_id" => {
                let id = value.trim_start_matches("(SELECT ");
                let id = id.trim_end_matches(LONG_FORM).parse();
                id.map(Deed::InsertId).map_err(|_| Refusal::Nonsense)
            }
            "session_track_schema" | "session_track_state_change" => {
                Ok(Deed::TellsChanges(value == "1"))
            }
            "tx_isolation" => self.system_variable("transaction_isolation", value),
            _ if name.starts_with('@') => {
                let value = self.user_value(value).ok_or(Refusal::Nonsense)?;
                Ok(Deed::Variable(name.into(), value))
            }
            _ => self.system_variable(name, value),
        }
    }

    fn system_variable(&self, name: &str, value: &str) -> Result<Deed, Refusal> {
        let fresh = fresh(name).ok_or(Refusal::Nonsense)?;
        let value = match value.trim_matches('\'') {
            "DEFAULT" => fresh,
            plain if plain.starts_with(OF_ALL) => fresh,
            "ON" => "1",
            "OFF" => "0",
            "@@global.foreign_key_checks" if name == "foreign_key_checks" => fresh,
            NO_MODE => return Err(Refusal::Value),
            other => other,
        };
        Ok(Deed::Variable(name.into(), Some(value.into())))
    }

    /// What a user variable is set to: nothing for `NULL`; nothing at all for what is not known.
    fn user_value(&self, value: &str) -> Option<Option<String>> {
        if value == "NULL" {
            return Some(None);
        }
        if let Some(name) = value.strip_prefix("@@global.") {
            let new = crate::settings::Settings::default();
            return Some(Some(new.saved(name)?));
        }
        if let Some(name) = value.strip_prefix("@@") {
            return Some(Some(self.settings.saved(name)?));
        }
        if value.starts_with('@') {
            return Some(self.settings.get(value).map(Into::into));
        }
        if value.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(Some(value.into()));
        }
        let (charset, rest) = value.split_once('\'')?;
        let (text, rest) = rest.split_once('\'')?;
        let id = match (charset.strip_prefix('_'), rest.strip_prefix(" COLLATE ")) {
            (None, None) => self.collation,
            (Some(charset), None) => collation(charset)?,
            (_, Some(name)) => collations::find_name(name.as_bytes())?.id,
        };
        Some(Some(format!("{text}~{id}")))
    }
}

/// How the text begins that stands for the mode that connections begin with.
const OF_ALL: &str = "CASE WHEN @@global.sql_mode REGEXP";

/// A mode that there is not.
pub(crate) const NO_MODE: &str = "NO_SUCH_MODE";

/// The answer to a `SET` of a mode that there is not.
pub(crate) fn wrong_value() -> Vec<u8> {
    let message = format!("Variable 'sql_mode' can't be set to the value of '{NO_MODE}'");
    answer::error(1231, &message)
}

/// The collation that `SET NAMES` with this leads to.
fn collation(names: &str) -> Option<u16> {
    let found = match names.split_once(" COLLATE ") {
        Some((_, name)) => collations::find_name(name.as_bytes()),
        None => collations::find_charset_default(names.as_bytes()),
    };
    found.map(|found| found.id)
}

/// A text as MariaDB reads it: without comments and what is for MySQL.
fn for_mariadb(text: &str) -> String {
    let mut read = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("/*") {
        read += before;
        let (comment, behind) = behind.split_once("*/").unwrap_or((behind, ""));
        read += comment.strip_prefix("M!").unwrap_or_default().trim_start();
        rest = behind;
    }
    read + rest
}

/// The assignments of a statement: what stands between commas that are in no quotes.
fn cut(text: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    text.split(move |c: char| {
        quoted ^= c == '\'';
        c == ',' && !quoted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_as_mariadb_does() {
        let text = "/*s1 q2*/ /*!50720 transaction_isolation*//*M! tx_isolation*/='X'";
        assert_eq!(for_mariadb(text).trim(), "tx_isolation='X'");
        assert_eq!(cut("sql_mode='A,B', @a=1").collect::<Vec<_>>(), ["sql_mode='A,B'", " @a=1"]);
    }
}
