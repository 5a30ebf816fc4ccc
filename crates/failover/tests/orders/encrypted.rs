//! Replication in TLS: a server that gets another source never goes on in clear text.

use crate::failover::{LOST, was_told};
use crate::script::{FAR, ITSELF, NEAR, PRIMARY, Script, Source, at, known, order};
use failover::{FailoverStep, Former, Left, Order, fail_over, rejoin, switch_over};

const TLS: [&str; 5] = ["Yes", "/ca.pem", "/it's.pem", "/key.pem", "Yes"];

/// A replica in TLS, which verifies its source.
fn sealed() -> Source {
    Source { tls: TLS, ..Source::default() }
}

/// What one that was no replica is told to have the options of [`TLS`].
const ALL: &str = ", MASTER_SSL=1, MASTER_SSL_CA='/ca.pem', MASTER_SSL_CAPATH='', \
    MASTER_SSL_CERT='/it''s.pem', MASTER_SSL_KEY='/key.pem', MASTER_SSL_CIPHER='', \
    MASTER_SSL_CRL='', MASTER_SSL_CRLPATH='', MASTER_SSL_VERIFY_SERVER_CERT=1";

const TOLD: &str = "in TLS as other replicas: MASTER_SSL_CA='/ca.pem', \
    MASTER_SSL_CERT='/it''s.pem', MASTER_SSL_KEY='/key.pem', MASTER_SSL_VERIFY_SERVER_CERT=1";

fn script() -> Script {
    let mut script = Script::default();
    script.have_ssl = "YES";
    script
}

/// What is said to a server behind the options that say where its source is.
fn change(script: &Script, server: i64) -> &str {
    let begin = format!("unheld {server}: CHANGE ");
    let mut told = script.told.iter().filter(|told| told.starts_with(&begin));
    let told = told.next().expect("it is told to follow");
    let ends = ["slave_pos", "SOURCE_AUTO_POSITION=1"];
    ends.iter().find_map(|end| Some(told.split_once(end)?.1)).expect("by GTID")
}

fn outcome<'s>(script: &'s Script, server: i64, what: &str) -> &'s Result<String, String> {
    let is_it = |step: &&FailoverStep| step.server == at(server) && step.what == what;
    &script.steps.iter().find(is_it).expect(what).outcome
}

fn switch(script: &mut Script, order: &Order) -> Result<i64, String> {
    script.with(|servers, clients| switch_over(order, servers, clients)).map(|done| done.new.port)
}

#[test]
fn a_replica_keeps_its_options_and_the_old_primary_gets_those_of_the_promoted_one() {
    let own = Source { tls: ["Yes", "/own.pem", "", "", "No"], ..Source::default() };
    let mut script = script().says(NEAR, "SHOW", &sealed().row()).says(FAR, "SHOW", &own.row());
    let to_near = Order { target: Some(at(NEAR)), ..order() };
    assert_eq!(switch(&mut script, &to_near), Ok(NEAR));
    assert_eq!(change(&script, PRIMARY), ALL);
    assert_eq!(change(&script, FAR), ", MASTER_SSL=1");
    let follows = "replicate from db:2";
    assert_eq!(outcome(&script, PRIMARY, follows), &Ok(TOLD.to_owned()));
    assert_eq!(outcome(&script, FAR, follows), &Ok("in TLS, with its own options".to_owned()));
}

#[test]
fn the_old_primary_gets_those_of_another_replica_where_the_promoted_one_has_none() {
    let mut script = script().says(FAR, "SHOW", &sealed().row());
    let to_near = Order { target: Some(at(NEAR)), ..order() };
    assert_eq!(switch(&mut script, &to_near), Ok(NEAR));
    assert_eq!(change(&script, PRIMARY), ALL);
}

