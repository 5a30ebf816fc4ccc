//! Prepared statements of the binary protocol, apart from the sessions that asked for them.
//! [`Text`] is what is known of a text, [`Registry`] has the texts that a worker knows, and
//! [`OnLane`] says which of them are prepared on a backend connection. Packets that have to be
//! changed on their way are changed here.
//!
//! No lane belongs to a session for its statements' sake: an execution is prepared where it goes,
//! unless it is prepared there already. Which session has which client ids is
//! `session::prepared::handles`.

mod answer;
mod lane;
mod registry;
mod spelled;
mod types;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use sql::{Access, CommandClass, Digest, Effects, Omitted};
use wire::Caps;

use crate::catalog::Naming;
use crate::holds::Holds;
use crate::link::{LinkState, ReadBy, Settings};
use crate::route::Conduct;

pub use answer::KeptAnswer;
pub use lane::{LaneStmt, Manner, OnLane, Wanted};
pub use registry::{Limits, Registry, Sought, StmtsOfAll};
pub(crate) use spelled::spelled;
pub(crate) use types::{lacks_types, tell_types, types_in, values_in};

/// A digest that is kept.
pub struct KeptDigest {
    hash: u64,
    text: Box<[u8]>,
    first_comment: Option<Box<[u8]>>,
    omitted: Omitted,
}

impl From<Digest<'_>> for KeptDigest {
    fn from(digest: Digest<'_>) -> Self {
        let Digest { hash, text, first_comment, omitted } = digest;
        Self { hash, text: text.into(), first_comment: first_comment.map(Into::into), omitted }
    }
}

/// What is known of a prepared text, for all clients of a worker that prepared it.
pub struct Text {
    /// Unique in the process, from 1.
    pub number: u64,
    /// The account that prepares it.
    pub user: Arc<str>,
    /// Capability class of its clients: metadata look different in another one.
    pub class: Caps,
    /// The connection that its names were resolved on.
    pub state: LinkState,
    /// Whether that tells for certain in which modes it was read.
    pub modes_known: bool,
    /// The text, or the beginning of one that is too long to be kept.
    pub text: Box<[u8]>,
    /// The digest of the text that the client sent, when digests were on.
    pub digest: Option<KeptDigest>,
    /// What an execution may do.
    pub effects: Effects,
    /// Reasons to hold its lane.
    pub holds: Holds,
    /// What its beginning does to data.
    pub begins: Access,
    /// What all of it does to data.
    pub access: Access,
    /// Executing it twice does no harm.
    pub repeatable: bool,
    /// An execution may share a lane, as far as the text says.
    pub shareable: bool,
    /// It may give something else though no data has changed.
    pub varies: bool,
    /// What kind of statement it is.
    pub command: CommandClass,
    /// What it does to the tables that it names.
    pub naming: Naming,
}

impl Text {
    /// The digest of the text that the client sent.
    pub fn digest(&self) -> Option<Digest<'_>> {
        let KeptDigest { hash, text, first_comment, omitted } = self.digest.as_ref()?;
        let first_comment = first_comment.as_deref();
        Some(Digest { hash: *hash, text, first_comment, omitted: *omitted })
    }

    /// Whether it runs texts, of which its parameters may be some.
    pub fn runs_parameters(&self) -> bool {
        self.effects.intersects(Effects::RUNS_TEXTS)
            && sql::may_run_parameters(&self.text, self.state.modes())
    }

    /// What a server may read it by, in a session whose connection looks like that.
    #[inline]
    pub fn read_by(&self, now: &LinkState) -> ReadBy {
        // the type of a variable is settled, too
        now.read_by(self.effects.intersects(Effects::USER_VARIABLE | Effects::SYSTEM_VARIABLE))
    }

    /// What an execution does, as far as it matters where it goes; `holds` are the reasons that its
    /// rules leave it to keep a lane.
    pub fn conduct(&self, holds: Holds) -> Conduct {
        Conduct { effects: self.effects, holds, begins: self.begins, access: self.access }
    }

    /// The schema that its names mean, for a client that wants `now` by now.
    pub fn schema<'a>(&'a self, now: &'a LinkState) -> Option<&'a Arc<[u8]>> {
        self.state.schema.as_ref().or(now.schema.as_ref())
    }

    /// Bytes of memory that it holds.
    pub fn bytes(&self) -> usize {
        let digest = self.digest.as_ref().map_or(0, |digest| digest.text.len());
        size_of::<Self>() + self.text.len() + digest
    }

    /// What a connection that has `have` should have before the text is prepared there, so that it
    /// means what it meant; `now` is what its client wants by now, and `why` are the reasons to
    /// hold the connection. One that is held for something gets nothing but what texts are read
    /// by: the rest may be for the next transaction, or not be set within one. Where the server
    /// alone knows what it has, it gets nothing but the schema.
    pub fn wants(&self, now: &LinkState, have: &LinkState, why: Holds) -> LinkState {
        let then = &self.state;
        let (charset, settings) = match why {
            Holds::NONE => (then.charset, then.settings.clone()),
            _ if why.intersects(Holds::UNTOLD_SETTINGS) => (have.charset, have.settings.clone()),
            _ => {
                let settings =
                    Settings::read_as_by(then.settings.as_deref(), have.settings.as_ref());
                (then.charset, settings)
            }
        };
        let schema = self.schema(now).cloned();
        LinkState { schema, charset, autocommit: have.autocommit, settings }
    }
}
