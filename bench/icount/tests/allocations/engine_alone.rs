//! The engine, with a client and a server made of bytes.

use icount::packets::{self, POINT_SELECT};
use icount::world::World;

use super::allocations;

/// How often `pass` allocates once it has been done a few hundred times: with the 256th, the
/// distribution of a digest's latencies gets memory of its own, once.
fn steady_allocations(mut pass: impl FnMut()) -> u64 {
    (0..300).for_each(|_| pass());
    let before = allocations();
    (0..256).for_each(|_| pass());
    allocations() - before
}

#[test]
fn a_text_query_of_one_row_allocates_nothing() {
    let mut world = World::new();
    let session = world.log_in();
    let (command, reply) = (packets::query(POINT_SELECT), packets::result(1));
    let allocations = steady_allocations(|| {
        assert_eq!(world.exchange(session, &command, &reply), reply.len());
    });
    assert_eq!(allocations, 0);
}

#[test]
fn a_query_on_a_shared_lane_allocates_nothing() {
    let mut world = World::sharing();
    let session = world.log_in();
    let (command, reply) = (packets::query(POINT_SELECT), packets::result(1));
    let allocations = steady_allocations(|| {
        assert_eq!(world.exchange(session, &command, &reply), reply.len());
    });
    assert_eq!(allocations, 0);
    assert!(world.shared_queries() > 256);
}

#[test]
fn a_text_query_of_a_thousand_rows_allocates_nothing() {
    let mut world = World::new();
    let session = world.log_in();
    let (command, reply) = (packets::query(POINT_SELECT), packets::result(1000));
    let allocations = steady_allocations(|| {
        assert_eq!(world.exchange(session, &command, &reply), reply.len());
    });
    assert_eq!(allocations, 0);
}

#[test]
fn executing_a_prepared_statement_allocates_nothing() {
    let mut world = World::new();
    let session = world.log_in();
    let command = world.prepare(session, b"SELECT c FROM sbtest1 WHERE id=?");
    let reply = packets::result(1);
    let allocations = steady_allocations(|| {
        assert_eq!(world.exchange(session, &command, &reply), reply.len());
    });
    assert_eq!(allocations, 0);
}

#[test]
fn executing_on_a_shared_lane_allocates_nothing() {
    let mut world = World::sharing();
    let session = world.log_in();
    let command = world.prepare(session, b"SELECT c FROM sbtest1 WHERE id=?");
    let reply = packets::result(1);
    let allocations = steady_allocations(|| {
        assert_eq!(world.exchange(session, &command, &reply), reply.len());
    });
    assert_eq!(allocations, 0);
    assert!(world.shared_queries() > 256);
}

#[test]
fn a_text_from_the_query_cache_allocates_nothing() {
    let mut world = World::caching(1 << 20);
    let session = world.log_in();
    let (command, reply) = (packets::query(POINT_SELECT), packets::result(1));
    let allocations = steady_allocations(|| {
        assert_eq!(world.exchange(session, &command, &reply), reply.len());
    });
    assert_eq!(allocations, 0);
    let (hits, fills) = world.cache_hits_and_fills();
    assert!(hits > 500 && fills == 1, "{hits} hits, {fills} fills");
}

#[test]
fn an_execution_from_the_query_cache_allocates_for_its_key_alone() {
    let mut world = World::caching(1 << 20);
    let session = world.log_in();
    let command = world.prepare(session, b"SELECT c FROM sbtest1 WHERE id=?");
    let reply = packets::result(1);
    let allocations = steady_allocations(|| {
        assert_eq!(world.exchange(session, &command, &reply), reply.len());
    });
    // the types of its parameters
    assert_eq!(allocations, 256);
    let (hits, fills) = world.cache_hits_and_fills();
    assert!(hits > 500 && fills == 1, "{hits} hits, {fills} fills");
}

#[test]
fn counting_a_known_query_allocates_nothing() {
    let known = icount::scenario::SCENARIOS.iter().find(|s| s.name == "stats-known");
    let pass = (known.expect("it is a scenario").begin)();
    assert_eq!(steady_allocations(pass), 0);
}

#[test]
fn asking_thousands_of_rules_allocates_nothing() {
    for name in ["rules-1000-warm", "rules-10000-text"] {
        let scenario = icount::scenario::SCENARIOS.iter().find(|s| s.name == name);
        let pass = (scenario.expect("it is a scenario").begin)();
        assert_eq!(steady_allocations(pass), 0, "{name}");
    }
}

#[test]
fn finding_the_facts_of_a_statement_allocates_nothing() {
    let allocations = steady_allocations(|| {
        std::hint::black_box(sql::facts(std::hint::black_box(packets::LONG_SELECT)));
    });
    assert_eq!(allocations, 0);
}

#[test]
fn digesting_a_statement_allocates_nothing() {
    let mut digester = sql::Digester::new();
    let options = sql::DigestOptions::default();
    let allocations = steady_allocations(|| {
        for text in [packets::LONG_SELECT, packets::QUERY_200, POINT_SELECT] {
            std::hint::black_box(digester.digest(std::hint::black_box(text), &options));
        }
    });
    assert_eq!(allocations, 0);
}
