use std::thread;

use super::*;

const NOW: Allowed =
    Allowed { now_us: 1_000, lives_us: u64::MAX, soft_pct: 0, unchanged: false, from_us: 0 };

fn about() -> About {
    let (basis, digest) = (None, 0);
    About { rows: 0, status: 2, since_us: 1_000, lives_us: 500, stale_us: 0, basis, digest }
}

fn answer(bytes: usize) -> CachedReply {
    CachedReply::new(vec![7; bytes].into(), about())
}

fn cache(limit: u64) -> QueryCache {
    let cache = QueryCache::new(1);
    cache.set_limit(limit);
    cache
}

fn keep(cache: &QueryCache, (key, flushes): (Vec<u8>, u64), answer: CachedReply) -> Keeping {
    cache.keep((cache.sought(&key).to_key(), flushes), answer)
}

fn keeps(cache: &QueryCache, key: (Vec<u8>, u64), answer: CachedReply) -> bool {
    keep(cache, key, answer) == Keeping::Kept
}

fn told(cache: &QueryCache, key: &[u8], allowed: Allowed) -> Option<usize> {
    match cache.find(cache.sought(key), allowed) {
        Lookup::Answer(answer) => Some(answer.reply.len()),
        Lookup::Late(_) | Lookup::Changed | Lookup::Nothing => None,
    }
}

#[test]
fn keys_are_compared_whole_and_the_latest_answer_is_told() {
    let cache = cache(1 << 20);
    assert!(
        keeps(&cache, (b"a".to_vec(), 0), answer(10))
            && keeps(&cache, (b"ab".to_vec(), 0), answer(20))
    );
    assert_eq!(told(&cache, b"a", NOW), Some(10));
    assert!(keeps(&cache, (b"a".to_vec(), 0), answer(11)));
    let found = [&b"a"[..], b"ab", b"b", b""].map(|key| told(&cache, key, NOW));
    assert_eq!(found, [Some(11), Some(20), None, None]);
    let bytes = 1 + 11 + 2 + 20 + 2 * OVERHEAD;
    assert_eq!(cache.figures(), Figures { entries: 2, bytes, purged: 1, ..Figures::default() });
}

#[test]
fn an_answer_goes_with_the_first_that_has_seen_what_may_be_newer() {
    let cache = cache(1 << 20);
    keep(&cache, (b"a".to_vec(), 0), answer(1));
    let from = |from_us| told(&cache, b"a", Allowed { from_us, ..NOW });
    assert_eq!((from(1_000), from(1_001), from(0)), (Some(1), None, None));
}

#[test]
fn an_answer_is_told_for_the_shorter_of_two_times_and_goes_with_its_own() {
    let cache = cache(1 << 20);
    keep(&cache, (b"a".to_vec(), 0), answer(1));
    let at = |now_us, lives_us| told(&cache, b"a", Allowed { now_us, lives_us, ..NOW });
    assert_eq!((at(1_499, 900), at(1_100, 100), at(1_099, 100)), (Some(1), None, Some(1)));
    assert_eq!(cache.figures().entries, 1);
    assert_eq!((at(1_500, 900), cache.figures().entries, cache.figures().purged), (None, 0, 1));
}

#[test]
fn the_first_that_asks_late_fetches_anew_and_the_others_get_what_there_is() {
    let cache = cache(1 << 20);
    keep(&cache, (b"a".to_vec(), 0), answer(1));
    let allowed = |now_us| Allowed { now_us, lives_us: 500, soft_pct: 60, ..NOW };
    let at = |now_us| told(&cache, b"a", allowed(now_us));
    let late = |now_us| match cache.find(cache.sought(b"a"), allowed(now_us)) {
        Lookup::Late(renewal) => renewal,
        other => panic!("{other:?}"),
    };
    assert_eq!(at(1_299), Some(1));
    let failed = late(1_300);
    assert_eq!([1_301, 1_499].map(at), [Some(1), Some(1)]);
    drop(failed);
    let renewal = late(1_302);
    assert_eq!(at(1_303), Some(1));
    keep(
        &cache,
        (b"a".to_vec(), 0),
        CachedReply::new([7; 2].into(), About { since_us: 1_400, ..about() }),
    );
    drop(renewal);
    assert_eq!(at(1_499), Some(2));
    let _next = late(1_700);
    assert_eq!(at(1_701), Some(2));
}

