//! Stored code that a text has its server read, also without running it: a MySQL keeps that with
//! the connection.
//!
//! Says whether there is some, by the names in a text; knows nothing of what it does, and nothing
//! of connections.

use sql::{Effects, Role};

use super::{AskedText, Catalog, Known, Naming, key};

impl Known {
    /// What a text does that makes or changes stored code, beside what it says.
    pub(super) fn code_made(&self, asked: &AskedText<'_>) -> Effects {
        let mut effects = Effects::DEFINES;
        if self.is_read() && self.catalog.has_no_code() {
            return effects;
        }
        for (name, role) in sql::names(asked.text, asked.how.modes) {
            effects.insert(self.calls(key(name), role));
        }
        effects
    }

    /// Whether a name leads to functions or procedures, whatever a statement does with it. Any may,
    /// as long as nothing was read.
    pub(super) fn calls(&self, key: u64, role: Role) -> Effects {
        let leads = !self.is_read() || self.catalog.leads_to_code(key, role);
        if leads { Effects::CALLS_CODE } else { Effects::NONE }
    }
}

impl Catalog {
    fn has_no_code(&self) -> bool {
        self.functions.is_empty() && self.procedures.is_empty()
    }

    fn leads_to_code(&self, key: u64, role: Role) -> bool {
        let ways = [Naming::Reads, Naming::Writes];
        let mut found = ways.into_iter().filter_map(|naming| self.of_name(key, role, naming));
        found.any(|effects| effects.intersects(Effects::CALLS_CODE))
    }
}

#[cfg(test)]
mod tests {
    use sql::Modes;

    use super::super::{Definitions, How, Naming};
    use super::*;
    use crate::ids::HostgroupId;

    #[test]
    fn any_name_may_lead_to_code_as_long_as_nothing_is_read_but_where_it_can_be_none() {
        let (mut unread, none) = (Known::new("app".into(), HostgroupId(0)), Definitions::default());
        for (text, effects) in [
            ("LOCK TABLES t READ", Effects::CALLS_CODE),
            ("SHOW CREATE VIEW v", Effects::CALLS_CODE),
            ("COMMIT RELEASE", Effects::NONE),
            ("ROLLBACK WORK AND NO CHAIN RELEASE", Effects::NONE),
            ("USE shop", Effects::NONE),
        ] {
            let naming = Naming::of(&sql::facts(text.as_bytes()));
            let how = How { modes: Modes::default(), is_utf8: true, naming };
            let reached = unread.reach(&AskedText { text: text.as_bytes(), how }, &none, |_| false);
            assert_eq!(reached.known, effects, "{text}");
        }
    }
}
