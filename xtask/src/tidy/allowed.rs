//! The list of findings that are put up with, and its ratchet.
//!
//! Decides only whether a key is on the list. An entry that pardons nothing any more is an error,
//! and so is a `limit` that is not the number of entries. The list can shrink silently, but growing
//! it shows as a raised number in the diff.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

const FILE: &str = "xtask/allowed.txt";

pub(super) struct AllowList {
    entries: BTreeMap<String, bool>,
    limit: Option<usize>,
}

impl AllowList {
    pub(super) fn load(root: &Path) -> Result<Self> {
        let text = fs::read_to_string(root.join(FILE)).with_context(|| FILE.to_owned())?;
        Ok(Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let mut list = Self { entries: BTreeMap::new(), limit: None };
        for line in text.lines().map(str::trim) {
            if let Some(limit) = line.strip_prefix("limit = ") {
                list.limit = limit.parse().ok();
            } else if !line.is_empty() && !line.starts_with('#') {
                let key = line.split(" # ").next().unwrap_or(line).trim_end();
                list.entries.insert(key.to_owned(), false);
            }
        }
        list
    }

    pub(super) fn pardons(&mut self, key: &str) -> bool {
        match self.entries.get_mut(key) {
            Some(used) => {
                *used = true;
                true
            }
            None => false,
        }
    }

    /// What the list itself does wrong, after every check has asked it.
    pub(super) fn settle(&self) -> (String, Vec<String>) {
        let stale = self.entries.iter().filter(|&(_, used)| !used);
        let mut complaints: Vec<String> = stale
            .map(|(key, _)| format!("{FILE}: `{key}` pardons nothing any more: remove it"))
            .collect();
        if self.limit != Some(self.entries.len()) {
            complaints.push(format!("{FILE}: `limit` must say {}", self.entries.len()));
        }
        (format!("{} entries", self.entries.len()), complaints)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_that_pardons_nothing_is_a_complaint() {
        let mut list = AllowList::parse("limit = 2\nG7 a fn f # because\nG7 b fn g\n");
        assert!(list.pardons("G7 a fn f"));
        assert!(!list.pardons("G7 c fn h"));
        let (_, complaints) = list.settle();
        assert_eq!(complaints.len(), 1);
        assert!(complaints[0].contains("G7 b fn g"));
    }

    #[test]
    fn growing_the_list_needs_a_raised_limit() {
        let mut list = AllowList::parse("limit = 1\nx\ny\n");
        assert!(list.pardons("x") && list.pardons("y"));
        assert_eq!(list.settle().1, ["xtask/allowed.txt: `limit` must say 2"]);
    }
}
