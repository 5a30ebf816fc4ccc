//! What a full store takes of the process's memory, beside what it was allowed.
//!
//! Each measurement has a process of its own: what another one gave back to the allocator would be
//! counted with it. `TIDEGATE_LIVE=full` asks for eight million keys and a larger store.

use std::process::Command;
use std::thread;

use cache::{About, CachedReply, Keeping, QueryCache};

/// Names the sizes in the process that measures them.
const SIZES: &str = "TIDEGATE_CACHE_SIZES";

/// How much more memory than allowed a full store may take, in hundredths.
const PERCENT_MAX: u64 = 125;

/// Bytes of a key and of an answer, and how many there are of them in which limit.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    key: usize,
    answer: usize,
    /// Whether they are twice as large at times, and half as large at others.
    vary: bool,
}

fn resident_bytes() -> u64 {
    let told = std::fs::read_to_string("/proc/self/statm").expect("Linux tells");
    let pages: u64 = told.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("pages");
    pages * 4096
}

/// Keeps so many answers under keys of their own, from two threads.
fn fill(cache: &QueryCache, sizes: Sizes, keys: u64) {
    let keep = |number: u64| {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let scaled = |bytes: usize| match mixed >> 62 {
            0 if sizes.vary => bytes / 2,
            1 if sizes.vary => bytes * 2,
            _ => bytes,
        };
        let mut key = vec![7; scaled(sizes.key)];
        key[..8].copy_from_slice(&number.to_le_bytes());
        let (lives_us, basis) = (u64::MAX, None);
        let about =
            About { rows: 1, status: 2, since_us: 0, lives_us, stale_us: 0, basis, digest: 0 };
        let answer = CachedReply::new(vec![7; scaled(sizes.answer)].into(), about);
        assert_eq!(cache.keep((cache.sought(&key).to_key(), 0), answer), Keeping::Kept);
    };
    thread::scope(|scope| {
        for half in 0..2 {
            scope.spawn(move || (0..keys).filter(|n| n % 2 == half).for_each(keep));
        }
    });
}

/// Measures what the sizes in the environment take; nothing where there are none.
#[test]
fn measured_by_another_test() {
    let Ok(words) = std::env::var(SIZES) else { return };
    let numbers: Vec<u64> = words.split(' ').map(|word| word.parse().expect("a number")).collect();
    let [key, answer, vary, keys, limit] = numbers[..] else { panic!("five numbers: {words}") };
    let [key, answer] = [key, answer].map(|bytes| usize::try_from(bytes).expect("few"));
    let sizes = Sizes { key, answer, vary: vary == 1 };
    let cache = QueryCache::new(1);
    let before = resident_bytes();
    cache.set_limit(limit);
    fill(&cache, sizes, keys);
    let (taken, figures) = (resident_bytes() - before, cache.figures());
    let percent = taken * 100 / limit;
    println!("{sizes:?}: {keys} keys, {figures:?}, {percent} % of {limit} bytes are resident");
    // an eighth is for answers on their way
    assert!(figures.bytes <= limit && figures.bytes * 8 > limit * 6, "{figures:?}");
    assert!(percent <= PERCENT_MAX, "{sizes:?}: {percent} % of the limit are resident");
}

#[test]
fn a_full_store_takes_little_more_memory_than_it_was_allowed() {
    let is_full = std::env::var_os("TIDEGATE_LIVE").is_some_and(|value| value == "full");
    let (keys, limit) = if is_full { (8_000_000_u64, 1_u64 << 30) } else { (300_000, 32 << 20) };
    for (key, answer) in [(150, 100), (200, 1024), (120, 11), (300, 16_384)] {
        for vary in [0, 1] {
            // the larger ones need fewer to come and go several times
            let keys = keys.min(20 * limit / (key + answer));
            let words = format!("{key} {answer} {vary} {keys} {limit}");
            let mut measured = Command::new(std::env::current_exe().expect("it runs"));
            measured.args(["--exact", "measured_by_another_test", "--nocapture"]);
            let output = measured.env(SIZES, &words).output().expect("it runs once more");
            let told = String::from_utf8_lossy(&output.stdout);
            let line = told.lines().find(|line| line.starts_with("Sizes")).unwrap_or(&told);
            println!("{line}");
            assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}
