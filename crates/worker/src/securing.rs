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
        let accept = match least {
            LeastTls::Any => tls::Acceptor::accept,
            LeastTls::V13 => tls::Acceptor::accept_newest,
        };
        match self.acceptor.as_deref().and_then(accept) {
            Some((codec, watch)) => {
                self.securing.insert(end, watch);
                io.put_on(sock, codec);
            }
            // it was taken away since the client was greeted
            None => self.close(io, end),
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
            Err(why) => {
                self.close(io, end);
                self.tell(end, (), |proxy| proxy.on_lane_insecure(lane, &why));
            }
        }
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
    pub(crate) fn tell_secured(&mut self, end: Option<End>) {
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
            End::Lane(id) => {
                if let Some(tls) = of_server(handshake) {
                    self.tell(end, (), |proxy| proxy.on_lane_secured(id, tls));
                }
            }
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

    fn doubt(&self) -> Option<String> {
        self.doubt.get_or_init(|| self.shown.doubt()).clone()
    }
}
