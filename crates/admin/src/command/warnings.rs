//! SHOW WARNINGS and SHOW ERRORS: what the statement before had to say.

use super::{CommandStep, Found};
use crate::admin::{Admin, Reply, Session};
use crate::statement::{Statement, is};

/// Whether a statement is one of them.
pub(super) fn asked(statement: &Statement<'_>) -> bool {
    let counted = statement.begins(&["SHOW", "COUNT", "("]);
    let what = statement.word(if counted { 5 } else { 1 });
    is(statement.word(0), "SHOW") && (is(what, "WARNINGS") || is(what, "ERRORS"))
}

pub(super) fn find(_: &mut Admin, _: &Session, statement: &Statement<'_>) -> Found {
    if !asked(statement) {
        return Ok(None);
    }
    let counted = statement.begins(&["SHOW", "COUNT", "("]);
    let what = statement.word(if counted { 5 } else { 1 });
    let errors_only = is(what, "ERRORS");
    CommandStep::act(move |_, session| {
        let wanted = session.warnings.iter().filter(|w| !errors_only || w.level == "Error");
        let rows: Vec<Vec<String>> = wanted
            .map(|w| vec![w.level.to_owned(), w.code.to_string(), w.message.clone()])
            .collect();
        if counted {
            let column =
                if errors_only { "@@session.error_count" } else { "@@session.warning_count" };
            return Ok(Reply::table(&[column], vec![vec![rows.len().to_string()]]));
        }
        Ok(Reply::table(&["Level", "Code", "Message"], rows))
    })
}
