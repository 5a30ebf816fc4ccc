//! The listening sockets of all workers: one TCP socket a worker on a shared port, one Unix socket
//! shared by all.
//!
//! Knows addresses and descriptors; what is accepted on them is the workers' business.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use anyhow::{Context, bail};
use engine::vars::Interface;
use io::Addr;

/// Opened listeners; dropping it removes the paths of Unix sockets.
pub(crate) struct Listeners {
    /// What each worker listens on.
    by_worker: Vec<Vec<OwnedFd>>,
    /// The same sockets, for refusing connections when the process is about to stop.
    all: Vec<OwnedFd>,
    addresses: Vec<Addr>,
}

impl Listeners {
    /// Opens every interface for every worker; all failures are told together.
    pub(crate) fn open(
        interfaces: &[Interface],
        workers: usize,
        backlog: u32,
    ) -> anyhow::Result<Self> {
        let mut listeners = Self {
            by_worker: (0..workers).map(|_| Vec::new()).collect(),
            all: Vec::new(),
            addresses: Vec::new(),
        };
        let mut failures = Vec::new();
        for interface in interfaces {
            if let Err(error) = listeners.open_one(interface, backlog) {
                failures.push(format!("cannot listen on {interface}: {error:#}"));
            }
        }
        if !failures.is_empty() {
            bail!(failures.join("\n"));
        }
        Ok(listeners)
    }

    /// Where clients can connect: with the ports that the system chose.
    pub(crate) fn addresses(&self) -> &[Addr] {
        &self.addresses
    }

    /// Refuses every connection from now on.
    pub(crate) fn refuse(&self) {
        self.all.iter().for_each(io::stop_listening);
    }

    /// Hands each worker its sockets, once.
    pub(crate) fn take(&mut self) -> Vec<Vec<OwnedFd>> {
        std::mem::take(&mut self.by_worker)
    }

    fn open_one(&mut self, interface: &Interface, backlog: u32) -> anyhow::Result<()> {
        match interface {
            Interface::Tcp { ip, port } => self.open_tcp(SocketAddr::new(*ip, *port), backlog),
            Interface::Unix(path) => self.open_unix(PathBuf::from(path), backlog),
        }
    }

    /// Sockets that share a port also share it with a second process started by mistake, so the
    /// port is first opened alone.
    fn open_tcp(&mut self, address: SocketAddr, backlog: u32) -> anyhow::Result<()> {
        let alone = io::listen(&Addr::Tcp(address), backlog, false)?;
        let bound = io::bound_to(&alone)?;
        drop(alone);
        for sockets in &mut self.by_worker {
            let socket = io::listen(&bound, backlog, true)?;
            self.all.push(socket.try_clone().context("cannot share the socket")?);
            sockets.push(socket);
        }
        self.addresses.push(bound);
        Ok(())
    }

    fn open_unix(&mut self, path: PathBuf, backlog: u32) -> anyhow::Result<()> {
        let address = Addr::Unix(path);
        let socket = io::listen(&address, backlog, false)?;
        self.addresses.push(address);
        for sockets in &mut self.by_worker {
            sockets.push(socket.try_clone().context("cannot share the socket")?);
        }
        self.all.push(socket);
        Ok(())
    }
}

impl Drop for Listeners {
    fn drop(&mut self) {
        for address in &self.addresses {
            if let Addr::Unix(path) = address {
                drop(std::fs::remove_file(path));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn interfaces(text: &str) -> Vec<Interface> {
        Interface::parse_list(text).expect("valid")
    }

    #[test]
    fn every_worker_gets_a_socket_for_every_interface() {
        let path = std::env::temp_dir().join(format!("tidegate-l-{}.sock", std::process::id()));
        let text = format!("127.0.0.1:0;{}", path.display());
        let mut listeners = Listeners::open(&interfaces(&text), 3, 16).expect("both are free");
        let sockets: Vec<usize> = listeners.take().iter().map(Vec::len).collect();
        assert_eq!(sockets, [2, 2, 2]);
        assert!(path.exists());
        drop(listeners);
        assert!(!path.exists(), "the path is removed with the listeners");
    }

    #[test]
    fn the_addresses_are_those_that_clients_can_use() {
        let path = std::env::temp_dir().join(format!("tidegate-a-{}.sock", std::process::id()));
        let text = format!("127.0.0.1:0;{}", path.display());
        let listeners = Listeners::open(&interfaces(&text), 1, 16).expect("both are free");
        for address in listeners.addresses() {
            match address {
                Addr::Tcp(address) => drop(TcpStream::connect(address).expect("it listens")),
                Addr::Unix(path) => drop(UnixStream::connect(path).expect("it listens")),
            }
        }
        assert_eq!(listeners.addresses().len(), 2);
    }

    #[test]
    fn refused_listeners_take_no_more_connections() {
        let path = std::env::temp_dir().join(format!("tidegate-r-{}.sock", std::process::id()));
        let text = format!("127.0.0.1:0;{}", path.display());
        let listeners = Listeners::open(&interfaces(&text), 2, 16).expect("both are free");
        listeners.refuse();
        for address in listeners.addresses() {
            let error = match address {
                Addr::Tcp(address) => TcpStream::connect(address).err(),
                Addr::Unix(path) => UnixStream::connect(path).err(),
            };
            let error = error.expect("nobody listens");
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
        }
    }

    #[test]
    fn a_port_of_another_process_is_not_shared_and_all_failures_are_told() {
        let other = Listeners::open(&interfaces("127.0.0.1:0"), 2, 16).expect("it is free");
        let taken = other.addresses()[0].to_string();
        let text = format!("{taken};/nonexistent/tidegate.sock");
        let error = Listeners::open(&interfaces(&text), 2, 16).err().expect("both are refused");
        let expected = format!(
            "cannot listen on {taken}: listen: Address already in use (98)\n\
             cannot listen on /nonexistent/tidegate.sock: listen: No such file or directory (2)"
        );
        assert_eq!(error.to_string(), expected);
    }
}
