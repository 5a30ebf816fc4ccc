//! What is found of reads that repeat, and what it may take.

use super::*;

const SECOND: u64 = 1_000_000;

/// A read by its text, of which the digest is the first byte.
fn read(text: &str) -> ReadAsked<'_> {
    let digest = u64::from(text.as_bytes()[0]);
    let mark = Repeats::mark(digest, text.as_bytes());
    let parts = [text.as_bytes(), b"", b"", b""];
    ReadAsked { digest, schema: b"shop", user: b"app", parts, mark, why: None }
}

fn ask(sample: &mut Repeats, now_us: u64, read: &ReadAsked<'_>) {
    if sample.looks_at(read.digest)
        && let Some(looked_at) = sample.look(read.mark)
    {
        sample.note(now_us, looked_at, read);
    }
}

fn row_of(sample: &Repeats, now_us: u64, read: &ReadAsked<'_>) -> RepeatRow {
    let key = RepeatKey { digest: read.digest, schema: read.schema.into(), user: read.user.into() };
    sample.rows(now_us).find(&key).cloned().unwrap_or_default()
}

#[test]
fn what_is_asked_again_counts_by_the_time_and_what_is_not_when_it_is_over() {
    let mut sample = Repeats::new(1, 7);
    let (again, once) = (read("SELECT 1 FROM again"), read("select 1 from once"));
    let mut now_us = SECOND;
    for pause_us in [SECOND / 2, SECOND, 3 * SECOND, 61 * SECOND] {
        ask(&mut sample, now_us, &again);
        now_us += pause_us;
    }
    ask(&mut sample, now_us, &once);
    let row = row_of(&sample, now_us, &again);
    assert_eq!((row.picked, row.again, row.lapsed), (4, [1, 1, 1, 0, 0, 0], 1));
    assert_eq!(row.pending, [0; 6], "the last is over");
    assert_eq!(row_of(&sample, now_us + 3 * SECOND, &once).pending, [0, 0, 1, 0, 0, 0]);
    let later = row_of(&sample, now_us + 60 * SECOND, &once);
    assert_eq!((later.pending, later.lapsed, later.told()), ([0; 6], 1, 1));
    // in another schema, by another user or with other values it is another read
    for other in [
        ReadAsked { schema: b"other", ..once },
        ReadAsked { user: b"other", ..once },
        ReadAsked { parts: [once.parts[0], b"", b"", b"\x07"], ..once },
    ] {
        ask(&mut sample, now_us, &other);
        assert_eq!(row_of(&sample, now_us, &once).again, [0; 6], "{other:?}");
    }
}

#[test]
fn what_the_cache_could_not_answer_is_no_repeat_and_has_its_reason() {
    let mut sample = Repeats::new(1, 7);
    let plain = read("SELECT 1 FROM held");
    let held = ReadAsked { why: Some("held"), ..plain };
    ask(&mut sample, 1, &plain);
    ask(&mut sample, 2, &held);
    ask(&mut sample, 3, &held);
    let row = row_of(&sample, 3, &plain);
    assert_eq!((row.picked, row.again, row.pending), (3, [0; 6], [1, 0, 0, 0, 0, 0]));
    assert_eq!(row.reasons, [("held", 2)]);
    assert!((row.share_cacheable() - 1.0 / 3.0).abs() < 1e-9);
}

#[test]
fn shares_are_those_of_all_reads_however_few_are_picked_and_whenever_they_are_read() {
    // every second read is of ten texts, the others never come again; some have one mark for all
    let alike = " ORDER BY some, of, many, columns LIMIT 1";
    for (every, pause_us, rest) in
        [(1, 100, ""), (16, 100, ""), (128, 100, ""), (1, 5000, alike), (16, 2000, alike)]
    {
        let mut sample = Repeats::new(every, 11);
        let mut now_us = 0;
        for number in 0..1_000_000 {
            now_us += pause_us;
            let id = if number % 2 == 0 { number % 20 } else { number + 1_000_000 };
            let text = format!("SELECT 1 FROM t WHERE id = {id:08}{rest}");
            ask(&mut sample, now_us, &read(&text));
        }
        let row = row_of(&sample, now_us, &read("SELECT"));
        let share = row.share_within(0);
        assert!((share - 0.5).abs() < 0.2, "one in {every}: {share} of {row:?}");
        assert!(row.told() >= 10, "one in {every}: {row:?}");
    }
}

#[test]
fn what_has_only_begun_to_be_watched_for_does_not_seem_to_repeat() {
    let mut row = RepeatRow { again: [2, 0, 0, 0, 0, 0], ..RepeatRow::default() };
    row.pending = [0, 8, 0, 0, 0, 0];
    let last = TTLS_MS.len() - 1;
    assert!((row.share_within(0) - 0.2).abs() < 1e-9);
    assert!((row.share_within(last) - 0.2).abs() < 1e-9, "nothing is known of later");
    assert_eq!(row.told(), 10);
    assert!(RepeatRow::default().share_within(last).abs() < 1e-9);
    let halves = RepeatRow { again: [5, 0, 0, 0, 0, 1], lapsed: 4, ..RepeatRow::default() };
    assert!((halves.share_within(last) - 0.6).abs() < 1e-9);
}

#[test]
fn it_takes_no_more_than_its_bounds_and_counts_again_when_there_is_room() {
    let mut sample = Repeats::new(1, 7);
    for digest in 0..3 * ROWS_MAX as u64 {
        let text = format!("SELECT {digest}");
        let one = ReadAsked { digest, ..read(&text) };
        ask(&mut sample, digest, &ReadAsked { mark: digest.wrapping_mul(77), ..one });
    }
    assert_eq!((sample.rows.len(), sample.watched.len()), (ROWS_MAX, WATCHED_MAX));
    let counted = (sample.marks.iter().sum::<u16>(), sample.digests.iter().sum::<u16>());
    assert_eq!((counted.0.into(), counted.1.into()), (WATCHED_MAX, WATCHED_MAX));
    let mut sample = Repeats::new(1, 7);
    for number in 0..1000_u64 {
        ask(&mut sample, number, &read(&format!("SELECT {number:08}")));
    }
    let row = row_of(&sample, 1000, &read("SELECT"));
    let taken = u64::from(TAKEN_MAX);
    assert_eq!((row.picked, row.pending), (1000, [taken, 0, 0, 0, 0, 0]));
    // their time is over, and others take their place
    for number in 2000..3000_u64 {
        ask(&mut sample, TIME_US + number, &read(&format!("SELECT {number:08}")));
    }
    let row = row_of(&sample, TIME_US + 3000, &read("SELECT"));
    assert_eq!((row.lapsed, row.pending), (taken, [taken, 0, 0, 0, 0, 0]));
}

#[test]
fn nothing_is_looked_at_where_none_is_to_be_picked() {
    let mut sample = Repeats::new(0, 7);
    let one = read("SELECT 1 FROM t");
    assert!((0..10_000).all(|_| !sample.looks_at(one.digest)));
    sample.set_every(1);
    ask(&mut sample, 1, &one);
    ask(&mut sample, 2, &one);
    assert_eq!(row_of(&sample, 2, &one).again, [1, 0, 0, 0, 0, 0]);
    sample.set_every(0);
    assert_eq!(row_of(&sample, 2, &one), RepeatRow::default(), "all is forgotten");
    assert!(!sample.looks_at(one.digest));
}
