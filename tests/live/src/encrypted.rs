//! Clients over TLS, with packets done by hand.

use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use client::{Error, Login, Packets};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use rustls::{SupportedProtocolVersion, crypto::aws_lc_rs};
use wire::Caps;
use wire::auth::Plugin;
use wire::command::code;
use wire::connect::{Greeting, SslRequest};
use wire::frame::write_packet;

/// A connection whose packets are encrypted.
pub type Encrypted = Packets<StreamOwned<ClientConnection, TcpStream>>;

/// The TLS of a client that trusts the authorities of a file.
pub fn trusting(
    authorities: &Path,
    versions: &[&'static SupportedProtocolVersion],
) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    for root in CertificateDer::pem_file_iter(authorities).context("authorities")? {
        roots.add(root?)?;
    }
    let config = ClientConfig::builder_with_provider(aws_lc_rs::default_provider().into())
        .with_protocol_versions(versions)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// The same, of a client that shows a certificate of its own, with its key.
pub fn showing(authorities: &Path, certificate: &str, key: &str) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    for root in CertificateDer::pem_file_iter(authorities).context("authorities")? {
        roots.add(root?)?;
    }
    let chain = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect::<Result<_, _>>()?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes())?;
    let config = ClientConfig::builder_with_provider(aws_lc_rs::default_provider().into())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key)?;
    Ok(Arc::new(config))
}

/// A request for TLS, as bytes of the wire.
pub fn request() -> Vec<u8> {
    let caps = Login::new("", "").caps.union(Caps::SSL);
    let (mut payload, mut bytes) = (Vec::new(), Vec::new());
    SslRequest { caps, max_packet: 1 << 24, collation: 45 }.encode(&mut payload);
    write_packet(&mut bytes, &mut 1, &payload);
    bytes
}

/// Connects, and encrypts what follows the greeting; the server has to be called `localhost`. No
/// password is shown yet: the client says that it goes by a plugin that nobody has.
pub fn open(port: u16, tls: &Arc<ClientConfig>, user: &str) -> Result<Encrypted> {
    open_behind(b"", port, tls, user)
}

/// The same behind what a proxy in front says.
fn open_behind(header: &[u8], port: u16, tls: &Arc<ClientConfig>, user: &str) -> Result<Encrypted> {
    let mut packets = Packets::tcp((Ipv4Addr::LOCALHOST, port).into(), Duration::from_secs(15))?;
    packets.bytes(header)?;
    let (_, greeting) = packets.receive()?;
    ensure!(Greeting::parse(&greeting)?.caps.contains(Caps::SSL), "TLS is not offered");
    packets.bytes(&request())?;
    let client = ClientConnection::new(tls.clone(), ServerName::try_from("localhost")?)?;
    let mut packets = Packets::over(StreamOwned::new(client, packets.stream.into_inner()));
    let login = Login::new(user, "");
    let login = Login { caps: login.caps.union(Caps::SSL), ..login };
    packets.send(2, &login.response(Plugin::Other, b""))?;
    Ok(packets)
}

/// The same, logged in; the password itself is shown to whoever asks for that.
pub fn log_in(port: u16, tls: &Arc<ClientConfig>, user: &str, password: &str) -> Result<Encrypted> {
    log_in_behind(b"", port, tls, (user, password))
}

/// The same behind what a proxy in front says.
pub fn log_in_behind(
    header: &[u8],
    port: u16,
    tls: &Arc<ClientConfig>,
    (user, password): (&str, &str),
) -> Result<Encrypted> {
    let mut packets = open_behind(header, port, tls, user)?;
    match packets.authenticate(password) {
        Err(Error::Unproven) => {
            // behind the request, the response, the switch, the answer and the question
            packets.send(6, &[password.as_bytes(), &[0]].concat())?;
            packets.authenticate(password)?;
        }
        other => drop(other?),
    }
    Ok(packets)
}

/// The row of a statement that selects one value, as it is on the wire.
pub fn row_of(packets: &mut Encrypted, statement: &str) -> Result<Vec<u8>> {
    packets.command(code::QUERY, statement.as_bytes())?;
    let mut answer: Vec<_> = (0..5).map(|_| packets.receive()).collect::<Result<_, _>>()?;
    ensure!(answer[4].1.first() == Some(&0xfe), "no end: {answer:?}");
    Ok(answer.swap_remove(3).1)
}

/// The length of the text that a statement selects, which has 64 KiB or more.
pub fn length_of(packets: &mut Encrypted, statement: &str) -> Result<usize> {
    // a length of four bytes in front
    Ok(row_of(packets, statement)?.len() - 4)
}
