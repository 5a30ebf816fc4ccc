//! When a server may ask a client for a file: in answer to a statement that loads one, while client
//! and operator both allow it.

use engine::snapshot::Draft;
use testkit::raw::Hall;
use testkit::sim::{Simulator, Weather};
use wire::Caps;
use wire::connect::Greeting;
use wire::reply::ErrPacket;

const LOADS: &str = "LOAD DATA /*s1 q1 u=ann db= cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid=-1 sw=0 \
                     k=file r=0 w=0 n=1 wa=0*/ LOCAL INFILE 'f' INTO TABLE t";
const READS: &str = "SELECT /*s1 q1 u=ann db= cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid=-1 sw=0 \
                     k=file r=0 w=0 n=1 wa=0*/ 1";

fn hall(amend: fn(&mut Draft)) -> Hall {
    Hall::in_weather(7, &Simulator::new(), &Weather { amend, ..Weather::cutting() })
}

fn forbid(draft: &mut Draft) {
    draft.variables.push(("mysql-enable_load_data_local_infile".into(), "false".into()));
}

/// The number and text of the error that a statement is answered with.
fn refusal(hall: &mut Hall, caps: Caps, text: &str) -> (u16, String) {
    let sock = hall.login(caps);
    let answer = hall.ask(sock, text);
    let error = ErrPacket::parse(&answer).unwrap_or_else(|_| panic!("{}", answer.escape_ascii()));
    (error.code, String::from_utf8_lossy(error.message).into_owned())
}

#[test]
fn a_statement_that_loads_a_file_of_its_client_is_refused_unless_the_operator_allows_it() {
    let mut hall = hall(forbid);
    let unsupported = (1047, "Unsupported 'LOAD DATA LOCAL INFILE' command".to_owned());
    assert_eq!(refusal(&mut hall, Caps::LOCAL_FILES, LOADS), unsupported);
    let behind = format!("SELECT 1; {LOADS}");
    let caps = Caps::LOCAL_FILES.union(Caps::MULTI_STATEMENTS);
    assert_eq!(refusal(&mut hall, caps, &behind), unsupported);
    // the first login has met one
    assert_eq!(hall.counters().checkouts, 1, "no server has heard of it");
}

#[test]
fn clients_are_not_offered_what_the_operator_does_not_allow() {
    for (amend, is_offered) in [(forbid as fn(&mut Draft), false), (|_| (), true)] {
        let (_, greeting) = hall(amend).connect();
        let greeting = Greeting::parse(&greeting).expect("a greeting");
        assert_eq!(greeting.caps.contains(Caps::LOCAL_FILES), is_offered);
    }
}

#[test]
fn a_server_that_asks_for_a_file_in_answer_to_anything_else_is_given_up() {
    for amend in [(|_| ()) as fn(&mut Draft), forbid] {
        let mut hall = hall(amend);
        let (code, message) = refusal(&mut hall, Caps::LOCAL_FILES, READS);
        assert_eq!(code, 1158, "{message}");
        assert!(hall.counters().server_faults > 0);
    }
}

#[test]
fn a_client_that_may_not_be_asked_for_files_is_never_asked() {
    let mut hall = hall(|_| ());
    let (code, message) = refusal(&mut hall, Caps::NONE, LOADS);
    assert_eq!(code, 1158, "{message}");
    let sock = hall.login(Caps::LOCAL_FILES);
    assert_eq!(hall.ask(sock, LOADS).first(), Some(&0xfb), "one that may is");
}
