//! Rows that stand for many names, of which servers know the passwords: a pattern says which.
//!
//! An account that is made of such a row lives as long as a session or lane has it. What is counted
//! is the row's, so that nothing is kept for a name.

use std::sync::Arc;

use regex_automata::meta::Regex;
use regex_syntax::hir::{Hir, Look};

use super::{Account, Users};
use crate::json;

/// A pattern for whole names.
pub struct NamePattern {
    text: Box<str>,
    regex: Regex,
}

impl PartialEq for NamePattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// Bytes of the longest name that a server has for an account; a MySQL has 32 characters.
const NAME_BYTES_MAX: usize = 80;

/// Largest compiled form of a pattern.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// What an account with a pattern may not have, and why.
const NEEDS_LOGIN: &str = "name_pattern needs password_from \"login\", \"pam\" or \"ldap\"";
const NEEDS_CLIENTS: &str = "name_pattern needs frontend = 1: it is for names of clients";

impl NamePattern {
    /// What attributes say of one.
    pub(super) fn read(attributes: &str) -> Result<Option<Arc<Self>>, String> {
        const NAME: &str = "name_pattern";
        let Some(said) = json::member(attributes, NAME)? else { return Ok(None) };
        match said.as_str().filter(|text| !text.is_empty()) {
            Some(text) => Self::compile(text).map(|it| Some(Arc::new(it))),
            None => Err(format!("{NAME} is no pattern")),
        }
        .map_err(|why| if why.starts_with(NAME) { why } else { format!("{NAME}: {why}") })
    }

    fn compile(text: &str) -> Result<Self, String> {
        let meaning = regex_syntax::parse(text).map_err(|error| {
            let (why, at) = match &error {
                regex_syntax::Error::Parse(it) => (it.kind().to_string(), it.span().start.offset),
                regex_syntax::Error::Translate(it) => {
                    (it.kind().to_string(), it.span().start.offset)
                }
                other => (other.to_string(), 0),
            };
            let before = text.get(..at).unwrap_or(text).chars().count();
            format!("at character {}: {why}: `{text}`", before + 1)
        })?;
        let whole = Hir::concat(vec![Hir::look(Look::Start), meaning, Hir::look(Look::End)]);
        let config = Regex::config().nfa_size_limit(Some(PATTERN_BYTES_MAX)).dfa(false);
        let regex = Regex::builder().configure(config).build_from_hir(&whole);
        let regex = regex.map_err(|error| format!("{error}: `{text}`"))?;
        Ok(Self { text: text.into(), regex })
    }

    fn is_match(&self, name: &str) -> bool {
        // servers take quotes off a name's ends: it would be another one than the rules here know
        let is_plain = !name.contains('\'') && name.len() <= NAME_BYTES_MAX;
        is_plain && self.regex.is_match(name)
    }

    /// Bytes of memory that it holds.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.text.len() + self.regex.memory_usage()
    }
}

impl Account {
    /// What a row with a pattern lacks for that.
    pub(super) fn lack_for_pattern(&self) -> Option<&'static str> {
        self.names.as_ref()?;
        let lacks =
            [(!self.credential.is_passed_on(), NEEDS_LOGIN), (!self.frontend, NEEDS_CLIENTS)];
        lacks.into_iter().find(|(is_lacking, _)| *is_lacking).map(|(_, why)| why)
    }

    /// The account of a name that a row stands for.
    fn named(&self, name: &str) -> Self {
        Self { name: name.into(), names: None, learned: Arc::default(), ..self.clone() }
    }

    /// Whether that is its name, or that of the row that it is made of.
    pub fn is_called(&self, name: &str) -> bool {
        *self.name == *name || self.row.as_deref() == Some(name)
    }
}

impl Users {
    /// The account that a client of this name logs in to: that of the name, or else one that is
    /// made of the first row whose pattern matches it.
    pub fn of_client(&self, name: &[u8]) -> Option<Arc<Account>> {
        let row = self.row_of(name).filter(|row| row.frontend)?;
        match &row.names {
            None => Some(row.clone()),
            Some(_) => Some(Arc::new(row.named(std::str::from_utf8(name).ok()?))),
        }
    }

    /// The version in force of an account's row, as long as that stands for its name.
    pub(super) fn row_in_force(&self, account: &Account) -> Option<&Arc<Account>> {
        self.row_of(account.name.as_bytes()).filter(|now| now.row == account.row)
    }

    /// The row of a name. A row with a pattern has no name but for administrators.
    fn row_of(&self, name: &[u8]) -> Option<&Arc<Account>> {
        if let Some(own) = self.by_name.get(name) {
            return Some(own).filter(|own| own.names.is_none());
        }
        if self.patterns.is_empty() {
            return None;
        }
        let name = std::str::from_utf8(name).ok()?;
        let is_of = |row: &&Arc<Account>| row.names.as_ref().is_some_and(|it| it.is_match(name));
        self.patterns.iter().find(is_of)
    }

