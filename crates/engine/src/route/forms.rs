//! In which forms rules look at a text. A text may be written so that its digest reads otherwise
//! than a server does, and no rule that answers may be passed by that.

use memchr::memchr;
use sql::{DigestOptions, Digester, Modes, Versions};

use super::Uncounted;
use crate::rules::{DigestRef, RuleInput, RuleScratch};
use crate::snapshot::Snapshot;
use crate::vars::Vars;

/// In which form rules look at a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reading {
    /// As it is written, with the digest that everybody knows it by.
    AsWritten,
    /// As a server runs it, which is [`Forms::form_of`] then: rules answer that form.
    AsRun,
    /// It has too many forms, and rules may answer some.
    Uncertain,
}

/// Whether all of a text is read in the modes that it begins in: one of several statements may set
/// them for those behind it.
fn stay(text: &[u8], modes: Modes) -> bool {
    memchr(b';', text).is_none() || !sql::sets_reading(text, modes)
}

/// What a client is told whose text has too many forms.
pub(super) const UNCERTAIN: &str = "the statement can be read in too many ways: it is long, and \
    has code for versions of servers, or its sql_mode or character set is not known";

/// Bytes of all forms of a text together, unless there are only a few: a worker has other clients.
const FORMS_BYTES_MAX: usize = 24 << 20;
const FORMS_ALWAYS: usize = 4;

/// Makes the forms of texts, and keeps its memory from one to the next.
#[derive(Default)]
pub(super) struct Forms {
    text: Vec<u8>,
    digester: Digester,
}

impl Forms {
    /// Looks whether rules that answer would do so if they saw what a server runs.
    #[inline]
    pub(super) fn reading(
        &mut self,
        snapshot: &Snapshot,
        scratch: &mut RuleScratch,
        input: &RuleInput<'_>,
        (modes, modes_known): (Modes, bool),
    ) -> Reading {
        match input.digest {
            Some(known) if snapshot.rules.may_answer(input.username) => {
                self.reading_by(snapshot, scratch, input, (known, modes, modes_known))
            }
            _ => Reading::AsWritten,
        }
    }

    /// The same where some rules answer.
    #[inline(never)]
    fn reading_by(
        &mut self,
        snapshot: &Snapshot,
        scratch: &mut RuleScratch,
        input: &RuleInput<'_>,
        (known, modes, modes_known): (DigestRef<'_>, Modes, bool),
    ) -> Reading {
        let text = input.text;
        let any_modes = Modes::matter_to(text) && !(modes_known && stay(text, modes));
        if !any_modes && !sql::may_deceive(text, known.omitted, modes) {
            return Reading::AsWritten;
        }
        let Some(versions) = Versions::named_in(text) else { return Reading::Uncertain };
        let kinds: &[bool] = if sql::may_have_dollars(text) { &[false, true] } else { &[false] };
        let servers =
            || versions.iter().flat_map(|v| kinds.iter().map(move |dollars| (v, *dollars)));
        let all = || {
            let any = any_modes.then(|| Modes::all_in(text)).into_iter().flatten();
            any.chain((!any_modes).then_some(modes))
        };
        let count = servers().count() * all().count();
        if count > FORMS_ALWAYS && count * text.len() > FORMS_BYTES_MAX {
            return Reading::Uncertain;
        }
        for (server, modes) in servers().flat_map(|v| all().map(move |m| (v, m))) {
            sql::as_run(text, modes, server, &mut self.text);
            let form = self.form_of(input, &snapshot.vars);
            if form.digest.is_some_and(|digest| digest.text == known.text) {
                continue;
            }
            let verdict = snapshot.rules.evaluate(&form, scratch, &mut Uncounted);
            if verdict.error_msg.is_some() || verdict.ok_msg.is_some() {
                return Reading::AsRun;
            }
        }
        Reading::AsWritten
    }

    /// A query in the form that was made last; its digest is whole, and has the hash that the text
    /// as it is written is known by.
    pub(super) fn form_of<'a>(&'a mut self, input: &RuleInput<'a>, vars: &Vars) -> RuleInput<'a> {
        let unlimited = DigestOptions {
            max_query_length: usize::MAX,
            max_digest_length: usize::MAX,
            ..vars.digest_options()
        };
        let made = self.digester.digest(&self.text, &unlimited).text;
        let digest = input.digest.map(|known| DigestRef { text: made, ..known });
        RuleInput { text: &self.text, digest, ..*input }
    }
}