#[test]
fn an_answer_whose_time_is_over_is_kept_as_long_as_it_may_bridge_a_failure() {
    let cache = cache(1 << 20);
    let kept = || CachedReply::new([7; 1].into(), About { stale_us: 300, ..about() });
    keep(&cache, (b"a".to_vec(), 0), kept());
    let stale = |now_us, lives_us, stale_us| {
        cache
            .find_stale(cache.sought(b"a"), Allowed { now_us, lives_us, ..NOW }, stale_us)
            .is_some()
    };
    // of 500 that it lives, from 1,000 on
    assert_eq!(told(&cache, b"a", Allowed { now_us: 1_500, ..NOW }), None);
    let table = [
        (1_599, 500, 100, true),
        (1_600, 500, 100, false),
        (1_799, 900, 900, true),
        (1_800, 900, 900, false),
        (1_299, 100, 200, true),
        (1_300, 100, 200, false),
    ];
    for (now_us, lives_us, stale_us, is_told) in table {
        assert_eq!(stale(now_us, lives_us, stale_us), is_told, "{now_us} {lives_us} {stale_us}");
    }
    assert_eq!(cache.figures().entries, 1);
    assert_eq!(told(&cache, b"a", Allowed { now_us: 1_800, ..NOW }), None);
    assert_eq!(cache.figures().entries, 0, "it is of no use any more");
}

#[test]
fn what_does_not_fit_is_refused_and_a_smaller_limit_makes_room_at_once() {
    let none = QueryCache::new(1);
    assert!(!none.is_on() && !keeps(&none, (Vec::new(), 0), answer(0)));
    let cache = cache(1 << 20);
    let largest = usize::try_from(cache.largest()).unwrap();
    assert!(!keeps(&cache, (b"k".to_vec(), 0), answer(largest)));
    assert!(keeps(&cache, (b"k".to_vec(), 0), answer(largest - 1)));
    for limit in [1, 0] {
        cache.set_limit(limit);
        assert_eq!(cache.figures(), Figures { purged: 1, ..Figures::default() });
        assert!(!keeps(&cache, (b"k".to_vec(), 0), answer(0)));
    }
}

#[test]
fn a_flush_takes_all_and_says_how_many_they_were() {
    let cache = cache(1 << 20);
    for n in 0..100_u64 {
        assert!(keeps(&cache, (n.to_le_bytes().to_vec(), 0), answer(8)));
    }
    assert_eq!([cache.flush(), cache.flush()], [100, 0]);
    assert_eq!(cache.figures(), Figures { purged: 100, ..Figures::default() });
}

#[test]
fn a_flush_of_some_takes_those_alone_and_what_was_asked_for_before() {
    let cache = cache(1 << 20);
    for digest in 0..100_u64 {
        let answer = CachedReply::new([7; 8].into(), About { digest, ..about() });
        assert!(keeps(&cache, (digest.to_le_bytes().to_vec(), 0), answer));
    }
    let flush = || cache.flush_some(|key, about| key[0] < 10 || about.digest == 50);
    assert_eq!([flush(), flush()], [11, 0]);
    assert_eq!(cache.figures(), Figures { entries: 89, purged: 11, ..cache.figures() });
    assert!(!keeps(&cache, (b"a".to_vec(), 0), answer(1)));
    assert!(keeps(&cache, (b"a".to_vec(), cache.flushes()), answer(1)));
}

