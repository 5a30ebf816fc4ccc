//! How long something took, as a distribution in few bytes: good for percentiles, not for sums.
//!
//! Buckets are exact up to 16 µs, and an eighth of a power of two wide beyond, up to 4.7 hours. So
//! a percentile is off by a sixteenth at most. A distribution begins as a handful of pairs without
//! memory of its own, and becomes a window of counters once it is used in earnest.

/// Counts of latencies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Latencies(Kind);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Kind {
    /// Pairs, packed to the left; a count of 0 ends them.
    Few { buckets: [u8; FEW], counts: [u8; FEW] },
    /// Counters of consecutive buckets.
    Many { first: u8, counts: Box<[u32]> },
}

impl Default for Latencies {
    fn default() -> Self {
        Self(Kind::Few { buckets: [0; FEW], counts: [0; FEW] })
    }
}

impl Latencies {
    /// Counts one. Returns how many bytes of memory that took, usually none.
    pub fn record(&mut self, elapsed_us: u64) -> usize {
        let bucket = bucket(elapsed_us);
        if let Kind::Many { first, counts } = &mut self.0
            && let Some(count) = counts.get_mut(place(bucket, *first))
        {
            *count = count.saturating_add(1);
            return 0;
        }
        self.add(bucket, 1)
    }

    /// Adds the counts of another. Returns how many bytes of memory that took.
    pub fn merge(&mut self, other: &Self) -> usize {
        match &other.0 {
            Kind::Few { buckets, counts } => {
                let pairs = buckets.iter().zip(counts).filter(|(_, count)| **count > 0);
                pairs.map(|(bucket, count)| self.add(*bucket, u32::from(*count))).sum()
            }
            Kind::Many { first, counts } => {
                let pairs = (*first..=u8::MAX).zip(counts.iter()).filter(|(_, count)| **count > 0);
                pairs.map(|(bucket, count)| self.add(bucket, *count)).sum()
            }
        }
    }

    /// The latency that a share of all (0 to 1) did not exceed, in microseconds; `None` when
    /// there are none.
    pub fn quantile_us(&self, share: f64) -> Option<u64> {
        let all: u64 = self.pairs().map(|(_, count)| count).sum();
        if all == 0 {
            return None;
        }
        let mut above = (all as f64 * share.clamp(0.0, 1.0)).ceil().max(1.0);
        let mut reached = self.pairs().skip_while(|(_, count)| {
            above -= *count as f64;
            above > 0.0
        });
        let (bucket, _) = reached.next()?;
        let (floor, width) = bounds(bucket);
        Some(floor + width / 2)
    }

    /// Bytes of memory of its own.
    pub fn bytes(&self) -> usize {
        match &self.0 {
            Kind::Few { .. } => 0,
            Kind::Many { counts, .. } => bytes_of(counts.len()),
        }
    }

    /// The buckets that count something, in ascending order.
    fn pairs(&self) -> impl Iterator<Item = (u8, u64)> {
        let mut few = [(0, 0); FEW];
        let (first, many) = match &self.0 {
            Kind::Few { buckets, counts } => {
                for ((bucket, count), pair) in buckets.iter().zip(counts).zip(&mut few) {
                    *pair = (*bucket, u64::from(*count));
                }
                few.sort_unstable();
                (0, None)
            }
            Kind::Many { first, counts } => (*first, Some(counts)),
        };
        let many = many.into_iter().flat_map(|counts| counts.iter());
        let many = (first..=u8::MAX).zip(many.map(|count| u64::from(*count)));
        few.into_iter().chain(many).filter(|(_, count)| *count > 0)
    }

    fn add(&mut self, bucket: u8, more: u32) -> usize {
        match &mut self.0 {
            Kind::Many { first, counts } => {
                if let Some(count) = counts.get_mut(place(bucket, *first)) {
                    *count = count.saturating_add(more);
                    return 0;
                }
            }
            Kind::Few { buckets, counts } => {
                let more = u8::try_from(more).ok();
                for (known, count) in buckets.iter_mut().zip(counts) {
                    if *known == bucket || *count == 0 {
                        let sum = more.and_then(|more| count.checked_add(more));
                        let Some(sum) = sum else { break };
                        (*known, *count) = (bucket, sum);
                        return 0;
                    }
                }
            }
        }
        let before = self.bytes();
        self.widen(bucket);
        self.add(bucket, more);
        self.bytes() - before
    }

