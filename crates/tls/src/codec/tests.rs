use io::{CODEC_ROOM_BYTES, Codec, Step, StreamEnd};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

use crate::{Acceptor, Connector, OwnCertificate, Pem, ServerTerms, Terms, Watch};

const NOW_S: i64 = 1_800_000_000;

/// A time at which certificates that tests make are good.
pub(crate) fn now_s() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
    since.map_or(NOW_S, |since| since.as_secs().cast_signed())
}

struct Lab {
    own: OwnCertificate,
    connector: Connector,
}

/// One side of a connection: what arrived for it and was not taken.
pub(crate) struct Side {
    codec: Box<dyn Codec>,
    wire: Vec<u8>,
    heard: Vec<u8>,
    errno: Option<i32>,
}

impl Lab {
    fn new() -> Self {
        let own = OwnCertificate::make("db.example", now_s()).expect("it can be made");
        let connector = Self::connector(&own, None);
        Self { own, connector }
    }

    fn connector(own: &OwnCertificate, shown: Option<(Pem, Pem)>) -> Connector {
        let authorities = vec![Pem::of_text("ssl_ca", &own.authority)];
        let terms = ServerTerms { authorities, own: shown, ..ServerTerms::default() };
        Connector::new(&terms).expect("the terms are fine")
    }

    fn terms(&self) -> Terms {
        let text = |setting, text: &str| Pem::of_text(setting, text);
        Terms {
            certificates: vec![(
                text("ssl_cert", &self.own.certificate),
                text("ssl_key", &self.own.key),
            )],
            authorities: Some(text("ssl_ca", &self.own.authority)),
            ..Terms::default()
        }
    }

    fn sides(&self, acceptor: &Acceptor) -> ([Side; 2], [Watch; 2]) {
        let (server, watch) = acceptor.accept().expect("random bytes");
        let client = self.connector.connect(("db.example", 3306), false);
        let (client, client_watch) = client.expect("a name");
        ([Side::new(client), Side::new(server)], [client_watch, watch])
    }
}

impl Side {
    pub(crate) fn new(codec: Box<dyn Codec>) -> Self {
        Self { codec, wire: Vec::new(), heard: Vec::new(), errno: None }
    }

    /// Decodes what has arrived, and gives what it sends by itself.
    fn turn(&mut self) -> Vec<u8> {
        let mut room = vec![0; CODEC_ROOM_BYTES];
        while self.errno.is_none() {
            match self.codec.decode(&mut self.wire, &mut room) {
                Ok(Step { taken: 0, given: 0 }) => break,
                Ok(Step { taken, given }) => {
                    self.wire.drain(..taken);
                    self.heard.extend_from_slice(&room[..given]);
                }
                Err(errno) => self.errno = Some(errno),
            }
        }
        let mut sent = Vec::new();
        loop {
            let given = self.codec.pending(&mut room).expect("it writes");
            sent.extend_from_slice(&room[..given]);
            if given == 0 {
                return sent;
            }
        }
    }

    fn say(&mut self, mut plain: &[u8]) -> Vec<u8> {
        let mut room = vec![0; CODEC_ROOM_BYTES];
        let mut sent = Vec::new();
        while !plain.is_empty() {
            let step = self.codec.encode(plain, &mut room).expect("it encodes");
            assert!(step.taken > 0, "the handshake is over");
            plain = &plain[step.taken..];
            sent.extend_from_slice(&room[..step.given]);
        }
        sent
    }
}

/// Hands bytes to a side in pieces of a length.
fn hand(to: &mut Side, bytes: &[u8], piece: usize) -> Vec<u8> {
    let mut answer = Vec::new();
    for piece in bytes.chunks(piece) {
        to.wire.extend_from_slice(piece);
        answer.extend(to.turn());
    }
    answer
}

/// Lets both talk until neither says anything.
pub(crate) fn settle([client, server]: &mut [Side; 2], piece: usize) {
    let mut to_server = client.turn();
    while !to_server.is_empty() {
        let to_client = hand(server, &to_server, piece);
        to_server = hand(client, &to_client, piece);
    }
}

#[test]
fn bytes_pass_both_ways_whatever_the_cuts() {
    let lab = Lab::new();
    let acceptor = Acceptor::new(&lab.terms()).expect("the terms are fine");
    for piece in [1, 7, 4096, 1 << 20] {
        let (mut sides, [_, watch]) = lab.sides(&acceptor);
        settle(&mut sides, piece);
        let handshake = watch.handshake().expect("it is over").clone();
        assert_eq!(handshake.server_name.as_deref(), Some("db.example"));
        assert_eq!((handshake.version, handshake.shown.is_none()), ("TLSv1.3", true));
        let [client, server] = &mut sides;
        let long: Vec<u8> = (0..100_000_u32).map(|at| at.to_le_bytes()[0]).collect();
        let sent = client.say(&long);
        hand(server, &sent, piece);
        let sent = server.say(&long[..20_000]);
        hand(client, &sent, piece);
        assert!(server.heard == long && client.heard == long[..20_000], "pieces of {piece}");
    }
}

