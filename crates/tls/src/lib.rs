//! TLS between a socket and its service: an [`io::Codec`], and what it needs to know.
//!
//! An [`Acceptor`] is made from certificate files and from what is allowed, when these come into
//! force, and gives each client's socket its codec. A [`Connector`] does the same for connections
//! to servers. A [`Watch`] tells the owner of the socket what the handshake came to. Outside
//! formats: TLS 1.2 (RFC 5246) and 1.3 (RFC 8446), which `rustls` speaks; X.509 certificates in PEM
//! files (RFC 5280, RFC 7468).
//!
//! **Invariant.** Nothing that arrives makes a codec panic, and none holds more than one record
//! and one message of a handshake. **Not here:** sockets, MySQL's packets, and when a connection is
//! secured, which its users decide.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        clippy::panic
    )
)]

mod acceptor;
mod certificate;
mod codec;
mod connector;
mod connectors;
mod fault;
mod handshake;
mod judge;
mod own;
mod pem;
mod suites;

pub use acceptor::{Acceptor, Terms};
pub use certificate::Certificate;
pub use connector::{Connector, ServerTerms};
pub use connectors::{ByServer, Connectors};
pub use fault::TlsFault;
pub use handshake::{Handshake, ServerSeen, Shown, Watch};
pub use judge::Verify;
pub use own::OwnCertificate;
pub use pem::Pem;
