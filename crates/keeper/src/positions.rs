//! What the positions of MariaDB servers say of each other: `domain-server-number`, by commas. A
//! server numbers the transactions of a domain one behind the other, wherever they were written. So
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

/// A position with each domain once.
pub fn merged(position: &str) -> String {
    let mut last: BTreeMap<u64, [u64; 3]> = BTreeMap::new();
    for [domain, server, number] in parsed(position) {
        let known = last.entry(domain).or_insert([domain, server, number]);
        let [_, _, before] = *known;
        if number > before {
            *known = [domain, server, number];
        }
    }
    let told = last.values().map(|[domain, server, number]| format!("{domain}-{server}-{number}"));
    told.collect::<Vec<_>>().join(",")
}

/// Whether a server at `own` has all that one at `other` has.
pub fn covers(own: &str, other: &str) -> bool {
    let own = by_domain(own);
    by_domain(other).iter().all(|(domain, number)| own.get(domain) >= Some(number))
}

/// Which of its own transactions a replica has written that it never got from its source: `written`
/// is its `gtid_binlog_state`, `applied` its `gtid_slave_pos`. One that was a primary has old ones
/// of its own, which are no more than what it has replicated since; `source`, where it is known, is
/// the state of a server that has to have them all.
pub fn errant(origin: &str, (written, applied): (&str, &str), source: Option<&str>) -> Vec<String> {
    let applied = by_domain(applied);
    let sources = source.map(by_origin).unwrap_or_default();
    let is_errant = |[domain, server, number]: &[u64; 3]| {
        let is_old = applied.get(domain).is_some_and(|has| has >= number);
        let is_known = sources.get(&(*domain, *server)).map(|has| has >= number);
        server.to_string() == origin && !is_known.unwrap_or(is_old)
    };
    let errant = parsed(written).filter(is_errant);
    errant.map(|[domain, server, number]| format!("{domain}-{server}-{number}")).collect()
}

/// The last number of each domain and server.
fn by_origin(positions: &str) -> BTreeMap<(u64, u64), u64> {
    let mut last = BTreeMap::new();
    for [domain, server, number] in parsed(positions) {
        let known = last.entry((domain, server)).or_insert(0);
        *known = number.max(*known);
    }
    last
}

/// Whether a log with this `gtid_binlog_state` ends where a server is. That of one that was made of
/// another one's files goes on behind its position, or is another one's.
pub fn ends_at(written: &str, position: &str) -> bool {
    let logged = by_domain(written);
    !logged.is_empty() && logged == by_domain(position)
}

/// Whether both know the same last transactions of that server.
pub fn agree_on(origin: &str, own: &str, other: &str) -> bool {
    let of_it = |positions| -> BTreeMap<_, _> {
        let all = by_origin(positions).into_iter();
        all.filter(|((_, server), _)| server.to_string() == origin).collect()
    };
    of_it(own) == of_it(other)
}

/// What a server with this `gtid_binlog_state` wrote that one with the state `other` has not.
///
/// Numbers grow along what both have: whatever is below one that both know is theirs, also where
/// the other one was built since and does not know who wrote it.
pub fn lacking(own: &str, other: &str) -> Vec<String> {
    let there = by_origin(other);
    let mut shared: BTreeMap<u64, u64> = BTreeMap::new();
    for [domain, server, number] in parsed(own) {
        if let Some(has) = there.get(&(domain, server)) {
            let known = shared.entry(domain).or_insert(0);
            *known = number.min(*has).max(*known);
        }
    }
    let lacks = |((domain, server), number): ((u64, u64), u64)| {
        let known = shared.get(&domain).copied().unwrap_or(0);
        let has = there.get(&(domain, server)).copied().unwrap_or(0).max(known);
        (number > has).then(|| match number - has {
            1 => format!("{domain}-{server}-{number}"),
            _ => format!("{domain}-{server}-{number} and before, after {has}"),
        })
    };
    by_origin(own).into_iter().filter_map(lacks).collect()
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
    fn transactions_that_came_from_nobody_are_named() {
        let of = |written, applied, source| errant("2", (written, applied), source);
        assert_eq!(of("0-1-40,0-2-43", "0-1-31", None), ["0-2-43"]);
        assert_eq!(of("0-1-44,0-2-43", "0-1-44", None), [""; 0], "an old one, as far as is known");
        assert_eq!(of("0-1-44,0-2-43", "0-1-44", Some("0-1-44,0-2-41")), ["0-2-43"]);
        assert_eq!(of("0-1-44,0-2-43", "0-1-44", Some("0-1-44,0-2-43")), [""; 0]);
        assert_eq!(of("0-1-44,0-2-43", "0-1-44", Some("0-1-44")), [""; 0], "it was built since");
        assert_eq!(of("0-1-44,1-2-1", "0-1-44", Some("0-1-44,1-2-1")), [""; 0], "it has it");
        assert_eq!(of("0-1-44,1-2-1", "0-1-44", None), ["1-2-1"], "of a domain of its own");
        assert_eq!(of("0-1-45", "0-1-44", None), [""; 0], "it is being applied");
    }

    #[test]
    fn a_primary_of_before_has_written_what_others_have_of_it() {
        assert!(agree_on("1", "0-1-45,0-2-7", "0-1-45,0-2-52"));
        assert!(!agree_on("1", "0-1-4", "0-1-45"), "it is being made anew");
        assert!(!agree_on("1", "", "0-1-45"));
        assert!(agree_on("1", "0-2-7", "0-2-7"), "it has written nothing");
    }

    #[test]
    fn a_log_that_is_one_s_own_ends_where_its_server_is() {
        assert!(ends_at("0-1-45,0-2-7", "0-1-45") && ends_at("0-2-7", "0-2-7"));
        assert!(!ends_at("0-1-18,0-2-23", "0-1-18"), "of another one's files");
        assert!(!ends_at("", "0-2-23") && !ends_at("", ""), "of a backup");
        assert!(!ends_at("0-1-4", "0-1-4,1-2-7"));
    }

    #[test]
    fn what_was_written_on_the_wrong_side_is_named() {
        assert_eq!(lacking("0-1-47", "0-1-45,0-2-52"), ["0-1-47 and before, after 45"]);
        assert_eq!(lacking("0-1-46,0-3-9", "0-1-45,0-3-9"), ["0-1-46"]);
        assert_eq!(lacking("0-1-45", "0-1-45,0-2-52"), [""; 0]);
        assert_eq!(lacking("0-1-46,0-1-46", "0-1-45"), ["0-1-46"], "once");
        assert_eq!(lacking("", "0-1-1"), [""; 0]);
        assert_eq!(lacking("0-1-45,0-7-30", "0-1-45,0-2-52"), [""; 0], "before what both know");
        assert_eq!(lacking("0-1-45,0-7-47", "0-1-45,0-2-52"), ["0-7-47 and before, after 45"]);
    }
}
