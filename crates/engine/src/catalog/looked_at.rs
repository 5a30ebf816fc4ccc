//! Stored code that a text has its server read without running it: a MySQL keeps that with the
//! connection too.

use sql::{Effects, Role};

use super::{Asked, Catalog, Known, Naming, key};

impl Known {
    /// Which code a text has a MySQL read that runs none of it.
    pub(super) fn looked_at(&self, asked: &Asked<'_>) -> Effects {
        let mut read = match asked.how.naming {
            Naming::MakesCode => Effects::DEFINES,
            _ => Effects::NONE,
        };
        if self.catalog.functions.is_empty() && self.catalog.procedures.is_empty() {
            return read;
        }
        for (name, role) in sql::names(asked.text, asked.how.modes) {
            read.insert(self.catalog.calls(key(name), role));
        }
        read
    }
}

impl Catalog {
    /// Whether a name leads to functions or procedures, whatever a statement does with it.
    pub(super) fn calls(&self, key: u64, role: Role) -> Effects {
        let of = |naming| self.of_name(key, role, naming).unwrap_or(Effects::NONE);
        let all = of(Naming::Reads) | of(Naming::Writes);
        if all.intersects(Effects::CALLS_CODE) { Effects::CALLS_CODE } else { Effects::NONE }
    }
}