#[test]
fn threads_that_keep_more_than_there_is_room_for_never_exceed_the_limit() {
    const LIMIT: u64 = 1 << 21;
    let cache = cache(LIMIT);
    let fill = |thread: u64| {
        for n in 0..20_000_u64 {
            let key = ((thread << 32) | (n % 9_000)).to_le_bytes().to_vec();
            let bytes = usize::try_from(n * 7 % 3_000).unwrap();
            keep(&cache, (key.clone(), 0), answer(bytes));
            assert!(told(&cache, &key, NOW).is_none_or(|kept| kept == bytes));
            assert!(cache.figures().bytes <= LIMIT);
        }
    };
    thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || fill(thread));
        }
    });
    let figures = cache.figures();
    assert!(figures.bytes > LIMIT / 2, "{figures:?}");
    assert!(figures.purged > 0 && figures.entries > 0);
}

#[test]
fn what_was_asked_for_before_a_flush_is_not_kept_behind_it() {
    let cache = cache(1 << 20);
    let before = cache.flushes();
    cache.flush();
    assert!(!keeps(&cache, (b"a".to_vec(), before), answer(1)));
    assert_eq!((told(&cache, b"a", NOW), cache.figures().entries), (None, 0));
    assert!(keeps(&cache, (b"a".to_vec(), cache.flushes()), answer(1)));
    assert_eq!(told(&cache, b"a", NOW), Some(1));
}

#[test]
fn an_answer_gives_way_to_younger_ones_only() {
    let cache = cache(1 << 20);
    let at = |since_us, bytes: usize| {
        let answer = CachedReply::new(vec![7; bytes].into(), About { since_us, ..about() });
        keep(&cache, (b"a".to_vec(), 0), answer)
    };
    assert_eq!(
        [at(1_000, 1), at(1_001, 2), at(1_000, 3)].map(|it| it == Keeping::Late),
        [false, false, true]
    );
    assert_eq!(told(&cache, b"a", Allowed { now_us: 1_002, ..NOW }), Some(2));
    assert_eq!((at(1_001, 4), cache.figures().entries), (Keeping::Kept, 1));
}

/// A server.
const SERVER: u64 = 77;

/// A table.
const ITEMS: u64 = 0x1_0003;
const UNCHANGED: Allowed = Allowed { unchanged: true, ..NOW };

/// Keeps an answer under `a` that reads `ITEMS`, after `meanwhile`.
fn keep_of_items(cache: &QueryCache, followed: &Arc<Followed>, meanwhile: impl FnOnce()) -> bool {
    let basis = Basis::note(followed, [ITEMS].into_iter());
    meanwhile();
    let is_noted = basis.is_some();
    let answer = CachedReply::new([7; 3].into(), About { basis, ..about() });
    assert!(keeps(cache, (b"a".to_vec(), cache.flushes()), answer));
    is_noted
}

#[test]
fn an_answer_is_told_as_unchanged_until_one_of_its_tables_changes() {
    let cache = cache(1 << 20);
    let followed = cache.follows().of(3);
    assert!(Arc::ptr_eq(&followed, &cache.follows().wanted().next().unwrap().1));
    followed.stand([SERVER].into_iter());
    let told = |allowed| told(&cache, b"a", allowed);
    assert!(keep_of_items(&cache, &followed, || followed.changed(ITEMS + 1)));
    assert_eq!(told(UNCHANGED), Some(3));
    assert_eq!(told(NOW), Some(3));
    followed.changed(ITEMS);
    assert!(
        cache.find_stale(cache.sought(b"a"), NOW, u64::MAX).is_none(),
        "nor does it bridge a failure"
    );
    assert_eq!((told(UNCHANGED), told(NOW), cache.figures().invalidated), (None, None, 1));

    assert!(keep_of_items(&cache, &followed, || ()));
    followed.changed(ITEMS);
    followed.fall();
    assert_eq!(told(NOW), None, "not even to those who go by its time");
    followed.stand([SERVER].into_iter());

    assert!(keep_of_items(&cache, &followed, || followed.changed(ITEMS)));
    assert_eq!(told(UNCHANGED), None, "it changed while the answer was fetched");
    assert!(keep_of_items(&cache, &followed, || ()));
    followed.changed_all();
    assert_eq!(told(UNCHANGED), None);
}

