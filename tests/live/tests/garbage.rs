//! Bytes that no driver would send, in every phase of a session: that session ends with a proper
//! error or a close, a line is logged, and nobody else notices.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use lab::{Flavour, SplitOptions};
use live::{Load, Proxy, Raw, client, response};

/// What a client that breaks the protocol does after it has read the greeting, or has logged in.
type Misdeed = fn(&mut Raw) -> Result<()>;

const BEFORE_LOGIN: [(&str, Misdeed); 9] = [
    ("nothing but a close", |_| Ok(())),
    ("half a header", |raw| raw.bytes(&[10, 0])),
    ("a truncated response", |raw| raw.bytes(&[200, 0, 0, 1, 1, 2, 3])),
    ("an empty response", |raw| raw.send(1, &[])),
    ("a short response", |raw| raw.send(1, &[0x85, 0xa6])),
    ("a wrong sequence number", |raw| raw.send(7, &response("app", &[1; 20]))),
    ("an oversized response", |raw| {
        // What the proxy does not wait for it need not take either.
        drop(raw.bytes(&[&[0xff, 0xff, 0xff, 1][..], &[b'A'; 200_000]].concat()));
        Ok(())
    }),
    ("a name without an end", |raw| {
        raw.send(1, &[&response("", &[])[..32], &[b'u'; 3000]].concat())
    }),
    ("HTTP", |raw| raw.bytes(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")),
];

const AFTER_LOGIN: [(&str, Misdeed); 12] = [
    ("half a header", |raw| raw.bytes(&[5, 0])),
    ("a truncated query", |raw| raw.bytes(&[200, 0, 0, 0, 3, b'S', b'E'])),
    ("an empty packet", |raw| raw.send(0, &[])),
    ("an unknown command", |raw| raw.send(0, &[0xef, 1, 2, 3])),
    ("a wrong sequence number", |raw| raw.send(9, b"\x03SELECT 1")),
    ("an execute without a statement", |raw| raw.send(0, &[0x17])),
    ("an execute of nothing", |raw| raw.send(0, &[0x17, 9, 9, 9, 9, 0, 1, 0, 0, 0])),
    ("an execute that is cut", |raw| raw.send(0, &[0x17, 1, 0])),
    ("a close that is cut", |raw| raw.send(0, &[0x19, 1])),
    ("a change of user that is cut", |raw| raw.send(0, b"\x11app")),
    ("a fetch that is cut", |raw| raw.send(0, &[0x1c, 1])),
    ("too long a query", |raw| {
        let mut packet = vec![0xff, 0xff, 0xff, 0, 3];
        packet.resize(4 + 0xff_ffff, b' ');
        drop(raw.bytes(&packet));
        drop(raw.bytes(&[0xff, 0xff, 0xff, 1, b' ']));
        Ok(())
    }),
];

fn random_bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..len).map(|_| next()).collect()
}

/// Waits for the end of a session after its misdeed; it is an error when it does not end.
fn ends(raw: &mut Raw) -> Result<Vec<u8>> {
    raw.finish();
    raw.rest()
}

fn own_address(raw: &Raw) -> SocketAddr {
    raw.stream().local_addr().expect("connected")
}

/// Does everything wrong once; gives what was not as it should be.
fn misdeeds(proxy: &Proxy) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut note = |phase: &str, what: &str, raw: Result<Raw>, misdeed: Misdeed| {
        let mut raw = match raw {
            Ok(raw) => raw,
            Err(error) => return wrong.push(format!("{phase}, {what}: {error:#}")),
        };
        let address = own_address(&raw);
        if let Err(error) = misdeed(&mut raw).and_then(|()| ends(&mut raw).map(drop)) {
            wrong.push(format!("{phase}, {what}, from {address}: {error:#}"));
        }
    };
    for (what, misdeed) in BEFORE_LOGIN {
        let greeted = Raw::open(proxy.port).and_then(|mut raw| {
            raw.receive()?;
            Ok(raw)
        });
        note("before login", what, greeted, misdeed);
        // The same without waiting for the greeting.
        note("before the greeting", what, Raw::open(proxy.port), misdeed);
    }
    for (what, misdeed) in AFTER_LOGIN {
        note("after login", what, Raw::login(proxy.port, "app", "app"), misdeed);
        note("in fast forward", what, Raw::login(proxy.port, "ff", "ff"), misdeed);
    }
    wrong
}

