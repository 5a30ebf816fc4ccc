//! The stream of a client: behind a header of the PROXY protocol, where a proxy in front sends one,
//! and in clear, or by TLS where the client begins so.

use std::io::Cursor;
use std::net::IpAddr;

use engine::first_bytes::FirstBytes;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, join};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use crate::access::Origin;
use crate::view::Process;

/// What requests come by and answers leave by.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// What was there before TLS.
struct Begun {
    stream: Box<dyn Stream>,
    /// Its first byte, if there is one.
    first: Option<u8>,
    /// What a proxy in front tells.
    told: Option<Told>,
}

/// An address that a proxy in front tells, if it can.
struct Told(Option<IpAddr>);

/// A client's stream, and where it comes from; an error says whose and why there is none.
pub(crate) async fn open(
    socket: TcpStream,
    from: IpAddr,
    process: &dyn Process,
) -> Result<(Box<dyn Stream>, Origin), String> {
    let Begun { stream, first, told } = begin(socket, from, process).await?;
    let is_told = told.is_some();
    let from = told.and_then(|Told(told)| told).unwrap_or(from);
    if first != Some(HANDSHAKE) {
        return Ok((stream, Origin { from, is_told, is_secure: false }));
    }
    let not_secured = |why: &str| format!("TLS with {from}: {why}");
    let acceptor = process.acceptor();
    let none = || not_secured("TLS is asked for, and mysql-have_ssl is false");
    let acceptor = TlsAcceptor::from(acceptor.ok_or_else(none)?.config());
    let stream = acceptor.accept(stream).await;
    let stream = stream.map_err(|error| not_secured(&error.to_string()))?;
    Ok((Box::new(stream), Origin { from, is_told, is_secure: true }))
}

/// Takes the header of a proxy in front, if there is one.
async fn begin(
    mut socket: TcpStream,
    from: IpAddr,
    process: &dyn Process,
) -> Result<Begun, String> {
    let lost = |error: std::io::Error| format!("{from}: {error}");
    let snapshot = process.snapshot();
    let networks = &snapshot.vars.admin_proxy_protocol_networks;
    let look = |bytes: &[u8]| {
        FirstBytes::read(bytes, || Some(from), ("admin-proxy_protocol_networks", networks))
    };
    let mut first = [0; 16];
    let seen = socket.peek(&mut first).await.map_err(lost)?;
    let seen = first.get(..seen).unwrap_or_default();
    if seen.is_empty() || look(seen) == FirstBytes::Other {
        let first = seen.first().copied();
        return Ok(Begun { stream: Box::new(socket), first, told: None });
    }
    let mut came = Vec::new();
    let (len, told) = loop {
        let more = socket.read_buf(&mut came).await.map_err(lost)?;
        match look(&came) {
            FirstBytes::Begun if more > 0 => {}
            FirstBytes::Other | FirstBytes::Begun => break (0, None),
            FirstBytes::Header(header) => {
                process.header_counts().note(true);
                let told = header.ends.map(|ends| ends.from.ip().to_canonical());
                break (header.len, Some(Told(told)));
            }
            FirstBytes::Refused(why) => {
                process.header_counts().note(false);
                return Err(why);
            }
        }
    };
    if came.len() == len {
        // what comes behind the header is not here yet
        let mut first = [0];
        let seen = socket.peek(&mut first).await.map_err(lost)?;
        let first = (seen > 0).then_some(first[0]);
        return Ok(Begun { stream: Box::new(socket), first, told });
    }
    let first = came.get(len).copied();
    let (reader, writer) = socket.into_split();
    let mut rest = Cursor::new(came);
    rest.set_position(len as u64);
    Ok(Begun { stream: Box::new(join(rest.chain(reader), writer)), first, told })
}

/// The first byte of a record of a handshake (RFC 8446, section 5.1): no method of HTTP begins so.
const HANDSHAKE: u8 = 22;