/// The strictest stands on neither place in the list of replicas.
#[test]
fn the_old_primary_gets_the_strictest_options_that_there_are() {
    let unverified = Source { tls: ["Yes", "", "", "", "No"], ..Source::default() };
    let by_authority = Source { tls: ["Yes", "/ca.pem", "", "", "No"], ..Source::default() };
    for (near, far, old) in [
        (unverified, sealed(), ALL),
        (by_authority, sealed(), ALL),
        (sealed(), by_authority, ALL),
        (unverified, by_authority, ", MASTER_SSL=1, MASTER_SSL_CA='/ca.pem', "),
    ] {
        let mut script = script().says(NEAR, "SHOW", &near.row()).says(FAR, "SHOW", &far.row());
        let to_near = Order { target: Some(at(NEAR)), ..order() };
        assert_eq!(switch(&mut script, &to_near), Ok(NEAR));
        let told = change(&script, PRIMARY);
        assert!(told.starts_with(old), "{told}");
        assert_eq!(change(&script, FAR), ", MASTER_SSL=1");
    }
}

#[test]
fn the_plan_tells_what_the_old_primary_gets() {
    let mut script = script().says(NEAR, "SHOW", &sealed().row());
    assert_eq!(switch(&mut script, &Order { dry: true, ..order() }), Ok(NEAR));
    let told = TOLD.replace("in TLS", "it will replicate in TLS");
    assert_eq!(outcome(&script, PRIMARY, "TLS of the replication"), &Ok(told));
    assert!(script.told.is_empty(), "{:?}", script.told);
}

#[test]
fn options_that_do_not_suit_the_old_primary_are_told_with_its_error() {
    let mut script = script().says(NEAR, "SHOW", &sealed().row());
    script.refused = "2026";
    assert_eq!(switch(&mut script, &order()), Ok(NEAR), "nothing else is lost");
    assert_eq!(outcome(&script, PRIMARY, "replicate from db:2"), &Ok(TOLD.to_owned()));
    assert_eq!(outcome(&script, PRIMARY, "receive from db:2"), &Err("why (2026)".to_owned()));
}

/// A MariaDB replica that does not verify its source goes on in clear text where that has no TLS.
#[test]
fn one_without_tls_is_not_put_in_the_place_of_a_primary_that_is_followed_in_tls() {
    let mut script = Script::default().says(FAR, "SHOW", &sealed().row());
    script.have_ssl = "DISABLED";
    let to_near = Order { target: Some(at(NEAR)), ..order() };
    let why = "replicas follow in TLS, and it has none: its have_ssl is DISABLED";
    let refused = format!("db:2 cannot take its place: {why}");
    assert_eq!(switch(&mut script, &to_near), Err(refused));
    assert!(script.told.is_empty(), "{:?}", script.told);
    // where nobody follows in TLS it does not matter
    let mut script = Script::default();
    script.have_ssl = "DISABLED";
    assert_eq!(switch(&mut script, &to_near), Ok(NEAR));
    // a failover goes on, and those that would follow in clear text do not
    let lost = Source { tls: TLS, ..LOST };
    let mut script = Script::default()
        .says(NEAR, "SHOW", &Source { received: "0-11-44", ..LOST }.row())
        .says(FAR, "SHOW", &lost.row());
    script.have_ssl = "DISABLED";
    let done = script.with(|servers, clients| fail_over(&order(), servers, clients));
    let done = done.expect("it is replaced");
    assert_eq!((done.new, done.astray), (at(NEAR), vec![at(FAR), at(PRIMARY)]));
    let why = "it follows in TLS, and db:2 has none: its have_ssl is DISABLED";
    assert_eq!(outcome(&script, FAR, "replicate from db:2"), &Err(why.to_owned()));
    assert!(!was_told(&script, "unheld 3: STOP SLAVE"), "{:?}", script.told);
}

/// The near one is the primary; the old one comes back.
fn back(script: &mut Script, former: &[Former]) -> Result<(), Left> {
    let order = Order { primary: known(NEAR, 12), others: vec![at(PRIMARY), at(FAR)], ..order() };
    let server = (&at(PRIMARY), &Left::default());
    script.with(|servers, clients| rejoin(&order, server, former, servers, clients))
}

