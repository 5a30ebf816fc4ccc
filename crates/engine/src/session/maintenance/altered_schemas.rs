//! What a schema's tables begin with was altered, or it was created anew: a server tells that to no
//! connection that is in the schema. Connections that were there before leave it and choose it
//! again before they are used for anything. What a session keeps is left alone until it lets go of
//! it, as choosing waits for locks, and takes warnings away.
//!
//! The worker that saw it does so at once, the others before they take a client or another
//! worker's connection, or a session chooses a schema. A client that was there
//! before may have what was before, as on a server.

use crate::lane::Lease;
use crate::proxy::Proxy;
use crate::session::What;

/// Whether a text may alter what a schema's tables begin with.
pub(crate) fn may_alter_schema(text: &[u8]) -> bool {
    let has = |word: &[u8]| text.windows(word.len()).any(|at| at.eq_ignore_ascii_case(word));
    (has(b"ALTER") || has(b"CREATE")) && (has(b"DATABASE") || has(b"SCHEMA"))
}

impl Proxy {
    /// A schema was altered by what has just ended.
    pub(crate) fn schema_altered(&mut self) {
        self.offer.stmts.schema_altered();
        self.follow_altered_schemas();
    }

    /// What a command is that chooses a schema, which is as it is now.
    pub(crate) fn choosing_schema(&mut self) -> What {
        self.follow_altered_schemas();
        What::Schema
    }

    /// Has all connections choose their schemas again, if one was altered since the last look.
    pub(crate) fn follow_altered_schemas(&mut self) {
        let altered = self.offer.stmts.altered_schemas();
        if std::mem::replace(&mut self.altered_schemas, altered) == altered {
            return;
        }
        for lane in self.lanes.values_mut() {
            match lane.lease {
                Lease::Relay(_) => {}
                Lease::Exclusive(_) => lane.marks.schema_altered = true,
                Lease::Dialing(_)
                | Lease::Idle
                | Lease::Shared
                | Lease::Freed
                | Lease::Upkeep
                | Lease::Clearing(_)
                | Lease::Errand(_) => lane.leave_schema(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_alters_a_schema_by_its_words_wherever_they_are() {
        for text in [
            "ALTER DATABASE d COLLATE latin1_bin",
            "alter schema character set latin1",
            "SELECT 1; /* x */ ALTER /* y */ DATABASE d CHARSET utf8mb4",
            "CREATE OR REPLACE DATABASE d CHARSET latin1",
            "EXECUTE IMMEDIATE 'ALTER DATABASE d CHARSET utf8mb4'",
        ] {
            assert!(may_alter_schema(text.as_bytes()), "{text}");
        }
        for text in ["ALTER TABLE t ADD a INT", "DROP DATABASE d", "CREATE TABLE t (a INT)"] {
            assert!(!may_alter_schema(text.as_bytes()), "{text}");
        }
    }
}
