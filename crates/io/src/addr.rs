//! Where a listener stands or a connect goes, and what a failed operation says about itself.
//! Deliberately knows no names that would need resolving.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

/// Where a listener stands or a connect goes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Addr {
    /// An IPv4 or IPv6 address and port.
    Tcp(SocketAddr),
    /// The path of a Unix stream socket; empty for the unnamed socket of a client.
    Unix(PathBuf),
}

impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Addr::Tcp(address) => address.fmt(f),
            Addr::Unix(path) if path.as_os_str().is_empty() => f.write_str("unix socket"),
            Addr::Unix(path) => path.display().fmt(f),
        }
    }
}

impl From<SocketAddr> for Addr {
    fn from(address: SocketAddr) -> Self {
        Addr::Tcp(address)
    }
}

/// What of a client's address is one client's to choose from: the address itself, of IPv6 its
/// network of 64 bits. Addresses of this machine stay as they are.
pub fn network_of(address: IpAddr) -> IpAddr {
    const NETWORK: u128 = !0 << 64;
    match address.to_canonical() {
        IpAddr::V6(ip) if !ip.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & NETWORK))
        }
        ip => ip,
    }
}

/// The operation that failed.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// Taking a connection from a listener.
    Accept,
    /// Connecting, immediately or later.
    Connect,
    /// Decoding what was received: a [`crate::Codec`] failed (`EPROTO` or a more telling error, or
    /// `EBADMSG`, where what is sent still arrives), or its stream was cut off (`ENODATA`).
    Decode,
    /// Encoding what is to be sent.
    Encode,
    /// Making a listener.
    Listen,
    /// Receiving bytes.
    Recv,
    /// Registering a socket with the driver.
    Register,
    /// Sending bytes.
    Send,
    /// Starting a driver.
    Setup,
}

impl Op {
    fn name(self) -> &'static str {
        match self {
            Op::Accept => "accept",
            Op::Connect => "connect",
            Op::Decode => "decode",
            Op::Encode => "encode",
            Op::Listen => "listen",
            Op::Recv => "receive",
            Op::Register => "register",
            Op::Send => "send",
            Op::Setup => "set up",
        }
    }
}

/// An operation that failed, with the system's reason.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Failure {
    /// What was tried.
    pub op: Op,
    /// The system's error number.
    pub errno: i32,
}

impl Failure {
    /// Whether a codec could make nothing of what arrived.
    pub const fn is_unreadable(&self) -> bool {
        self.is_deaf() || matches!(self.op, Op::Decode) && self.errno == libc::EPROTO
    }

    /// Whether only the way in has failed, so that the other side can be told of it: what
    /// [`crate::Service::on_gone`] sends arrives, if it ends with [`crate::Edge::close_drained`].
    pub const fn is_deaf(&self) -> bool {
        matches!(self.op, Op::Decode) && self.errno == libc::EBADMSG
    }

    /// A failure of `op` with the system's `errno`.
    pub fn new(op: Op, errno: i32) -> Self {
        Failure { op, errno }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = std::io::Error::from_raw_os_error(self.errno).to_string();
        let reason = text.split(" (os error").next().unwrap_or(&text);
        write!(f, "{}: {reason} ({})", self.op.name(), self.errno)
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_operation_reason_and_number() {
        let failure = Failure::new(Op::Connect, libc::ECONNREFUSED);
        assert_eq!(failure.to_string(), "connect: Connection refused (111)");
    }

    #[test]
    fn an_address_reads_as_it_is_written() {
        let tcp: SocketAddr = "127.0.0.1:6033".parse().unwrap();
        assert_eq!(Addr::from(tcp).to_string(), "127.0.0.1:6033");
        assert_eq!(Addr::Unix("/run/a.sock".into()).to_string(), "/run/a.sock");
        assert_eq!(Addr::Unix(PathBuf::new()).to_string(), "unix socket");
    }
}
