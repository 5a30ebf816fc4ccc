//! Making listeners: TCP with a port per worker, Unix paths that replace stale sockets.
//! Deliberately knows no loop: the descriptor may be given to any.

use std::fs::Permissions;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

use crate::addr::{Addr, Failure, Op};
use crate::sys::address::RawAddress;
use crate::sys::socket;

/// A listening socket on `addr`.
///
/// With `reuse_port` several TCP listeners (one a worker) stand on one port and the system spreads
/// connections over them. A Unix path cannot be shared so: make one listener and give each worker
/// a duplicate of its descriptor. A path left by an ended process is replaced; one that still
/// answers, or that is no socket, is left alone and the call fails with `EADDRINUSE`. Everybody
/// may connect to a Unix listener, as with MySQL's own.
pub fn listen(addr: &Addr, backlog: u32, reuse_port: bool) -> Result<OwnedFd, Failure> {
    listen_raw(addr, backlog, reuse_port).map_err(|errno| Failure::new(Op::Listen, errno))
}

/// The address a listener is bound to, useful when port 0 let the system choose.
pub fn bound_to(listener: &OwnedFd) -> Result<Addr, Failure> {
    socket::own_address(listener.as_fd()).map_err(|errno| Failure::new(Op::Listen, errno))
}

/// Makes a listening socket refuse connections from now on, whoever else holds it: those that wait
/// in its queue are reset.
pub fn stop_listening(listener: &OwnedFd) {
    socket::shutdown_both(listener.as_fd());
}

fn listen_raw(addr: &Addr, backlog: u32, reuse_port: bool) -> Result<OwnedFd, i32> {
    let address = RawAddress::new(addr)?;
    let fd = socket::stream(&address)?;
    match addr {
        Addr::Tcp(tcp) => {
            socket::set_reuse_address(&fd)?;
            if let SocketAddr::V6(_) = tcp {
                socket::set_only_v6(&fd)?;
            }
            if reuse_port {
                socket::set_reuse_port(&fd)?;
            }
            socket::bind(&fd, &address)?;
        }
        Addr::Unix(path) => {
            remove_stale(path, &address)?;
            socket::bind(&fd, &address)?;
            std::fs::set_permissions(path, Permissions::from_mode(0o777))
                .map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))?;
        }
    }
    socket::start_listening(&fd, backlog)?;
    Ok(fd)
}

fn remove_stale(path: &Path, address: &RawAddress) -> Result<(), i32> {
    let Ok(found) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if !found.file_type().is_socket() {
        return Err(libc::EADDRINUSE);
    }
    let probe = socket::stream(address)?;
    match socket::connect(&probe, address) {
        Err(libc::ECONNREFUSED) => {
            std::fs::remove_file(path).map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))
        }
        Err(libc::ENOENT) => Ok(()),
        _ => Err(libc::EADDRINUSE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("tidegate-io-{}-{name}", std::process::id()))
    }

    #[test]
    fn two_listeners_share_a_port_only_when_asked() {
        let any = Addr::Tcp("127.0.0.1:0".parse().unwrap());
        let first = listen(&any, 16, true).unwrap();
        let port = bound_to(&first).unwrap();
        assert!(listen(&port, 16, true).is_ok());
        let refused = listen(&port, 16, false).unwrap_err();
        assert_eq!(refused, Failure::new(Op::Listen, libc::EADDRINUSE));
    }

    #[test]
    fn a_stale_unix_path_is_replaced_and_a_living_one_is_not() {
        let path = scratch("stale.sock");
        let addr = Addr::Unix(path.clone());
        let first = listen(&addr, 16, false).unwrap();
        assert_eq!(listen(&addr, 16, false).unwrap_err().errno, libc::EADDRINUSE);
        drop(first);
        assert!(listen(&addr, 16, false).is_ok());
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_path_that_is_no_socket_is_left_alone() {
        let path = scratch("file");
        std::fs::write(&path, "precious").unwrap();
        let refused = listen(&Addr::Unix(path.clone()), 16, false).unwrap_err();
        assert_eq!(refused.errno, libc::EADDRINUSE);
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
        std::fs::remove_file(path).unwrap();
    }
}