    /// Puts the rows with patterns in the order in which they are looked at.
    pub(super) fn order_patterns(&mut self) {
        let rows = self.by_name.values().filter(|account| account.names.is_some());
        self.patterns = rows.cloned().collect();
        self.patterns.sort_by(|one, other| one.name.cmp(&other.name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::UserRow;

    fn row(label: &str, pattern: &str) -> UserRow {
        let attributes = format!(r#"{{"password_from": "login", "name_pattern": "{pattern}"}}"#);
        UserRow { username: label.into(), attributes, ..UserRow::default() }
    }

    fn users(rows: &[UserRow]) -> Users {
        Users::compile(rows).map_err(|faults| faults[0].to_string()).expect("valid")
    }

    fn again(before: &Users, rows: &[UserRow]) -> Users {
        before.recompile(rows).map_err(|faults| faults[0].to_string()).expect("valid")
    }

    #[test]
    fn what_cannot_stand_for_names_is_refused() {
        let fault = |row: UserRow| Users::compile(&[row]).err().map(|it| it[0].to_string());
        let told =
            |column: &str, why: &str| Some(format!("mysql_users row 1 column {column}: {why}"));
        let open = told("attributes", "name_pattern: at character 4: unclosed group: `ä_b(x`");
        assert_eq!(fault(row("l", "ä_b(x")), open);
        let big = "(a{1000}){1000}";
        let refused = fault(row("l", big)).expect("it is too big");
        assert!(refused.contains("name_pattern: ") && refused.ends_with(&format!("`{big}`")));
        assert_eq!(fault(row("l", "")), told("attributes", "name_pattern is no pattern"));
        let from = |members: &str| UserRow {
            attributes: format!(r#"{{"name_pattern": "a.*"{members}}}"#),
            ..row("l", "")
        };
        assert_eq!(fault(from("")), told("attributes", NEEDS_LOGIN));
        assert_eq!(fault(from(r#", "password_from": "servers""#)), told("attributes", NEEDS_LOGIN));
        let certified = from(r#", "password_from": "login", "spiffe_id": "spiffe://a""#);
        assert_eq!(fault(certified), told("attributes", super::super::attributes::LOGIN_SHOWS));
        let of_servers = UserRow { frontend: 0, ..row("l", "a.*") };
        assert_eq!(fault(of_servers), told("attributes", NEEDS_CLIENTS));
        let fast = UserRow { fast_forward: 1, ..row("l", "a.*") };
        assert_eq!(fault(fast), told("attributes", super::super::attributes::LOGIN_NEEDS));
        let stored = UserRow { password: b"x".into(), ..row("l", "a.*") };
        let why = "password_from says where it is: leave it empty";
        assert_eq!(fault(stored), told("password", why));
    }

    #[test]
    fn a_name_is_that_of_its_own_row_or_else_of_the_first_pattern() {
        let exact = |name: &str| UserRow { username: name.into(), ..UserRow::default() };
        let off = UserRow { active: 0, ..row("0", "app_.*") };
        let of_servers = UserRow { frontend: 0, ..exact("app_servers") };
        let rows = [row("b", "app_.*"), row("a", "app_x+"), exact("app_xx"), off, of_servers];
        let users_in = users;
        let users = users(&rows);
        let row_of = |name: &str| {
            users.of_client(name.as_bytes()).map(|it| (it.name.to_string(), it.row.clone()))
        };
        let made = |name: &str, row: &str| Some((name.to_owned(), Some(row.into())));
        assert_eq!(row_of("app_x"), made("app_x", "a"));
        assert_eq!(row_of("app_y"), made("app_y", "b"));
        assert_eq!(row_of("app_xx"), Some(("app_xx".to_owned(), None)));
        // from end to end, and as long as names are
        for name in ["my_app_x", "", "a", "b", "0", "app_servers", "app_x\n"] {
            assert_eq!(row_of(name), None, "{name:?}");
        }
        // servers would take the quotes off, and let in as somebody else
        for name in ["'app_x'", "'app_servers'", "app_o'x"] {
            assert_eq!(row_of(name), None, "{name}");
        }
        let quoted = users_in(&[row("l", ".*"), exact("owner")]);
        assert!(quoted.of_client(b"'owner'").is_none() && quoted.of_client(b"other").is_some());
        let long = |bytes: usize| format!("app_{}", "x".repeat(bytes - 4));
        assert!(row_of(&long(80)).is_some() && row_of(&long(81)).is_none());
        assert!(users.of_client(b"app_\xff").is_none());
    }

    #[test]
    fn what_is_counted_is_the_row_s_and_nothing_else_is_shared() {
        let limited = UserRow { max_connections: 1, ..row("l", "app_.*") };
        let users = users(std::slice::from_ref(&limited));
        let [one, other] = [b"app_a", b"app_b"].map(|name| users.of_client(name).expect("made"));
        assert_eq!((one.admit(), other.admit()), (Ok(()), Err(1)));
        assert_eq!(users.find(b"l").map(|row| row.clients()), Some(1));
        let next = again(&users, &[limited]);
        assert_eq!(next.of_client(b"app_b").expect("made").admit(), Err(1), "also after a change");
        one.leave();
        let [one, other] = [&one, &other].map(|it| Arc::new(it.proving(b"same", 1, None).proved()));
        assert!(!crate::pool::is_same_account(&one, &other));
        assert!(one.is_called("l") && one.is_called("app_a") && !one.is_called("app_b"));
    }

    #[test]
    fn sessions_outlive_changes_as_long_as_their_row_stands_for_their_name() {
        let before = users(&[row("l", "app_.*")]);
        let session = before.of_client(b"app_a").expect("made").proving(b"x", 1, None).proved();
        let stays = |rows: &[UserRow]| {
            let next = again(&before, rows);
            assert!(next.successor(&session).is_none(), "it has a password of its own");
            !next.has_changed(&session)
        };
        let exact = UserRow { username: "app_a".into(), ..UserRow::default() };
        assert!(stays(&[row("l", "app_.*")]) && stays(&[row("l", "app_a")]));
        assert!(stays(&[UserRow { max_connections: 9, ..row("l", ".*") }, row("m", ".*")]));
        assert!(!stays(&[]) && !stays(&[row("l", "app_b")]) && !stays(&[row("m", "app_.*")]));
        assert!(!stays(&[row("a", "app_.*"), row("l", "app_.*")]), "another row comes first");
        assert!(
            !stays(&[row("l", "app_.*"), exact])
                && !stays(&[UserRow { active: 0, ..row("l", "app_.*") }])
        );
    }
}
