//! The stream of a client: in clear, or by TLS where the client begins so.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

/// What requests come by and answers leave by.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A client's stream, and whether it is encrypted; an error says why there is none.
pub(crate) async fn open(
    socket: TcpStream,
    acceptor: Option<Arc<tls::Acceptor>>,
) -> Result<(Box<dyn Stream>, bool), String> {
    let mut first = [0];
    let begun = socket.peek(&mut first).await.map_err(|error| error.to_string())?;
    if begun == 0 || first[0] != HANDSHAKE {
        return Ok((Box::new(socket), false));
    }
    let acceptor = acceptor.ok_or("TLS is asked for, and mysql-have_ssl is false")?;
    let stream = TlsAcceptor::from(acceptor.config()).accept(socket).await;
    stream.map(|it| (Box::new(it) as Box<dyn Stream>, true)).map_err(|error| error.to_string())
}

/// The first byte of a record of a handshake (RFC 8446, section 5.1): no method of HTTP begins so.
const HANDSHAKE: u8 = 22;