fn returned() -> Script {
    script()
        .says(NEAR, ITSELF, &["0", "12", "1", "1", "0-11-42", "0-11-42,0-12-50", "12"])
        .says(NEAR, "SHOW", &[])
        .says(PRIMARY, ITSELF, &["0", "11", "1", "1", "", "0-11-42", "11"])
}

#[test]
fn an_old_primary_that_comes_back_gets_those_that_its_replicas_had() {
    // as the promoted one had them, of which nobody is left
    let mut script = script().says(NEAR, "SHOW", &Source { tls: TLS, ..LOST }.row()).says(
        FAR,
        "SHOW",
        &LOST.row(),
    );
    let done = script.with(|servers, clients| fail_over(&order(), servers, clients));
    let former = done.expect("it is replaced").former;
    let mut script = returned().fails(FAR, "SELECT VERSION");
    assert_eq!(back(&mut script, &[former]), Ok(()));
    assert_eq!(change(&script, PRIMARY), ALL);
    // as one that follows the new primary has them
    let follows = Source { id: "12", port: "2", ..sealed() };
    let mut script = returned().says(FAR, "SHOW", &follows.row());
    assert_eq!(back(&mut script, &[known(PRIMARY, 11)]), Ok(()));
    assert_eq!(change(&script, PRIMARY), ALL);
    // one that still has the old source has its own
    let mut script = returned().says(FAR, "SHOW", &Source { tls: TLS, ..LOST }.row());
    let order = Order { primary: known(NEAR, 12), ..order() };
    let (server, former) = ((&at(FAR), &Left::default()), [known(PRIMARY, 11)]);
    let done = script.with(|servers, clients| rejoin(&order, server, &former, servers, clients));
    assert_eq!(done, Ok(()));
    assert_eq!(change(&script, FAR), ", MASTER_SSL=1");
}

/// The same with MySQL, whose accounts may need a public key where there is no TLS.
#[test]
fn replicas_of_mysql_keep_what_they_trust_and_the_old_primary_trusts_the_same() {
    const VERSION: &str = "SELECT VERSION";
    let ok = Source { by_gtid: "1", ..Source::default() };
    let sealed = Source { tls: TLS, more: ["TLSv1.3", "", "0"], ..ok };
    let pinned = Source { more: ["", "/pub.pem", "0"], ..ok };
    let all = ", SOURCE_SSL=1, SOURCE_SSL_CA='/ca.pem', SOURCE_SSL_CAPATH='', \
               SOURCE_SSL_CERT='/it''s.pem', SOURCE_SSL_KEY='/key.pem', SOURCE_SSL_CIPHER='', \
               SOURCE_SSL_CRL='', SOURCE_SSL_CRLPATH='', SOURCE_TLS_VERSION='TLSv1.3', \
               SOURCE_SSL_VERIFY_SERVER_CERT=1, SOURCE_PUBLIC_KEY_PATH='', \
               GET_SOURCE_PUBLIC_KEY=0";
    let key = ", SOURCE_PUBLIC_KEY_PATH='/pub.pem', GET_SOURCE_PUBLIC_KEY=0";
    let asks = ", GET_SOURCE_PUBLIC_KEY=1";
    for (source, far, old, other) in [
        (sealed, sealed, all, ", SOURCE_SSL=1"),
        (pinned, pinned, key, ""),
        (ok, ok, asks, asks),
        // TLS is more than a key
        (pinned, sealed, all, ", SOURCE_SSL=1"),
    ] {
        let mut script = Script::default();
        for (port, id, read_only) in [(PRIMARY, "11", "0"), (NEAR, "12", "1"), (FAR, "13", "1")] {
            let own = [read_only, id, "1", "1", "a:1-42", "a:1-42", id, "a:1-42"];
            script = script.says(port, VERSION, &["8.4.6"]).says(port, ITSELF, &own);
        }
        script = script.says(NEAR, "SHOW", &source.row()).says(FAR, "SHOW", &far.row());
        let to_near = Order { target: Some(at(NEAR)), ..order() };
        assert_eq!(switch(&mut script, &to_near), Ok(NEAR));
        assert_eq!((change(&script, PRIMARY), change(&script, FAR)), (old, other));
    }
}