fn random_sessions(proxy: &Proxy, count: u64) -> Vec<String> {
    let mut wrong = Vec::new();
    for seed in 0..count {
        let len = usize::try_from(seed % 97 * 13 + 1).expect("small");
        let opened = match seed % 3 {
            0 => Raw::open(proxy.port),
            1 => Raw::login(proxy.port, "app", "app"),
            _ => Raw::login(proxy.port, "ff", "ff"),
        };
        let outcome = opened.and_then(|mut raw| {
            // A close by the other side while this is written is as good an end.
            drop(raw.bytes(&random_bytes(seed, len)));
            ends(&mut raw)
        });
        if let Err(error) = outcome {
            wrong.push(format!("random bytes, seed {seed}: {error:#}"));
        }
    }
    wrong
}

#[test]
fn garbage_ends_its_own_session_and_disturbs_nothing_else() {
    let Some(cluster) = live::cluster("garbage", Flavour::MariaDb, 1) else { return };
    let options = SplitOptions {
        variables: "max_allowed_packet = 1048576\nconnect_timeout_client = 3000\n".into(),
        ..Default::default()
    };
    let proxy = Proxy::start(|interfaces| {
        lab::split_toml(&cluster, &SplitOptions { interfaces, ..options })
    })
    .expect("tidegate starts");
    let others = Load::reads(4, &client::options(proxy.port));
    others.await_more(100);
    let mut wrong = misdeeds(&proxy);
    wrong.extend(random_sessions(&proxy, if live::full() { 3000 } else { 300 }));
    assert!(proxy.is_running(), "{}", proxy.log());
    others.await_more(100);
    let errors = others.stop();
    assert!(errors.is_empty(), "others: {errors:?}");
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), proxy.log());
    client::connect(client::options(proxy.port)).ping().expect("still in order");
}

#[test]
fn a_broken_command_gets_an_error_packet_and_a_line_in_the_log() {
    let Some(cluster) = live::cluster("broken commands", Flavour::MariaDb, 0) else { return };
    let options = SplitOptions::default();
    let proxy = Proxy::start(|interfaces| {
        lab::split_toml(&cluster, &SplitOptions { interfaces, ..options })
    })
    .expect("tidegate starts");
    // Out of order, nothing that follows can be understood; a command that says too little is
    // answered, and that is all.
    let cases: [(&str, Misdeed, &[u16], bool); 3] = [
        ("a wrong sequence number", |raw| raw.send(9, b"\x03SELECT 1"), &[1156], true),
        ("an empty packet", |raw| raw.send(0, &[]), &[1835, 1047], false),
        ("an execute that is cut", |raw| raw.send(0, &[0x17, 1, 0]), &[1835, 1243, 1047], false),
    ];
    for (what, misdeed, codes, logged) in cases {
        let mut raw = Raw::login(proxy.port, "app", "app").expect("logged in");
        let named = format!("(connection {})", raw.welcome.connection_id);
        misdeed(&mut raw).expect("sent");
        let (_, packet) = raw.receive().expect("an answer");
        assert_eq!(packet.first(), Some(&0xff), "{what}: {packet:?}");
        let code = u16::from_le_bytes([packet[1], packet[2]]);
        assert!(codes.contains(&code), "{what}: {code}");
        raw.finish();
        raw.rest().expect("the session ends");
        live::eventually(&format!("a line in the log for {what}"), Duration::from_secs(5), || {
            !logged || proxy.log().contains(&named)
        });
    }
}
