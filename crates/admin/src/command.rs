//! What is no SQL: which statements are commands, and what each of them does.
//!
//! A family is a function that knows its own statements; the first that knows one has it, and what
//! none knows goes to SQLite. Each command that begins with PROXYSQL is known as TIDEGATE, too.

mod cache_advice;
mod candidate;
mod checksum;
pub(crate) mod commands_table;
mod configuration;
mod explain;
mod ignored;
mod layers;
mod plan;
mod process;
mod select;
mod set;
mod show;
mod show_tables;
mod unknown;
mod variables;
mod warnings;

pub(crate) use layers::save_digests;
use rusqlite::types::Value;

use crate::admin::{Admin, Outcome, Reply, Role, Session};
use crate::database::Rights;
use crate::fault::AdminFault;
use crate::statement::Statement;

/// What there is to do for a statement.
pub(crate) enum CommandStep {
    /// SQL to run.
    Sql {
        /// The text, with `:name`s.
        text: String,
        /// Their values, and what the client wrote in their place.
        named: Vec<(String, Value, String)>,
        /// Rights other than the session's.
        rights: Option<Rights>,
    },
    /// Something else to do.
    Act(Act),
}

/// Does it.
pub(crate) type Act = Box<dyn FnOnce(&mut Admin, &mut Session) -> Outcome>;

/// What a family makes of a statement; `None` when it does not know it.
type Found = Result<Option<CommandStep>, AdminFault>;

impl CommandStep {
    /// SQL of ours.
    fn own(text: impl Into<String>) -> Found {
        let (text, named) = (text.into(), Vec::new());
        Ok(Some(CommandStep::Sql { text, named, rights: Some(Rights::Own) }))
    }

    /// Something to do.
    fn act(act: impl FnOnce(&mut Admin, &mut Session) -> Outcome + 'static) -> Found {
        Ok(Some(CommandStep::Act(Box::new(act))))
    }

    /// Nothing to do, and no harm.
    fn nothing() -> Found {
        Self::act(|_, _| Ok(Reply::DONE))
    }
}

/// What there is to do for a statement.
pub(crate) fn find(
    admin: &mut Admin,
    session: &Session,
    statement: &Statement<'_>,
) -> Result<CommandStep, AdminFault> {
    let of_role: &[Family] = match session.role {
        Role::Administrator => &[EVERYBODYS, ADMINISTRATORS].concat(),
        Role::Reader => EVERYBODYS,
    };
    for family in of_role {
        if let Some(step) = family(admin, session, statement)? {
            return Ok(step);
        }
    }
    if statement.text.is_empty() {
        return Err(AdminFault::new(1065, *b"42000", "Query was empty"));
    }
    Ok(CommandStep::Sql { text: statement.text.to_owned(), named: Vec::new(), rights: None })
}

/// Whether a statement looks at what the one before left.
pub(crate) fn asks_for_warnings(statement: &Statement<'_>) -> bool {
    warnings::asked(statement)
}

type Family = fn(&mut Admin, &Session, &Statement<'_>) -> Found;

/// What readers of statistics may ask, too.
const EVERYBODYS: &[Family] =
    &[warnings::find, ignored::find, select::find, show_tables::find, variables::find, show::find];

/// What only administrators may ask. What no other family has of LOAD and SAVE is for the one of
/// layers to tell what is not known.
const ADMINISTRATORS: &[Family] = &[
    cache_advice::find,
    process::find,
    configuration::find,
    layers::find,
    set::find,
    plan::find,
    explain::find,
    checksum::find,
    candidate::find,
];
