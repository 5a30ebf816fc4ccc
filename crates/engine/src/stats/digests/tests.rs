//! The table against a map without bounds, and what is left of it after a flood.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// A row's key, as a model knows it.
type Key = (Option<u32>, Vec<u8>, Vec<u8>, Vec<u8>, u64);

/// Count, first and last moment, times in all, shortest and longest, rows affected and sent.
type Sums = [u64; 8];

fn sums(totals: &Totals) -> Sums {
    let Totals { count, first_seen_us, last_seen_us, sum_time_us, .. } = totals;
    let Totals { min_time_us, max_time_us, rows_affected, rows_sent, .. } = totals;
    [count, first_seen_us, last_seen_us, sum_time_us, min_time_us, max_time_us, rows_affected]
        .into_iter()
        .chain([rows_sent])
        .copied()
        .collect::<Vec<_>>()
        .try_into()
        .expect("eight of them")
}

fn add(model: &mut BTreeMap<Key, Sums>, key: Key, now_us: u64, end: &QueryEnd<'_>) {
    let us = end.elapsed_us;
    let sums = model.entry(key).or_insert([0, now_us, now_us, 0, us, us, 0, 0]);
    sums[0] += 1;
    sums[2] = now_us;
    sums[3] += us;
    sums[4] = sums[4].min(us);
    sums[5] = sums[5].max(us);
    sums[6] += end.rows_affected;
    sums[7] += end.rows_sent;
}

fn shown(stats: &DigestStats) -> BTreeMap<Key, Sums> {
    let mut shown = BTreeMap::new();
    for row in stats.rows() {
        let (user, schema, client) = (row.user.into(), row.schema.into(), row.client.into());
        assert_eq!(row.text, text(row.digest).as_bytes(), "a digest keeps its text");
        let hostgroup = row.hostgroup.map(|hostgroup| hostgroup.0);
        let key = (hostgroup, user, schema, client, row.digest);
        assert!(shown.insert(key, sums(row.totals)).is_none(), "a key has one row");
    }
    shown
}

fn text(digest: u64) -> String {
    format!("SELECT {digest} FROM t WHERE id=?{}", "x".repeat(digest as usize % 90))
}

/// Everything that can be counted of a table, wherever it stands.
fn all(stats: &DigestStats) -> [u64; 4] {
    let mut all = [0; 4];
    let evicted = stats.evicted().0;
    for totals in stats.rows().map(|row| row.totals).chain([evicted]) {
        let some = [totals.count, totals.sum_time_us, totals.rows_affected, totals.rows_sent];
        all.iter_mut().zip(some).for_each(|(sum, more)| *sum += more);
    }
    all
}

fn record(stats: &mut DigestStats, now_us: u64, digest: u64, elapsed_us: u64) {
    let text = text(digest);
    let end = QueryEnd {
        hostgroup: Some(HostgroupId(1)),
        user: b"app",
        schema: b"shop",
        digest_text: text.as_bytes(),
        elapsed_us,
        rows_sent: 1,
        ..QueryEnd::default()
    };
    stats.record(now_us, digest, &end, false);
}

proptest! {
    #[test]
    fn shares_of_workers_add_up_to_what_a_map_says(
        steps in prop::collection::vec(
            (0..3_usize, 0..3_u32, 0..3_usize, 0..3_usize, 0..12_u64, 0..5_000_000_u64), 0..600
        ),
        taken in any::<prop::sample::Index>(),
    ) {
        const NAMES: [&[u8]; 3] = [b"", b"app", b"reporting_of_the_day"];
        let mut workers = [1, 2, 3].map(|secret| DigestStats::new(1 << 20, secret));
        let mut collected = DigestStats::new(usize::MAX, 9);
        let mut model = BTreeMap::new();
        for (at, step) in steps.iter().enumerate() {
            let (worker, hostgroup, user, schema, digest, elapsed_us) = *step;
            let now_us = at as u64;
            let (user, schema) = (NAMES[user], NAMES[schema]);
            let text = text(digest);
            let end = QueryEnd {
                hostgroup: hostgroup.checked_sub(1).map(HostgroupId),
                user,
                schema,
                client: NAMES[at % 2],
                digest_text: text.as_bytes(),
                elapsed_us,
                rows_affected: digest,
                rows_sent: 3,
                ..QueryEnd::default()
            };
            let tracked = worker > 0;
            workers[worker].record(now_us, digest, &end, tracked);
            let client = if tracked { end.client } else { b"" };
            let hostgroup = hostgroup.checked_sub(1);
            let key = (hostgroup, user.into(), schema.into(), client.into(), digest);
            add(&mut model, key, now_us, &end);
            if at == taken.index(steps.len()) {
                collected.merge(&workers[worker].take());
                prop_assert_eq!(all(&workers[worker]), [0; 4]);
            }
        }
        workers.iter().for_each(|worker| collected.merge(worker));
        prop_assert_eq!(shown(&collected), model);
        prop_assert_eq!(collected.evicted().1, 0);
    }

    #[test]
    fn what_goes_stays_in_the_sums_and_the_bound_holds(
        steps in prop::collection::vec((0..400_u64, 0..40_000_u64), 1..1500),
    ) {
        let mut stats = DigestStats::new(BYTES_LEAST, 7);
        let mut sums = [0; 4];
        for (at, (digest, elapsed_us)) in steps.iter().enumerate() {
            record(&mut stats, at as u64, *digest, *elapsed_us);
            [1, *elapsed_us, 0, 1].iter().zip(&mut sums).for_each(|(more, sum)| *sum += more);
            prop_assert!(stats.bytes() <= BYTES_LEAST, "{} bytes", stats.bytes());
        }
        prop_assert_eq!(all(&stats), sums);
        let shown = shown(&stats);
        let evicted = stats.evicted();
        prop_assert_eq!(evicted.1 > 0, evicted.0.count > 0);
        prop_assert!(evicted.1 == 0 || shown.len() > 10, "{} rows are left", shown.len());
        // what is left after everything was evicted is what an empty table takes
        while !stats.rows.is_empty() {
            stats.evict(stats.rows.len() / 2);
        }
        prop_assert_eq!(stats.latencies_bytes, 0);
        prop_assert_eq!(all(&stats), sums);
    }
}

