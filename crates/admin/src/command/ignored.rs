//! Statements that clients send by habit: answered with OK, without effect.
//!
//! There are no transactions here: each statement is one of its own, and layers are for the rest.

use super::{CommandStep, Found};
use crate::admin::{Admin, Reply, Session};
use crate::statement::{Statement, is, unquoted};

pub(super) fn find(_: &mut Admin, _: &Session, statement: &Statement<'_>) -> Found {
    if statement.begins(&["USE"]) {
        let schema = unquoted(statement.word(1));
        return CommandStep::act(move |_, session| {
            session.schema = schema;
            Ok(Reply::DONE)
        });
    }
    // ROLLBACK of a module to a version is a command of its own
    let rollback = statement.is(&["ROLLBACK"]) || statement.is(&["ROLLBACK", "WORK"]);
    let known = rollback
        || ["BEGIN", "COMMIT", "END", "SAVEPOINT", "RELEASE", "FLUSH"]
            .iter()
            .any(|word| is(statement.word(0), word))
        || [["START", "TRANSACTION"], ["LOCK", "TABLES"], ["UNLOCK", "TABLES"], ["ROLLBACK", "TO"]]
            .iter()
            .any(|words| statement.begins(words))
        || statement.word(0).starts_with("/*!")
        || (is(statement.word(0), "SET") && is_of_clients(statement.word(1)));
    if known { CommandStep::nothing() } else { Ok(None) }
}

/// Whether what is set is of a client's session with a server.
fn is_of_clients(what: &str) -> bool {
    if what.starts_with('@') && !what.starts_with("@@") {
        return true;
    }
    let what = what.trim_start_matches('@').to_ascii_lowercase();
    let what = what.strip_prefix("session.").or(what.strip_prefix("local.")).unwrap_or(&what);
    ["names", "session", "local", "character", "charset", "transaction", "password"].contains(&what)
        || [
            "autocommit",
            "sql_",
            "character_set",
            "collation",
            "net_",
            "wait_timeout",
            "time_zone",
            "interactive_",
            "max_execution",
            "foreign_key",
            "unique_checks",
            "lc_",
            "tx_",
            "transaction_",
            "profiling",
            "innodb_",
        ]
        .iter()
        .any(|prefix| what.starts_with(prefix))
}
