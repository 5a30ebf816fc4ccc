//! Request lines with a raw `"`, which ProxySQL takes and HTTP has not: handed on as `%22`.
//!
//! Knows of HTTP only where a request line begins and ends; the reader of the requests says when
//! the next one comes.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A connection whose request lines have no raw `"` any more.
pub(crate) struct Unquoted<S> {
    socket: S,
    line: Line,
    /// What was received of a request line, and did not fit.
    ready: Vec<u8>,
}

/// Whether a request line comes next.
#[derive(Clone)]
pub(crate) struct Line(Arc<AtomicBool>);

impl Line {
    /// The request before was read to its end.
    pub(crate) fn comes_next(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The bytes as they are handed on.
    fn mended(&self, bytes: &[u8]) -> Vec<u8> {
        let mut mended = Vec::with_capacity(bytes.len());
        for byte in bytes {
            match byte {
                b'"' if self.0.load(Ordering::Relaxed) => mended.extend_from_slice(b"%22"),
                byte => mended.push(*byte),
            }
            if *byte == b'\n' {
                self.0.store(false, Ordering::Relaxed);
            }
        }
        mended
    }
}

impl<S> Unquoted<S> {
    /// This connection, which begins with a request line.
    pub(crate) fn new(socket: S) -> Self {
        Self { socket, line: Line(Arc::new(AtomicBool::new(true))), ready: Vec::new() }
    }

    /// To be told of further request lines.
    pub(crate) fn line(&self) -> Line {
        self.line.clone()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Unquoted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.ready.is_empty() {
            if !self.line.0.load(Ordering::Relaxed) {
                return Pin::new(&mut self.socket).poll_read(context, into);
            }
            let mut piece = [0; PIECE_BYTES];
            let mut piece = ReadBuf::new(&mut piece);
            ready!(Pin::new(&mut self.socket).poll_read(context, &mut piece))?;
            self.ready = self.line.mended(piece.filled());
        }
        let fits = into.remaining().min(self.ready.len());
        into.put_slice(&self.ready[..fits]);
        self.ready.drain(..fits);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Unquoted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

/// Bytes that are received at a time while a request line may be among them.
const PIECE_BYTES: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_request_lines_are_changed() {
        let socket = Unquoted::new(());
        let line = socket.line();
        assert_eq!(line.mended(b"GET /?a=\"x"), b"GET /?a=%22x");
        assert_eq!(
            line.mended(b"\" HTTP/1.1\r\nEtag: \"y\"\r\n"),
            b"%22 HTTP/1.1\r\nEtag: \"y\"\r\n"
        );
        assert_eq!(line.mended(b"\"z\""), b"\"z\"");
        line.comes_next();
        assert_eq!(line.mended(b"GET /?\"\r\n\""), b"GET /?%22\r\n\"");
    }
}
