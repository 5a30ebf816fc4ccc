//! Every parser of this crate that follows a stream, in one list, each behind one function that
//! feeds it bytes cut anywhere and writes down what it reported. The property tests and the fuzz
//! targets share it; a new stream parser is registered in [`PARSERS`].

use wire::frame::{Framed, Span, next_packet};
use wire::proxy_header::First;
use wire::reply::OkPacket;
use wire::result::{End, Event, ReplyKind, ReplyTracker};
use wire::{Caps, PeerFault};

/// A registered stream parser.
pub(crate) struct StreamParser {
    pub(crate) name: &'static str,
    /// Feeds the input, cut before each of the positions, and returns what happened in order.
    /// The same input must give the same, whatever the cuts.
    pub(crate) run: fn(input: &[u8], cuts: &[usize]) -> Vec<String>,
}

/// All of them.
pub(crate) const PARSERS: &[StreamParser] = &[
    StreamParser { name: "frame::next_packet", run: run_next_packet },
    StreamParser { name: "frame::Span", run: run_span },
    StreamParser { name: "proxy_header::First", run: run_proxy_header },
    StreamParser { name: "result::ReplyTracker", run: run_tracker },
];

/// Hands out `bytes` cut by cut. What `take` leaves is offered again with the next bytes.
fn deliver(bytes: &[u8], cuts: &[usize], mut take: impl FnMut(&[u8]) -> usize) -> usize {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| (*cut).min(bytes.len())).collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    let mut taken = 0;
    for end in ends {
        if end < taken {
            continue;
        }
        let offered = &bytes[taken..end];
        let consumed = take(offered);
        assert!(consumed <= offered.len(), "took {consumed} of {} bytes", offered.len());
        taken += consumed;
    }
    taken
}

fn run_next_packet(input: &[u8], cuts: &[usize]) -> Vec<String> {
    let mut log = Vec::new();
    let mut is_long = false;
    let total = deliver(input, cuts, |bytes| {
        let mut at = 0;
        while !is_long {
            match next_packet(&bytes[at..]) {
                Framed::Need(missing) => {
                    assert!(missing > 0);
                    break;
                }
                Framed::Packet(packet) => {
                    assert_eq!(packet.len, packet.payload.len() + 4);
                    log.push(format!("{} {:02x?}", packet.seq, packet.payload));
                    at += packet.len;
                }
                Framed::Long { first_frame_len } => {
                    log.push(format!("long {first_frame_len}"));
                    is_long = true;
                }
            }
        }
        at
    });
    log.push(format!("took {total}"));
    log
}

fn run_span(input: &[u8], cuts: &[usize]) -> Vec<String> {
    let mut log = Vec::new();
    let mut span = Span::begin();
    let total = deliver(input, cuts, |bytes| {
        let mut at = 0;
        loop {
            let fed = span.feed(&bytes[at..]);
            at += fed.consumed;
            if !fed.done {
                return at;
            }
            assert!(span.is_done());
            log.push(format!("{} bytes, last {}", span.payload_bytes(), span.last_seq()));
            span = Span::begin();
        }
    });
    log.push(format!("took {total}, {} of an open packet", span.payload_bytes()));
    log
}

fn run_proxy_header(input: &[u8], cuts: &[usize]) -> Vec<String> {
    let mut log = Vec::new();
    let total = deliver(input, cuts, |bytes| match First::of(bytes) {
        _ if !log.is_empty() => 0,
        First::Begun => 0,
        first => {
            log.push(format!("{first:?}"));
            if let First::Header(header) = first { header.len } else { 0 }
        }
    });
    log.push(format!("took {total}"));
    log
}

/// The kinds of replies, as the first byte of a tracker's input chooses them.
pub(crate) const KINDS: [ReplyKind; 9] = [
    ReplyKind::Result,
    ReplyKind::Prepare,
    ReplyKind::Execute,
    ReplyKind::Fetch,
    ReplyKind::FieldList,
    ReplyKind::Simple,
    ReplyKind::Statistics,
    ReplyKind::None,
    ReplyKind::Auth,
];

/// The capabilities that a tracker's reply depends on, as bits of the second byte.
pub(crate) const CAPS: [Caps; 5] = [
    Caps::DEPRECATE_EOF,
    Caps::SESSION_TRACK,
    Caps::MARIADB_PROGRESS,
    Caps::MARIADB_CACHE_METADATA,
    Caps::OPTIONAL_METADATA,
];

