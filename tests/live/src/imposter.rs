//! Somebody in between: takes clients with a certificate of its own, and passes on everything that
//! they and the proxy say. It knows no password.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, StreamOwned};

use crate::encrypted;

/// Puts one at an address, in front of a proxy that has this authority, until the process ends;
/// gives its port.
pub fn imposter(
    at: Ipv4Addr,
    proxy: u16,
    authorities: &Path,
    [certificate, key]: [&Path; 2],
) -> Result<u16> {
    let towards = encrypted::trusting(authorities, &[&TLS12, &TLS13])?;
    let chain = CertificateDer::pem_file_iter(certificate)?.collect::<Result<_, _>>()?;
    let shown = ServerConfig::builder_with_provider(aws_lc_rs::default_provider().into())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_file(key)?)?;
    let listener = TcpListener::bind((at, 0))?;
    let port = listener.local_addr()?.port();
    let shown = Arc::new(shown);
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let (shown, towards) = (shown.clone(), towards.clone());
            // a client that refuses it ends this
            std::thread::spawn(move || drop(between(client, &shown, proxy, &towards)));
        }
    });
    Ok(port)
}

fn between(
    mut client: TcpStream,
    shown: &Arc<ServerConfig>,
    proxy: u16,
    towards: &Arc<ClientConfig>,
) -> Result<()> {
    let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, proxy))?;
    // the greeting, and the request for TLS
    pass_packet(&mut server, &mut client)?;
    pass_packet(&mut client, &mut server)?;
    for stream in [&client, &server] {
        stream.set_nodelay(true)?;
    }
    let name = ServerName::try_from("localhost")?;
    let mut client = StreamOwned::new(ServerConnection::new(shown.clone())?, client);
    let mut server = StreamOwned::new(ClientConnection::new(towards.clone(), name)?, server);
    while client.conn.is_handshaking() {
        client.conn.complete_io(&mut client.sock)?;
    }
    server.conn.complete_io(&mut server.sock)?;
    for stream in [&client.sock, &server.sock] {
        stream.set_read_timeout(Some(Duration::from_millis(2)))?;
    }
    loop {
        pass(&mut client, &mut server)?;
        pass(&mut server, &mut client)?;
    }
}

fn pass_packet(from: &mut TcpStream, to: &mut TcpStream) -> Result<()> {
    let mut packet = vec![0; 4];
    from.read_exact(&mut packet)?;
    let len = u32::from_le_bytes([packet[0], packet[1], packet[2], 0]);
    packet.resize(4 + usize::try_from(len)?, 0);
    from.read_exact(&mut packet[4..])?;
    Ok(to.write_all(&packet)?)
}

/// What there is by now; an error once there is no more to come.
fn pass(from: &mut impl Read, to: &mut impl Write) -> Result<()> {
    let mut bytes = [0; 16 << 10];
    match from.read(&mut bytes) {
        Ok(0) => bail!("closed"),
        Ok(len) => {
            to.write_all(&bytes[..len])?;
            Ok(to.flush()?)
        }
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
