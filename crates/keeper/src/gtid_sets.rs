//! What servers have, as they tell it, and which has all that another one has.
//!
//! MySQL tells intervals of numbers by origin (`gtid_executed`; "GTID Format and Storage" of its
//! manual), MariaDB the last number of each domain and server (see [`crate::positions`]). When that
//! was told, and what follows, is `contest`'s.

use std::collections::BTreeMap;

use crate::positions;

/// What a server has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GtidSet {
    /// Its `gtid_binlog_state` and `gtid_slave_pos`.
    MariaDb(String),
    /// By origin, and tag where there is one: intervals that do not touch each other, in order.
    MySql(BTreeMap<String, Vec<(u64, u64)>>),
}

impl GtidSet {
    /// Reads what a server told; `None` where it has no GTIDs, or what it told is none.
    pub fn parse(text: &str) -> Option<Self> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        if !text.contains(':') {
            let is_position = |part: &str| {
                let numbers: Vec<_> = part.split('-').map(str::parse::<u64>).collect();
                numbers.len() == 3 && numbers.iter().all(Result::is_ok)
            };
            let parts: Vec<_> = parts.collect();
            let is_known = !parts.is_empty() && parts.iter().all(|part| is_position(part));
            return is_known.then(|| Self::MariaDb(parts.join(",")));
        }
        let mut sets: BTreeMap<String, Vec<(u64, u64)>> = BTreeMap::new();
        for part in parts {
            let mut words = part.split(':').map(str::trim);
            let origin = words.next().filter(|origin| !origin.is_empty())?.to_ascii_lowercase();
            let mut key = origin.clone();
            for word in words {
                match interval(word) {
                    Some(interval) => sets.entry(key.clone()).or_default().push(interval),
                    // intervals behind a tag are those of the tag
                    None if word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') => {
                        key = format!("{origin}:{}", word.to_ascii_lowercase());
                    }
                    None => return None,
                }
            }
        }
        sets.values_mut().for_each(join);
        (!sets.is_empty()).then_some(Self::MySql(sets))
    }

    /// Whether some of MySQL's transactions are in both; none of MariaDB's is told by itself.
    pub fn overlaps(&self, other: &Self) -> bool {
        let (Self::MySql(own), Self::MySql(other)) = (self, other) else { return false };
        other.iter().any(|(origin, intervals)| {
            let own = own.get(origin).map_or(&[][..], Vec::as_slice);
            let meets = |(from, to): &(u64, u64)| own.iter().any(|(a, b)| a <= to && from <= b);
            intervals.iter().any(meets)
        })
    }

    /// Whether a server that has this has all that one with the other set has.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::MariaDb(own), Self::MariaDb(other)) => positions::lacking(other, own).is_empty(),
            (Self::MySql(own), Self::MySql(other)) => other.iter().all(|(origin, intervals)| {
                let own = own.get(origin).map_or(&[][..], Vec::as_slice);
                let is_in = |(from, to): &(u64, u64)| own.iter().any(|(a, b)| a <= from && to <= b);
                intervals.iter().all(is_in)
            }),
            _ => false,
        }
    }
}

fn interval(word: &str) -> Option<(u64, u64)> {
    let (from, to) = word.split_once('-').unwrap_or((word, word));
    let (from, to) = (from.parse().ok()?, to.parse().ok()?);
    (from <= to).then_some((from, to))
}

/// Makes one of intervals that overlap or follow each other.
fn join(intervals: &mut Vec<(u64, u64)>) {
    intervals.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::with_capacity(intervals.len());
    for &(from, to) in intervals.iter() {
        match joined.last_mut() {
            Some((_, end)) if from <= end.saturating_add(1) => *end = to.max(*end),
            _ => joined.push((from, to)),
        }
    }
    *intervals = joined;
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "3E11FA47-71CA-11E1-9E33-C80AA9429562";
    const B: &str = "4e11fa47-71ca-11e1-9e33-c80aa9429562";

    fn covers(own: &str, other: &str) -> bool {
        let set = |text: &str| {
            let text = text.replace('A', A).replace('B', B);
            GtidSet::parse(&text).unwrap_or_else(|| panic!("{text}"))
        };
        set(own).covers(&set(other))
    }

    #[test]
    fn sets_overlap_where_one_transaction_of_an_origin_and_tag_is_in_both() {
        let one = "11111111-1111-1111-1111-111111111111";
        let set = |text: &str| GtidSet::parse(&text.replace("one", one)).expect("a set");
        for (other, overlap) in
            [("one:9-12", true), ("one:10", true), ("one:11-20", false), ("one:tag:5", false)]
        {
            let own = set("one:3-5:7-10");
            assert_eq!((own.overlaps(&set(other)), set(other).overlaps(&own)), (overlap, overlap));
        }
        assert!(!set("0-1-5").overlaps(&set("0-1-5")), "MariaDB tells positions");
    }

    #[test]
    fn a_set_of_mysql_covers_another_one_origin_by_origin() {
        assert!(covers("A:1-9", "A:1-9") && covers("A:1-9", "A:3"));
        assert!(covers("A:1-9,\nB:1", "A:1-9") && !covers("A:1-9", "A:1-9,B:1"));
        assert!(covers("A:1-4:5-9", "A:2-7"), "intervals that follow each other are one");
        assert!(!covers("A:1-4:6-9", "A:2-7") && covers("A:1-4:6-9", "A:2-4:9"));
        assert!(covers("A:1-3,A:4-9", "A:1-9"), "an origin that is named twice");
    }

    #[test]
    fn a_tag_has_numbers_of_its_own() {
        assert!(covers("A:1-9:tag:1-2", "A:tag:2") && !covers("A:1-9", "A:tag:2"));
        assert!(covers("A:1-9:tag:1-2:other:5", "A:Other:5") && !covers("A:tag:1-9", "A:1"));
    }

    #[test]
    fn positions_of_mariadb_are_told_by_who_wrote_them() {
        assert!(covers("0-1-9", "0-1-8") && !covers("0-1-8", "0-1-9"));
        assert!(covers("0-1-8,0-2-9", "0-1-8") && !covers("0-1-9", "0-1-8,0-2-9"));
        assert!(!covers("0-1-8,0-2-10", "0-1-9"), "more of another one is not what was written");
    }

    #[test]
    fn what_is_no_set_is_none() {
        for text in ["", " ", ",", "x", "0-1", "0-1-x", "A:", "A:0x", "A:9-1", ":1", "A:1:-"] {
            assert_eq!(GtidSet::parse(&text.replace('A', A)), None, "{text}");
        }
        assert!(!covers("0-1-9", "A:1") && !covers("A:1", "0-1-9"), "of two kinds");
    }
}
