//! What the positions of MariaDB servers say of each other: `domain-server-number`, by commas.
//! A server numbers the transactions of a domain one behind the other, whoever wrote them, so that
//! a number can belong to two transactions where two servers wrote at once.

use std::collections::BTreeMap;

/// The last number of each domain.
fn by_domain(position: &str) -> BTreeMap<u64, u64> {
    let mut last = BTreeMap::new();
    for [domain, _, number] in parsed(position) {
        let known = last.entry(domain).or_insert(0);
        *known = number.max(*known);
    }
    last
}

fn parsed(position: &str) -> impl Iterator<Item = [u64; 3]> + '_ {
    position.split(',').filter_map(|part| {
        let mut numbers = part.trim().splitn(3, '-').map(str::parse::<u64>);
        let mut next = || numbers.next()?.ok();
        Some([next()?, next()?, next()?])
    })
}

/// Whether a server at `own` has all that one at `other` has.
pub(crate) fn covers(own: &str, other: &str) -> bool {
    let own = by_domain(own);
    by_domain(other).iter().all(|(domain, number)| own.get(domain) >= Some(number))
}

/// What a server with this `gtid_binlog_state` wrote that one with the state `other` has not.
pub(crate) fn lacking(own: &str, other: &str) -> Vec<String> {
    let there: BTreeMap<_, _> =
        parsed(other).map(|[domain, server, number]| ((domain, server), number)).collect();
    let lacks = |[domain, server, number]: [u64; 3]| {
        let has = there.get(&(domain, server)).copied().unwrap_or(0);
        (number > has).then(|| match number - has {
            1 => format!("{domain}-{server}-{number}"),
            _ => format!("{domain}-{server}-{number} and before, after {has}"),
        })
    };
    parsed(own).filter_map(lacks).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_covers_another_one_domain_by_domain() {
        assert!(covers("0-1-7", "0-1-7"));
        assert!(covers("0-2-8,1-1-3", "0-1-7"));
        assert!(!covers("0-1-7", "0-1-8"));
        assert!(!covers("0-1-9", "0-1-8,1-1-1"));
        assert!(covers("0-1-9", ""));
    }

    #[test]
    fn what_was_written_on_the_wrong_side_is_named() {
        assert_eq!(lacking("0-1-47", "0-1-45,0-2-52"), ["0-1-47 and before, after 45"]);
        assert_eq!(lacking("0-1-46,0-3-9", "0-1-45,0-3-9"), ["0-1-46"]);
        assert_eq!(lacking("0-1-45", "0-1-45,0-2-52"), [""; 0]);
        assert_eq!(lacking("", "0-1-1"), [""; 0]);
    }
}
