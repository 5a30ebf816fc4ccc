//! Long commands that are kept until they are complete, for rules to answer: how many there are.

use engine::rows::RuleRow;
use engine::snapshot::Draft;
use io::Sock;
use testkit::raw::Hall;
use testkit::sim::{Simulator, Weather};
use wire::Caps;

/// Bytes of the longest command.
const LONGEST: usize = 1 << 20;

fn amend(draft: &mut Draft) {
    draft.variables.push(("mysql-max_allowed_packet".into(), LONGEST.to_string()));
    let refuses = RuleRow {
        active: 1,
        match_pattern: Some("aaa".into()),
        error_msg: Some("no".into()),
        ..RuleRow::default()
    };
    draft.rules.push(refuses);
}

#[test]
fn a_worker_keeps_a_few_of_the_longest_and_refuses_others() {
    let weather = Weather { amend, workers: 1, faults: io::Faults::none(), ..Weather::cutting() };
    let mut hall = Hall::in_weather(7, &Simulator::new(), &weather);
    let text = [b"\x03SELECT ", &b"a".repeat(LONGEST - 100)[..]].concat();
    let mut packet = u32::try_from(text.len()).expect("short").to_le_bytes()[..3].to_vec();
    packet.push(0);
    packet.extend(text);
    let (most, rest) = packet.split_at(packet.len() - 10);
    let clients: Vec<Sock> = (0..6).map(|_| hall.login(Caps::NONE)).collect();
    for client in &clients {
        hall.send(*client, most);
        hall.wait_ms(1000);
    }
    let other = hall.login(Caps::NONE);
    hall.query(other, "SELECT aaa");
    assert_eq!(hall.error(other), Some(1148), "short ones are served");
    let mut told = Vec::new();
    for client in clients {
        hall.send(client, rest);
        told.push(hall.error(client));
    }
    let (kept, refused) = (Some(1148), Some(1041));
    // of memory that doubles as they come, four of them take a little more
    assert_eq!(told, [kept, kept, kept, refused, refused, refused]);
    let counters = hall.counters();
    assert_eq!(counters.long_commands_refused, 3);
    assert_eq!(counters.queries, counters.ok + counters.err + counters.killed);
}