#[test]
fn the_heavy_ones_keep_exact_counts_through_a_flood() {
    const HEAVY: u64 = 1000;
    const BOUND: usize = 4 << 20;
    const CALM: u64 = 5000;
    let mut stats = DigestStats::new(BOUND, 99);
    let mut true_counts = BTreeMap::new();
    let mut dice = 1_u64;
    for step in 0..150_000_u64 {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let now_us = step * 100;
        // Zipf: the chance of a digest falls with its rank
        let share = (dice >> 11) as f64 / (1_u64 << 53) as f64;
        let rank = ((HEAVY as f64).powf(share) as u64).min(HEAVY);
        record(&mut stats, now_us, rank, 500);
        *true_counts.entry(rank).or_insert(0_u64) += 1;
        // then four that nobody sees again for each of them
        for one_of in (0..4).filter(|_| step >= CALM) {
            record(&mut stats, now_us, HEAVY + 1 + step * 4 + one_of, 500);
        }
    }
    assert!(stats.bytes() <= BOUND, "{} bytes", stats.bytes());
    assert_eq!(all(&stats)[0], 730_000);
    assert!(stats.evicted().1 > 500_000);
    let counts: BTreeMap<u64, u64> =
        stats.rows().map(|row| (row.digest, row.totals.count)).collect();
    for rank in 1..=100 {
        assert_eq!(counts.get(&rank), true_counts.get(&rank), "rank {rank}");
    }
}

proptest! {
    #[test]
    fn a_reading_in_pages_loses_nothing_and_tells_nothing_twice(
        before in prop::collection::vec(0..400_u64, 1..400),
        between in prop::collection::vec(prop::collection::vec(0..1000_u64, 0..60), 0..40),
        rows_max in 1..30_usize,
    ) {
        let mut stats = DigestStats::new(BYTES_LEAST, 7);
        before.iter().for_each(|digest| record(&mut stats, 1, *digest, 10));
        let first = all(&stats)[0];
        let there: BTreeMap<u64, u64> =
            stats.rows().map(|row| (row.digest, row.totals.count)).collect();
        let mut told = DigestStats::new(usize::MAX, 8);
        let mut page = stats.read(true, rows_max);
        let mut meanwhile = between.into_iter();
        loop {
            for row in page.rows() {
                let count = told.rows().filter(|other| other.digest == row.digest).count();
                prop_assert_eq!(count, 0, "a row is told once");
                let least = there.get(&row.digest).copied();
                prop_assert!(least.is_some_and(|least| row.totals.count >= least));
            }
            told.merge_page(&page);
            if !page.more {
                break;
            }
            let now = meanwhile.next().unwrap_or_default();
            now.iter().for_each(|digest| record(&mut stats, 2, *digest, 10));
            page = stats.read(false, rows_max);
        }
        let (told, last) = (all(&told)[0], all(&stats)[0]);
        prop_assert!(first <= told && told <= last, "{} <= {} <= {}", first, told, last);
    }
}

#[test]
fn a_row_that_was_heavy_long_ago_makes_way() {
    const HOUR_US: u64 = 3_600_000_000;
    let mut stats = DigestStats::new(BYTES_LEAST, 3);
    (0..1000).for_each(|now_us| record(&mut stats, now_us, 1, 10));
    let there = |stats: &DigestStats| stats.rows().any(|row| row.digest == 1);
    (0..2000).for_each(|digest| record(&mut stats, 1000, 10 + digest, 10));
    assert!(there(&stats));
    (0..2000).for_each(|digest| record(&mut stats, 5 * HOUR_US, 10_000 + digest, 10));
    assert!(!there(&stats));
    assert_eq!(all(&stats)[0], 5000);
}
