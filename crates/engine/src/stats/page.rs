//! Rows of a table as they are told to another thread: a few at a time, so that a worker with a
//! full table is never kept from its sessions.

use std::ops::Range;

use super::digests::DigestRow;
use super::totals::Totals;
use crate::ids::HostgroupId;

/// A few rows, copied with their texts into one piece of memory.
#[derive(Default, Debug)]
pub struct DigestPage {
    rows: Vec<PageRow>,
    texts: Vec<u8>,
    /// What rows had that were evicted before they could be told, and how many they were.
    pub(super) evicted: (Totals, u64),
    /// There are rows that were not told yet.
    pub more: bool,
}

#[derive(Debug)]
struct PageRow {
    hostgroup: Option<HostgroupId>,
    digest: u64,
    /// Schema, user, client and digest text.
    texts: [Range<usize>; 4],
    totals: Totals,
}

impl DigestPage {
    /// Copies a row.
    pub(super) fn push(&mut self, row: &DigestRow<'_>) {
        let texts = [row.schema, row.user, row.client, row.text].map(|text| {
            let start = self.texts.len();
            self.texts.extend_from_slice(text);
            start..self.texts.len()
        });
        let DigestRow { hostgroup, digest, totals, .. } = *row;
        self.rows.push(PageRow { hostgroup, digest, texts, totals: totals.clone() });
    }

    /// The rows.
    pub fn rows(&self) -> impl Iterator<Item = DigestRow<'_>> {
        self.rows.iter().map(|row| {
            let [schema, user, client, text] =
                row.texts.each_ref().map(|at| self.texts.get(at.clone()).unwrap_or_default());
            let PageRow { hostgroup, digest, totals, .. } = row;
            let (hostgroup, digest) = (*hostgroup, *digest);
            DigestRow { hostgroup, schema, user, client, digest, text, totals }
        })
    }
}
