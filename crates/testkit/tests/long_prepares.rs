//! Prepared texts have so many bytes, by session and by worker; what a client closes makes room.

use io::Sock;
use testkit::raw::Hall;
use testkit::sim::{Simulator, Weather};
use wire::reply::ErrPacket;
use wire::{Caps, command};

/// What a client is told that has prepared too much.
const TOO_MUCH: u16 = 1461;

/// Prepares a text of so many bytes; the statement's id, or the error.
fn prepare(hall: &mut Hall, sock: Sock, number: u32, len: usize) -> Result<[u8; 4], u16> {
    let words = "u=ann db= cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid=-1 sw=0 k=prepare r=1 w=0 n=1 wa=0";
    let filler = "x".repeat(len);
    let text = format!("DELETE /*s1 q{number} {words}*/ FROM t WHERE v = ? /*{filler}*/");
    let mut bytes = Vec::new();
    command::write(&mut bytes, command::code::STMT_PREPARE, text.as_bytes());
    hall.send(sock, &bytes);
    let answer = hall.packet(sock).expect("answered").0;
    if let Ok(error) = ErrPacket::parse(&answer) {
        return Err(error.code);
    }
    // the definitions of a parameter and a column
    assert!([(); 2].iter().all(|()| hall.packet(sock).is_some()));
    Ok(*answer[1..].first_chunk().expect("an id"))
}

#[test]
fn a_session_has_an_eighth_of_its_worker_s_bytes() {
    let amend = |draft: &mut engine::snapshot::Draft| {
        let (name, value) = ("mysql-prepared_texts_memory_bytes_max", "1048576");
        draft.variables.push((name.into(), value.into()));
        draft.variables.push(("mysql-threads".into(), "1".into()));
    };
    let weather = Weather { amend, ..Weather::cutting() };
    let mut hall = Hall::in_weather(7, &Simulator::new(), &weather);
    let [greedy, other] = [1, 2].map(|_| hall.login(Caps::DEPRECATE_EOF));
    let first = prepare(&mut hall, greedy, 1, 60_000).expect("there is room");
    assert!(prepare(&mut hall, greedy, 2, 60_000).is_ok());
    assert_eq!(prepare(&mut hall, greedy, 3, 60_000), Err(TOO_MUCH));
    assert!(prepare(&mut hall, other, 1, 60_000).is_ok(), "others have theirs");
    let mut close = Vec::new();
    command::write(&mut close, command::code::STMT_CLOSE, &first);
    hall.send(greedy, &close);
    assert!(prepare(&mut hall, greedy, 4, 60_000).is_ok());
}
