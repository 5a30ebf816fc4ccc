//! Sockets that get TLS: the codec is put on, and the proxy is told what came of the handshake.
//!
//! Bytes of a stream that is encrypted are only there when its handshake is over, so the first of
//! them are the moment to tell.

use std::sync::Arc;

use engine::orders::End;
use engine::proxy::{ClientCertificate, Secured};
use io::{Driver, Edge};

use crate::Worker;

impl Worker {
    /// Puts TLS on a client's socket.
    pub(crate) fn secure<D: Driver>(&mut self, io: &mut Edge<D>, end: End) {
        let Some(sock) = self.sock(end) else { return };
        match self.acceptor.as_ref().and_then(|acceptor| acceptor.accept()) {
            Some((codec, watch)) => {
                self.securing.insert(end, watch);
                io.put_on(sock, codec);
            }
            // it was taken away since the client was greeted
            None => self.close(io, end),
        }
    }

    /// Tells the proxy, in front of the first bytes of a stream, what was agreed on for it.
    pub(crate) fn tell_secured(&mut self, end: Option<End>) {
        if self.securing.is_empty() {
            return;
        }
        let Some(end @ End::Client(id)) = end else { return };
        let Some(handshake) = self.securing.get(&end).and_then(tls::Watch::handshake) else {
            return;
        };
        let secured = Secured {
            version: handshake.version,
            cipher: handshake.cipher,
            server_name: handshake.server_name.as_deref().map(Into::into),
            own_digest: handshake.own_digest,
            certificate: handshake.shown.clone().map(|shown| Arc::new(OfClient(shown)) as _),
        };
        self.securing.remove(&end);
        self.tell(end, (), |proxy| proxy.on_secured(id, secured));
    }

    /// Tells the proxy, in front of the end of a socket, that it is its TLS that failed.
    pub(crate) fn tell_insecure(&mut self, end: End) {
        let End::Client(id) = end else { return };
        let watch = self.securing.remove(&end);
        if let Some(fault) = watch.as_ref().and_then(tls::Watch::fault) {
            self.tell(end, (), |proxy| proxy.on_insecure(id, fault));
        }
    }
}

/// What a client has shown, as the engine looks at it.
#[derive(Debug)]
struct OfClient(tls::Shown);

impl ClientCertificate for OfClient {
    fn subject(&self) -> &str {
        &self.0.subject
    }

    fn issuer(&self) -> &str {
        &self.0.issuer
    }

    fn names(&self) -> &[String] {
        &self.0.names
    }

    fn doubt(&self) -> Option<String> {
        self.0.doubt()
    }
}
