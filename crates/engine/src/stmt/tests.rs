use std::sync::Arc;

use sql::Effects;
use wire::reply::{ColumnDef, write_prepare_ok};
use wire::{Caps, Status};

use super::{KeptAnswer, Limits, Manner, OnLane, Registry, Sought, Text, Wanted};
use crate::holds::Holds;
use crate::ids::{ClientStmtId, ServerStmtId, StmtKey};
use crate::link::assign::assigned;
use crate::link::{Charset, LinkState, ReadBy};
use crate::slab::Key;

fn answer(caps: Caps, id: u32, status: Status) -> Vec<u8> {
    let mut out = Vec::new();
    let (params, columns) = ([ColumnDef::text(b"?"); 2], [ColumnDef::integer(b"c")]);
    write_prepare_ok(&mut out, &mut 1, caps, id, &params, &columns, status);
    out
}

#[test]
fn a_kept_answer_is_what_a_server_would_give_this_client() {
    let open = Status::AUTOCOMMIT.union(Status::IN_TRANS);
    for caps in [Caps::NONE, Caps::DEPRECATE_EOF] {
        let kept = KeptAnswer::of(&answer(caps, 77, Status::AUTOCOMMIT)).unwrap();
        for (id, status) in [(1, Status::AUTOCOMMIT), (1 << 20, open), (3, Status::NONE)] {
            let mut out = b"before".to_vec();
            kept.write(&mut out, id, status);
            assert_eq!(out, [b"before".to_vec(), answer(caps, id, status)].concat());
        }
    }
}

#[test]
fn answers_with_warnings_and_parts_of_answers_are_not_kept() {
    let whole = answer(Caps::NONE, 1, Status::NONE);
    assert_eq!(KeptAnswer::of(&whole[..whole.len() - 1]), None);
    let mut warned = whole;
    warned[14] = 1;
    assert_eq!(KeptAnswer::of(&warned), None);
}

fn key(slot: u32) -> StmtKey {
    StmtKey::new(slot, 0)
}

fn manner(read_by: ReadBy) -> Manner {
    Manner::new(read_by, false)
}

/// An execution of a text with these types, in a session that has set nothing.
fn wanted(slot: u32, types: &[u8]) -> Wanted<'_> {
    Wanted { key: key(slot), types, manner: manner(state("a", true).read_by(false)) }
}

#[test]
fn the_statement_unused_for_longest_goes_and_an_owner_s_never() {
    let mut on_lane = OnLane::default();
    let owner = Some(ClientStmtId(9));
    on_lane.insert(key(0), ServerStmtId(10), owner);
    for slot in 1..4 {
        on_lane.insert(key(slot), ServerStmtId(10 + slot), None);
    }
    assert!(on_lane.take(wanted(1, &[]), None).is_some());
    assert!(!on_lane.has(wanted(0, &[])));
    assert!(on_lane.find(wanted(0, &[]), owner).is_some());
    let gone: Vec<_> = std::iter::from_fn(|| on_lane.evict()).map(|id| id.0).collect();
    assert_eq!((gone, on_lane.len()), (vec![12, 13, 11], 1));
}

#[test]
fn a_server_reads_with_the_types_that_were_sent_last() {
    let mut on_lane = OnLane::default();
    let stmt = on_lane.insert(key(1), ServerStmtId(1), Some(ClientStmtId(9)));
    for types in [[8, 0], [253, 0]] {
        stmt.note_execution(wanted(1, &types));
        assert!(!stmt.knows_types());
        stmt.tell_types();
        stmt.note_execution(wanted(1, &types));
        assert!(stmt.knows_types());
    }
    stmt.forget_types();
    assert!(!stmt.knows_types());
}

#[test]
fn what_a_server_has_lost_is_taken_out_and_nothing_else_that_serves() {
    let mut on_lane = OnLane::default();
    on_lane.insert(key(1), ServerStmtId(7), None).note_execution(wanted(1, &[8, 0]));
    on_lane.insert(key(1), ServerStmtId(9), None);
    assert!(on_lane.take_out(ServerStmtId(7)) && !on_lane.take_out(ServerStmtId(7)));
    assert_eq!(on_lane.find(wanted(1, &[8, 0]), None).map(|found| found.id), Some(ServerStmtId(9)));
}

fn state(schema: &str, autocommit: bool) -> LinkState {
    let schema = Some(schema.as_bytes().into());
    let settings = Default::default();
    LinkState { schema, autocommit, charset: Charset::Collation(45), settings }
}

