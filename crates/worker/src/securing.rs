//! Sockets that get a codec: for compression, or for TLS, where the proxy is told what came of the
//! handshake.
//!
//! Bytes of a stream that is encrypted are only there when its handshake is over, so the first of
//! them are the moment to tell.

use std::sync::{Arc, OnceLock};

use compression::Leg;
use engine::backend::ServerTls;
use engine::ids::LaneId;
use engine::orders::End;
use engine::proxy::{ClientCertificate, Secured};
use engine::topology::Server;
use engine::vars::LeastTls;
use io::{Driver, Edge};
use wire::connect::Compression;

use crate::Worker;

impl Worker {
    /// Puts TLS on a client's socket, of that version at least.
    pub(crate) fn secure<D: Driver>(&mut self, io: &mut Edge<D>, end: End, least: LeastTls) {
        let Some(sock) = self.sock(end) else { return };
        let found = match (&self.acceptor, least) {
            (Some(acceptor), LeastTls::Any) => acceptor.accept(),
            (Some(acceptor), LeastTls::V13) => acceptor.accept_newest(),
            (None, _) => Err("it was taken away since the client was greeted".to_owned()),
        };
        match (found, end) {
            (Ok((codec, watch)), _) => {
                self.securing.insert(end, watch);
                io.put_on(sock, codec);
            }
            (Err(why), End::Client(id)) => {
                self.close(io, end);
                self.tell(end, (), |proxy| {
                    proxy.on_insecure(id, &why);
                    proxy.on_client_gone(id);
                });
            }
            (Err(why), End::Lane(id)) => self.fail_insecure(io, id, &why),
        }
    }

    /// Puts TLS on the socket of a lane that goes to that host.
    pub(crate) fn secure_lane<D: Driver>(
        &mut self,
        io: &mut Edge<D>,
        lane: LaneId,
        (server, account): (&Server, &str),
        host: &str,
        may_prove: bool,
    ) {
        let end = End::Lane(lane);
        let Some(sock) = self.sock(end) else { return };
        let found = self.outside.connectors.find(&server.hostname, server.port, account);
        match found.and_then(|it| it.connect((host, server.port), may_prove)) {
            Ok((codec, watch)) => {
                self.securing.insert(end, watch);
                io.put_on(sock, codec);
            }
            Err(why) => self.fail_insecure(io, lane, &why),
        }
    }

    fn fail_insecure<D: Driver>(&mut self, io: &mut Edge<D>, lane: LaneId, why: &str) {
        let end = End::Lane(lane);
        self.close(io, end);
        self.tell(end, (), |proxy| proxy.on_lane_insecure(lane, why));
    }

    /// Compresses what is sent on a socket from now on, and decompresses what arrives.
    pub(crate) fn compress<D: Driver>(
        &mut self,
        io: &mut Edge<D>,
        end: End,
        compression: Compression,
    ) {
        let leg = match end {
            End::Client(_) => Leg::Client,
            End::Lane(_) => Leg::Server,
        };
        if let Some(sock) = self.sock(end) {
            io.put_on(sock, compression::codec(leg, compression, &self.compressors));
        }
    }

    /// Tells the proxy, in front of the first bytes of a stream, what was agreed on for it.
    pub(crate) fn tell_secured<D: Driver>(&mut self, io: &mut Edge<D>, end: Option<End>) {
        if self.securing.is_empty() {
            return;
        }
        let Some(end) = end else { return };
        let Some(handshake) = self.securing.get(&end).and_then(tls::Watch::handshake).cloned()
        else {
            return;
        };
        self.securing.remove(&end);
        match end {
            End::Client(id) => {
                let secured = of_client(handshake);
                self.tell(end, (), |proxy| proxy.on_secured(id, secured));
            }
            End::Lane(id) => match of_server(handshake) {
                Some(tls) => self.tell(end, (), |proxy| proxy.on_lane_secured(id, tls)),
                None => self.fail_insecure(io, id, "nothing was seen of the server"),
            },
        }
    }

    /// Tells the proxy, in front of the end of a socket, that it is its TLS that failed. Whether
    /// nothing more is to be told of it.
    pub(crate) fn tell_insecure(&mut self, end: End) -> bool {
        let watch = self.securing.remove(&end);
        let Some(fault) = watch.as_ref().and_then(tls::Watch::fault) else { return false };
        match end {
            End::Client(id) => {
                self.tell(end, (), |proxy| proxy.on_insecure(id, fault));
                false
            }
            End::Lane(id) => {
                self.tell(end, (), |proxy| proxy.on_lane_insecure(id, fault));
                true
            }
        }
    }
}

