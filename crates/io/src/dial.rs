//! Connecting to Unix sockets for threads that block. Deliberately knows no loop.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::addr::Addr;
use crate::sys::address::RawAddress;
use crate::sys::socket;

/// Connects to the listener at a path, and waits so long at most where its queue is full.
pub fn connect_unix(path: &Path, limit: Duration) -> io::Result<UnixStream> {
    let connected = || {
        let address = RawAddress::new(&Addr::Unix(path.to_owned()))?;
        let socket = socket::stream(&address)?;
        Ok((address, UnixStream::from(socket)))
    };
    let (address, stream) = connected().map_err(io::Error::from_raw_os_error)?;
    stream.set_nonblocking(false)?;
    // also the time in which a connection finds its place in the queue
    stream.set_write_timeout(Some(limit))?;
    match socket::connect(&stream, &address) {
        Ok(true) => {}
        // interrupted, or too late
        Ok(false) | Err(libc::EAGAIN) => return Err(io::ErrorKind::TimedOut.into()),
        Err(errno) => return Err(io::Error::from_raw_os_error(errno)),
    }
    stream.set_write_timeout(None)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::sync::mpsc;
    use std::thread;

    use super::*;
    use crate::listen;

    #[test]
    fn a_listener_whose_queue_is_full_is_waited_for_no_longer_than_that() {
        let name = format!("tidegate-io-{}-full.sock", std::process::id());
        let path = std::env::temp_dir().join(name);
        let Ok(listener) = listen(&Addr::Unix(path.clone()), 0, false) else { panic!("a path") };
        let mut first = connect_unix(&path, Duration::from_secs(5)).expect("there is room");
        let (tell, told) = mpsc::channel();
        let at = path.clone();
        thread::spawn(move || tell.send(connect_unix(&at, Duration::from_millis(50)).err()));
        let error = told.recv_timeout(Duration::from_secs(20)).expect("it is over");
        assert_eq!(error.map(|error| error.kind()), Some(io::ErrorKind::TimedOut));
        // what has its place can be used, and blocks
        let (mut near, _) = std::os::unix::net::UnixListener::from(listener).accept().expect("one");
        near.write_all(b"hello").expect("sent");
        let mut bytes = [0; 5];
        first.read_exact(&mut bytes).expect("received");
        assert_eq!(&bytes, b"hello");
        std::fs::remove_file(&path).expect("it was there");
        let gone = connect_unix(&path, Duration::from_secs(5)).expect_err("nobody listens");
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
    }
}