fn text(words: &str) -> Arc<Text> {
    Arc::new(Text {
        number: 1,
        user: "app".into(),
        class: Caps::NONE,
        state: state("a", true),
        modes_known: true,
        text: words.as_bytes().into(),
        digest: None,
        begins: sql::Access::Reads,
        access: sql::Access::Reads,
        effects: Effects::NONE,
        holds: Holds::NONE,
        repeatable: true,
        shareable: true,
        varies: false,
        command: sql::command_class(&sql::facts(words.as_bytes())),
        naming: crate::catalog::Naming::Nothing,
    })
}

#[test]
fn a_server_knows_the_statement_prepared_last_until_that_one_is_closed() {
    let mut on_lane = OnLane::default();
    assert!(on_lane.is_last_unknown());
    on_lane.note_prepared(ServerStmtId(1));
    on_lane.note_prepared(ServerStmtId(2));
    on_lane.note_closed(ServerStmtId(1));
    assert!(!on_lane.is_last_unknown());
    on_lane.note_closed(ServerStmtId(2));
    assert!(on_lane.is_last_unknown());
    on_lane.note_prepared(ServerStmtId(3));
    on_lane.clear();
    assert!(on_lane.is_last_unknown());
}

#[test]
fn a_text_is_found_by_whoever_means_the_same() {
    let mut texts = Registry::default();
    let known = text("SELECT ?");
    let key = texts.add(&known, false, 0);
    let (same, other) = (state("a", false), state("b", true));
    let sought =
        Sought { user: "app", class: Caps::NONE, state: &same, text: b"SELECT ?", digest: None };
    assert_eq!(texts.find(&sought, 0).map(|found| found.0), Some(key));
    let others = [
        Sought { user: "bob", ..sought },
        Sought { class: Caps::DEPRECATE_EOF, ..sought },
        Sought { state: &other, ..sought },
        Sought { text: b"SELECT  ?", ..sought },
        Sought { digest: Some(1), ..sought },
    ];
    for other in others {
        assert!(texts.find(&other, 0).is_none());
    }
    // one that only its own session can mean
    texts.forget_unused(key);
    drop(known);
    texts.forget_unused(key);
    let key = texts.add(&text("SELECT ?"), true, 0);
    assert!(texts.find(&sought, 0).is_none());
    texts.forget_unused(key);
    assert!(texts.is_empty());
}

/// A registry with one text, and a server's answer to a prepare of it.
fn with_a_text_of_two_params() -> (Registry, StmtKey, Vec<u8>) {
    let mut texts = Registry::default();
    let key = texts.add(&text("SELECT ?"), false, 0);
    texts.learn(key, (1, 2));
    (texts, key, answer(Caps::NONE, 1, Status::NONE))
}

#[test]
fn an_answer_is_given_again_until_definitions_change() {
    let (mut texts, key, bytes) = with_a_text_of_two_params();
    texts.keep_answer(key, &bytes, 5, 7);
    assert_eq!(texts.answer(key, 5, 7).map(|(_, params)| params), Some(2));
    assert!(texts.answer(key, 6, 7).is_none());
    texts.learn(key, (1, 2));
    assert!(texts.answer(key, 5, 7).is_some());
    let with_it = texts.bytes();
    texts.learn(key, (2, 2));
    assert!(texts.answer(key, 5, 7).is_none());
    assert!(with_it - texts.bytes() > 60, "it is counted");
}

#[test]
fn an_answer_is_given_again_for_ten_seconds_and_then_asked_for_anew() {
    let (mut texts, key, bytes) = with_a_text_of_two_params();
    texts.keep_answer(key, &bytes, 5, 3_000_000);
    assert!(texts.answer(key, 5, 12_999_999).is_some());
    assert!(texts.answer(key, 5, 13_000_000).is_none());
    texts.keep_answer(key, &bytes, 5, 14_000_000);
    assert!(texts.answer(key, 5, 23_000_000).is_some());
}

#[test]
fn beyond_the_bound_what_no_client_has_goes_oldest_first() {
    let mut texts = Registry::default();
    let kept = text("SELECT 0");
    texts.add(&kept, false, 0);
    for number in 1..200 {
        let key = texts.add(&text(&format!("SELECT {number}")), false, number);
        texts.learn(key, (1, 0));
    }
    let many = |count| Limits { count, bytes: 1 << 30 };
    assert!(texts.make_room(1, many(1000), 2_000_000));
    assert_eq!(texts.len(), 200);
    assert!(texts.make_room(1, many(100), 2_000_000));
    assert_eq!((texts.len(), texts.with_clients()), (90, 1));
    let state = state("a", true);
    let mut find = |text: &[u8]| {
        let sought = Sought { user: "app", class: Caps::NONE, state: &state, text, digest: None };
        texts.find(&sought, 0).is_some()
    };
    assert!(find(b"SELECT 0") && !find(b"SELECT 110") && find(b"SELECT 111"));
}