#[test]
fn what_has_ended_by_a_change_bridges_nothing() {
    let cache = cache(1 << 20);
    let followed = cache.follows().of(3);
    followed.stand([SERVER].into_iter());
    let stale = |allowed| cache.find_stale(cache.sought(b"a"), allowed, 10).is_some();
    assert!(keep_of_items(&cache, &followed, || ()) && stale(UNCHANGED));
    followed.changed(ITEMS);
    assert!(!stale(UNCHANGED) && !stale(NOW));
    assert!(keep_of_items(&cache, &followed, || ()) && stale(UNCHANGED));
    followed.fall();
    assert!(!stale(UNCHANGED) && stale(NOW), "nobody sees whether it has");
}

#[test]
fn nothing_is_told_as_unchanged_where_changes_are_not_seen() {
    let cache = cache(1 << 20);
    let followed = cache.follows().of(3);
    let told = |allowed| told(&cache, b"a", allowed);
    assert!(
        !keep_of_items(&cache, &followed, || followed.stand([SERVER].into_iter())),
        "noted before"
    );
    assert_eq!((told(NOW), told(UNCHANGED)), (Some(3), None));

    let anew = |followed: &Followed| followed.stand([SERVER].into_iter());
    for again in [&Followed::resume as &dyn Fn(&Followed), &anew] {
        assert!(keep_of_items(&cache, &followed, || ()));
        followed.fall();
        let basis = Basis::note(&followed, [ITEMS].into_iter());
        assert!(basis.is_none());
        again(&followed);
    }
    assert_eq!(told(UNCHANGED), None, "whoever stands anew does not know what was missed");
    assert!(keep_of_items(&cache, &followed, || (followed.fall(), followed.resume()).1));
    assert_eq!(told(UNCHANGED), Some(3));
}

#[test]
fn nothing_is_told_as_unchanged_before_the_follower_knows_where_servers_are() {
    let cache = cache(1 << 20);
    let (followed, other) = (cache.follows().of(3), cache.follows().of(4));
    followed.stand([SERVER].into_iter());
    assert!(keep_of_items(&cache, &followed, || ()));
    let before = cache.follows().moves();
    cache.follows().note_move();
    followed.know(before);
    assert!(!followed.stands() && Basis::note(&followed, [ITEMS].into_iter()).is_none());
    other.know(cache.follows().moves());
    assert!(!followed.stands(), "another hostgroup's is known");
    followed.know(cache.follows().moves());
    assert_eq!(told(&cache, b"a", UNCHANGED), Some(3), "nothing of it is elsewhere");
}

#[test]
fn a_write_is_passed_by_a_pulse_that_began_after_it() {
    let cache = cache(0);
    let followed = cache.follows().of(3);
    let first = followed.begin_pulse();
    let of_write = cache.follows().next_pulse();
    cache.follows().of(4).begin_pulse();
    followed.passed(first, 0);
    assert!(!followed.has_passed(of_write));
    let second = followed.begin_pulse();
    assert!(!followed.has_passed(of_write));
    followed.passed(second, 0);
    followed.passed(first, 0);
    assert!(followed.has_passed(of_write));
}

#[test]
fn each_hostgroup_that_is_asked_for_has_changes_of_its_own() {
    let follows = Follows::default();
    let [third, fourth] = [3, 4].map(|hostgroup| follows.of(hostgroup));
    assert!(Arc::ptr_eq(&third, &follows.of(3)) && !Arc::ptr_eq(&third, &fourth));
    assert_eq!(follows.wanted().map(|(hostgroup, _)| hostgroup).collect::<Vec<_>>(), [3, 4]);
}

#[test]
fn answers_of_servers_that_are_not_followed_rest_on_nothing() {
    let followed = Follows::default().of(3);
    followed.stand([SERVER, 9].into_iter());
    let basis = Basis::note(&followed, [ITEMS].into_iter()).unwrap();
    assert!(basis.is_current_at(SERVER) && basis.is_current_at(9) && !basis.is_current_at(8));
    followed.stand([9].into_iter());
    let basis = Basis::note(&followed, [ITEMS].into_iter()).unwrap();
    assert!(!basis.is_current_at(SERVER) && basis.is_current_at(9));
    followed.changed(ITEMS);
    assert!(!basis.is_current_at(9));
}