#[test]
fn the_end_is_told_from_a_cut() {
    let lab = Lab::new();
    let acceptor = Acceptor::new(&lab.terms()).expect("the terms are fine");
    let (mut sides, _) = lab.sides(&acceptor);
    settle(&mut sides, 4096);
    let [client, server] = &mut sides;
    assert_eq!(server.codec.end(), StreamEnd::Awaited);
    let mut sent = client.say(b"bye");
    let mut room = vec![0; CODEC_ROOM_BYTES];
    let given = client.codec.close(&mut room).expect("it says farewell");
    sent.extend_from_slice(&room[..given]);
    sent.extend_from_slice(b"more that nobody reads");
    hand(server, &sent, 1 << 20);
    assert_eq!((&*server.heard, server.codec.end()), (&b"bye"[..], StreamEnd::Heard));
    assert_eq!((server.wire.len(), server.errno), (0, None));
}

#[test]
fn plain_text_where_a_record_belongs_ends_it_and_the_other_side_is_told() {
    let lab = Lab::new();
    let acceptor = Acceptor::new(&lab.terms()).expect("the terms are fine");
    let (server, watch) = acceptor.accept().expect("random bytes");
    let mut server = Side::new(server);
    let alert = hand(&mut server, b"\x0e\0\0\x02\x03SELECT 1 + 1", 1 << 20);
    assert_eq!(server.errno, Some(libc::EPROTO));
    assert_eq!(alert.first(), Some(&21), "an alert: {alert:?}");
    assert_eq!(watch.fault(), Some("received corrupt message of type InvalidContentType"));
    assert!(server.heard.is_empty() && watch.handshake().is_none());
    // and it stays so
    let again = server.codec.decode(&mut [0; 5], &mut vec![0; CODEC_ROOM_BYTES]);
    assert_eq!(again, Err(libc::EPROTO));
}

#[test]
fn a_flipped_bit_is_noticed() {
    let lab = Lab::new();
    let acceptor = Acceptor::new(&lab.terms()).expect("the terms are fine");
    let (mut sides, [_, watch]) = lab.sides(&acceptor);
    settle(&mut sides, 4096);
    let [client, server] = &mut sides;
    let mut sent = client.say(b"DELETE FROM t");
    let last = sent.len() - 1;
    sent[last] ^= 1;
    hand(server, &sent, 3);
    assert_eq!((server.errno, server.heard.len()), (Some(libc::EPROTO), 0));
    assert_eq!(watch.fault(), Some("cannot decrypt peer's message"));
}

/// A certificate of that subject and one behind it for each further name, all signed by
/// themselves, and the key of the first.
fn chain(subject: &str, others: usize) -> (Pem, Pem) {
    let made = |name: &str| {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, name);
        let key = KeyPair::generate().expect("a key");
        (params.self_signed(&key).expect("signed").pem(), key.serialize_pem())
    };
    let (own, key) = made(subject);
    let others = (0..others).map(|_| made("authority").0);
    let chain: String = std::iter::once(own).chain(others).collect();
    (Pem::of_text("ssl_cert", &chain), Pem::of_text("ssl_key", &key))
}

#[test]
fn what_a_client_shows_is_judged_by_whoever_asks() {
    let mut lab = Lab::new();
    let acceptor = Acceptor::new(&lab.terms()).expect("the terms are fine");
    for (others, doubt) in [
        (0, "invalid peer certificate: UnknownIssuer"),
        (5, "5 certificates stand behind it, where 4 may"),
    ] {
        lab.connector = Lab::connector(&lab.own, Some(chain(r"acme, CN=a\pp", others)));
        let (mut sides, [_, watch]) = lab.sides(&acceptor);
        settle(&mut sides, 4096);
        let shown = watch.handshake().expect("it goes on").shown.clone().expect("shown");
        assert_eq!(shown.subject, r"O=acme\, CN=a\\pp");
        assert_eq!(shown.doubt().as_deref(), Some(doubt));
    }
}

#[test]
fn a_second_connection_is_resumed_and_a_new_acceptor_knows_no_old_ticket() {
    let lab = Lab::new();
    let acceptor = Acceptor::new(&lab.terms()).expect("the terms are fine");
    let other = Acceptor::new(&lab.terms()).expect("the terms are fine");
    let resumed: Vec<_> = [&acceptor, &acceptor, &other, &other]
        .into_iter()
        .map(|acceptor| {
            let (mut sides, [_, watch]) = lab.sides(acceptor);
            settle(&mut sides, 4096);
            watch.handshake().expect("it is over").is_resumed
        })
        .collect();
    assert_eq!(resumed, [false, true, false, true]);
}