/// The capabilities of the bits of `byte`.
pub(crate) fn caps_of(byte: u8) -> Caps {
    let chosen = (0..CAPS.len()).filter(|bit| byte >> bit & 1 == 1);
    chosen.fold(Caps::PROTOCOL_41, |caps, bit| caps | CAPS[bit])
}

/// The input of the tracker's entry in [`PARSERS`] for a reply.
pub(crate) fn tracker_input(kind: ReplyKind, caps: Caps, reply: &[u8]) -> Vec<u8> {
    let kind = KINDS.iter().position(|known| *known == kind).unwrap();
    let caps = (0..CAPS.len()).filter(|bit| caps.contains(CAPS[*bit])).map(|bit| 1 << bit);
    let mut input = vec![u8::try_from(kind).unwrap(), caps.sum()];
    input.extend_from_slice(reply);
    input
}

fn run_tracker(input: &[u8], cuts: &[usize]) -> Vec<String> {
    let [kind, caps, reply @ ..] = input else { return Vec::new() };
    let kind = KINDS[usize::from(*kind) % KINDS.len()];
    let cuts: Vec<usize> = cuts.iter().map(|cut| cut.saturating_sub(2)).collect();
    follow(kind, caps_of(*caps), reply, &cuts)
}

/// Follows one reply to its end and writes down its events.
pub(crate) fn follow(kind: ReplyKind, caps: Caps, reply: &[u8], cuts: &[usize]) -> Vec<String> {
    let mut tracker = ReplyTracker::new(kind, caps);
    let mut log = Vec::new();
    let mut over = false;
    let total = deliver(reply, cuts, |bytes| {
        let mut at = 0;
        while !over {
            let rest = &bytes[at..];
            let fed = match tracker.feed(rest) {
                Ok(fed) => fed,
                Err(PeerFault { fault, .. }) => {
                    log.push(format!("fault: {fault}"));
                    over = true;
                    // what a faulty reply had before the fault is not relayed
                    return at;
                }
            };
            assert!(fed.consumed <= rest.len());
            at += fed.consumed;
            over = tracker.is_done() && matches!(fed.event, Event::End(_) | Event::Err { .. });
            match tell(&fed.event, &rest[..fed.consumed]) {
                Some(line) => log.push(line),
                None => break,
            }
        }
        at
    });
    if !log.last().is_some_and(|line| line.starts_with("fault")) {
        log.push(format!(
            "took {total}, {} rows, last {}, {}",
            tracker.rows(),
            tracker.last_seq(),
            if tracker.is_between_packets() { "between packets" } else { "in a packet" }
        ));
    }
    log
}

/// An event as text, with the bytes it points at; nothing for `More`.
fn tell(event: &Event, taken: &[u8]) -> Option<String> {
    let text =
        |at: &std::ops::Range<usize>| String::from_utf8_lossy(&taken[at.clone()]).into_owned();
    Some(match event {
        Event::More => return None,
        Event::Infile => "file".to_owned(),
        Event::Prepared { stmt_id, columns, params, id_at } => {
            assert_eq!(taken[*id_at..id_at + 4], stmt_id.to_le_bytes());
            format!("prepared {stmt_id}: {columns} columns, {params} parameters")
        }
        Event::Track { at } => format!("track {:?}", text(&track_in(taken, at))),
        Event::Err { code, sqlstate, at } => {
            let state = String::from_utf8_lossy(sqlstate);
            format!("error {code} {state} {:?}", text(at))
        }
        Event::End(End {
            status,
            warnings,
            affected_rows,
            last_insert_id,
            rows,
            resultsets,
            several: _,
            untold: _,
            track,
            ok_only,
            row_count: _,
            rows_before: _,
        }) => format!(
            "end {status:?} warnings {warnings} affected {affected_rows} id {last_insert_id} \
             rows {rows} sets {resultsets} track {:?} ok only {ok_only}",
            track.as_ref().map(|at| text(&track_in(taken, at)))
        ),
        Event::AuthSwitch { at } => format!("switch {:?}", text(at)),
        Event::AuthMore { at } => format!("more {:?}", text(at)),
    })
}

/// Where the session-track data of an OK packet lies: at its end.
fn track_in(taken: &[u8], at: &std::ops::Range<usize>) -> std::ops::Range<usize> {
    let ok = OkPacket::parse(&taken[at.clone()], Caps::SESSION_TRACK).expect("it was read before");
    at.end - ok.session_track.len()..at.end
}
