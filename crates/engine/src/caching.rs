//! What an answer depends on, as a key of the query cache, and what keeps one out of it.
//!
//! Everything that may change the bytes of a reply is in its key, or keeps the statement from the
//! cache. So every server of a hostgroup tells two sessions with one key the same.

use wire::Caps;

use crate::ids::HostgroupId;
use crate::link::{LinkState, write_part};
use crate::stats::Counters;
use crate::stmt::Text;

/// Why a statement is neither answered from the cache nor kept there, though a rule says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Uncached {
    /// It is no plain `SELECT`, or uses variables, locks or the like.
    Statement,
    /// It gives other values without any change of data.
    Varies,
    /// It reaches stored code that does more than read, or that nobody has read yet.
    Code,
    /// The session has a transaction, keeps a connection, or no server has seen its password.
    Session,
    /// It says how far behind its server may be.
    Freshness,
    /// Its execution has a cursor, several rows of parameters, or parameters sent ahead.
    Execution,
}

impl Uncached {
    /// Where it is counted.
    pub(crate) fn counter(self, stats: &mut Counters) -> &mut u64 {
        match self {
            Self::Statement => &mut stats.uncached_statement,
            Self::Varies => &mut stats.uncached_varies,
            Self::Code => &mut stats.uncached_code,
            Self::Session => &mut stats.uncached_session,
            Self::Freshness => &mut stats.uncached_freshness,
            Self::Execution => &mut stats.uncached_execution,
        }
    }
}

/// Whose question it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker<'a> {
    /// Where it would be sent.
    pub hostgroup: HostgroupId,
    /// The account, as servers know it.
    pub account: &'a str,
    /// The client's address, where its server is told: privileges depend on it.
    pub client: Option<&'a str>,
    /// Capabilities that change what servers send.
    pub class: Caps,
    /// What its connection looks like.
    pub want: &'a LinkState,
}

/// What is asked.
#[derive(Clone, Copy)]
pub(crate) enum Question<'a> {
    /// By a text, as it is sent.
    Text(&'a [u8]),
    /// By executing a prepared one.
    Execution {
        /// What was prepared.
        text: &'a Text,
        /// Types of the parameters, two bytes each.
        types: &'a [u8],
        /// Which of them are `NULL`, and the values of the others.
        values: &'a [u8],
    },
}

/// Appends the key of a question.
pub(crate) fn write_key(out: &mut Vec<u8>, asker: &Asker<'_>, question: &Question<'_>) {
    out.extend_from_slice(&asker.hostgroup.0.to_le_bytes());
    out.extend_from_slice(&asker.class.0.to_le_bytes());
    write_part(out, asker.account.as_bytes());
    write_part(out, asker.client.unwrap_or_default().as_bytes());
    asker.want.write_key(out);
    match question {
        Question::Text(text) => {
            out.push(TEXT);
            out.extend_from_slice(text);
        }
        Question::Execution { text, types, values } => {
            out.push(EXECUTION);
            text.state.write_key(out);
            write_part(out, &text.text);
            write_part(out, types);
            out.extend_from_slice(values);
        }
    }
}

const TEXT: u8 = 0;
const EXECUTION: u8 = 1;
