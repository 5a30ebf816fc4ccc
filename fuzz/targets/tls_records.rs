//! TLS: a handshake and what follows arrive whole wherever their bytes are cut, and nothing that
//! was changed on the way arrives. What is no TLS at all comes to an error.
#![no_main]

use io::{CODEC_ROOM_BYTES, Codec};
use libfuzzer_sys::fuzz_target;
use tls::{Acceptor, Connector, OwnCertificate, Pem, ServerTerms, Terms, Verify};

/// Both sides.
fn sides(versions: &str) -> (Acceptor, Connector) {
    // what is good for ten years from here on
    let own = OwnCertificate::make("localhost", 1_760_000_000).expect("made");
    let pem = |text: &str| Pem::of_text("ssl_cert", text);
    let certificates = vec![(pem(&own.certificate), pem(&own.key))];
    let terms = Terms { certificates, versions: versions.into(), ..Terms::default() };
    let acceptor = Acceptor::new(&terms).expect("terms that can be kept to");
    let terms = ServerTerms { verify: Verify::None, ..ServerTerms::default() };
    (acceptor, Connector::new(&terms).expect("terms that can be kept to"))
}

/// One end: its codec, and what waits for it.
struct End {
    codec: Box<dyn Codec>,
    arrived: Vec<u8>,
    plain: Vec<u8>,
    failed: bool,
}

impl End {
    fn new(codec: Box<dyn Codec>) -> Self {
        Self { codec, arrived: Vec::new(), plain: Vec::new(), failed: false }
    }

    /// Takes bytes from the wire.
    fn hear(&mut self, bytes: &[u8]) {
        let mut room = vec![0; CODEC_ROOM_BYTES];
        self.arrived.extend_from_slice(bytes);
        while !self.failed {
            match self.codec.decode(&mut self.arrived, &mut room) {
                Ok(step) => {
                    self.arrived.drain(..step.taken);
                    self.plain.extend_from_slice(&room[..step.given]);
                    if (step.taken, step.given) == (0, 0) {
                        return;
                    }
                }
                Err(_) => self.failed = true,
            }
        }
    }

    /// What it has to say, of `said` as well, as far as that can be encoded.
    fn say(&mut self, said: &mut &[u8]) -> Vec<u8> {
        let (mut wire, mut room) = (Vec::new(), vec![0; CODEC_ROOM_BYTES]);
        loop {
            let Ok(mut given) = self.codec.pending(&mut room) else { break };
            if given == 0 && !said.is_empty() && !self.failed {
                let Ok(step) = self.codec.encode(said, &mut room) else { break };
                *said = &said[step.taken..];
                given = step.given;
            }
            if given == 0 {
                break;
            }
            wire.extend_from_slice(&room[..given]);
        }
        wire
    }
}

fuzz_target!(|data: &[u8]| {
    let [choice, piece, high, low, change, said @ ..] = data else { return };
    let (acceptor, connector) = sides(["TLSv1.2", "TLSv1.3"][usize::from(choice & 1)]);
    let piece = usize::from(*piece).max(1);
    let mut server = End::new(acceptor.accept().expect("random bytes").0);
    if choice & 2 != 0 {
        data[1..].chunks(piece).for_each(|bytes| server.hear(bytes));
        assert!(server.plain.is_empty(), "nobody has proved anything");
        return;
    }
    let client = connector.connect(("localhost", 3306), false).expect("a name");
    let mut client = End::new(client.0);
    // which byte of all that go to the server is another one
    let (place, mut sent) = (usize::from(*high) << 8 | usize::from(*low), 0);
    let mut to_say = said;
    for _ in 0..8 {
        let mut wire = client.say(&mut to_say);
        if let Some(byte) = place.checked_sub(sent).and_then(|at| wire.get_mut(at)) {
            *byte ^= *change;
        }
        sent += wire.len();
        wire.chunks(piece).for_each(|bytes| server.hear(bytes));
        let wire = server.say(&mut &[][..]);
        wire.chunks(piece).for_each(|bytes| client.hear(bytes));
    }
    assert!(said.starts_with(&server.plain), "nothing else arrives");
    let is_changed = *change != 0 && place < sent;
    assert!(is_changed || server.plain == said && !server.failed, "all of it arrives");
});