    /// Makes it a window that has this bucket too, with room on either side.
    fn widen(&mut self, bucket: u8) {
        let used = |pair: &(u8, u64)| usize::from(pair.0);
        let bucket = usize::from(bucket);
        let least = self.pairs().next().as_ref().map_or(bucket, used).min(bucket);
        let most = self.pairs().last().as_ref().map_or(bucket, used).max(bucket);
        let start = (least & !7).saturating_sub(MARGIN);
        let end = ((most | 7) + 1 + MARGIN).min(BUCKETS);
        let mut counts = vec![0; end - start].into_boxed_slice();
        for (bucket, count) in self.pairs() {
            if let Some(place) = counts.get_mut(usize::from(bucket) - start) {
                *place = u32::try_from(count).unwrap_or(u32::MAX);
            }
        }
        let first = u8::try_from(start).unwrap_or(u8::MAX);
        self.0 = Kind::Many { first, counts };
    }
}

/// The bucket of a latency.
fn bucket(us: u64) -> u8 {
    let us = us.min(MOST_US);
    if us < 16 {
        return (us & 15) as u8;
    }
    let octave = us.ilog2();
    let eighth = (us >> (octave - 3)) & 7;
    let bucket = 16 + u64::from(octave - 4) * 8 + eighth;
    (bucket & 0xff) as u8
}

/// Where the counter of a bucket is in a window; far outside of it for one before the first.
fn place(bucket: u8, first: u8) -> usize {
    usize::from(bucket).wrapping_sub(usize::from(first))
}

/// Where a bucket begins and how wide it is, in microseconds.
fn bounds(bucket: u8) -> (u64, u64) {
    match bucket.checked_sub(16) {
        None => (u64::from(bucket), 1),
        Some(above) => {
            let (octave, eighth) = (above / 8 + 4, u64::from(above % 8));
            ((8 + eighth) << (octave - 3), 1 << (octave - 3))
        }
    }
}

/// What a window of so many counters takes, with the allocator's share.
fn bytes_of(counters: usize) -> usize {
    counters * size_of::<u32>() + 16
}

/// Pairs that a distribution begins with.
const FEW: usize = 7;

/// Every latency is in one of these.
const BUCKETS: usize = 256;

/// Buckets beyond those in use that a window has on either side: two powers of two.
const MARGIN: usize = 16;

/// Longer ones count as this long: 4.7 hours.
const MOST_US: u64 = (1 << 34) - 1;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_latency_is_within_the_bounds_of_its_bucket() {
        let around = (0..34).flat_map(|bit| [1 << bit, (1 << bit) - 1, (1 << bit) + 1, 3 << bit]);
        for us in around.chain([MOST_US]).filter(|us| *us <= MOST_US) {
            let (floor, width) = bounds(bucket(us));
            assert!(floor <= us && us < floor + width, "{us}: {floor} and {width} more");
            assert!(width == 1 || width * 8 <= floor, "{us}: {width} is too wide");
        }
        assert_eq!(bucket(u64::MAX), 255);
    }

    #[test]
    fn a_few_take_no_memory_and_many_take_little() {
        let mut latencies = Latencies::default();
        let grown: usize = (0..255).map(|_| latencies.record(300)).sum();
        assert_eq!((grown, latencies.bytes()), (0, 0));
        assert_eq!(latencies.record(300), latencies.bytes());
        assert!(latencies.bytes() <= 200, "{}", latencies.bytes());
        let settled = latencies.bytes();
        for us in 100..1000 {
            assert_eq!(latencies.record(us), 0, "{us} is near what was seen");
        }
        latencies.record(3_600_000_000);
        assert!(latencies.bytes() > settled && latencies.bytes() <= 1040);
    }

    proptest! {
        #[test]
        fn percentiles_are_within_a_sixteenth_of_the_true_ones(
            mut all in prop::collection::vec(prop_oneof![0..2000_u64, 0..20_000_000_u64], 1..400),
            cut in any::<prop::sample::Index>(),
        ) {
            let (mut one, mut other) = (Latencies::default(), Latencies::default());
            let mut bytes = 0;
            for (at, us) in all.iter().enumerate() {
                let half = if at < cut.index(all.len()) { &mut one } else { &mut other };
                half.record(*us);
            }
            bytes += one.bytes();
            bytes += one.merge(&other);
            prop_assert_eq!(bytes, one.bytes());
            all.sort_unstable();
            for share in [0.5, 0.95, 0.99, 1.0] {
                let rank = (all.len() as f64 * share).ceil() as usize;
                let truth = all[rank - 1] as f64;
                let told = one.quantile_us(share).expect("there are some") as f64;
                prop_assert!((told - truth).abs() <= truth / 16.0, "{share}: {told} for {truth}");
            }
        }
    }

    #[test]
    fn nothing_has_no_percentiles() {
        assert_eq!(Latencies::default().quantile_us(0.5), None);
    }
}
