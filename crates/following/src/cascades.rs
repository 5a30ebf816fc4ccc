//! Tables and views whose rows change though no log names them.

use std::collections::{BTreeMap, BTreeSet};

/// Tables whose rows change with those of others, by foreign keys, or since they are views.
#[derive(Default, Debug)]
pub struct Cascades {
    by_parent: BTreeMap<u64, BTreeSet<u64>>,
    /// Views of which nobody knows what they read: they change with any table.
    of_any: BTreeSet<u64>,
    /// One of them.
    pub unread: Option<String>,
}

impl Cascades {
    /// The rows of `child` follow those of `parent`.
    pub fn add(&mut self, parent: u64, child: u64) {
        self.by_parent.entry(parent).or_default().insert(child);
    }

    /// Nobody knows what a view reads.
    pub fn add_unread(&mut self, name: String, view: u64) {
        self.unread.get_or_insert(name);
        self.of_any.insert(view);
    }

    /// Nothing more is added: children of children are children from now on.
    pub fn close(&mut self) {
        let reached = |from: &BTreeSet<u64>| {
            let (mut reached, mut left) = (BTreeSet::new(), Vec::from_iter(from.iter().copied()));
            while let Some(table) = left.pop() {
                if reached.insert(table) {
                    left.extend(self.by_parent.get(&table).into_iter().flatten());
                }
            }
            reached
        };
        let of_any = reached(&self.of_any);
        let by_parent = self.by_parent.iter().map(|(parent, own)| (*parent, reached(own)));
        (self.by_parent, self.of_any) = (by_parent.collect(), of_any);
    }

    /// The tables whose rows may change with those of this one.
    pub(crate) fn children(&self, table: u64) -> impl Iterator<Item = u64> + '_ {
        let own = self.by_parent.get(&table).into_iter().flatten();
        own.chain(&self.of_any).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_of_children_change_too_and_a_ring_ends() {
        let mut cascades = Cascades::default();
        for (parent, child) in [(1, 2), (2, 3), (3, 1), (7, 8)] {
            cascades.add(parent, child);
        }
        cascades.close();
        let children = |table| cascades.children(table).collect::<Vec<_>>();
        assert_eq!((children(1), children(7)), (vec![1, 2, 3], vec![8]));
        assert!(children(8).is_empty());
        let mut blind = Cascades::default();
        blind.add(20, 21);
        blind.add_unread("shop.v".to_owned(), 20);
        blind.close();
        assert_eq!(blind.children(7).collect::<Vec<_>>(), [20, 21], "a view of an unread view");
    }
}