#[test]
fn texts_have_so_many_bytes_and_those_in_use_leave_no_room_for_more() {
    let mut texts = Registry::default();
    let long = |number: u32| text(&format!("SELECT {number} /*{}*/", "x".repeat(20_000)));
    let one = long(10).bytes();
    let max = Limits { count: 1000, bytes: 10 * one };
    let kept: Vec<_> = (10..15).map(long).collect();
    for (text, now_us) in kept.iter().zip(1..) {
        assert!(texts.make_room(one, max, now_us));
        texts.add(text, false, now_us);
    }
    for number in 15..60 {
        assert!(texts.make_room(one, max, u64::from(number)), "text {number}");
        texts.add(&long(number), false, u64::from(number));
        assert!(texts.bytes() <= max.bytes);
    }
    assert_eq!((texts.with_clients(), texts.bytes() % one), (5, 0));
    let more: Vec<_> = (60..65).map(long).collect();
    for text in &more {
        let fits = texts.make_room(one, max, 100);
        assert!(fits, "what nobody has gives way");
        texts.add(text, false, 100);
    }
    assert!(!texts.make_room(one, max, 101), "all are in use");
    drop(more);
    assert!(!texts.make_room(one, max, 102), "looked through not long ago");
    assert!(texts.make_room(one, max, 1_100_000));
}

#[test]
fn a_long_text_goes_with_its_last_client() {
    let mut texts = Registry::default();
    let [short, long] = [10, 40_000].map(|len| text(&"x".repeat(len)));
    let keys = [&short, &long].map(|text| texts.add(text, false, 0));
    keys.iter().for_each(|key| texts.learn(*key, (1, 0)));
    let short_bytes = short.bytes();
    drop((short, long));
    keys.iter().for_each(|key| texts.forget_unused(*key));
    assert_eq!((texts.len(), texts.bytes()), (1, short_bytes));
}

#[test]
fn what_cannot_be_prepared_alike_again_serves_any_types_and_stays() {
    let mut on_lane = OnLane::default();
    on_lane.insert(key(1), ServerStmtId(7), None).note_execution(wanted(1, &[8, 0]));
    on_lane.insert(key(2), ServerStmtId(9), None).note_execution(wanted(2, &[8, 0]));
    on_lane.keep(ServerStmtId(7));
    let of_text = [wanted(1, &[3, 0]), wanted(2, &[3, 0])];
    assert_eq!(of_text.map(|wanted| on_lane.has(wanted)), [true, false]);
    assert_eq!([on_lane.evict(), on_lane.evict()], [Some(ServerStmtId(9)), None]);
    on_lane.keep_no_more();
    assert_eq!(on_lane.evict(), Some(ServerStmtId(7)));
}

#[test]
fn a_statement_serves_those_alone_whose_texts_are_read_as_when_it_was_executed() {
    let plain = wanted(1, &[8, 0]);
    let latin1 = LinkState { charset: Charset::Named("latin1"), ..state("a", true) };
    let of = |name: &str| {
        let set = format!("SET {name}");
        let parsed = sql::parse_set(set.as_bytes()).expect("a SET");
        let set = assigned(&state("a", true), &parsed).expect("followed").state;
        [false, true].map(|all| Wanted { manner: manner(set.read_by(all)), ..plain })
    };
    let [zone, _] = of("time_zone = '+01:00'");
    let [switch, _] = of("optimizer_switch = 'semijoin=off'");
    let [timeout, _] = of("lock_wait_timeout = 7");
    let [of_text, of_all] = of("@a = 1");
    let read_by = state("a", true).read_by(false);
    let with_cursor = Wanted { manner: Manner::new(read_by, true), ..plain };
    let others = [
        with_cursor,
        zone,
        switch,
        of_all,
        Wanted { manner: manner(latin1.read_by(false)), ..plain },
    ];
    let mut on_lane = OnLane::default();
    on_lane.insert(key(1), ServerStmtId(7), None);
    assert!(others.into_iter().all(|other| on_lane.has(other)), "nobody has executed it");
    on_lane.take(plain, None).expect("it is there").note_execution(plain);
    assert!([plain, of_text, timeout].into_iter().all(|alike| on_lane.has(alike)));
    assert!(!others.into_iter().any(|other| on_lane.has(other)));

    let owner = Some(ClientStmtId(9));
    let own = on_lane.insert(key(2), ServerStmtId(9), owner);
    let zone = Wanted { key: key(2), ..zone };
    [wanted(2, &[]), zone].into_iter().for_each(|wanted| own.note_execution(wanted));
    assert!(on_lane.find(zone, owner).is_some());
    on_lane.disown(key(2), ClientStmtId(9));
    assert!(!on_lane.has(zone) && !on_lane.has(wanted(2, &[])), "it may be read as either");
}