fn of_client(handshake: tls::Handshake) -> Secured {
    Secured {
        version: handshake.version,
        cipher: handshake.cipher,
        server_name: handshake.server_name.map(Into::into),
        own_digest: handshake.own_digest,
        certificate: handshake
            .shown
            .map(|shown| Arc::new(OfClient { shown, doubt: OnceLock::new() }) as _),
    }
}

fn of_server(handshake: tls::Handshake) -> Option<ServerTls> {
    let seen = handshake.server?;
    let agreed = (handshake.version, handshake.cipher);
    Some(ServerTls::seen(agreed, seen.verified.name(), seen.unproved))
}

/// What a client has shown, as the engine looks at it.
#[derive(Debug)]
struct OfClient {
    shown: tls::Shown,
    /// Why nobody vouches for it, once that was looked at.
    doubt: OnceLock<Option<String>>,
}

impl ClientCertificate for OfClient {
    fn subject(&self) -> &str {
        &self.shown.subject
    }

    fn issuer(&self) -> &str {
        &self.shown.issuer
    }

    fn names(&self) -> &[String] {
        &self.shown.names
    }

    fn was_good(&self) -> bool {
        self.shown.was_good()
    }

    fn doubt(&self) -> Option<String> {
        self.doubt.get_or_init(|| self.shown.doubt()).clone()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::sync::mpsc;
    use std::time::{SystemTime, UNIX_EPOCH};

    use io::{Addr, EpollDriver, Loop, Micros, Options};
    use tls::{Acceptor, OwnCertificate, Pem, Terms};
    use wire::connect::SslRequest;
    use wire::{Caps, frame};

    use super::*;
    use crate::Mail;

    fn acceptor() -> Arc<Acceptor> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("later").as_secs();
        let own = OwnCertificate::make("db", now.cast_signed()).expect("it can be made");
        let pem = |setting, text: &str| Pem::of_text(setting, text);
        let certificates = vec![(pem("ssl_cert", &own.certificate), pem("ssl_key", &own.key))];
        let versions = "TLSv1.2,TLSv1.3".to_owned();
        let terms = Terms { certificates, versions, ..Terms::default() };
        Arc::new(Acceptor::new(&terms).expect("the terms are fine"))
    }

    #[test]
    fn a_client_that_asks_for_tls_which_was_taken_away_is_gone_and_told_of() {
        let (log, logged) = mpsc::channel();
        let mut worker = crate::service::tests::worker();
        worker.secure_with(Some(acceptor()));
        worker.outside.log = Box::new(move |event| log.send(event.to_string()).expect("heard"));
        let any = Addr::Tcp(([127, 0, 0, 1], 0).into());
        let socket = io::listen(&any, 1, false).expect("a port");
        let Ok(Addr::Tcp(at)) = io::bound_to(&socket) else { panic!("it is bound") };
        let driver = EpollDriver::new().expect("a driver");
        let mut events = Loop::new(driver, worker, Options::default());
        events.add_listener(socket);
        let mut client = TcpStream::connect(at).expect("it listens");
        client.set_nonblocking(true).expect("a socket");
        let mut bytes = [0; 4096];
        while client.read(&mut bytes).is_err() {
            events.turn(Some(Micros(1_000)));
        }
        assert!(events.mailbox().post(Mail::Acceptor(None)).is_ok());
        events.turn(Some(Micros(0)));
        let (mut payload, mut out) = (Vec::new(), Vec::new());
        let caps = Caps::PROTOCOL_41.union(Caps::SECURE_CONNECTION).union(Caps::SSL);
        SslRequest { caps, max_packet: 1 << 24, collation: 45 }.encode(&mut payload);
        frame::write_packet(&mut out, &mut 1, &payload);
        client.write_all(&out).expect("sent");
        let ends = loop {
            events.turn(Some(Micros(1_000)));
            if let Ok(count) = client.read(&mut bytes) {
                break count;
            }
        };
        let proxy = &events.service().proxy;
        assert_eq!((ends, proxy.session_count(), proxy.stats.tls_failures), (0, 0, 1));
        let told: Vec<_> = logged.try_iter().collect();
        let why = "TLS failed: it was taken away since the client was greeted";
        assert!(told.iter().any(|line| line.contains(why)), "{told:?}");
    }
}
